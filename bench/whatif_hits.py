"""What came true of predictions: how far what was measured lies outside of what was predicted, and how much wider the
predictions have to be for most to come true (whatif_validation.py)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from load_parts import head, row

from vprof.whatif.model import CPU, CPU_SCALED

FIGURES = ("mean", "variance", "p99")
JUDGED = ("variance", "p99")
"""A case is a hit if these come true."""
GOAL = 0.8
"""Part of the cases that should be hits."""


@dataclass(frozen=True)
class Validated:
    """A change as predicted, waits for a CPU `kept` or `scaled` (whatif/model.py), and as measured: by figure the ratio
    (then / now) and the ends of its 95 % interval, None where they are not known. `intervals`: of all runs without it,
    and with it. `waiting_for_cpu`: share of the variance without it. `load`: of the machine, mean."""

    case: str
    runs: int
    changes: list[str]
    intervals: list[int]
    kept: dict[str, list[float | None]]
    scaled: dict[str, list[float | None]]
    measured: dict[str, list[float | None]]
    waiting_for_cpu: float | None
    warnings: list[str]
    load: float | None

    def predicted(self, cpu: str) -> dict[str, list[float | None]]:
        return self.scaled if cpu == CPU_SCALED else self.kept

    def outside(self, cpu: str, figure: str) -> float:
        """How far the measured ratio lies outside of the predicted interval: 0, it does not; 0.1: by a tenth of what
        the figure was without the change. Without an interval the ratio itself counts; inf: it is not known."""
        ratio, low, high = self.predicted(cpu)[figure]
        measured = self.measured[figure][0]
        if ratio is None or measured is None:
            return math.inf
        return max((ratio if low is None else low) - measured, measured - (ratio if high is None else high), 0.0)


def needed(outside: Sequence[float]) -> float:
    """The widening, to both sides, with which the goal is met."""
    return sorted(outside)[math.ceil(GOAL * len(outside)) - 1]


def without_one(outside: Sequence[float]) -> list[float]:
    """For each case the widening that the others need: it has not seen the case which it judges."""
    return [needed([*outside[:k], *outside[k + 1 :]]) if len(outside) > 1 else 0.0 for k in range(len(outside))]


@dataclass(frozen=True)
class Judged:
    """All cases with waits for a CPU `cpu`. By figure of each case: whether it is a hit, and one in the interval that
    is widened by what the other cases need; `error`: what all need."""

    cpu: str
    found: Sequence[Validated]
    hits: dict[str, list[bool]]
    near: dict[str, list[bool]]
    error: dict[str, float]

    @classmethod
    def of(cls, cpu: str, found: Sequence[Validated]) -> Judged:
        outside = {name: [one.outside(cpu, name) for one in found] for name in FIGURES}
        return cls(
            cpu,
            found,
            {name: [far == 0 for far in outside[name]] for name in FIGURES},
            {name: [a <= b for a, b in zip(far, without_one(far), strict=True)] for name, far in outside.items()},
            {name: needed(outside[name]) for name in FIGURES},
        )

    def counts(self) -> list[str]:
        """A row for each figure, and one for the cases of which all that is judged is a hit."""
        lines = head(f"waits for a CPU {self.cpu}", "hits", "hits, widened", "model error")
        for name in FIGURES:
            lines.append(row(name, _of(self.hits[name]), _of(self.near[name]), f"{self.error[name]:.3f}"))
        return [*lines, row(" and ".join(JUDGED), _of(self.all_of(self.hits)), _of(self.all_of(self.near)), "")]

    def all_of(self, by_figure: Mapping[str, list[bool]]) -> list[bool]:
        return [all(by_figure[name][k] for name in JUDGED) for k in range(len(self.found))]

    def cells(self, name: str, k: int) -> tuple[str, str]:
        """What was predicted of a case, and what came of that."""
        said = "yes" if self.hits[name][k] else "widened" if self.near[name][k] else "**no**"
        return _ratio(self.found[k].predicted(self.cpu)[name]), said


def table(found: Sequence[Validated], failed: Mapping[str, str]) -> str:
    """`failed`: by case which assumption did not hold."""
    if not found:
        return "no results yet"
    judged = [Judged.of(cpu, found) for cpu in CPU]
    parts = [_figure(name, judged, found) for name in FIGURES]
    parts += ["\n".join(_conditions(found)), *("\n".join(one.counts()) for one in judged), _how(found)]
    missed = [
        f"- {one.case}: {failed.get(one.case) or 'nobody has looked yet which assumption failed'}"
        for one, is_near in zip(found, judged[0].all_of(judged[0].near), strict=True)
        if not is_near
    ]
    return "\n\n".join([*parts, *([f"Misses (waits for a CPU {judged[0].cpu}):", "\n".join(missed)] if missed else [])])


def _figure(name: str, judged: Sequence[Judged], found: Sequence[Validated]) -> str:
    lines = head(name, "measured", *(f"CPU {one.cpu}: {what}" for one in judged for what in ("predicted", "hit")))
    for k, one in enumerate(found):
        lines.append(row(one.case, _ratio(one.measured[name]), *(cell for j in judged for cell in j.cells(name, k))))
    return "\n".join(lines)


def _conditions(found: Sequence[Validated]) -> list[str]:
    lines = head("change", "predicted as", "intervals without, with", "variance waiting for a CPU", "load average")
    for one in found:
        changes = ", ".join(f"`{change}`" for change in one.changes)
        waiting = "-" if one.waiting_for_cpu is None else f"{100 * one.waiting_for_cpu:.0f} %"
        intervals = " / ".join(f"{n:,}" for n in one.intervals)
        lines.append(row(one.case, changes, intervals, waiting, "-" if one.load is None else one.load))
    return lines


def _how(found: Sequence[Validated]) -> str:
    runs = " or ".join(map(str, sorted({one.runs for one in found})))
    return f"""Ratios are then / now (95 % interval): predicted from {runs} runs without the change, measured by as many
of each side. A hit: the measured ratio lies in the predicted interval. Widened: in that interval made wider to both
sides by what {100 * GOAL:.0f} % of the *other* cases need (leave one out). Model error: what {100 * GOAL:.0f} % of all
cases need; 0.1 is a tenth of what the figure is without the change."""


def _of(hits: Sequence[bool]) -> str:
    return f"{sum(hits)} of {len(hits)}"


def _ratio(values: Sequence[float | None]) -> str:
    ratio, low, high = values
    if ratio is None:
        return "-"
    return f"{ratio:.2f}" + (f" ({low:.2f} to {high:.2f})" if low is not None and high is not None else "")
