"""Of what nature factors are: where each lies, how much of it is waiting and for whom, how much lies between types of
intervals, and of how many slow moments it is most.

    factors + Analysis -> questions -> one reading of the traces (two, if tasks were queued) -> natures
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vprof.drill.moments import moments_of, most_of
from vprof.path.path_tree import display_names
from vprof.path.queued import while_queued
from vprof.tables.kinds import CPU_WAITS, L_QUEUE, MEANWHILE
from vprof.tables.model import Float, Int64
from vprof.trace.usable import rows_of
from vprof.variance.analysis import Analysis
from vprof.variance.factors import Factor, rounded
from vprof.variance.moments import covariances
from vprof.variance.single_times import Answer, Question
from vprof.variance.variance_tree import VarianceTree

_MOST_WAKERS = 3
_LEAST_WAKER = 0.05


@dataclass(frozen=True)
class Nature:
    """The path to a factor, how much of it is waiting and for what, and how much lies between types. `spread`: the
    standard deviation of its time by the mean, `mean_ns`. `of_execution`: that mean by the mean execution of the
    intervals.
    `moments`: in so many slow ones it is most of the excess (moments.py)."""

    path: list[str]
    waiting: float
    wakers: list[tuple[str, float]]
    inherent: float | None
    spread: float
    mean_ns: float
    of_execution: float
    moments: int = 0


def natures(analysis: Analysis, factors: list[Factor]) -> list[Nature]:
    """The traces are read once more for all of them, twice if tasks were queued."""
    asked = [_AskedFactor(analysis, factor) for factor in factors]
    slow = _AskedMoments(analysis)
    *answers, of_slow = analysis.times.answer([*(one.question for one in asked), slow.question])
    queued = [(one, answer.times(one.time)) for one, answer in zip(asked, answers, strict=True) if one.is_queued]
    shared = iter(_shared_while_queued(analysis, [time for _, time in queued]) if queued else [])
    return [
        replace(
            one.concluded(analysis, answer, next(shared) if one.is_queued else {}),
            moments=slow.most_of(answer.times(one.time), of_slow),
        )
        for one, answer in zip(asked, answers, strict=True)
    ]


class _AskedMoments:
    """What is asked of the single times for the slow moments: how much of each interval is apart."""

    def __init__(self, analysis: Analysis) -> None:
        tree, rows, intervals = analysis.tree, rows_of(analysis.trace), analysis.trace.intervals
        self._moment, self._latency = moments_of(analysis), intervals.end[rows] - intervals.begin[rows]
        self.question = Question()
        apart = [x for x in tree.children[0] if tree.paths.pseudo[x] in analysis.options.view.labels]
        self._apart = self.question.group(apart, keep=True)

    def most_of(self, time: Int64, answer: Answer) -> int:
        return most_of(time, self._latency - answer.times(self._apart), self._moment)


class _AskedFactor:
    """What is asked of the single times about a factor."""

    def __init__(self, analysis: Analysis, factor: Factor) -> None:
        self._tree = tree = analysis.tree
        nodes = list(dict.fromkeys(x for pair in factor.instances for x in pair))
        self._heaviest = max(nodes, key=lambda x: (rounded(float(abs(tree.share[x]))), tree.share[x] > 0))
        self._waits = [x for node in nodes for x in _waits_below(tree, node)]
        self.is_queued = any(tree.paths.pseudo[x] == L_QUEUE for x in self._waits)
        self.question = Question()
        self.time = self.question.group(nodes, keep=True)
        for x in self._waits:
            for node in (x, *tree.children[x]):
                self.question.pair(node, self.time)

    def concluded(self, analysis: Analysis, answer: Answer, queued: dict[str, float]) -> Nature:
        """`queued`: by function, the covariance of what it did while tasks were queued."""
        tree, time = self._tree, answer.times(self.time)
        variance = float(time.var())
        path = _path(tree, self._heaviest)
        if variance <= 0:
            return Nature(path, 0.0, [], None, 0.0, 0.0, 0.0)
        wakers: dict[str, float] = dict(queued)
        for child in (child for x in self._waits for child in tree.children[x]):
            name = tree.paths.name[child]
            wakers[name] = wakers.get(name, 0.0) + answer.of_pair(child, self.time)
        waiting = sum(answer.of_pair(x, self.time) for x in self._waits) / variance
        best = sorted(wakers.items(), key=lambda pair: -pair[1])[:_MOST_WAKERS]
        main = [(name, shared / variance) for name, shared in best if shared / variance >= _LEAST_WAKER]
        mean = float(time.mean())
        return Nature(
            path,
            waiting,
            main,
            _between_types(analysis, time),
            float(time.std()) / mean,
            mean,
            mean / _execution_ns(tree),
        )


def _shared_while_queued(analysis: Analysis, times: list[Int64]) -> list[dict[str, float]]:
    """Of each of these times of the intervals: by function, the covariance with what it took while tasks were
    queued."""
    names = display_names(analysis.trace)
    products, near = np.zeros((len(times), len(names)), np.int64), np.zeros((len(times), len(names)))
    spent, called = np.zeros(len(names), np.int64), np.zeros(len(names), np.bool_)
    for part in analysis.times.parts:
        position, function, ns = while_queued(part).T
        called[function] = True
        np.add.at(spent, function, ns)
        for k, time in enumerate(times):
            np.add.at(products[k], function, ns * time[position])
            np.add.at(near[k], function, ns.astype(np.float64) * time[position])
    found = []
    for time, product, about in zip(times, products, near, strict=True):
        shared = covariances(product, about, spent, np.full(len(names), time.sum()), len(time))
        found.append({names[f]: float(shared[f]) for f in np.flatnonzero(called)})
    return found


def _path(tree: VarianceTree, x: int) -> list[str]:
    names = []
    while x > 0:
        names.append(tree.paths.name[x])
        x = int(tree.paths.parent[x])
    return names[::-1]


def _waits_below(tree: VarianceTree, node: int) -> list[int]:
    """The outermost waits at or below a node."""
    found, work = [], [node]
    while work:
        x = work.pop()
        if tree.paths.pseudo[x] in (*MEANWHILE, L_QUEUE):
            found.append(x)
        else:
            work += tree.children[x]
    return found


def _execution_ns(tree: VarianceTree) -> float:
    """The mean time of an interval in which it neither waits for somebody nor for a CPU."""
    waits = {*_waits_below(tree, 0), *np.flatnonzero(np.isin(tree.paths.pseudo, CPU_WAITS)).tolist()}
    return max(1.0, float(tree.mean_ns[0] - tree.mean_ns[sorted(waits)].sum()))


def _between_types(analysis: Analysis, time: Int64) -> float | None:
    """Var(E[time | type]) / Var(time)."""
    type_ = analysis.trace.intervals.type[rows_of(analysis.trace)]
    kinds, number = np.unique(type_, return_inverse=True)
    if len(kinds) < 2:
        return None
    count = np.bincount(number)
    mean: Float = np.bincount(number, time) / count
    return float((count * (mean - time.mean()) ** 2).sum() / len(time) / time.var())
