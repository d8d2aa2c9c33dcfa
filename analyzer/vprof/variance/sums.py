"""What all windows of some traces sum up to: times by node, by type, blocked time by cause, calls by function.

    Part, Part, ...  ->  Tally, merged with those of other windows  ->  PathTree + Moments  ->  trees

Whole numbers, so the result does not depend on the windows, nor on which of them were summed apart and merged. Memory:
nodes, pairs of siblings, what occurs of them in each block, and a few numbers for each interval.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from vprof.path.parts import Opened, Part
from vprof.path.path_tree import PathTree, calls_of, tree_of
from vprof.path.stacks import T_LABEL, T_PARENT, Forest
from vprof.tables.columns import i64
from vprof.tables.model import NONE, Bool, Int64, Trace
from vprof.variance import statistics
from vprof.variance.blocked import BlockedSums
from vprof.variance.moments import Moments
from vprof.variance.objects import ObjectSums
from vprof.variance.variance_tree import Summed, VarianceTree, of_moments
from vprof.variance.wait_stacks import StackSums
from vprof.variance.wakers import WakerSums


@dataclass(frozen=True)
class TypedTree:
    """The tree over the intervals of one type ("": of all)."""

    type: str
    tree: VarianceTree
    tail_quantile: float | None


@dataclass(frozen=True)
class CallCounts:
    """Recorded calls by function: those that were entered in an analyzed interval, for it, and all others."""

    within: Int64
    others: Int64

    @property
    def total(self) -> int:
        return int(self.within.sum() + self.others.sum())


@dataclass(frozen=True)
class _Group:
    """The intervals of one type, or all. `mine` and `tail` are by interval of all."""

    type: str
    mine: Bool
    latency: Int64
    tail: Bool
    tail_quantile: float | None
    block: Int64

    @staticmethod
    def begin(type_: str, mine: Bool, latency: Int64, quantile: float, block: Int64 | None = None) -> _Group:
        """`latency` and `block` of all."""
        found = statistics.tail_of(latency[mine], quantile)
        tail = np.zeros(len(mine), np.bool_)
        if found:
            tail[mine] = found[1]
        block = np.full(len(mine), NONE) if block is None else block
        return _Group(type_, mine, latency[mine], tail, found[0] if found else None, block)

    def add(self, moments: Moments, parent: Int64, times: Int64, latency: Int64, positions: Int64) -> None:
        """`times` and `latency` of the intervals at these positions; NONE is skipped."""
        chosen = (positions != NONE) & self.mine[positions]
        if not chosen.all():
            times = times[chosen[times[:, 0]]]
            times = np.column_stack(((np.cumsum(chosen) - 1)[times[:, 0]], times[:, 1:]))
            latency, positions = latency[chosen], positions[chosen]
        moments.add(parent, times, latency, self.tail[positions], self.block[positions])

    def conclude(self, tree: PathTree, moments: Moments, whole: Summed) -> TypedTree:
        """`whole`: what was summed of all, whose nodes are these."""
        empty = np.zeros(0, np.int64)
        moments.add(whole.moments.layout.parent, empty.reshape(0, 3), empty, empty.astype(np.bool_), empty)
        tail = None if self.tail_quantile is None else self.tail[self.mine]
        found = of_moments(tree, replace(whole, moments=moments), self.latency, tail)
        return TypedTree(self.type, found, self.tail_quantile)


@dataclass
class Tally:
    """All that is summed, of some windows; `moments` by group. Tallies of different windows may be merged."""

    forest: Forest
    moments: list[Moments]
    ended: Int64
    blocked: BlockedSums = field(default_factory=BlockedSums)
    wakers: WakerSums = field(default_factory=WakerSums)
    stacks: StackSums = field(default_factory=StackSums)
    objects: ObjectSums = field(default_factory=ObjectSums)
    calls: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))

    @staticmethod
    def begin(forest: Forest, groups: int, functions: int) -> Tally:
        return Tally(forest, [Moments() for _ in range(groups)], np.zeros(functions, np.int64))

    def merge(self, other: Tally) -> None:
        into = self.forest.graft(other.forest)
        parent = i64(self.forest.nodes[:, T_PARENT])
        for mine, theirs in zip(self.moments, other.moments, strict=True):
            mine.merge(theirs, into, parent)
        calls = np.zeros(len(parent), np.int64)
        calls[: len(self.calls)] += self.calls
        calls[into[: len(other.calls)]] += other.calls
        self.calls = calls
        self.ended += other.ended
        self.blocked.merge(other.blocked)
        self.wakers.merge(other.wakers)
        self.stacks.merge(other.stacks)
        self.objects.merge(other.objects)


class Sums:
    """The first group is that of all intervals, the others are those of the types that get a tree."""

    def __init__(
        self,
        forest: Forest,
        functions: int,
        latency: Int64,
        quantile: float,
        block: Int64 | None,
        types: list[tuple[str, Bool]],
    ) -> None:
        """`functions`: how many there are."""
        every = np.ones(len(latency), np.bool_)
        own = [_Group.begin(name, mine, latency, quantile) for name, mine in types]
        self._groups = [_Group.begin("", every, latency, quantile, block), *own]
        self._functions = functions
        self.tally = Tally.begin(forest, len(self._groups), functions)

    def count(self, opened: Opened) -> None:
        """Counts the calls and the waits that end in the window."""
        calls = opened.trace.invocations
        ended = calls.function[opened.window.owns(calls.fe)]
        mine = ended if opened.functions is None else opened.functions[ended]
        self.tally.ended += np.bincount(mine, minlength=self._functions)
        self.tally.objects.count(opened)

    def add(self, part: Part) -> None:
        trace, positions, tally = part.trace, part.opened.positions, self.tally
        calls = calls_of(trace, part.stacks)
        calls[: len(tally.calls)] += tally.calls
        tally.calls = calls
        parent = i64(tally.forest.nodes[:, T_PARENT])
        latency = trace.intervals.end - trace.intervals.begin
        for group, moments in zip(self._groups, tally.moments, strict=True):
            group.add(moments, parent, part.times, latency, positions)
        functions, first_thread = part.opened.functions, part.opened.first_thread
        tally.blocked.add(trace, part.paths, part.stacks, functions, first_thread)
        tally.stacks.add(trace, positions)
        tally.objects.add(part)
        tally.wakers.add(trace, part.paths, part.stacks, positions, functions, first_thread)

    def conclude(self, trace: Trace) -> tuple[TypedTree, list[TypedTree]]:
        """The tree over all intervals, and those of the types. `trace`: the concluded bare traces, merged."""
        tally = self.tally
        whole = tally.moments[0]
        tree, place, own = tree_of(trace, tally.forest, whole.time[:, 1] > 0, tally.calls)
        summed = Summed(whole, place, own)
        groups = zip(self._groups, tally.moments, strict=True)
        trees = [group.conclude(tree, moments, summed) for group, moments in groups]
        return trees[0], trees[1:]

    def call_counts(self) -> CallCounts:
        forest, calls = self.tally.forest, self.tally.calls
        label = forest.nodes[: len(calls), T_LABEL]
        function = np.array([*forest.function, NONE])[label]
        called = function != NONE
        within = np.zeros(self._functions, np.int64)
        np.add.at(within, function[called], calls[called])
        return CallCounts(within, self.tally.ended - within)
