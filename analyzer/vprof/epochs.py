"""Plan epochs: a tree is made of one plan only (ALGORITHMS section 4), so a trace is read as one of its epochs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vprof.chunks import TraceFile
from vprof.clock import Clock
from vprof.intervals import FLIP, OTHER_PLAN, Instances
from vprof.invocations import Calls
from vprof.model import NONE, Bool, Int64

FOREVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Epoch:
    """A time in ns in which the plan did not change, and the numbers of the sites that were on."""

    start: int
    end: int
    on: frozenset[int]

    def holds(self, instances: Instances) -> Bool:
        """Which intervals lie inside."""
        return (instances.begin >= self.start) & (instances.end <= self.end)


def read_epochs(file: TraceFile, clock: Clock) -> list[Epoch]:
    """The epochs of a file, in time order, from its `plan` and `flip` events. The time of a flip is in none of them."""
    on = {number for plan in file.of("plan")[:1] for number in _numbers(plan["on"])}
    start = -FOREVER
    found = []
    for flip in sorted(file.of("flip"), key=lambda flip: int(flip["before"])):
        found.append(Epoch(start, clock.one(flip["before"]), frozenset(on)))
        on -= set(_numbers(flip["off"]))
        on |= set(_numbers(flip["on"]))
        start = clock.one(flip["after"])
    return [*found, Epoch(start, FOREVER, frozenset(on))]


def _numbers(ranges: list[list[int]]) -> list[int]:
    return [number for first, count in ranges for number in range(first, first + count)]


def choose(
    epochs: list[Epoch], instances: Instances, entered: Int64, wanted: frozenset[int] | None = None
) -> list[Epoch]:
    """The epochs of the wanted plan, or of the plan with the most finished intervals, then with the most calls
    (`entered`, by epoch), then the later one. A plan that was on several times is one plan."""
    rows: dict[frozenset[int], list[int]] = {}
    for row, epoch in enumerate(epochs):
        rows.setdefault(epoch.on, []).append(row)

    def weight(plan: frozenset[int]) -> tuple[int, int, int]:
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
    return flips + [(NONE, other.start, other.end, OTHER_PLAN) for other in epochs if other not in chosen]


def measured(epochs: list[Epoch], chosen: list[Epoch], calls: Calls) -> Bool:
    """Calls of sites that were on in the chosen epochs: others may still have been open when one began."""
    if len(epochs) == 1:
        return np.ones(len(calls.number), np.bool_)
    return np.isin(calls.number, np.array(sorted(chosen[0].on), np.int64))
