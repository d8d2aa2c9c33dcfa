"""What a drill-down found: the confirmation's factors, on fresh data, with everything a reader asks next.

One measurement, its length fixed beforehand, with all probes of the findings' paths on together. The intervals of all
findings hold simultaneously (maximum statistic over the resamples), so that looking at several does not make one of
them look certain by chance (docs/algorithms.md section 6).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from vprof.drill.loop import Drill, Step
from vprof.drill.wakers import unmeasured
from vprof.path.path_tree import display_names
from vprof.path.queued import while_queued
from vprof.tables.kinds import CPU_WAITS, L_BODY, L_BUSY, L_QUEUE, L_UNKNOWN, MEANWHILE, PSEUDO, WAKER
from vprof.tables.model import NONE, Float, Int64
from vprof.trace.usable import rows_of
from vprof.variance import statistics
from vprof.variance.analysis import Analysis
from vprof.variance.cpu_share import cpu_share
from vprof.variance.factors import Factor
from vprof.variance.hints import missing, of_waits, of_wakers
from vprof.variance.probe_cost import ProbeTimes
from vprof.variance.single_times import Answer, Question
from vprof.variance.statistics import ShareIntervals
from vprof.variance.variance_tree import VarianceTree

_MOST_WAKERS = 3
_WAITING = _INHERENT = 0.5
"""From this share of a factor's variance on it is called waiting, or inherent."""
_LEAST_WAKER = 0.05
_UNEXPLAINED = {WAKER, PSEUDO[L_UNKNOWN], PSEUDO[L_BUSY], f"rest({PSEUDO[L_BUSY]})"}
"""What consists of these alone is no finding: it says that something is not known."""
_FEW = 30
"""Fewer intervals than this that hold half of the variance confirm nothing: an idle machine makes up to 13 itself."""
_BUSY = 0.5
"""From this share of the variance on that is waiting for a CPU, others shake what runs, too."""
_STEADY = 0.5
"""Standard deviation of a time by its mean. Work that takes twice as long while a hyperthread beside it is busy has up
to 0.35. Constant work beside other programs had 0.26 to 0.34 in five runs, and more than 0.35 in two; alone in a
virtual machine 0.27 to 0.30."""
_COMMON = 1.25
"""Share of the variance by share of the execution. Whatever slows all execution alike (a busy hyperthread, another
frequency, a busy host) gives each function as much of the variance as it has of the time: constant work had 0.9 to
1.0 of it."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A factor of the confirmation.

    `interval`        simultaneous 95 % interval of its share, or None and `no_interval` says why
    `explored_share`  its share in the last step, of what is left without waits for a CPU
    `few_intervals`   these hold half of the variance
    `confirmed`       a function above the threshold both times, whose interval, if there is one, excludes 0, and that
                      not a few intervals make up
    `path`            the tree's names from below the root to where most of it lies
    `waiting`         the share of its variance that is waiting
    `wakers`          (name, share) of what went on meanwhile in the threads that ended the waits, or took the task up
    `inherent`        the share of its variance that lies between types of intervals; None: there is one type only
    `probes`          the share of its time that probes take; None: not known
    `missing`         what is not known of its time (hints.py); if it is no function, nothing can confirm it
    `is_small`        it holds enough of what is left without waits for a CPU, and too little of all: after many of
                      these also constant work varies, by cold caches and stolen time, so it is shown and not confirmed
    `is_steady`       it executes, and varies by no more than other programs, or the host, make constant work vary,
                      where they may have done it: waits for a CPU, or a few intervals, make up half of the variance, or
                      the factor has no more of the variance than of the execution; it is shown and not confirmed
    `spread`          the standard deviation of its time by the mean
    `explains`        the other factors that pass their variance on to it (variance/chains.py)
    `unfollowed`      "file:line" of its calls through pointers of which no callee is known, if nothing below it is on
    """

    factor: Factor
    interval: tuple[float, float] | None
    no_interval: str
    explored_share: float
    few_intervals: bool
    confirmed: bool
    path: list[str]
    waiting: float
    wakers: list[tuple[str, float]]
    inherent: float | None
    probes: float | None = None
    missing: list[str] = field(default_factory=list)
    is_small: bool = False
    is_steady: bool = False
    spread: float = 0.0
    explains: list[str] = field(default_factory=list)
    unfollowed: list[str] = field(default_factory=list)

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
    found = findings(fresh, chosen + also, last, drill.options.analysis.min_share)
    others = _waited_for(fresh, found)
    explains = {ranked.factor.name: ranked.explains for ranked in fresh.factors}
    return fresh, [_with_explained(fresh, one, explains.get(one.factor.name, [])) for one in found] + others


def _with_explained(fresh: Analysis, finding: Finding, explains: list[str]) -> Finding:
    """A function that waited for nobody known says what would tell more."""
    told = of_waits(fresh) if PSEUDO[L_UNKNOWN] in explains else finding.missing
    return replace(finding, explains=explains, missing=told)


def _waited_for(fresh: Analysis, found: list[Finding]) -> list[Finding]:
    """What threads did that were waited for, if it matters, nothing that they ran was on, and no finding says so."""
    waited = unmeasured(fresh)
    if fresh.no_ranking or waited.share < fresh.least_share or any(finding.missing for finding in found):
        return []
    factor = Factor(
        kind="variance",
        functions=[WAKER],
        sites=[],
        expandable=[],
        instances=[],
        contribution_ns2=waited.share * fresh.tree.total_variance,
        share=waited.share,
        height=0,
        specificity=0,
        score=0.0,
    )
    return [
        Finding(
            factor=factor,
            interval=None,
            no_interval="",
            explored_share=0.0,
            few_intervals=False,
            confirmed=False,
            path=[],
            waiting=0.0,
            wakers=[],
            inherent=None,
            probes=None,
            missing=of_wakers(fresh),
        )
    ]


def findings(fresh: Analysis, factors: list[Factor], last: Step, min_share: float) -> list[Finding]:
    """The factors as findings, in their order; `last`: the step that explored them last."""
    if not factors:
        return []
    intervals: list[tuple[float, float] | None] = [None] * len(factors)
    why, rare = "", 0
    blocks = fresh.blocks
    if isinstance(blocks, statistics.NoBlocks):
        why, rare = blocks.reason, len(blocks.heaviest)
    elif blocks:
        intervals = list(simultaneous(ShareIntervals(fresh.tree, blocks, factors), factors))
    found = []
    few = 0 < rare < _FEW
    probes = ProbeTimes(fresh.tree, fresh.trace.probe_ns) if fresh.trace.probe_ns else None
    shaken = rare > 0 or sum(cpu_share(fresh.tree).values()) >= _BUSY
    for factor, interval, nature in zip(factors, intervals, natures(fresh, factors), strict=True):
        explored = last.shares.get(factor.name, 0.0)
        again = min(explored, factor.share / (fresh.explained or 1.0)) >= min_share
        unexplained = set(factor.functions) <= _UNEXPLAINED
        material = factor.share >= min_share
        common = factor.share / (fresh.explained or 1.0) <= _COMMON * nature.of_execution
        steady = (shaken or common) and nature.waiting < _LEAST_WAKER and nature.spread < _STEADY
        sure = again and material and not few and not unexplained and (interval is None or interval[0] > 0)
        share = probes.share(factor) if probes else None
        found.append(
            Finding(
                factor=factor,
                interval=interval,
                no_interval=why,
                explored_share=explored,
                few_intervals=few,
                confirmed=sure and not steady,
                path=nature.path,
                waiting=nature.waiting,
                wakers=nature.wakers,
                inherent=nature.inherent,
                probes=share,
                missing=missing(fresh) if unexplained else [],
                is_small=again and not material,
                is_steady=sure and steady,
                spread=nature.spread,
                unfollowed=_unfollowed(fresh, factor),
            )
        )
    return found


def _unfollowed(analysis: Analysis, factor: Factor) -> list[str]:
    tree, places = analysis.tree, set[str]()
    for x in {x for pair in factor.instances for x in pair}:
        if any(tree.paths.function[child] != NONE for child in tree.children[x]):
            return []
        frame = int(tree.paths.parent[x]) if tree.paths.pseudo[x] == L_BODY else x
        places.update(analysis.trace.program.unfollowed.get(int(tree.paths.function[frame]), ()))
    return sorted(places)


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
    """The path to a factor, how much of it is waiting and for what, and how much lies between types. `spread`: the
    standard deviation of its time by the mean. `of_execution`: that mean by the mean execution of the intervals."""

    path: list[str]
    waiting: float
    wakers: list[tuple[str, float]]
    inherent: float | None
    spread: float
    of_execution: float


def natures(analysis: Analysis, factors: list[Factor]) -> list[Nature]:
    """The traces are read once more for all of them, twice if tasks were queued."""
    asked = [_AskedFactor(analysis, factor) for factor in factors]
    answers = analysis.times.answer([one.question for one in asked])
    queued = [(one, answer.times(one.time)) for one, answer in zip(asked, answers, strict=True) if one.is_queued]
    shared = iter(_shared_while_queued(analysis, [time for _, time in queued]) if queued else [])
    return [
        one.concluded(analysis, answer, next(shared) if one.is_queued else {})
        for one, answer in zip(asked, answers, strict=True)
    ]


class _AskedFactor:
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
            return Nature(path, 0.0, [], None, 0.0, 0.0)
        wakers: dict[str, float] = dict(queued)
        for child in (child for x in self._waits for child in tree.children[x]):
            name = tree.paths.name[child]
            wakers[name] = wakers.get(name, 0.0) + answer.of_pair(child, self.time)
        waiting = sum(answer.of_pair(x, self.time) for x in self._waits) / variance
        best = sorted(wakers.items(), key=lambda pair: -pair[1])[:_MOST_WAKERS]
        main = [(name, shared / variance) for name, shared in best if shared / variance >= _LEAST_WAKER]
        mean = float(time.mean())
        return Nature(
            path, waiting, main, _between_types(analysis, time), float(time.std()) / mean, mean / _execution_ns(tree)
        )


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
