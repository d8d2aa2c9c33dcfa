"""One run in numbers, to be compared with other runs.

    trace -> MeasuredRun (its latencies) -> the same length for all -> RunMetrics, one number per metric

Intervals that touch lost records count here: their latencies are known, and leaving out the long ones would flatter a
run (docs/algorithms.md section 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from vprof.compare.diff_factors import Contributions
from vprof.compare.diff_trees import RunTree
from vprof.errors import VprofError
from vprof.tables.model import Int64, Recorded, Trace
from vprof.trace.usable import diagnose

UNEQUAL = 1.25
"""Runs whose lengths and whose numbers of intervals both differ by more than this factor are cut."""


@dataclass(frozen=True)
class Metric:
    """`unit`: ns2, ns, /s, or "" for a ratio. `needs`: intervals a run must have for it to mean anything."""

    name: str
    unit: str
    more_is_better: bool = False
    needs: int = 1


METRICS = (
    Metric("variance", "ns2", needs=2),
    Metric("mean", "ns"),
    Metric("cv", "", needs=2),
    Metric("p50", "ns"),
    Metric("p99", "ns", needs=100),
    Metric("p99.9", "ns", needs=1000),
    Metric("max", "ns"),
    Metric("l2", "ns"),
    Metric("throughput", "/s", more_is_better=True, needs=2),
)


@dataclass(frozen=True)
class MeasuredRun:
    """The latencies of one trace, by begin; `lost_ns`: of intervals whose begin is not kept. `contributions`: of its
    factors, and `tree`, if they are to be compared. `recorded`, `built_from`, `hosts`: what ran, as in
    `Trace`."""

    path: Path
    begin_ns: Int64
    latency_ns: Int64
    lost_ns: Int64
    excluded: dict[str, int]
    recorded: list[Recorded]
    built_from: list[str]
    contributions: Contributions | None = None
    tree: RunTree | None = None
    hosts: list[str] = field(default_factory=list)

    @property
    def all_ns(self) -> Int64:
        """Every latency."""
        return np.concatenate((self.latency_ns, self.lost_ns))

    @property
    def count(self) -> int:
        return len(self.latency_ns) + len(self.lost_ns)

    @property
    def length_ns(self) -> int:
        """From the first begin to the last end."""
        return int((self.begin_ns + self.latency_ns).max() - self.begin_ns[0])

    @property
    def end_ns(self) -> int:
        return int(self.begin_ns[0]) + self.length_ns


def run_of(path: Path, trace: Trace, contributions: Contributions | None, tree: RunTree | None = None) -> MeasuredRun:
    """Raises VprofError with a diagnosis when the trace has no interval."""
    iv = trace.intervals
    rows = np.flatnonzero(~iv.ignore)
    if not len(rows):
        raise VprofError(diagnose(trace))
    begin = iv.begin[rows]
    return MeasuredRun(
        path=path,
        begin_ns=begin,
        latency_ns=iv.end[rows] - begin,
        lost_ns=trace.excluded_latencies,
        excluded=dict(trace.excluded),
        recorded=trace.recorded,
        built_from=trace.built_from,
        hosts=trace.hosts,
        contributions=contributions,
        tree=tree,
    )


def of_equal_length(runs: Sequence[MeasuredRun]) -> tuple[list[MeasuredRun], str]:
    """The runs, and what was done to them in one sentence or "".

    Runs of one length, or of one number of intervals, stay as they are. Others are cut to the first part of each, as
    long as the shortest run: a start is slower than what follows, and a longer run has a greater maximum.
    """
    lengths, counts = [r.length_ns for r in runs], [r.count for r in runs]
    if max(lengths) <= UNEQUAL * min(lengths) or max(counts) <= UNEQUAL * min(counts):
        return list(runs), ""
    shortest = runs[int(np.argmin(lengths))]
    cut = [_first_part(run, shortest.length_ns) for run in runs]
    left_out = 1 - sum(r.count for r in cut) / sum(counts)
    length = shortest.length_ns / 1e9
    return cut, (
        f"all runs cut to {length:.3g} s, the length of {shortest.path}: {100 * left_out:.0f} % of the intervals unused"
    )


def _first_part(run: MeasuredRun, length_ns: int) -> MeasuredRun:
    if run.length_ns <= length_ns:
        return run
    kept = run.begin_ns + run.latency_ns <= run.begin_ns[0] + length_ns
    kept[0] = True
    return replace(run, begin_ns=run.begin_ns[kept], latency_ns=run.latency_ns[kept], lost_ns=run.lost_ns[:0])


def measure(run: MeasuredRun) -> dict[str, float | None]:
    """Every metric by name; None where the run has too few intervals for it, or it is not defined."""
    ns = run.all_ns.astype(np.float64)
    mean, variance = float(ns.mean()), float(ns.var())
    p50, p99, p999 = (float(q) for q in np.quantile(ns, [0.5, 0.99, 0.999], method="inverted_cdf"))
    values = {
        "variance": variance,
        "mean": mean,
        "cv": variance**0.5 / mean if mean > 0 else None,
        "p50": p50,
        "p99": p99,
        "p99.9": p999,
        "max": float(ns.max()),
        "l2": float(np.sqrt((ns**2).mean())),
        "throughput": run.count / (run.length_ns / 1e9) if run.length_ns > 0 else None,
    }
    return {m.name: values[m.name] if run.count >= m.needs else None for m in METRICS}
