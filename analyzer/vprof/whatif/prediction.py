"""What some traces' latencies would be under changes, from files to everything a report shows.

    traces + changes -> graphs -> replays -> Outcome (outcome.py); trace again -> Analysis: factors afterwards

The replay without a change is made on every run, and has to give the recorded latencies to the nanosecond. For
factors the traces are in memory as a whole, some 100 bytes a record; else only what a replay needs (thin.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from vprof.errors import UsageError, VprofError
from vprof.tables.kinds import BLOCKED
from vprof.tables.model import NONE, Bool, Float, Int64, Trace
from vprof.tables.naming import without_place
from vprof.trace.merge import function_numbers, merge
from vprof.trace.sources import Loaded, Source
from vprof.trace.usable import rows_of
from vprof.trace.window import WHOLE
from vprof.variance import statistics
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze_sources, why_refused
from vprof.variance.factors import Factor
from vprof.whatif.changes import Change, Resolved, parse, resolve
from vprof.whatif.model import USUAL, Model
from vprof.whatif.outcome import Latencies, Outcome, outcome
from vprof.whatif.replay import Lengths, Times, check_identity, replay
from vprof.whatif.retimed import retimed
from vprof.whatif.scales import Prepared, lengths, prepare
from vprof.whatif.thin import read_thin

TRIED = ("constant", "0.5")
"""What `rank` tries of each factor."""
RANKED = 10
"""How many factors it tries."""

MOST_WINDOWS = 128
"""Beside an analysis, traces of more windows are not replayed: it would take as long again, and more memory."""
LARGE = "the traces are too large to be replayed by the way"


@dataclass(frozen=True)
class Loads:
    """Some traces of one program, whole or thin (thin.py), and their intervals: `merged` for names and statistics, the
    rows of the analyzed ones; `called`: which of its functions were."""

    traces: list[Trace]
    merged: Trace
    called: Bool
    rows: Int64
    options: AnalysisOptions

    @property
    def now(self) -> Latencies:
        iv = self.merged.intervals
        begin, end = iv.begin[self.rows], iv.end[self.rows]
        return Latencies((begin - begin[0]).astype(np.float64), (end - begin).astype(np.float64))

    @property
    def ids(self) -> list[str]:
        return [self.merged.interval_ids[row] for row in self.rows]


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
    now: Analysis | None = None
    then: Analysis | None = None


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


def load(sources: Sequence[Source], options: AnalysisOptions, names: Iterable[str] | None = None) -> Loads:
    """`names`: of what will be changed, if the traces are not analyzed: then no other calls are kept. Raises VprofError
    as `analyze` does, and where too much was lost."""
    bare = merge([source.bare() for source in sources])
    rows = rows_of(bare)
    iv = bare.intervals
    lost = statistics.lost(iv.end[rows] - iv.begin[rows], bare.excluded_latencies)
    if refused := why_refused(bare, lost, options):
        raise VprofError(refused.replace("no ranking", "no prediction"))
    if names is None:
        traces = [source.conclude(source.trace(WHOLE)) for source in sources]
        merged = merge(traces)
        called = np.bincount(merged.invocations.function, minlength=len(merged.program.functions)) > 0
        return Loads(traces, merged, called, rows, options)
    wanted = {without_place(name) for name in names}
    thin = [read_thin(source, wanted) for source in sources]
    merged = merge([one.trace for one in thin])
    called = np.zeros(len(merged.program.functions), np.bool_)
    for one, number in zip(thin, function_numbers([one.trace.program for one in thin])[1], strict=True):
        called[number[one.called]] = True
    return Loads([one.trace for one in thin], merged, called, rows, options)


class Replays:
    """Some traces, to be replayed under one set of changes after another. Memory: one graph for each trace."""

    def __init__(self, loads: Loads, model: Model = USUAL) -> None:
        self.loads, self.model = loads, model
        iv = loads.merged.intervals
        begin, latency = iv.begin[loads.rows], iv.end[loads.rows] - iv.begin[loads.rows]
        self._blocks = statistics.blocks_of(begin, latency)

    def predict(self, changes: Sequence[Change], factors: bool = True) -> Prediction:
        """With `factors`, the traces, which have to be whole then, are analyzed before and after. Raises UsageError if
        a change makes no sense here."""
        loads = self.loads
        resolved = resolve(changes, loads.merged, loads.called)
        prepared = [prepare(trace, resolved, self.model) for trace in loads.traces]
        self._check(prepared, resolved)
        for one in prepared:
            check_identity(one.built.graph, one.built.arrives)
        times = self._replayed(prepared, lengths(prepared, resolved, self.model))
        then = self._latencies(prepared, times)
        found = Prediction(
            changes=list(changes),
            model=self.model,
            ids=loads.ids,
            latency_ns=loads.now.ns,
            predicted_ns=then.ns,
            outcome=outcome(loads.now, then, self._blocks),
            warnings=_warnings(loads.merged, prepared),
        )
        if not factors:
            return found
        changed = [Loaded(retimed(one, new)) for one, new in zip(prepared, times, strict=True)]
        before = analyze_sources([Loaded(trace) for trace in loads.traces], loads.options)
        return replace(found, now=before, then=analyze_sources(changed, loads.options))

    def _replayed(self, prepared: Sequence[Prepared], to: Sequence[Lengths]) -> list[Times]:
        return [replay(one.built.graph, new) for one, new in zip(prepared, to, strict=True)]

    def _latencies(self, prepared: Sequence[Prepared], times: Sequence[Times]) -> Latencies:
        """In the order of the merged intervals."""
        origins = [one.built.moments.origin for one in prepared]
        shifts = [origin - min(origins) for origin in origins]
        begin = np.concatenate(
            [new.at[one.built.begin] + shift for one, new, shift in zip(prepared, times, shifts, strict=True)]
        )
        ns = np.concatenate(
            [new.at[one.built.end] - new.at[one.built.begin] for one, new in zip(prepared, times, strict=True)]
        )
        ns = np.maximum(ns, 0.0)  # less only where nothing links the two threads
        recorded = np.concatenate([one.trace.intervals.begin for one in prepared])
        order = np.argsort(recorded, kind="stable")[self.loads.rows]
        return Latencies(begin[order], ns[order])

    def _check(self, prepared: Sequence[Prepared], changes: Sequence[Resolved]) -> None:
        """Raises VprofError where the traces cannot tell what a change does to their intervals."""
        for one in prepared:
            graph, iv = one.built.graph, one.trace.intervals
            has_edges = len(graph.waits.end) or len(graph.made)
            if changes and not has_edges and (iv.begin_thread != iv.end_thread).any():
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
    sources = analysis.times.parts.sources
    why_not = f"{LARGE}: vprof whatif --rank replays them" if sum(one.size for one in sources) > MOST_WINDOWS else ""
    if not why_not:
        try:
            return try_all(sources, analysis.options, factors, values)
        except VprofError as error:
            why_not = str(error)
    return [Tried(factor, [], why_not=why_not) for factor in factors for _ in values]


def try_all(
    sources: Sequence[Source],
    options: AnalysisOptions,
    factors: Sequence[Factor],
    values: Sequence[str],
    model: Model = USUAL,
) -> list[Tried]:
    """Each value of each factor, in this order; the traces are read once."""
    names = {name for factor in factors for name in factor.functions}
    replays = Replays(load(sources, options, names), model)
    return [_try(replays, factor, value) for factor in factors for value in values]


def _try(replays: Replays, factor: Factor, value: str) -> Tried:
    changes = [parse(f"{name}={value}") for name in dict.fromkeys(factor.functions)]
    try:
        found = replays.predict(changes, factors=False)
    except UsageError as error:
        return Tried(factor, changes, why_not=str(error))
    return Tried(factor, changes, found.outcome, found.predicted_ns)


def _warnings(merged: Trace, prepared: Sequence[Prepared]) -> list[str]:
    """What the model leaves out that matters here."""
    found = []
    unknown = sum(_unknown_ns(one) for one in prepared)
    iv = merged.intervals
    total = int((iv.end - iv.begin)[~iv.ignore].sum())
    if total and unknown > 0.1 * total:
        found.append(
            f"intervals wait for {100 * unknown / total:.0f} % of their time for what nobody in the trace ended: these "
            "waits keep their lengths"
        )
    return found


def _unknown_ns(one: Prepared) -> int:
    """How long threads were blocked for intervals while nobody is known to have ended it."""
    graph, seg = one.built.graph, one.trace.segments
    length = np.diff(graph.time, prepend=0)
    blocked = np.r_[(seg.state == BLOCKED) & (seg.interval != NONE), False][graph.segment] & (graph.wait == NONE)
    return int(length[blocked].sum())
