"""What some traces' latencies would be under changes, from files to everything a report shows.

    sources -> [windows.py, one window after the other] -> new begins and ends -> Outcome (outcome.py)
                                                        -> what the window would have been -> Ranked (afterwards.py)

The replay without a change is made on every run, and has to give the recorded moments to the nanosecond. The traces are
read once; twice where a change makes calls alike, or takes a time from each (`needs_totals`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from vprof.errors import UsageError, VprofError
from vprof.path.parts import Opened, Parts
from vprof.tables.columns import floats, i64
from vprof.tables.model import Bool, Float, Int64, Trace
from vprof.trace.merge import merge
from vprof.trace.sources import Source
from vprof.trace.usable import rows_of
from vprof.variance import statistics
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze_sources, why_refused
from vprof.variance.factors import Factor
from vprof.whatif.afterwards import Leading, Ranked
from vprof.whatif.changes import Change, parse, resolve
from vprof.whatif.model import USUAL, Model
from vprof.whatif.outcome import Latencies, Outcome, outcome
from vprof.whatif.retimed import retimed
from vprof.whatif.scales import Totals, numbers_of
from vprof.whatif.windows import Looks, Replay, look, needs_totals, wanted

TRIED = ("constant", "0.5")
"""What `rank` tries of each factor."""
RANKED = 10
"""How many factors it tries."""


@dataclass(frozen=True)
class Loads:
    """Some traces of one program. `known`: the bare traces merged; `rows`: its intervals that are analyzed."""

    sources: Sequence[Source]
    known: Trace
    rows: Int64
    options: AnalysisOptions

    @property
    def now(self) -> Latencies:
        iv = self.known.intervals
        begin, end = iv.begin[self.rows], iv.end[self.rows]
        return Latencies((begin - begin[0]).astype(np.float64), (end - begin).astype(np.float64))

    @property
    def ids(self) -> list[str]:
        return [self.known.interval_ids[row] for row in self.rows]

    @cached_property
    def called(self) -> Bool:
        """By function of `known`; reads all windows."""
        found = np.zeros(len(self.known.program.functions), np.bool_)
        for opened in self.parts().open():
            functions = opened.trace.invocations.function
            found[functions if opened.functions is None else opened.functions[functions]] = True
        return found

    def parts(self) -> Parts:
        return Parts(self.sources, self.known, self.rows, self.options.view)

    def concluded(self) -> Trace:
        """With all that is known once the windows were read."""
        return merge([source.conclude(source.bare()) for source in self.sources])


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """`factors_now`, `factors_then`: of the analyses before and after, None if they were not asked for."""

    changes: list[Change]
    model: Model
    ids: list[str]
    latency_ns: Float
    predicted_ns: Float
    outcome: Outcome
    warnings: list[str]
    now: Ranked | None = None
    then: Ranked | None = None


@dataclass(frozen=True)
class Tried:
    """What was tried for a factor, whose functions are changed together, or why it could not be. `predicted_ns`: by
    interval."""

    factor: Factor
    changes: list[Change]
    outcome: Outcome | None = None
    predicted_ns: Float | None = None
    why_not: str = ""

    @property
    def gain(self) -> float:
        """The part of the variance that goes away; -inf if it is not known."""
        ratio = self.outcome["variance"].ratio if self.outcome else None
        return -np.inf if ratio is None else 1 - ratio


@dataclass(frozen=True)
class Ranking:
    """What was tried, the largest gain first."""

    analysis: Analysis
    tried: list[Tried] = field(default_factory=list)
    model: Model = USUAL


def load(sources: Sequence[Source], options: AnalysisOptions) -> Loads:
    """Raises VprofError as `analyze` does, and where too much was lost."""
    known = merge([source.bare() for source in sources])
    rows = rows_of(known)
    iv = known.intervals
    lost = statistics.lost(iv.end[rows] - iv.begin[rows], known.excluded_latencies)
    if refused := why_refused(known, lost, options):
        raise VprofError(refused.replace("no ranking", "no prediction"))
    return Loads(sources, known, rows, options)


class Replays:
    """Some traces, to be replayed under changes."""

    def __init__(self, loads: Loads, model: Model = USUAL) -> None:
        self.loads, self.model = loads, model
        iv = loads.known.intervals
        begin, latency = iv.begin[loads.rows], iv.end[loads.rows] - iv.begin[loads.rows]
        self._blocks = statistics.blocks_of(begin, latency)

    def predict(self, changes: Sequence[Change], factors: bool = True) -> Prediction:
        """`factors`: with those that lead now and afterwards. Raises UsageError if a change makes no sense here."""
        loads = self.loads
        totals = Totals(resolve(changes, loads.known, lambda: loads.called))
        runs, ranked = self._replayed([totals], factors)
        trace = loads.concluded()
        totals.check(trace)
        if changes:
            self._check(runs)
        then = self._latencies(runs, 0)
        now, afterwards = (one.conclude(trace) for one in ranked) if ranked else (None, None)
        return Prediction(
            changes=list(changes),
            model=self.model,
            ids=loads.ids,
            latency_ns=loads.now.ns,
            predicted_ns=then.ns,
            outcome=outcome(loads.now, then, self._blocks),
            warnings=_warnings(loads.known, sum(run.unknown_ns for run in runs)),
            now=now,
            then=afterwards,
        )

    def outcomes(self, variants: Sequence[Sequence[Change]]) -> list[tuple[Outcome, Float] | str]:
        """Of each set of changes the outcome, and what the intervals would take; or why it makes no sense here. The
        traces are read once or twice for all."""
        loads = self.loads
        reasons: dict[int, str] = {}
        totals: dict[int, Totals] = {}
        for k, changes in enumerate(variants):
            try:
                totals[k] = Totals(resolve(changes, loads.known, lambda: loads.called))
            except UsageError as error:
                reasons[k] = str(error)
        runs, _ = self._replayed(list(totals.values()), False)
        self._check(runs)
        trace = loads.concluded()
        found: list[tuple[Outcome, Float] | str] = []
        for k in range(len(variants)):
            try:
                if k in totals:
                    totals[k].check(trace)
            except UsageError as error:
                reasons[k] = str(error)
            if k in reasons:
                found.append(reasons[k])
                continue
            then = self._latencies(runs, list(totals).index(k))
            found.append((outcome(loads.now, then, self._blocks), then.ns))
        return found

    def _replayed(self, variants: list[Totals], factors: bool) -> tuple[list[Replay], tuple[Leading, Leading] | None]:
        """All traces under each set of changes. `factors`: with what leads now, and under the first of them."""
        loads = self.loads
        self._add_totals([one for one in variants if needs_totals(one.changes)])
        runs = [
            Replay(number, source, variants, [not needs_totals(one.changes) for one in variants], self.model)
            for number, source in enumerate(loads.sources)
        ]
        parts = loads.parts()
        now, then = (Leading(parts.forest, loads.options, len(loads.rows)) for _ in range(2))
        for opened in parts.open():
            run = runs[opened.number]
            run.add(opened.trace, opened.window)
            if factors and opened.is_analyzed:
                now.add(parts.placed(opened))
                then.add(parts.placed(self._afterwards(opened, run)))
        return runs, (now, then) if factors else None

    def _add_totals(self, variants: list[Totals]) -> None:
        """What has to be known of all windows before the first one is replayed."""
        if not variants:
            return
        bare = [source.bare() for source in self.loads.sources]
        numbers = [[numbers_of(one.changes, trace) for one in variants] for trace in bare]
        looks = [
            Looks(source, wanted(of, trace))
            for source, of, trace in zip(self.loads.sources, numbers, bare, strict=True)
        ]
        for opened in self.loads.parts().open():
            n = opened.number
            look(n, looks[n], variants, numbers[n], opened.trace, opened.window)

    def _afterwards(self, opened: Opened, run: Replay) -> Opened:
        """What the window would have been."""
        rows = self.loads.sources[opened.number].rows(opened.window)
        begin = i64(np.floor(run.begin[0, rows] + 0.5)) + run.origin
        end = i64(np.floor(run.end[0, rows] + 0.5)) + run.origin
        trace, order = retimed(opened.trace, run.clock(0), begin, np.maximum(end, begin))
        return replace(opened, trace=trace, positions=opened.positions[order])

    def _latencies(self, runs: Sequence[Replay], k: int) -> Latencies:
        """Under a set of changes, in the order of the merged intervals."""
        shifts = [run.origin - min(run.origin for run in runs) for run in runs]
        begin = np.concatenate([run.begin[k] + shift for run, shift in zip(runs, shifts, strict=True)])
        ns = np.concatenate([run.end[k] - run.begin[k] for run in runs])
        ns = np.maximum(ns, 0.0)  # less only where nothing links the two threads
        recorded = np.concatenate([source.bare().intervals.begin for source in self.loads.sources])
        order = np.argsort(recorded, kind="stable")[self.loads.rows]
        return Latencies(floats(begin[order]), floats(ns[order]))

    def _check(self, runs: Sequence[Replay]) -> None:
        """Raises VprofError where the traces cannot tell what a change does to their intervals."""
        for run, source in zip(runs, self.loads.sources, strict=True):
            iv = source.bare().intervals
            if not run.has_edges and (iv.begin_thread != iv.end_thread).any():
                raise VprofError(
                    "nothing to replay: intervals end on other threads than they began on, and nothing in the trace "
                    "says what one thread waited for of another (record the program with libvprof, see vprof doctor)"
                )


def rank(sources: Sequence[Source], options: AnalysisOptions, model: Model = USUAL) -> Ranking:
    """Tries some changes of each cause that holds enough of the variance: as `analyze -k 10` prints them."""
    analysis = analyze_sources(sources, replace(options, k=max(options.k, RANKED)))
    if analysis.no_ranking:
        raise VprofError(analysis.no_ranking)
    tried = try_all(sources, options, [ranked.factor for ranked in analysis.factors], TRIED, model)
    tried.sort(key=lambda one: -one.gain)
    return Ranking(analysis, tried, model)


def gains(analysis: Analysis, factors: Sequence[Factor], values: Sequence[str] = TRIED) -> list[Tried]:
    """What changes of these factors would do to the analyzed intervals: each value of each. Where it cannot be told,
    why."""
    try:
        return try_all(analysis.times.parts.sources, analysis.options, factors, values)
    except VprofError as error:
        return [Tried(factor, [], why_not=str(error)) for factor in factors for _ in values]


def try_all(
    sources: Sequence[Source],
    options: AnalysisOptions,
    factors: Sequence[Factor],
    values: Sequence[str],
    model: Model = USUAL,
) -> list[Tried]:
    """Each value of each factor, in this order; the traces are read twice for all."""
    tried = [(factor, _changes(factor, value)) for factor in factors for value in values]
    found = Replays(load(sources, options), model).outcomes([changes for _, changes in tried])
    return [
        Tried(factor, changes, why_not=one) if isinstance(one, str) else Tried(factor, changes, *one)
        for (factor, changes), one in zip(tried, found, strict=True)
    ]


def _changes(factor: Factor, value: str) -> list[Change]:
    return [parse(f"{name}={value}") for name in dict.fromkeys(factor.functions)]


def _warnings(known: Trace, unknown_ns: int) -> list[str]:
    """What the model leaves out that matters here. `unknown_ns`: how long intervals were blocked, ended by nobody."""
    iv = known.intervals
    total = int((iv.end - iv.begin)[~iv.ignore].sum())
    if not total or unknown_ns <= 0.1 * total:
        return []
    return [
        f"intervals wait for {100 * unknown_ns / total:.0f} % of their time for what nobody in the trace ended: these "
        "waits keep their lengths"
    ]
