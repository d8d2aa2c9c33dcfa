"""What came true of predictions: whether what was measured lies in what was predicted, widened by the error that vprof
states (whatif/model.py); and the error that these cases would state (whatif_validation.py)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from load_parts import head, row

from vprof.whatif.model import MODEL_ERROR, SIMULATION, WAYS

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
    """The widening downwards and upwards with which another such case comes true with GOAL's probability: its place
    among them is as likely as any other, and as many may lie beyond each side. With few cases all have to come true."""
    beyond = max(math.floor((1 - GOAL) / 2 * (len(outside) + 1) + 1e-9) - 1, 0)
    return max(-sorted(outside)[beyond], 0.0), max(sorted(outside, reverse=True)[beyond], 0.0)


@dataclass(frozen=True)
class Judged:
    """All cases, predicted in one way. By figure of each case: whether it is a hit, and one in the interval that
    is widened by the stated error; `error`: what these cases would state."""

    way: str
    found: Sequence[Validated]
    hits: dict[str, list[bool]]
    near: dict[str, list[bool]]
    error: dict[str, Ends]

    @classmethod
    def of(cls, way: str, found: Sequence[Validated]) -> Judged:
        hits, near, error = {}, {}, {}
        for name in FIGURES:
            stated = MODEL_ERROR[way][name]
            far = [one.outside(way, name) if one.counts(way, name) else None for one in found]
            known = [outside for outside in far if outside is not None]
            hits[name] = [outside == 0 for outside in far]
            near[name] = [outside is not None and _within(outside, stated) for outside in far]
            error[name] = needed(known) if known else (0.0, 0.0)
        return cls(way, found, hits, near, error)

    def counts(self) -> list[str]:
        """A row for each figure, and one for the cases of which all that is judged is a hit."""
        lines = head(self.way, "hits", "hits, widened", "stated error", "error of these")
        for name in FIGURES:
            count = sum(one.counts(self.way, name) for one in self.found)
            hits, near = (f"{sum(which[name])} of {count}" for which in (self.hits, self.near))
            lines.append(row(name, hits, near, _error(MODEL_ERROR[self.way][name]), _error(self.error[name])))
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
of each side. A hit: the measured ratio lies in the predicted interval. Widened: in that interval made wider by the
stated error, which vprof has from earlier runs than these; 0.1 is a tenth of what the figure is without the change.
Not decided: the measured interval ends beyond four times its begin; such a case counts nowhere.
Error of these: what the cases of this table would state, so that another one comes true with {100 * GOAL:.0f} %.
Simulated / recorded: mean, variance and p99 of the simulation without a change, by what was recorded, and which way
is the usual one then."""
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 100, subsequent_indent="  " * text.startswith("-"))


def _within(outside: float, widened: Ends) -> bool:
    return -widened[0] <= outside <= widened[1]


def _error(ends: Ends) -> str:
    return f"-{ends[0]:.3f}, +{ends[1]:.3f}"


def _ratio(values: Sequence[float | None]) -> str:
    ratio, low, high = values
    if ratio is None:
        return "-"
    return f"{ratio:.2f}" + (f" ({low:.2f} to {high:.2f})" if low is not None and high is not None else "")
