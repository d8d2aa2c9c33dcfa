"""Plan epochs: a tree is made of one plan only (docs/algorithms.md section 4), so a trace is read as one of its epochs.

A plan is kept as a number that depends on its sites, not as the sites: memory does not grow with flips times sites.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vprof.errors import TraceError
from vprof.tables.model import NONE, Bool, Int64
from vprof.trace.chunks import TraceFile
from vprof.trace.clock import Clock
from vprof.trace.intervals import FLIP, OTHER_PLAN, Instances
from vprof.trace.invocations import Calls

FOREVER = np.iinfo(np.int64).max
_MOST_SWITCHED = 1 << 30
"""Sites that the flips of one file may switch: ten thousand of them every 20 ms for half an hour."""


@dataclass(frozen=True)
class Epoch:
    """A time in ns in which the plan did not change. `plan`: the same number for the same sites (`sites_on`)."""

    start: int
    end: int
    plan: int

    def holds(self, instances: Instances) -> Bool:
        """Which intervals lie inside."""
        return (instances.begin >= self.start) & (instances.end <= self.end)


def read_epochs(file: TraceFile, clock: Clock) -> list[Epoch]:
    """The epochs of a file, in time order, from its `plan` and `flip` events. The time of a flip is in none of them.

    Raises TraceError when it flips more sites than a session can in years.
    """
    flips = _flips(file)
    start, end = (clock.to_ns(np.array([flip[key] for flip in flips], np.int64)) for key in ("after", "before"))
    plans = (plan.number for plan in _plans(file, flips))
    return [Epoch(*row) for row in zip([-FOREVER, *start.tolist()], [*end.tolist(), FOREVER], plans, strict=True)]


def sites_on(file: TraceFile, epoch: Epoch) -> Int64:
    """The numbers of the sites that were on, sorted."""
    plan = next(plan for plan in _plans(file, _flips(file)) if plan.number == epoch.plan)
    return np.flatnonzero(plan.on)


def _flips(file: TraceFile) -> list[dict[str, Any]]:
    return sorted(file.of("flip"), key=lambda flip: int(flip["before"]))


def _spread(numbers: NDArray[np.uint64]) -> Int64:
    """A number from 0 on for each, as if drawn at random (SplitMix64), in its place. NumPy's own generators take longer
    to import than a small trace to read."""
    numbers *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers ^= numbers >> np.uint64(shift)
        numbers *= np.uint64(factor)
    numbers ^= numbers >> np.uint64(31)
    numbers >>= np.uint64(1)
    return numbers.view(np.int64)


class _Plan:
    """The sites that are on, and a number that two plans share if, and but for chance only if, their sites do."""

    def __init__(self, sites: int) -> None:
        self.on = np.zeros(sites, np.bool_)
        self.number = 0
        self._weights = _spread(np.arange(1, sites + 1, dtype=np.uint64))
        self._switched = 0

    def switch(self, ranges: list[list[int]], on: bool, path: Path) -> None:
        for first, count, *_ in ranges:
            self._switched += count
            if self._switched > _MOST_SWITCHED:
                raise TraceError(f"{path}: its plans switch more than {_MOST_SWITCHED} sites, which no session does")
            part = self.on[first : first + count]
            self.number ^= int(np.bitwise_xor.reduce(self._weights[first : first + count][part != on]))
            part[:] = on


def _plans(file: TraceFile, flips: list[dict[str, Any]]) -> Iterator[_Plan]:
    """The plan before each flip and after the last: one object, which changes."""
    first = [event["on"] for event in file.of("plan")[:1]]
    lists = [*first, *(flip[side] for flip in flips for side in ("on", "off"))]
    plan = _Plan(max((first + count for ranges in lists for first, count, *_ in ranges), default=0))
    for ranges in first:
        plan.switch(ranges, True, file.path)
    for flip in flips:
        yield plan
        plan.switch(flip["off"], False, file.path)
        plan.switch(flip["on"], True, file.path)
    yield plan


def choose(epochs: list[Epoch], instances: Instances, entered: Int64, wanted: int | None = None) -> list[Epoch]:
    """The epochs of the wanted plan, or of the plan with the most finished intervals, then with the most calls
    (`entered`, by epoch), then the later one. A plan that was on several times is one plan."""
    rows: dict[int, list[int]] = {}
    for row, epoch in enumerate(epochs):
        rows.setdefault(epoch.plan, []).append(row)

    def weight(plan: int) -> tuple[int, int, int]:
        mine = [epochs[row] for row in rows[plan]]
        finished = np.count_nonzero(holds(mine, instances) & instances.finished)
        return int(finished), int(entered[rows[plan]].sum()), mine[-1].start

    chosen = max(rows, key=weight) if wanted is None else wanted
    return [epochs[row] for row in rows[chosen]]


def holds(epochs: list[Epoch], instances: Instances) -> Bool:
    """Which intervals lie inside one of them."""
    inside = np.zeros(len(instances.begin), np.bool_)
    for epoch in epochs:
        inside |= epoch.holds(instances)
    return inside


def spoiled_times(epochs: list[Epoch], chosen: list[Epoch]) -> list[tuple[int, int, int, str]]:
    """The flips and the epochs of other plans, as `Trace.spoiled` lists them."""
    flips = [(NONE, one.end, next_.start, FLIP) for one, next_ in pairwise(epochs)]
    return flips + [(NONE, other.start, other.end, OTHER_PLAN) for other in epochs if other.plan != chosen[0].plan]


def measured(epochs: list[Epoch], on: Int64, calls: Calls) -> Bool:
    """Calls of sites that were on in the chosen epochs: others may still have been open when one began."""
    if len(epochs) == 1:
        return np.ones(len(calls.number), np.bool_)
    return np.isin(calls.number, on)
