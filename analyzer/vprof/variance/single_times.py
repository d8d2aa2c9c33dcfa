"""The times of single intervals, which nothing keeps: each question about them goes through the traces again.

    questions (groups of nodes, pairs) + Parts  ->  rows (interval, node, ns) of one window  ->  answers

Several questions are answered in one reading. Memory: a number for each pair, one for each interval and kept group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vprof.columns import i64
from vprof.kernels import helper, kernel
from vprof.model import NONE, Int32, Int64
from vprof.moments import covariances
from vprof.parts import Part, Parts
from vprof.places import sum_upwards
from vprof.variance_tree import Float, Summed


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

    def __init__(self, parts: Parts, parent: Int32, summed: Summed) -> None:
        self._parts, self._parent, self._summed = parts, i64(parent), summed

    @property
    def parts(self) -> Parts:
        return self._parts

    def __iter__(self) -> Iterator[tuple[Part, Int64]]:
        """Of each part rows (analyzed interval, node of the tree, ns with all below it), by interval."""
        place, own = self._summed.place, self._summed.own
        leaf = np.full(int(place.max()) + 1, NONE, np.int64)
        leaf[place[~own]], leaf[place[own]] = np.flatnonzero(~own), np.flatnonzero(own)
        for part in self._parts:
            positions = part.opened.positions
            times = part.times[positions[part.times[:, 0]] != NONE]
            rows = sum_upwards(i64(np.stack((positions[times[:, 0]], leaf[times[:, 1]], times[:, 2]))), self._parent)
            yield part, rows

    def of(self, node: int) -> Int64:
        """Its time in each of the analyzed intervals."""
        question = Question()
        group = question.group([node], keep=True)
        return self.answer([question])[0].times(group)

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """All in one reading."""
        time = self._summed.time()
        asked = [_Asked(question, time, self._parts.count) for question in questions]
        for _, rows in self:
            for one in asked:
                one.add(rows)
        return [one.conclude() for one in asked]


class _ByNode(NamedTuple):
    """Lists of numbers by node: those of node x are of[first[x]] .. of[first[x + 1] - 1]."""

    first: Int64
    of: Int64

    @staticmethod
    def sorted(node: Sequence[int], number: Sequence[int], nodes: int) -> _ByNode:
        by = np.array(node, np.int64)
        order = np.argsort(by, kind="stable")
        return _ByNode(i64(np.searchsorted(by[order], np.arange(nodes + 1))), i64(np.array(number, np.int64)[order]))


class _Gathered(NamedTuple):
    """By pair the sums of products, modulo 2^64 and rounded; by kept group and interval times, by interval products."""

    product: Int64
    rounded: Float
    times: Int64
    joint: Float


class _Asked:
    """A question while the parts go by. `time`: of each node, over all intervals."""

    def __init__(self, question: Question, time: Int64, intervals: int) -> None:
        self._question, self._time, self._intervals = question, time, intervals
        members = [(node, group) for group, nodes in enumerate(question.groups) for node in nodes]
        self._members = _ByNode.sorted([node for node, _ in members], [group for _, group in members], len(time))
        self._pairs = _ByNode.sorted([node for node, _ in question.pairs], range(len(question.pairs)), len(time))
        self._group = np.array([group for _, group in question.pairs], np.int64)
        joint = {question.pairs[a, question.alone(b)] for a, b in question.joint}
        self._is_joint = np.array([pair in joint for pair in range(len(question.pairs))], np.int64)
        self._kept = np.array([question.kept.get(group, NONE) for group in range(len(question.groups))], np.int64)
        self._value = np.zeros(len(question.groups), np.int64)
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

    def add(self, rows: Int64) -> None:
        """`rows`: (analyzed interval, node, ns), by interval."""
        _gather(rows, self._members, self._pairs, self._group, self._is_joint, self._kept, self._value, self._sums)
        weight = self._weight[rows[:, 1]]
        weighed = np.flatnonzero(weight)
        np.add.at(self._sums.joint, rows[weighed, 0], -weight[weighed] * rows[weighed, 2])

    def conclude(self) -> Answer:
        question, sums = self._question, self._sums
        nodes = np.array([node for node, _ in question.pairs], np.int64)
        of_group = np.array([self._time[group].sum() for group in question.groups], np.int64)
        found = covariances(sums.product, sums.rounded, self._time[nodes], of_group[self._group], self._intervals)
        return Answer(question, sums.times, found, sums.joint)


@kernel
def _gather(rows, members, pairs, group_of, is_joint, kept, value, sums):  # type: ignore[no-untyped-def]
    k = 0
    while k < len(rows):
        k = _gather_interval(
            k,
            rows,
            members.first,
            members.of,
            pairs.first,
            pairs.of,
            group_of,
            is_joint,
            kept,
            value,
            sums.product,
            sums.rounded,
            sums.times,
            sums.joint,
        )


@helper
def _gather_interval(  # type: ignore[no-untyped-def]
    k, rows, m_first, members, p_first, pairs, group_of, is_joint, kept, value, product, rounded, times, joint
):
    """Of the interval that begins at row k; returns the row after it. `value`: by group, 0 in between."""
    interval, end = rows[k, 0], k
    while end < len(rows) and rows[end, 0] == interval:
        for m in range(m_first[rows[end, 1]], m_first[rows[end, 1] + 1]):
            value[members[m]] += rows[end, 2]
        end += 1
    for r in range(k, end):
        for p in range(p_first[rows[r, 1]], p_first[rows[r, 1] + 1]):
            pair, ns = pairs[p], rows[r, 2]
            other = value[group_of[pair]]
            product[pair] += ns * other
            rounded[pair] += float(ns) * float(other)
            joint[interval] += is_joint[pair] * float(ns) * float(other)
    for r in range(k, end):
        for m in range(m_first[rows[r, 1]], m_first[rows[r, 1] + 1]):
            group = members[m]
            if kept[group] != NONE and value[group] != 0:
                times[kept[group], interval] = value[group]
            value[group] = 0
    return end
