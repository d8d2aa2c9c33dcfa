"""The times of single intervals, which nothing keeps: each question about them goes through the traces again.

    questions (groups of nodes, pairs) + Parts  ->  rows (interval, node, ns) of one window  ->  answers

Where the windows were summed in several processes, they are asked there, too. Several questions are answered in one
reading. Memory: a number for each pair, one for each interval and kept group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from vprof.jobs.tasks import Jobs
from vprof.path.parts import Part, Parts
from vprof.path.places import sum_upwards
from vprof.path.stacks import Forest
from vprof.tables.columns import i64
from vprof.tables.kernels import kernel, loop
from vprof.tables.model import NONE, R_INTERVAL, R_NODE, R_NS, Float, Int32, Int64
from vprof.variance.look import Looks, Traces
from vprof.variance.moments import covariances
from vprof.variance.variance_tree import Summed


class Question:
    """Groups of nodes, whose times add up in each interval; pairs of a node and a group, of which the covariance is
    asked; and one sum of products."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.kept: dict[int, int] = {}
        self.pairs: dict[tuple[int, int], int] = {}
        self.joint: list[tuple[int, int]] = []
        self._alone: dict[int, int] = {}

    def group(self, nodes: Iterable[int], keep: bool = False) -> int:
        """`keep`: its times in single intervals are wanted."""
        self.groups.append(list(nodes))
        number = len(self.groups) - 1
        if keep:
            self.kept[number] = len(self.kept)
        return number

    def alone(self, node: int) -> int:
        """The group of this node."""
        if node not in self._alone:
            self._alone[node] = self.group([node])
        return self._alone[node]

    def pair(self, node: int, group: int) -> int:
        return self.pairs.setdefault((node, group), len(self.pairs))

    def products(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Asks for the sum, in single intervals, of the products of two nodes' deviations from their means."""
        self.joint = list(pairs)
        for a, b in self.joint:
            self.pair(a, self.alone(b))


@dataclass(frozen=True)
class Answer:
    """To a question, by its numbers. `products`: by analyzed interval."""

    question: Question
    kept: Int64
    covariance: Float
    products: Float

    def times(self, group: int) -> Int64:
        """By analyzed interval, of a group that was to be kept."""
        times: Int64 = self.kept[self.question.kept[group]]
        return times

    def of_pair(self, node: int, group: int) -> float:
        """Their covariance."""
        return float(self.covariance[self.question.pairs[node, group]])


class SingleTimes:
    """Of the nodes of a tree, which was summed from these parts."""

    def __init__(self, looks: Looks, parent: Int32, summed: Summed) -> None:
        self._looks, self._parts = looks, looks.traces.parts
        self._nodes, self._summed = _Nodes(i64(parent), _leaves(summed)), summed

    @property
    def parts(self) -> Parts:
        return self._parts

    @property
    def jobs(self) -> Jobs | None:
        """Who can be given tasks now, None: nobody."""
        return self._looks.jobs if self._looks.is_shared else None

    def __iter__(self) -> Iterator[tuple[Part, Int64]]:
        """Of each part rows (analyzed interval, node of the tree, ns with all below it), by interval."""
        for part in self._parts:
            yield part, self._nodes.rows(part)

    def of_intervals(self, wanted: Sequence[int]) -> dict[int, Int64]:
        """By analyzed interval: its time in each node. Only the windows in which one of them ends are read."""
        asked = i64(np.array(sorted(set(wanted)), np.int64))
        found = {interval: np.zeros(len(self._nodes.parent), np.int64) for interval in asked.tolist()}
        for opened in self._parts.open(wanted=asked):
            for interval, node, ns in self._nodes.rows(self._parts.placed(opened)).tolist():
                if interval in found:
                    found[interval][node] = ns
        return found

    def of(self, node: int) -> Int64:
        """Its time in each of the analyzed intervals."""
        question = Question()
        group = question.group([node], keep=True)
        return self.answer([question])[0].times(group)

    def answer(self, questions: Sequence[Question], watchers: Sequence[Watcher] = ()) -> list[Answer]:
        """All in one reading, in which each part is also given to the watchers."""
        time = self._summed.time()
        asking = _Asking([_Asked(question, time, self._parts.count) for question in questions], list(watchers))
        if not self._looks.is_shared:
            for part, rows in self:
                asking.add(part, rows)
        else:
            found = self._looks.merged(_ask, _both, [(self._parts.forest, self._nodes), asking])
            asking.take(found)
        return [one.conclude() for one in asking.asked]


class Watcher(Protocol):
    """Sees parts go by."""

    def add(self, part: Part) -> None:
        """Each part in turn."""

    def blank(self) -> Self:
        """One that has seen none."""

    def merge(self, other: Self) -> None:
        """Adds what another one saw."""


class _Nodes(NamedTuple):
    """Of a tree: `parent` of each node; by node of the forest the `leaf` of the tree that has its own time."""

    parent: Int64
    leaf: Int64

    def rows(self, part: Part) -> Int64:
        """(analyzed interval, node of the tree, ns with all below it), by interval."""
        positions = part.opened.positions
        times = part.times[positions[part.times[:, R_INTERVAL]] != NONE]
        interval, node = positions[times[:, R_INTERVAL]], self.leaf[times[:, R_NODE]]
        return sum_upwards(i64(interval), i64(node), i64(times[:, R_NS]), i64(self.parent))


def _leaves(summed: Summed) -> Int64:
    place, own = summed.place, summed.own
    leaf = np.full(int(place.max()) + 1, NONE, np.int64)
    leaf[place[~own]], leaf[place[own]] = np.flatnonzero(~own), np.flatnonzero(own)
    return leaf


@dataclass(frozen=True)
class _Asking:
    """Questions and watchers, with what they have found so far."""

    asked: list[_Asked]
    watchers: list[Any]

    def add(self, part: Part, rows: Int64) -> None:
        for watcher in self.watchers:
            watcher.add(part)
        for one in self.asked:
            one.add(rows)

    def take(self, found: _FoundApart) -> None:
        for one, theirs in zip(self.asked, found.gathered, strict=True):
            one.take(theirs, found.positions)
        for watcher, other in zip(self.watchers, found.watchers, strict=True):
            watcher.merge(other)


@dataclass(frozen=True)
class _FoundApart:
    """What some windows told: sums of pairs, and columns of the intervals at `positions`, which end there."""

    positions: Int64
    gathered: list[_Gathered]
    watchers: list[Any]


def _ask(traces: Traces, nodes: tuple[Forest, _Nodes], asking: _Asking, span: tuple[int, int]) -> _FoundApart:
    """A task: the windows of a span."""
    forest, of_tree = nodes
    parts = traces.parts.growing(forest)
    mine = _Asking([one.blank() for one in asking.asked], [watcher.blank() for watcher in asking.watchers])
    positions = [np.zeros(0, np.int64)]
    for opened in parts.open(span=span):
        if opened.is_analyzed:
            part = parts.placed(opened)
            mine.add(part, of_tree.rows(part))
            positions.append(opened.positions[opened.positions != NONE])
    ended = np.concatenate(positions)
    return _FoundApart(ended, [one.of(ended) for one in mine.asked], mine.watchers)


def _both(a: _FoundApart, b: _FoundApart) -> _FoundApart:
    """A task."""
    watchers = [watcher.blank() for watcher in a.watchers]
    for watcher, *others in zip(watchers, a.watchers, b.watchers, strict=True):
        for other in others:
            watcher.merge(other)
    gathered = [one.beside(other) for one, other in zip(a.gathered, b.gathered, strict=True)]
    return _FoundApart(np.r_[a.positions, b.positions], gathered, watchers)


class _ByNode(NamedTuple):
    """Lists of numbers by node: those of node x are of[first[x]] .. of[first[x + 1] - 1]."""

    first: Int64
    of: Int64

    @staticmethod
    def sorted(node: Sequence[int], number: Sequence[int], nodes: int) -> _ByNode:
        by = np.array(node, np.int64)
        order = np.argsort(by, kind="stable")
        return _ByNode(i64(np.searchsorted(by[order], np.arange(nodes + 1))), i64(np.array(number, np.int64)[order]))


class _Groups(NamedTuple):
    """The groups with a node; of each group its row in the kept times, or NONE, and its time in the current interval,
    0 in between."""

    of_node: _ByNode
    kept: Int64
    value: Int64


class _Pairs(NamedTuple):
    """The pairs with a node; of each pair its group, and whether its products are asked for."""

    of_node: _ByNode
    group: Int64
    is_joint: Int64


class _Gathered(NamedTuple):
    """By pair the sums of products, modulo 2^64 and rounded; by kept group and interval times, by interval products."""

    product: Int64
    rounded: Float
    times: Int64
    joint: Float

    def beside(self, other: _Gathered) -> _Gathered:
        """Of other intervals."""
        times = np.concatenate((self.times, other.times), axis=1)
        joint = np.r_[self.joint, other.joint]
        return _Gathered(self.product + other.product, self.rounded + other.rounded, times, joint)


class _Asked:
    """A question while the parts go by. `time`: of each node, over all intervals."""

    def __init__(self, question: Question, time: Int64, intervals: int) -> None:
        self._question, self._time, self._intervals = question, i64(time), intervals
        members = [(node, group) for group, nodes in enumerate(question.groups) for node in nodes]
        self._groups = _Groups(
            _ByNode.sorted([node for node, _ in members], [group for _, group in members], len(time)),
            np.array([question.kept.get(group, NONE) for group in range(len(question.groups))], np.int64),
            np.zeros(len(question.groups), np.int64),
        )
        joint = {question.pairs[a, question.alone(b)] for a, b in question.joint}
        self._pairs = _Pairs(
            _ByNode.sorted([node for node, _ in question.pairs], range(len(question.pairs)), len(time)),
            np.array([group for _, group in question.pairs], np.int64),
            np.array([pair in joint for pair in range(len(question.pairs))], np.int64),
        )
        self._sums = _Gathered(
            np.zeros(len(question.pairs), np.int64),
            np.zeros(len(question.pairs)),
            np.zeros((len(question.kept), intervals), np.int64),
            np.zeros(intervals),
        )
        mean = time / intervals
        self._weight = np.zeros(len(time))
        for a, b in question.joint:
            self._weight[a] += mean[b]
            self._weight[b] += mean[a]
        self._sums.joint[:] = sum(float(mean[a] * mean[b]) for a, b in question.joint)

    def blank(self) -> _Asked:
        """The same question, to other windows."""
        return _Asked(self._question, self._time, self._intervals)

    def of(self, positions: Int64) -> _Gathered:
        """What is known of these intervals, and the sums of pairs."""
        sums = self._sums
        return _Gathered(sums.product, sums.rounded, sums.times[:, positions], sums.joint[positions])

    def take(self, found: _Gathered, positions: Int64) -> None:
        """What windows tell in which these intervals end."""
        sums = self._sums
        sums.product[:] += found.product
        sums.rounded[:] += found.rounded
        sums.times[:, positions], sums.joint[positions] = found.times, found.joint

    def add(self, rows: Int64) -> None:
        """`rows`: (analyzed interval, node, ns), by interval."""
        _gather(rows, self._groups, self._pairs, self._sums)
        weight = self._weight[rows[:, R_NODE]]
        weighed = np.flatnonzero(weight)
        np.add.at(self._sums.joint, rows[weighed, R_INTERVAL], -weight[weighed] * rows[weighed, R_NS])

    def conclude(self) -> Answer:
        question, sums = self._question, self._sums
        nodes = np.array([node for node, _ in question.pairs], np.int64)
        of_group = np.array([self._time[group].sum() for group in question.groups], np.int64)
        found = covariances(sums.product, sums.rounded, self._time[nodes], of_group[self._pairs.group], self._intervals)
        return Answer(question, sums.times, found, sums.joint)


@kernel
def _gather(rows: Int64, groups: _Groups, pairs: _Pairs, sums: _Gathered) -> None:
    k = 0
    while k < len(rows):
        k = _gather_interval(k, rows, groups, pairs, sums)


@loop
def _gather_interval(k: int, rows: Int64, groups: _Groups, pairs: _Pairs, sums: _Gathered) -> int:
    """Of the interval that begins at row k; returns the row after it."""
    value, members = groups.value, groups.of_node
    interval, end = rows[k, R_INTERVAL], k
    while end < len(rows) and rows[end, R_INTERVAL] == interval:
        node = rows[end, R_NODE]
        for m in range(members.first[node], members.first[node + 1]):
            value[members.of[m]] += rows[end, R_NS]
        end += 1
    for r in range(k, end):
        node, ns = rows[r, R_NODE], rows[r, R_NS]
        for p in range(pairs.of_node.first[node], pairs.of_node.first[node + 1]):
            pair = pairs.of_node.of[p]
            other = value[pairs.group[pair]]
            sums.product[pair] += ns * other
            sums.rounded[pair] += float(ns) * float(other)
            sums.joint[interval] += pairs.is_joint[pair] * float(ns) * float(other)
    for r in range(k, end):
        node = rows[r, R_NODE]
        for m in range(members.first[node], members.first[node + 1]):
            group = members.of[m]
            if groups.kept[group] != NONE and value[group] != 0:
                sums.times[groups.kept[group], interval] = value[group]
            value[group] = 0
    return end
