"""What a drill-down found: the confirmation's factors, on fresh data, with everything a reader asks next.

One measurement, its length fixed beforehand, with all probes of the findings' paths on together. The intervals of all
findings hold simultaneously (maximum statistic over the resamples), so that looking at several does not make one of
them look certain by chance (ALGORITHMS section 6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof import statistics
from vprof.analysis import Analysis
from vprof.drill import Drill, Step
from vprof.factors import Factor
from vprof.model import Int64
from vprof.probe_cost import ProbeTimes
from vprof.queued import while_queued
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
    for factor, interval in zip(factors, intervals, strict=True):
        explored = last.shares.get(factor.name, 0.0)
        again = min(explored, factor.share) >= min_share
        confirmed = again and not few and (interval is None or interval[0] > 0)
        part = probes.part(factor) if probes else None
        found.append(Finding(factor, interval, why, explored, few, confirmed, *_nature(fresh, factor), part))
    return found


def simultaneous(shares: ShareIntervals, factors: list[Factor]) -> list[tuple[float, float]]:
    """Intervals that hold all together in 95 % of the resamples: as wide as the largest standardised deviation."""
    samples = np.array([shares.samples(factor) for factor in factors])
    spread = samples.std(axis=1)
    deviation = np.abs(samples - np.array([[factor.share] for factor in factors]))
    scaled = np.divide(deviation, spread[:, None], out=np.zeros_like(deviation), where=spread[:, None] > 0)
    width = float(np.quantile(scaled.max(axis=0), 0.95)) * spread
    return [(f.share - w, f.share + w) for f, w in zip(factors, width.tolist(), strict=True)]


def _rows(analysis: Analysis) -> Int64:
    rows: Int64 = np.flatnonzero(~analysis.trace.intervals.ignore)
    return rows


def _nature(analysis: Analysis, factor: Factor) -> tuple[list[str], float, list[tuple[str, float]], float | None]:
    """The path to a factor, how much of it is waiting and for what, and how much lies between types."""
    tree = analysis.tree
    nodes = list(dict.fromkeys(x for pair in factor.instances for x in pair))
    heaviest = max(nodes, key=lambda x: abs(tree.share[x]))
    time = np.sum([tree.column.dense(x) for x in nodes], axis=0)
    variance = float(time.var())
    if variance <= 0:
        return _path(tree, heaviest), 0.0, [], None
    waits = [x for node in nodes for x in _waits_below(tree, node)]
    waiting = sum(_shared(tree, x, time) for x in waits) / variance
    wakers: dict[str, float] = {}
    for x in waits:
        for child in tree.children[x]:
            name = tree.paths.name[child]
            wakers[name] = wakers.get(name, 0.0) + _shared(tree, child, time) / variance
    if any(tree.paths.pseudo[x] == L_QUEUE for x in waits):
        for name, ns in while_queued(analysis.trace, _rows(analysis)).items():
            wakers[name] = wakers.get(name, 0.0) + float(np.cov(ns, time, bias=True)[0, 1]) / variance
    best = sorted(wakers.items(), key=lambda pair: -pair[1])[:_MOST_WAKERS]
    main = [(name, part) for name, part in best if part >= _LEAST_WAKER]
    return _path(tree, heaviest), waiting, main, _between_types(analysis, time)


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


def _shared(tree: VarianceTree, x: int, time: Int64) -> float:
    """Cov(x, time)."""
    interval, ns = tree.column[x]
    return float((ns * (time[interval] - time.mean())).sum() / len(time))


def _between_types(analysis: Analysis, time: Int64) -> float | None:
    """Var(E[time | type]) / Var(time)."""
    type_ = analysis.trace.intervals.type[_rows(analysis)]
    kinds, number = np.unique(type_, return_inverse=True)
    if len(kinds) < 2:
        return None
    count = np.bincount(number)
    mean: Float = np.bincount(number, time) / count
    return float((count * (mean - time.mean()) ** 2).sum() / len(time) / time.var())
