"""What a drill-down found: the confirmation's factors, on fresh data, with everything a reader asks next.

One measurement, its length fixed beforehand, with all probes of the findings' paths on together. The intervals of all
findings hold simultaneously (maximum statistic over the resamples), so that looking at several does not make one of
them look certain by chance (docs/algorithms.md section 6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from vprof.drill.host import STEADY, Host
from vprof.drill.length import worth_more
from vprof.drill.loop import Drill, Step
from vprof.drill.moments import FEW, at_least, moments_of, number_of
from vprof.drill.natures import natures
from vprof.drill.wakers import unmeasured
from vprof.tables.kinds import L_ABORTED, L_BODY, L_BUSY, L_UNKNOWN, PSEUDO, WAKER
from vprof.tables.model import NONE
from vprof.variance import statistics
from vprof.variance.analysis import Analysis
from vprof.variance.cpu_share import cpu_share
from vprof.variance.factors import Factor
from vprof.variance.hints import missing, of_waits, of_wakers
from vprof.variance.probe_cost import ProbeTimes
from vprof.variance.statistics import ShareIntervals

_WAITING = _INHERENT = 0.5
"""From this share of a factor's variance on it is called waiting, or inherent."""
_LITTLE = 0.05
"""Below this share of its time a factor does not wait."""
_MEASURED_BELOW = (PSEUDO[L_BUSY], PSEUDO[L_ABORTED])
_UNEXPLAINED = {WAKER, PSEUDO[L_UNKNOWN], *_MEASURED_BELOW, *(f"rest({name})" for name in _MEASURED_BELOW)}
"""What consists of these alone is no finding: it says that something is not known."""
_BUSY = 0.5
"""From this share of the variance on that is waiting for a CPU, others shake what runs, too."""
_COMMON = 1.25
"""Share of the variance by share of the execution. Whatever slows all execution alike (a busy hyperthread, another
frequency, a busy host) gives each function as much of the variance as it has of the time: constant work had 0.9 to
1.0 of it."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A factor of the confirmation.

    `interval`        simultaneous 95 % interval of its share, or None and `no_interval` says why
    `explored_share`  its share in the last step, of what is left without waits for a CPU
    `seen_twice`      above the threshold both times
    `few_intervals`   too few for an interval, or a few moments hold half of the variance
    `moments`         in so many slow moments it is most of the excess, of how many, and the part of all such that it is
                      most of, at least (drill/moments.py); None where it has an interval, or nothing is known of them
    `confirmed`       a function that was seen twice, with an interval that excludes 0, or most of the
                      excess in surely enough of at least 30 slow moments
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
    `host_spread`     that of constant work as long, as measured here (host.py); None: nobody had to ask
    `explains`        the other factors that pass their variance on to it (variance/chains.py)
    `unfollowed`      "file:line" of its calls through pointers of which no callee is known, if nothing below it is on
    """

    factor: Factor
    interval: tuple[float, float] | None
    no_interval: str
    explored_share: float
    seen_twice: bool
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
    host_spread: float | None = None
    explains: list[str] = field(default_factory=list)
    unfollowed: list[str] = field(default_factory=list)
    moments: tuple[int, int, float] | None = None

    @property
    def is_waiting(self) -> bool:
        return self.waiting >= _WAITING

    @property
    def is_inherent(self) -> bool:
        """Types of intervals differ in it: other work takes other time, and there is nothing to mend."""
        return (self.inherent or 0.0) >= _INHERENT and not self.is_waiting


def confirm(drill: Drill) -> tuple[Analysis, list[Finding]]:
    """One longer measurement with the plan of the last step that could be ranked, slices with all probes off between.
    It goes on while the latencies alone say that shares are not sure yet, and that more may help.

    REQUIRES: a step was measured.
    """
    last, seconds = drill.last_ranked, drill.confirmation_seconds()
    made = 0

    def enough(analysis: Analysis) -> bool:
        nonlocal made
        made += 1
        left = drill.parts_left(made, seconds)
        return left <= 0 or not worth_more(analysis, (made + left) / made)

    fresh = drill.measure(last.plan - frozenset(last.dropped), seconds, enough, compared=True)
    chosen = [ranked.factor for ranked in fresh.factors]
    also = [f for f in fresh.ranking if f.name in drill.accepted and f not in chosen]
    found = findings(fresh, chosen + also, last, drill.options.analysis.min_share, cache(drill.host))
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
            seen_twice=False,
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


def findings(
    fresh: Analysis, factors: list[Factor], last: Step, min_share: float, host: Callable[[], Host]
) -> list[Finding]:
    """The factors as findings, in their order; `last`: the step that explored them last. `host` is asked only where it
    decides whether a factor is confirmed."""
    if not factors:
        return []
    intervals: list[tuple[float, float] | None] = [None] * len(factors)
    why, moments = "", number_of(moments_of(fresh))
    blocks = fresh.blocks
    if isinstance(blocks, statistics.NoBlocks):
        why = blocks.reason
        if 0 < moments < len(blocks.heaviest):
            why += f", in {moments} moment{'s' * (moments > 1)}"
    elif blocks:
        intervals = list(simultaneous(ShareIntervals(fresh.tree, blocks, factors), factors))
    found = []
    probes = ProbeTimes(fresh.tree, fresh.trace.probe_ns) if fresh.trace.probe_ns else None
    shaken = moments > 0 or sum(cpu_share(fresh.tree).values()) >= _BUSY
    for factor, interval, nature in zip(factors, intervals, natures(fresh, factors), strict=True):
        explored = last.shares.get(factor.name, 0.0)
        again = min(explored, factor.share / (fresh.explained or 1.0)) >= min_share
        unexplained = set(factor.functions) <= _UNEXPLAINED
        material = factor.share >= min_share
        common = factor.share / (fresh.explained or 1.0) <= _COMMON * nature.of_execution
        doubtful = (shaken or common) and nature.waiting < _LITTLE
        least = at_least(nature.moments, moments, len(factors))
        known = interval[0] > 0 if interval else moments >= FEW and least >= min_share
        sure = again and material and not unexplained and known
        here = host() if sure and doubtful and nature.spread >= STEADY else None
        steady = doubtful and (here.explains(nature.mean_ns, nature.spread) if here else nature.spread < STEADY)
        found.append(
            Finding(
                factor=factor,
                interval=interval,
                no_interval=why,
                explored_share=explored,
                seen_twice=again,
                few_intervals=interval is None and moments < FEW,
                confirmed=sure and not steady,
                path=nature.path,
                waiting=nature.waiting,
                wakers=nature.wakers,
                inherent=nature.inherent,
                probes=probes.share(factor) if probes else None,
                missing=missing(fresh) if unexplained else [],
                is_small=again and not material,
                is_steady=sure and steady,
                spread=nature.spread,
                host_spread=here.spread_of(nature.mean_ns) if here else None,
                unfollowed=_unfollowed(fresh, factor),
                moments=(nature.moments, moments, least) if moments else None,
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
