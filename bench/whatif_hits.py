"""What came true of predictions: how far what was measured lies outside of what was predicted, and how much wider the
predictions have to be for most to come true (whatif_validation.py)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from load_parts import head, row

FIGURES = ("mean", "variance", "p99")
JUDGED = ("variance", "p99")
"""A case is a hit if these come true."""
GOAL = 0.8
"""Part of the cases that should be hits."""


@dataclass(frozen=True)
class Validated:
    """A change as predicted and as measured: by figure the ratio (then / now) and the ends of its 95 % interval, None
    where they are not known. `intervals`: of all runs without it, and with it. `waiting_for_cpu`: share of the variance
    without it. `load`: of the machine, mean."""

    case: str
    runs: int
    changes: list[str]
    intervals: list[int]
    predicted: dict[str, list[float | None]]
    measured: dict[str, list[float | None]]
    waiting_for_cpu: float | None
    warnings: list[str]
    load: float | None

    def outside(self, figure: str) -> float:
        """How far the measured ratio lies outside of the predicted interval: 0, it does not; 0.1: by a tenth of what
        the figure was without the change. Without an interval the ratio itself counts; inf: it is not known."""
        ratio, low, high = self.predicted[figure]
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


def table(found: Sequence[Validated], failed: Mapping[str, str]) -> str:
    """`failed`: by case which assumption did not hold."""
    if not found:
        return "no results yet"
    heads = [f"{name}: {what}" for name in FIGURES for what in ("predicted", "measured", "hit")]
    lines = head("change", *heads, "intervals", "variance waiting for a CPU", "load average")
    widened = {name: without_one([one.outside(name) for one in found]) for name in FIGURES}
    is_hit = {name: [one.outside(name) == 0 for one in found] for name in FIGURES}
    is_near = {name: [one.outside(name) <= widened[name][k] for k, one in enumerate(found)] for name in FIGURES}
    for k, one in enumerate(found):
        cells: list[object] = [f"{one.case} ({', '.join(f'`{change}`' for change in one.changes)})"]
        for name in FIGURES:
            judged = "yes" if is_hit[name][k] else "widened" if is_near[name][k] else "**no**"
            cells += [_ratio(one.predicted[name]), _ratio(one.measured[name]), judged]
        waiting = "-" if one.waiting_for_cpu is None else f"{100 * one.waiting_for_cpu:.0f} %"
        lines.append(row(*cells, " / ".join(f"{n:,}" for n in one.intervals), waiting, one.load or "-"))
    counted = [
        row(
            name,
            *(f"{sum(hits[name])} of {len(found)}" for hits in (is_hit, is_near)),
            f"{needed([one.outside(name) for one in found]):.3f}",
        )
        for name in FIGURES
    ]
    both = [
        f"{sum(all(hits[name][k] for name in JUDGED) for k in range(len(found)))} of {len(found)}"
        for hits in (is_hit, is_near)
    ]
    counted = [*head("figure", "hits", "hits, widened", "model error"), *counted, row("variance and p99", *both, "")]
    missed = [
        f"- {one.case}: {failed.get(one.case) or 'nobody has looked yet which assumption failed'}"
        for k, one in enumerate(found)
        if not all(is_near[name][k] for name in JUDGED)
    ]
    how = f"""Ratios are then / now (95 % interval): predicted from {_numbers(found)} runs without the change, measured
by as many of each side. A hit: the measured ratio lies in the predicted interval. Widened: in that interval made wider
to both sides by what {100 * GOAL:.0f} % of the *other* cases need (leave one out). Model error: what {100 * GOAL:.0f} %
of all cases need; 0.1 is a tenth of what the figure is without the change."""
    parts = ["\n".join(lines), "\n".join(counted), how]
    return "\n\n".join([*parts, *(["Misses:\n\n" + "\n".join(missed)] if missed else [])])


def _ratio(values: Sequence[float | None]) -> str:
    ratio, low, high = values
    if ratio is None:
        return "-"
    return f"{ratio:.2f}" + (f" ({low:.2f} to {high:.2f})" if low is not None and high is not None else "")


def _numbers(found: Sequence[Validated]) -> str:
    return " or ".join(map(str, sorted({one.runs for one in found})))
