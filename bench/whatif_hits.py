"""What came true of predictions: how far what was measured lies outside of what was predicted, and how much wider the
predictions have to be for most to come true (whatif_validation.py)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from load_parts import head, row

from vprof.whatif.model import SIMULATION, WAYS

FIGURES = ("mean", "variance", "p99")
JUDGED = ("variance", "p99")
"""A case is a hit if these come true."""
GOAL = 0.8
"""Part of the cases that should be hits."""
Ends = tuple[float, float]


@dataclass(frozen=True)
class Validated:
    """A change as predicted by `replay` and by `simulation` (whatif/model.py), and as measured: by figure the ratio
    (then / now) and the ends of its 95 % interval, None where they are not known; nothing if vprof refuses. `auto`:
    which of both is the usual one. `nearness`: by figure what the simulation without a change gives, by what was
    recorded. `intervals`: of all runs without it, and with it. `waiting_for_cpu`: share of the variance without it.
    `load`: of the machine, mean."""

    case: str
    runs: int
    changes: list[str]
    intervals: list[int]
    replay: dict[str, list[float | None]]
    simulation: dict[str, list[float | None]]
    auto: str
    nearness: dict[str, float]
    measured: dict[str, list[float | None]]
    waiting_for_cpu: float | None
    warnings: list[str]
    load: float | None

    def predicted(self, way: str) -> dict[str, list[float | None]]:
        return self.simulation if way == SIMULATION else self.replay

    def is_decided(self, figure: str) -> bool:
        """Whether the runs say what was gained: a ratio whose interval ends beyond four times its begin does not."""
        _, low, high = self.measured[figure]
        return low is not None and high is not None and high <= 4 * low

    def counts(self, way: str, figure: str) -> bool:
        """Whether it is known whether a prediction came true."""
        return self.is_decided(figure) and bool(self.predicted(way))

    def outside(self, way: str, figure: str) -> float:
        """How far the measured ratio lies outside of the predicted interval: 0, it does not; 0.1: above it by a tenth
        of what the figure was without the change; -0.1: as far below, so more was gained than predicted. Without an
        interval the ratio itself counts; inf: it is not known."""
        ratio, low, high = self.predicted(way)[figure]
        measured = self.measured[figure][0]
        if ratio is None or measured is None:
            return math.inf
        below, above = (ratio if low is None else low) - measured, measured - (ratio if high is None else high)
        return -below if below > 0 else max(above, 0.0)


def needed(outside: Sequence[float]) -> Ends:
    """The widening downwards and upwards with which the goal is met: as many cases may lie beyond each."""
    beyond = math.floor((1 - GOAL) / 2 * len(outside) + 1e-9)
    return max(-sorted(outside)[beyond], 0.0), max(sorted(outside, reverse=True)[beyond], 0.0)


def without_one(outside: Sequence[float]) -> list[Ends]:
    """For each case the widening that the others need: it has not seen the case which it judges."""
    return [needed([*outside[:k], *outside[k + 1 :]]) if len(outside) > 1 else (0.0, 0.0) for k in range(len(outside))]


@dataclass(frozen=True)
class Judged:
    """All cases, predicted in one way. By figure of each case: whether it is a hit, and one in the interval that
    is widened by what the other cases need; `error`: what all need."""

    way: str
    found: Sequence[Validated]
    hits: dict[str, list[bool]]
    near: dict[str, list[bool]]
    error: dict[str, Ends]

    @classmethod
    def of(cls, way: str, found: Sequence[Validated]) -> Judged:
        hits, near, error = {}, {}, {}
        for name in FIGURES:
            decided = [one.counts(way, name) for one in found]
            far = [one.outside(way, name) for one, counts in zip(found, decided, strict=True) if counts]
            widened = iter(without_one(far))
            hits[name] = [counts and one.outside(way, name) == 0 for one, counts in zip(found, decided, strict=True)]
            near[name] = [
                counts and _within(one.outside(way, name), next(widened))
                for one, counts in zip(found, decided, strict=True)
            ]
            error[name] = needed(far) if far else (0.0, 0.0)
        return cls(way, found, hits, near, error)

    def counts(self) -> list[str]:
        """A row for each figure, and one for the cases of which all that is judged is a hit."""
        lines = head(self.way, "hits", "hits, widened", "model error")
        for name in FIGURES:
            below, above = self.error[name]
            error = f"-{below:.3f}, +{above:.3f}"
            count = sum(one.counts(self.way, name) for one in self.found)
            lines.append(row(name, f"{sum(self.hits[name])} of {count}", f"{sum(self.near[name])} of {count}", error))
        return lines

    def all_of(self, by_figure: Mapping[str, list[bool]]) -> list[bool]:
        return [all(by_figure[name][k] for name in JUDGED) for k in range(len(self.found))]

    def cells(self, name: str, k: int) -> tuple[str, str]:
        """What was predicted of a case, and what came of that."""
        if not self.found[k].predicted(self.way):
            return "-", "refused"
        if not self.found[k].is_decided(name):
            return _ratio(self.found[k].predicted(self.way)[name]), "not decided"
        said = "yes" if self.hits[name][k] else "widened" if self.near[name][k] else "**no**"
        return _ratio(self.found[k].predicted(self.way)[name]), said


def table(found: Sequence[Validated], failed: Mapping[str, str]) -> str:
    """`failed`: by case which assumption did not hold. REQUIRES: there are results."""
    judged = [Judged.of(way, found) for way in WAYS]
    parts = [_figure(name, judged, found) for name in FIGURES]
    parts += ["\n".join(_conditions(found)), *("\n".join(one.counts()) for one in judged), _how(found)]
    missed = [
        _wrapped(f"- {one.case}: {failed.get(one.case) or 'nobody has looked yet which assumption failed'}")
        for one, is_near in zip(found, judged[-1].all_of(judged[-1].near), strict=True)
        if not is_near
    ]
    return "\n\n".join(
        [
            *parts,
            *([f"Misses, and what is not decided ({judged[-1].way}):", "\n".join(missed)] if missed else []),
        ]
    )


def _figure(name: str, judged: Sequence[Judged], found: Sequence[Validated]) -> str:
    lines = head(name, "measured", *(f"{one.way}: {what}" for one in judged for what in ("predicted", "hit")))
    for k, one in enumerate(found):
        lines.append(row(one.case, _ratio(one.measured[name]), *(cell for j in judged for cell in j.cells(name, k))))
    return "\n".join(lines)


def _conditions(found: Sequence[Validated]) -> list[str]:
    lines = head(
        "change",
        "predicted as",
        "intervals without, with",
        "variance waiting for a CPU",
        "simulated / recorded",
        "load",
    )
    for one in found:
        changes = ", ".join(f"`{change}`" for change in one.changes)
        waiting = "-" if one.waiting_for_cpu is None else f"{100 * one.waiting_for_cpu:.0f} %"
        intervals = " / ".join(f"{n:,}" for n in one.intervals)
        near = ", ".join(f"{one.nearness[name]:.2f}" for name in FIGURES) if one.nearness else "-"
        lines.append(
            row(one.case, changes, intervals, waiting, f"{near} ({one.auto})", "-" if one.load is None else one.load)
        )
    return lines


def _how(found: Sequence[Validated]) -> str:
    runs = " or ".join(map(str, sorted({one.runs for one in found})))
    return _wrapped(
        f"""Ratios are then / now (95 % interval): predicted from {runs} runs without the change, measured by as many
of each side. A hit: the measured ratio lies in the predicted interval. Widened: in that interval made wider, downwards
and upwards, by what {100 * GOAL:.0f} % of the *other* cases need (leave one out; as many may lie beyond each side).
Not decided: the measured interval ends beyond four times its begin; such a case counts nowhere.
Model error: what {100 * GOAL:.0f} % of all cases need; 0.1 is a tenth of what the figure is without the change.
Simulated / recorded: mean, variance and p99 of the simulation without a change, by what was recorded, and which way
is the usual one then."""
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 100, subsequent_indent="  " * text.startswith("-"))


def _within(outside: float, widened: Ends) -> bool:
    return -widened[0] <= outside <= widened[1]


def _ratio(values: Sequence[float | None]) -> str:
    ratio, low, high = values
    if ratio is None:
        return "-"
    return f"{ratio:.2f}" + (f" ({low:.2f} to {high:.2f})" if low is not None and high is not None else "")
