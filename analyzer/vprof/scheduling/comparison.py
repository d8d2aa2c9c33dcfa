"""Policies side by side: each runs the same scripts, seed by seed, and figures get intervals over the seeds.

    scripts by seed + policies  ->  Comparison: of each policy its figures, and each by the first policy's

Seeds are pairs: a ratio is that of two policies on one seed. Intervals are Student's, of ratios on the logarithms, so
they say how much chance there is in scripts, arrivals and random orders, not whether the model holds.

A script that says what was measured is replayed with the policy it was measured with first: a replay whose mean or
variance is more than 10 % off is not believed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from vprof.errors import VprofError
from vprof.scheduling.script import Script
from vprof.scheduling.simulator import Options, Run, run
from vprof.tables.model import Float

FIGURES = ("throughput", "mean", "variance", "p99", "p99.9", "l2", "deadlocks", "restarts")
"""Of latencies, ns and ns2; `l2`: the root of the mean square; `throughput`: transactions a second."""
COUNTS = ("deadlocks", "restarts")
TOLERANCE = 0.10
LEVEL = 0.95

MODEL = (
    "strict two-phase locking, a CPU for each transaction, an undone one begins again at once, decisions take no time"
)


class NotMetError(VprofError):
    """The replay with the traced policy is not what was measured."""


@dataclass(frozen=True)
class Value:
    """The mean over seeds, of ratios the geometric one; `ci95`: None if there is one seed, or all gave the same."""

    value: float | None
    ci95: tuple[float, float] | None


@dataclass(frozen=True)
class Outcome:
    """`figures` by name; `ratios`, by the base's, of all but counts."""

    policy: str
    figures: dict[str, Value]
    ratios: dict[str, Value]


@dataclass(frozen=True)
class Calibration:
    """The traced policy, replayed: predicted by measured."""

    policy: str
    mean_ratio: float
    variance_ratio: float | None


@dataclass(frozen=True)
class Comparison:
    """`outcomes`: that of the base first. `waits`: of one run with the base."""

    base: str
    outcomes: list[Outcome]
    seeds: int
    transactions: int
    locks: int
    waits: int
    calibration: Calibration | None


def compare(
    scripts: Callable[[int], Script],
    policies: Sequence[str],
    seeds: int,
    options: Options | None = None,
    measured: Script | None = None,
) -> Comparison:
    """`scripts`: the one of each seed, from 0 on. The first policy is the base. `measured`: the script as it was
    measured, if these run with another load. Raises NotMetError if a traced policy is not met."""
    first = scripts(0)
    calibration = calibrate(measured or first, options)
    samples: dict[str, list[dict[str, float]]] = {policy: [] for policy in policies}
    waits = 0
    for seed in range(seeds):
        script = scripts(seed) if seed else first
        for policy in policies:
            done = run(script, policy, options, seed)
            samples[policy].append(figures_of(done))
            if policy == policies[0] and not seed:
                waits = done.waits
    base = samples[policies[0]]
    outcomes = [Outcome(policy, _means(samples[policy]), _ratios(samples[policy], base)) for policy in policies]
    return Comparison(policies[0], outcomes, seeds, first.count, first.locks, waits, calibration)


def calibrate(script: Script, options: Options | None = None) -> Calibration | None:
    """The script with the policy that it was measured with, None if it says nothing measured. Raises NotMetError if
    mean or variance of the latencies is more than 10 % off."""
    traced = script.traced
    if traced is None:
        return None
    found = figures_of(run(script, traced.policy, replace(options or Options(), servers={})))
    off = {
        name: _off(found[name], measured)
        for name, measured in (("mean", traced.mean_ns), ("variance", traced.variance_ns2))
    }
    name = max(off, key=lambda name: abs(off[name]))
    if abs(off[name]) > TOLERANCE:
        raise NotMetError(
            f"the replay with {traced.policy}, by which the script was measured, has a {name} {_percent(off[name])}"
            f" than measured, more than {100 * TOLERANCE:.0f} % off: it cannot tell what other policies would do"
        )
    ratio = found["variance"] / traced.variance_ns2 if traced.variance_ns2 else None
    return Calibration(traced.policy, found["mean"] / traced.mean_ns if traced.mean_ns else 1.0, ratio)


def _off(found: float, measured: float) -> float:
    return found / measured - 1 if measured else math.inf if found else 0.0


def _percent(off: float) -> str:
    return f"{abs(off):.1%} {'larger' if off > 0 else 'smaller'}".replace("%", " %")


def figures_of(done: Run) -> dict[str, float]:
    latency = done.latency_ns.astype(np.float64)
    p99, p999 = np.quantile(latency, (0.99, 0.999), method="inverted_cdf")
    return {
        "throughput": done.throughput,
        "mean": float(latency.mean()),
        "variance": float(latency.var()),
        "p99": float(p99),
        "p99.9": float(p999),
        "l2": float(np.sqrt(np.square(latency).mean())),
        "deadlocks": float(done.deadlocks),
        "restarts": float(done.restarts),
    }


def _means(samples: list[dict[str, float]]) -> dict[str, Value]:
    return {name: _mean(np.array([sample[name] for sample in samples])) for name in FIGURES}


def _ratios(samples: list[dict[str, float]], base: list[dict[str, float]]) -> dict[str, Value]:
    return {
        name: _ratio([(sample[name], other[name]) for sample, other in zip(samples, base, strict=True)])
        for name in FIGURES
        if name not in COUNTS
    }


def _mean(values: Float) -> Value:
    mean = float(values.mean())
    half = _half_width(values)
    return Value(mean, (mean - half, mean + half) if half else None)


def _ratio(pairs: list[tuple[float, float]]) -> Value:
    if not all(a > 0 and b > 0 for a, b in pairs):
        return Value(1.0 if all(a == b for a, b in pairs) else None, None)
    logs = np.array([math.log(a / b) for a, b in pairs])
    mean, half = float(logs.mean()), _half_width(logs)
    return Value(math.exp(mean), (math.exp(mean - half), math.exp(mean + half)) if half else None)


def _half_width(values: Float) -> float:
    """Of the 95 % interval of their mean; 0 if there is none."""
    n = len(values)
    if n < 2 or not np.ptp(values):
        return 0.0
    return float(stdtrit(n - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / math.sqrt(n))
