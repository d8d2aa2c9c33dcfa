"""What came true of predictions for minidb's lock policies: ratios with intervals, and hits (minidb_locks.py)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from load_parts import head, row
from scipy.special import stdtrit

FIGURES = ("mean", "variance", "p99")
JUDGED = ("variance", "p99")
"""A case is a hit if these are."""
GOAL = 15 / 18
LEVEL = 0.95


@dataclass(frozen=True)
class Found:
    """One result. `kind`: `capacity` (figures: throughput, a second; `rate`: what is offered then), `predicted`
    (figures are ratios to FIFO's; none if vprof refused, which `why` has), or `measured` (figures in us and us2)."""

    kind: str
    level: str
    seed: int
    policy: str
    seconds: int
    rate: float
    figures: dict[str, float]
    why: str

    @property
    def key(self) -> tuple[str, str, int, str, int]:
        return self.kind, self.level, self.seed, self.policy, self.seconds

    def line(self) -> str:
        figures = ", ".join(f"{name} {value:.4g}" for name, value in self.figures.items())
        return f"{self.level} {self.kind} {self.policy} seed {self.seed}: {figures or self.why}"


@dataclass(frozen=True)
class Ratio:
    """Of seeds: the geometric mean, and the ends of its interval, both the mean if there is one seed."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> Ratio:
        logs = [math.log(ratio) for ratio in ratios]
        mean, n = statistics.fmean(logs), len(logs)
        half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * statistics.stdev(logs) / math.sqrt(n) if n > 1 else 0.0
        return cls(math.exp(mean), math.exp(mean - half), math.exp(mean + half))

    def has(self, other: Ratio, widened: float = 0.0) -> bool:
        """Whether the other's value is in this interval, or in one that is wider by that part on both sides."""
        return self.low * (1 - widened) <= other.value <= self.high * (1 + widened)

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Case:
    """A policy at a level: by figure what was predicted, and what was measured."""

    level: str
    policy: str
    predicted: dict[str, Ratio]
    measured: dict[str, Ratio]

    def hits(self, figure: str, widened: float) -> bool:
        return self.predicted[figure].has(self.measured[figure], widened)


def case_of(found: Sequence[Found], level: str, policy: str) -> Case | None:
    """None if there are no seeds that were predicted and measured."""
    by_key = {(one.kind, one.seed, one.policy): one.figures for one in found if one.level == level and one.figures}
    seeds = sorted({seed for kind, seed, _ in by_key if kind == "measured"})
    wanted = [("predicted", policy), ("measured", policy), ("measured", "fifo")]
    seeds = [seed for seed in seeds if all((kind, seed, name) in by_key for kind, name in wanted)]
    if not seeds:
        return None
    predicted, measured = {}, {}
    for figure in FIGURES:
        predicted[figure] = Ratio.of([by_key["predicted", seed, policy][figure] for seed in seeds])
        measured[figure] = Ratio.of(
            [by_key["measured", s, policy][figure] / by_key["measured", s, "fifo"][figure] for s in seeds]
        )
    return Case(level, policy, predicted, measured)


def report(
    found: Sequence[Found], levels: Sequence[str], policies: Sequence[str], tolerance: float, part: float
) -> str:
    """All tables as Markdown."""
    cases = [case for level in levels for policy in policies if (case := case_of(found, level, policy))]
    parts = [_loads(found, levels, part)]
    parts += [_figure(figure, cases, tolerance) for figure in FIGURES]
    if cases:
        parts.append(_counts(cases, tolerance))
    refused = [one for one in found if one.kind == "predicted" and one.why]
    if refused:
        which = {(one.level, one.seed): one.why for one in refused}
        parts.append("\n".join(f"- refused: {level}, seed {seed}: {why}" for (level, seed), why in which.items()))
    return "\n\n".join(parts)


def _loads(found: Sequence[Found], levels: Sequence[str], part: float) -> str:
    """What FIFO can do, what is offered, and how long requests take then."""
    lines = head("contention", "FIFO's capacity", f"offered ({100 * part:.0f} %)", "FIFO's mean", "its p99", "seeds")
    for level in levels:
        of_level = [one for one in found if one.level == level]
        capacity = [one for one in of_level if one.kind == "capacity"]
        runs = [one.figures for one in of_level if one.kind == "measured" and one.policy == "fifo"]
        if not capacity or not runs:
            continue
        times = [f"{statistics.fmean(run[name] for run in runs) / 1e3:.1f} ms" for name in ("mean", "p99")]
        throughput = f"{capacity[0].figures['throughput']:.0f} /s"
        lines.append(row(level, throughput, f"{capacity[0].rate:g} /s", *times, len(runs)))
    return "\n".join(lines)


def _figure(figure: str, cases: Sequence[Case], tolerance: float) -> str:
    lines = head(f"{figure} by FIFO's", "predicted (95 %)", "measured (95 %)", "hit")
    for case in cases:
        said = "yes" if case.hits(figure, 0.0) else "widened" if case.hits(figure, tolerance) else "**no**"
        lines.append(row(f"{case.level}, {case.policy}", str(case.predicted[figure]), str(case.measured[figure]), said))
    return "\n".join(lines)


def _counts(cases: Sequence[Case], tolerance: float) -> str:
    lines = head("of", "hits", f"widened by {100 * tolerance:.0f} %", "goal")
    for figure in FIGURES:
        hits = [sum(case.hits(figure, widened) for case in cases) for widened in (0.0, tolerance)]
        lines.append(row(figure, *(f"{count} of {len(cases)}" for count in hits), ""))
    both = [sum(all(case.hits(name, widened) for name in JUDGED) for case in cases) for widened in (0.0, tolerance)]
    goal = f"{math.ceil(GOAL * len(cases) - 1e-9)} of {len(cases)}"
    lines.append(row(" and ".join(JUDGED), *(f"{count} of {len(cases)}" for count in both), goal))
    return "\n".join(lines)
