"""What a drill-down found: the confirmation's factors, on fresh data, with everything a reader asks next.

One measurement, its length fixed beforehand, with all probes of the findings' paths on together. The intervals of all
findings hold simultaneously (maximum statistic over the resamples), so that looking at several does not make one of
them look certain by chance (ALGORITHMS section 6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof import statistics
from vprof.analysis import Analysis, rows_of
from vprof.drill import Drill, Step
from vprof.factors import Factor
from vprof.model import Int64
from vprof.path_tree import display_names
from vprof.probe_cost import ProbeTimes
from vprof.queued import while_queued
from vprof.single_times import Answer, Question
from vprof.stacks import L_BLOCKED, L_QUEUE
from vprof.statistics import ShareIntervals
from vprof.variance_tree import Float, VarianceTree

_MOST_WAKERS = 3
_WAITING = _INHERENT = 0.5
"""From this part of a factor's variance on it is called waiting, or inherent."""
_LEAST_WAKER = 0.05
_FEW = 30
"""Fewer events than this that hold half of the variance confirm nothing: an idle machine makes up to 13 by itself."""


@dataclass(frozen=True)
class Finding:
    """A factor of the confirmation.

    `interval`: simultaneous 95 % interval of its share, or None and `no_interval` says why. `explored_share`: what the
    last step said. `few_events`: these hold half of the variance. `confirmed`: above the threshold both times, the
    interval, if there is one, excludes 0, and it is no few events. `path`: the tree's names from below the root to
    where most of it lies. `waiting`: part of its variance that is waiting, `wakers`: (name, part) of what went on
    meanwhile in the threads that ended the waits, or took the task up. `inherent`: part of its variance that lies
    between types of intervals, None if there is one type only. `probes`: part of its time that probes take, None: not
    known.
    """

    factor: Factor
    interval: tuple[float, float] | None
    no_interval: str
    explored_share: float
    few_events: bool
    confirmed: bool
    path: list[str]
    waiting: float
    wakers: list[tuple[str, float]]
    inherent: float | None
    probes: float | None = None

    @property
    def is_waiting(self) -> bool:
        return self.waiting >= _WAITING

    @property
    def is_inherent(self) -> bool:
        """Types of intervals differ in it: other work takes other time, and there is nothing to mend."""
        return (self.inherent or 0.0) >= _INHERENT and not self.is_waiting


def confirm(drill: Drill) -> tuple[Analysis, list[Finding]]:
    """One longer measurement with the plan of the last step that could be ranked, slices with all probes off between.

    REQUIRES: a step was measured.
    """
    last = drill.last_ranked
    fresh = drill.measure(last.plan - frozenset(last.dropped), drill.confirmation_seconds(), compared=True)
    chosen = [ranked.factor for ranked in fresh.factors]
    also = [f for f in fresh.ranking if f.name in drill.accepted and f not in chosen]
    return fresh, findings(fresh, chosen + also, last, drill.options.analysis.min_share)


def findings(fresh: Analysis, factors: list[Factor], last: Step, min_share: float) -> list[Finding]:
    """The factors as findings, in their order; `last`: the step that explored them last."""
    if not factors:
        return []
    intervals: list[tuple[float, float] | None] = [None] * len(factors)
    why, few = "", False
    blocks = fresh.blocks
    if isinstance(blocks, statistics.NoBlocks):
        why, few = blocks.reason, 0 < len(blocks.events) < _FEW
    elif blocks:
        intervals = list(simultaneous(ShareIntervals(fresh.tree, blocks, factors), factors))
    found = []
    probes = ProbeTimes(fresh.tree, fresh.trace.probe_ns) if fresh.trace.probe_ns else None
    for factor, interval, nature in zip(factors, intervals, natures(fresh, factors), strict=True):
        explored = last.shares.get(factor.name, 0.0)
        again = min(explored, factor.share) >= min_share
        confirmed = again and not few and (interval is None or interval[0] > 0)
        part = probes.part(factor) if probes else None
        found.append(
            Finding(
                factor,
                interval,
                why,
                explored,
                few,
                confirmed,
                nature.path,
                nature.waiting,
                nature.wakers,
                nature.inherent,
                part,
            )
        )
    return found


def simultaneous(shares: ShareIntervals, factors: list[Factor]) -> list[tuple[float, float]]:
    """Intervals that hold all together in 95 % of the resamples: as wide as the largest standardised deviation."""
    samples = np.array([shares.samples(factor) for factor in factors])
    spread = samples.std(axis=1)
    deviation = np.abs(samples - np.array([[factor.share] for factor in factors]))
    scaled = np.divide(deviation, spread[:, None], out=np.zeros_like(deviation), where=spread[:, None] > 0)
    width = float(np.quantile(scaled.max(axis=0), 0.95)) * spread
    return [(f.share - w, f.share + w) for f, w in zip(factors, width.tolist(), strict=True)]


@dataclass(frozen=True)
class Nature:
    """The path to a factor, how much of it is waiting and for what, and how much lies between types."""

    path: list[str]
    waiting: float
    wakers: list[tuple[str, float]]
    inherent: float | None


def natures(analysis: Analysis, factors: list[Factor]) -> list[Nature]:
    """The traces are read once more for all of them, twice if tasks were queued."""
    asked = [_Asked(analysis, factor) for factor in factors]
    answers = analysis.times.answer([one.question for one in asked])
    queued = [(one, answer.times(one.time)) for one, answer in zip(asked, answers, strict=True) if one.is_queued]
    shared = iter(_shared_while_queued(analysis, [time for _, time in queued]) if queued else [])
    return [
        one.concluded(analysis, answer, next(shared) if one.is_queued else {})
        for one, answer in zip(asked, answers, strict=True)
    ]


class _Asked:
    """What is asked of the single times about a factor."""

    def __init__(self, analysis: Analysis, factor: Factor) -> None:
        self._tree = tree = analysis.tree
        nodes = list(dict.fromkeys(x for pair in factor.instances for x in pair))
        self._heaviest = max(nodes, key=lambda x: abs(tree.share[x]))
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
            return Nature(path, 0.0, [], None)
        wakers: dict[str, float] = dict(queued)
        for child in (child for x in self._waits for child in tree.children[x]):
            name = tree.paths.name[child]
            wakers[name] = wakers.get(name, 0.0) + answer.of_pair(child, self.time)
        waiting = sum(answer.of_pair(x, self.time) for x in self._waits) / variance
        best = sorted(wakers.items(), key=lambda pair: -pair[1])[:_MOST_WAKERS]
        main = [(name, shared / variance) for name, shared in best if shared / variance >= _LEAST_WAKER]
        return Nature(path, waiting, main, _between_types(analysis, time))


def _shared_while_queued(analysis: Analysis, times: list[Int64]) -> list[dict[str, float]]:
    """Of each of these times of the intervals: by function, the covariance with what it took while tasks were
    queued."""
    names = display_names(analysis.trace)
    deviations = np.stack([time - time.mean() for time in times])
    products = np.zeros((len(times), len(names)))
    called = np.zeros(len(names), np.bool_)
    for part in analysis.times.parts:
        position, function, ns = while_queued(part).T
        called[function] = True
        for one, deviation in zip(products, deviations, strict=True):
            np.add.at(one, function, ns * deviation[position])
    return [{names[f]: float(one[f]) / deviations.shape[1] for f in np.flatnonzero(called)} for one in products]


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
        if tree.paths.pseudo[x] in (L_BLOCKED, L_QUEUE):
            found.append(x)
        else:
            work += tree.children[x]
    return found


def _between_types(analysis: Analysis, time: Int64) -> float | None:
    """Var(E[time | type]) / Var(time)."""
    type_ = analysis.trace.intervals.type[rows_of(analysis.trace)]
    kinds, number = np.unique(type_, return_inverse=True)
    if len(kinds) < 2:
        return None
    count = np.bincount(number)
    mean: Float = np.bincount(number, time) / count
    return float((count * (mean - time.mean()) ** 2).sum() / len(time) / time.var())
