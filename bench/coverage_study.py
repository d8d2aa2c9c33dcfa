#!/usr/bin/env python3
"""How often the 95 % interval of a factor's share covers the truth, and how often none is printed.

    python bench/coverage_study.py            (200 simulations of each process: some minutes)

A simulation is a trace of intervals that call a, then b; their times are drawn from a process whose share of a is
known. It goes through the whole analysis, `vprof analyze`'s own.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vprof.tables.columns import i32
from vprof.tables.model import NONE, Created, Int64, Intervals, Invocations, Program, Segments, Trace, Wakeups
from vprof.variance.analysis import AnalysisOptions, RankedFactor, analyze

Float = NDArray[np.float64]
Times = tuple[Float, Float]
"""Of a and of b, one per interval."""

MEAN_NS = 1e6


def normal(rng: np.random.Generator, n: int) -> Times:
    return 1 + 0.1 * rng.normal(size=n), 1 + 0.05 * rng.normal(size=n)


def lognormal(rng: np.random.Generator, n: int) -> Times:
    return rng.lognormal(size=n), rng.lognormal(size=n) / 2


def lognormal15(rng: np.random.Generator, n: int) -> Times:
    return rng.lognormal(sigma=1.5, size=n), rng.lognormal(sigma=1.5, size=n) / 2


def ar(rng: np.random.Generator, n: int) -> Times:
    """a is a first-order autoregressive process: its autocorrelation time is 39 intervals."""
    from scipy.signal import lfilter

    noise = rng.normal(size=n)
    noise[0] /= np.sqrt(1 - 0.95**2)
    return 1 + 0.1 * np.sqrt(1 - 0.95**2) * lfilter([1], [1, -0.95], noise), 1 + 0.05 * rng.normal(size=n)


def pareto(rng: np.random.Generator, n: int) -> Times:
    """Shape 3: the variance is finite, that of the variance is not."""
    return 1 + rng.pareto(3, size=n), (1 + rng.pareto(3, size=n)) / 2


def rare_stalls(rng: np.random.Generator, n: int) -> Times:
    """One call of a in a thousand takes ten times as long."""
    stall = rng.random(n) < STALL
    return 1 + 0.1 * rng.normal(size=n) + 9 * stall, 1 + 0.05 * rng.normal(size=n)


STALL = 1e-3
_STALLING = 0.01 + 81 * STALL * (1 - STALL)

PROCESSES: dict[str, tuple[Callable[[np.random.Generator, int], Times], float]] = {
    "normal": (normal, 0.8),
    "lognormal(1)": (lognormal, 0.8),
    "lognormal(1.5)": (lognormal15, 0.8),
    "AR(.95)": (ar, 0.8),
    "Pareto(3)": (pareto, 0.8),
    "rare stalls": (rare_stalls, _STALLING / (_STALLING + 0.0025)),
}
"""With a's share of the variance."""


def trace_of(a: Float, b: Float) -> Trace:
    """One thread; a moment lies between two intervals."""
    a_ns, b_ns = (np.maximum(1, MEAN_NS * x).astype(np.int64) for x in (a, b))
    n = len(a)
    end = np.cumsum(a_ns + b_ns + 10)
    begin = end - a_ns - b_ns
    row = np.arange(n, dtype=np.int32)
    zero = np.zeros(n, np.int32)
    starts = np.stack([begin, begin + a_ns], axis=1).ravel()
    ends = np.stack([begin + a_ns, end], axis=1).ravel()
    none: Int64 = np.zeros(0, np.int64)
    everything = np.ones(3, np.bool_)
    return Trace(
        threads=["1"],
        interval_ids=[str(i) for i in range(n)],
        types=[""],
        call_sites=[],
        program=Program(
            functions=["main", "a", "b"],
            definitions=[""] * 3,
            calls=[[1, 2], [], []],
            height=i32([1, 0, 0]),
            root_height=1,
            on=everything,
            complete=everything,
        ),
        segments=Segments(
            thread=zero, interval=row, ts=begin, te=end, state=np.zeros(n, np.int8), object_class=np.zeros(n, np.int8)
        ),
        invocations=Invocations(
            thread=i32(np.zeros(2 * n)),
            interval=i32(np.repeat(row, 2)),
            function=i32(np.tile([1, 2], n)),
            call_site=i32(np.full(2 * n, NONE)),
            fs=starts,
            fe=ends,
            depth=i32(np.zeros(2 * n)),
        ),
        wakeups=Wakeups(i32(none), i32(none), none, i32(none)),
        created=Created(i32(none), none, i32(none), none),
        intervals=Intervals(zero, zero, begin, zero, end, np.zeros(n, np.bool_)),
    )


def factor_of_a(trace: Trace) -> RankedFactor:
    analysis = analyze(trace, AnalysisOptions(k=10, min_share=-1))
    return next(f for f in analysis.factors if f.factor.name == "a")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--intervals", type=int, default=10000, help="of each simulation")
    parser.add_argument("--only", choices=PROCESSES, action="append", help="this process")
    options = parser.parse_args()
    print(f"{options.simulations} simulations of {options.intervals} intervals, nominal 95 %\n")
    print(f"{'':15}{'printed':>9}{'covers':>9}{'of printed':>12}{'width':>9}   why not")
    for name in options.only or PROCESSES:
        process, truth = PROCESSES[name]
        covers, widths = [], []
        reasons: Counter[str] = Counter()
        for seed in range(options.simulations):
            ranked = factor_of_a(trace_of(*process(np.random.default_rng(seed), options.intervals)))
            if ranked.ci95 is None:
                reasons[" ".join(ranked.ci95_reason.split()[:2])] += 1
            else:
                covers.append(ranked.ci95[0] <= truth <= ranked.ci95[1])
                widths.append(ranked.ci95[1] - ranked.ci95[0])
        n = len(covers)
        share = f"{100 * sum(covers) / n:.1f} %" if n else "-"
        width = f"{np.median(widths):.3f}" if n else "-"
        why = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
        print(f"{name:15}{n:>9}{sum(covers):>9}{share:>12}{width:>9}   {why}", flush=True)


if __name__ == "__main__":
    main()
