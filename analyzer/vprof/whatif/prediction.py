"""What some traces' latencies would be under changes, from files to everything a report shows.

    sources -> [passes.py, one window after the other] -> new begins and ends -> Outcome (outcome.py)
    where that says more: traces as a whole -> [simulated.py] -> new begins and ends -> Outcome
    for factors: traces as a whole -> [passes.py] -> new times -> trace again -> Analysis: factors afterwards

The replay without a change is made on every run, and has to give the recorded moments to the nanosecond. The traces are
read once; twice where a change makes calls alike, or takes a time from each (`needs_totals`). For factors and for a
simulation the traces are in memory as a whole, some 100 bytes a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from vprof.errors import UsageError, VprofError
from vprof.jobs.tasks import Jobs, Stages, unseen
from vprof.tables.columns import floats, i64
from vprof.tables.model import Bool, Float, Int64, Trace
from vprof.trace.merge import function_numbers, merge
from vprof.trace.origins import host_of_intervals, in_order, since_first_begin
from vprof.trace.sources import Source
from vprof.trace.usable import rows_of
from vprof.variance import statistics
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze_sources, why_refused
from vprof.variance.factors import Factor
from vprof.whatif.changes import Change, parse, resolve
from vprof.whatif.model import REPLAY, SIMULATION, USUAL, Model
from vprof.whatif.outcome import Latencies, Outcome, as_measured, outcome
from vprof.whatif.passes import Passes
from vprof.whatif.scales import Totals
from vprof.whatif.simulated import Simulated, by_rank, changes_waits, refused
from vprof.whatif.windows import Replayed

TRIED = ("constant", "0.5")
"""What `rank` tries of each factor."""
RANKED = 10
"""How many factors it tries."""

MOST_WINDOWS = 128
"""Beside an analysis, traces of more windows are not replayed: it would take as long again, or twice."""
LARGE = "the traces are too large to be replayed by the way"

_WORSE, _MUCH_WORSE = 1.05, 1.2
"""A change that makes calls alike or shorter is suspect where it makes the variance so many times as large; and not to
blame where that is so many times what it is with requests that arrive when they did."""
DRIFTED = (
    "replayed with clients that wait for answers, threads would run ahead of one another, and then wait for that long: "
    "so requests arrive when they did here (--closed overrules it)"
)


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
        since = since_first_begin(self.known, self.rows)
        return Latencies(since.astype(np.float64), (end - begin).astype(np.float64), self.host)

    @property
    def host(self) -> Int64:
        """Of each interval."""
        return host_of_intervals(self.known)[self.rows]

    @property
    def ids(self) -> list[str]:
        return [self.known.interval_ids[row] for row in self.rows]

    def concluded(self) -> Trace:
        """With all that is known once the windows were read."""
        return merge([source.conclude(source.bare()) for source in self.sources])


@dataclass(frozen=True)
class Found:
    """What became of the intervals that count: `rows` of all that are analyzed. `way`: one of WAYS; where the model
    leaves it open and it is the replay, `why_replay`. Of a simulation: its `nearness`, and how many locks the program
    `told` of (simulated.py). A `doubt`, where it says too little for all that was asked, or could know more, or was
    found in another way than the others."""

    rows: Int64
    predicted_ns: Float
    outcome: Outcome
    way: str = REPLAY
    why_replay: str = ""
    nearness: dict[str, float] | None = None
    doubt: str = ""
    told: int | None = None


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """`ids`, `latency_ns`, `predicted_ns`: of the intervals that count. `now`, `then`: the analyses before and after,
    None if they were not asked for; the latter is of the replay in any case."""

    changes: list[Change]
    model: Model
    found: Found
    ids: list[str]
    latency_ns: Float
    warnings: list[str]
    now: Analysis | None = None
    then: Analysis | None = None

    @property
    def outcome(self) -> Outcome:
        return self.found.outcome

    @property
    def predicted_ns(self) -> Float:
        return self.found.predicted_ns


@dataclass(frozen=True)
class Tried:
    """What was tried for a factor, whose functions are changed together, or why it could not be."""

    factor: Factor
    changes: list[Change]
    found: Found | None = None
    why_not: str = ""

    @property
    def outcome(self) -> Outcome | None:
        return self.found.outcome if self.found else None

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

    def __init__(self, loads: Loads, model: Model = USUAL, jobs: Jobs | None = None, stages: Stages = unseen) -> None:
        """`jobs`: who does it, None: this process."""
        self.loads, self.model, self._jobs, self._stages = loads, model.settled(loads.known.recorded), jobs, stages
        self._may_be_open = model.is_open is None and not self.model.is_open
        self._doubt = ""
        self._passes = Passes(loads.sources, self.model, jobs, stages)

    def predict(self, changes: Sequence[Change], factors: bool = True) -> Prediction:
        """With `factors`, the traces are loaded whole, and analyzed before and after. Raises UsageError if a change
        makes no sense here."""
        found = self._predicted(changes, factors)
        if not self._is_suspect(changes, found.found):
            return found
        opened = self._opened._predicted(changes, factors)
        if not _is_drift(found.outcome, opened.outcome):
            return found
        return replace(opened, found=replace(opened.found, why_replay=found.found.why_replay))

    def _predicted(self, changes: Sequence[Change], factors: bool) -> Prediction:
        loads = self.loads
        now: list[Source] = []
        then: list[Source] = []
        totals = Totals(resolve(changes, loads.known, lambda: self._called))
        if factors:
            runs, now, then = self._passes.replayed_whole(totals)
        else:
            self._passes.totals([totals])
            runs = self._passes.replayed([totals])
        totals.check(loads.concluded())
        if changes:
            self._check(runs)
        found, ids = self._found(runs, [totals], now)[0], loads.ids
        return Prediction(
            changes=list(changes),
            model=self.model,
            found=found,
            ids=[ids[row] for row in found.rows],
            latency_ns=loads.now.ns[found.rows],
            warnings=[*filter(None, [found.doubt]), *_warnings(loads.known, sum(run.unknown_ns for run in runs))],
            now=self._analyzed(now) if factors else None,
            then=self._analyzed(then) if factors else None,
        )

    def _analyzed(self, sources: Sequence[Source]) -> Analysis:
        return analyze_sources(sources, self.loads.options, self._stages("analyzing"), self._jobs)

    def outcomes(self, variants: Sequence[Sequence[Change]]) -> list[Found | str]:
        """Of each set of changes what is found, or why it makes no sense here, or tells little. The traces are read
        two or three times for all; as often again where some are suspect."""
        all_ = self._outcomes(variants)
        suspect = [
            k
            for k, (changes, found) in enumerate(zip(variants, all_, strict=True))
            if isinstance(found, Found) and self._is_suspect(changes, found)
        ]
        if suspect:
            opened = self._opened._outcomes([variants[k] for k in suspect])
            for k, other in zip(suspect, opened, strict=True):
                closed = all_[k]
                assert isinstance(closed, Found) and isinstance(other, Found)
                if _is_drift(closed.outcome, other.outcome):
                    all_[k] = replace(other, why_replay=closed.why_replay)
        return all_

    def _is_suspect(self, changes: Sequence[Change], found: Found) -> bool:
        """Whether latencies vary more with calls that are alike or shorter, in a replay in which clients wait for
        answers, since nobody said that they do not. There threads run ahead of one another until one waits for another:
        a lock that was had for 100 us is waited for as long as one is ahead."""
        if not self._may_be_open or found.way != REPLAY or not changes:
            return False
        variance = found.outcome["variance"].ratio
        return variance is not None and variance > _WORSE and all(one.is_relief for one in changes)

    @cached_property
    def _opened(self) -> Replays:
        """The same, but requests arrive when they did."""
        opened = Replays(self.loads, Model(is_open=True, way=REPLAY), self._jobs, self._stages)
        opened._doubt = DRIFTED
        return opened

    def _outcomes(self, variants: Sequence[Sequence[Change]]) -> list[Found | str]:
        loads = self.loads
        reasons: dict[int, str] = {}
        totals: dict[int, Totals] = {}
        for k, changes in enumerate(variants):
            try:
                totals[k] = Totals(resolve(changes, loads.known, lambda: self._called))
            except UsageError as error:
                reasons[k] = str(error)
        self._passes.totals(list(totals.values()))
        runs = self._passes.replayed(list(totals.values()))
        self._check(runs)
        trace = loads.concluded()
        for k, one in totals.items():
            try:
                one.check(trace)
                reasons |= {k: why} if (why := one.why_little()) else {}
            except UsageError as error:
                reasons[k] = str(error)
        found = dict(zip(totals, self._found(runs, list(totals.values())), strict=True)) if totals else {}
        return [reasons.get(k) or found[k] for k in range(len(variants))]

    @cached_property
    def _called(self) -> Bool:
        """By function of the merged traces; reads all windows."""
        found = np.zeros(len(self.loads.known.program.functions), np.bool_)
        programs = [source.bare().program for source in self.loads.sources]
        numbers = function_numbers(programs)[1] if len(programs) > 1 else [np.arange(len(found))]
        for number, is_called in zip(numbers, self._passes.called(), strict=True):
            found[number[is_called]] = True
        return found

    def _found(
        self, runs: Sequence[Replayed], variants: Sequence[Totals], wholes: Sequence[Source] = ()
    ) -> list[Found]:
        """What becomes of the intervals under each set of changes. `wholes`: the traces as one window each."""
        reasons = [self._why_replay(one) for one in variants]
        those = [k for k, reason in enumerate(reasons) if reason == ""]
        why_not, simulations = self._simulations(runs, [variants[k] for k in those], wholes) if those else ("", [])
        by_simulation = dict(zip(those, simulations, strict=False))
        return [
            by_simulation[k] if k in by_simulation else self._of_replay(runs, k, reason or why_not)
            for k, reason in enumerate(reasons)
        ]

    def _of_replay(self, runs: Sequence[Replayed], k: int, why: str) -> Found:
        now, then = self.loads.now, self._latencies(runs, k)
        figures = outcome(now, then, self._blocks)
        return Found(np.arange(len(self.loads.rows)), then.ns, figures, why_replay=why, doubt=self._doubt)

    @cached_property
    def _blocks(self) -> statistics.Blocks | statistics.NoBlocks | None:
        return _blocks(self.loads.now)

    def _why_replay(self, one: Totals) -> str | None:
        """Why a set of changes is not simulated, None if nobody asks for it, "" if it is. Raises UsageError where it is
        asked for and cannot be."""
        if self.model.way == REPLAY or not one.changes:
            return None
        reason = self._refused or changes_waits(one.changes)
        if reason and self.model.way == SIMULATION:
            raise UsageError(f"--model simulation: {reason}")
        return reason

    @cached_property
    def _refused(self) -> str:
        return refused(self.loads.known, sum(source.size for source in self.loads.sources))

    def _simulations(
        self, runs: Sequence[Replayed], variants: Sequence[Totals], wholes: Sequence[Source]
    ) -> tuple[str, list[Found]]:
        """Of each set of changes; or why the replay says more, and none. Raises VprofError if no interval counts, and a
        simulation was asked for."""
        sim = self._passes.simulated(variants, wholes)
        why_not, unknown = sim.why_not(self._recorded_ns()), sim.unknown(self._recorded_ns())
        if why_not and self.model.way != SIMULATION:
            return "; ".join(filter(None, (why_not, unknown))), []
        if not sim.used[self._order()].any():
            raise VprofError(f"--model simulation: {why_not}")
        said = why_not and f"this says little: {why_not}"
        return "", self._of_simulation(sim, runs, "; ".join(filter(None, (said, unknown))))

    def _of_simulation(self, sim: Simulated, runs: Sequence[Replayed], doubt: str) -> list[Found]:
        order, recorded = self._order(), self._recorded_ns()
        rows = np.flatnonzero(sim.used[order])
        mine = order[rows]
        now = self.loads.now.some(i64(rows))
        since = np.repeat(self._shifts(runs), [len(run.begin[0]) for run in runs])[mine]
        base = Latencies(floats(sim.base_begin[mine] + since), floats(sim.base_ns[mine]), now.host)
        blocks, nearness, found = _blocks(now), sim.nearness(recorded), []
        for begin, ns in zip(sim.begin, sim.ns, strict=True):
            changed = Latencies(floats(begin[mine] + since), floats(ns[mine]), now.host)
            figures = as_measured(outcome(base, changed, blocks), now)
            then = by_rank(changed.ns, base.ns, now.ns)
            found.append(Found(i64(rows), then, figures, SIMULATION, nearness=nearness, doubt=doubt, told=sim.told))
        return found

    def _order(self) -> Int64:
        """The analyzed intervals, in the order of the merged ones, among those of one trace after the other."""
        return i64(in_order([source.bare() for source in self.loads.sources])[self.loads.rows])

    def _shifts(self, runs: Sequence[Replayed]) -> list[int]:
        """How long after the first trace of the same host each begins."""
        host = [source.bare().hosts[0] for source in self.loads.sources]
        first: dict[str, int] = {}
        for name, run in zip(host, runs, strict=True):
            first[name] = min(run.origin, first.get(name, run.origin))
        return [run.origin - first[name] for name, run in zip(host, runs, strict=True)]

    def _recorded_ns(self) -> Float:
        """By interval, of one trace after the other."""
        all_ = [source.bare().intervals for source in self.loads.sources]
        return floats(np.concatenate([iv.end - iv.begin for iv in all_]))

    def _latencies(self, runs: Sequence[Replayed], k: int) -> Latencies:
        """Under a set of changes, in the order of the merged intervals."""
        begin = np.concatenate([run.begin[k] + shift for run, shift in zip(runs, self._shifts(runs), strict=True)])
        ns = np.concatenate([run.end[k] - run.begin[k] for run in runs])
        ns = np.maximum(ns, 0.0)  # less only where nothing links the two threads
        order = self._order()
        return Latencies(floats(begin[order]), floats(ns[order]), self.loads.host)

    def _check(self, runs: Sequence[Replayed]) -> None:
        """Raises VprofError where the traces cannot tell what a change does to their intervals."""
        for run, source in zip(runs, self.loads.sources, strict=True):
            iv = source.bare().intervals
            if not run.has_edges and (iv.begin_thread != iv.end_thread).any():
                raise VprofError(
                    "nothing to replay: intervals end on other threads than they began on, and nothing in the trace "
                    "says what one thread waited for of another (record the program with libvprof, see vprof doctor)"
                )


def rank(
    sources: Sequence[Source],
    options: AnalysisOptions,
    model: Model = USUAL,
    jobs: Jobs | None = None,
    stages: Stages = unseen,
) -> Ranking:
    """Tries some changes of each cause that holds enough of the variance: as `analyze -k 10` prints them."""
    analysis = analyze_sources(sources, replace(options, k=max(options.k, RANKED)), stages("analyzing"), jobs)
    if analysis.no_ranking:
        raise VprofError(analysis.no_ranking)
    tried = try_all(sources, options, [ranked.factor for ranked in analysis.factors], TRIED, model, jobs, stages)
    tried.sort(key=lambda one: -one.gain)
    return Ranking(analysis, tried, model.settled(analysis.trace.recorded))


def gains(
    analysis: Analysis, factors: Sequence[Factor], values: Sequence[str] = TRIED, model: Model = USUAL
) -> list[Tried]:
    """What changes of these factors would do to the analyzed intervals: each value of each. Where it cannot be told,
    why."""
    sources = analysis.times.parts.sources
    why_not = f"{LARGE}: vprof whatif --rank replays them" if sum(one.size for one in sources) > MOST_WINDOWS else ""
    if not why_not:
        try:
            return try_all(sources, analysis.options, factors, values, model, analysis.times.jobs)
        except VprofError as error:
            why_not = str(error)
    return [Tried(factor, [], why_not=why_not) for factor in factors for _ in values]


def try_all(
    sources: Sequence[Source],
    options: AnalysisOptions,
    factors: Sequence[Factor],
    values: Sequence[str],
    model: Model = USUAL,
    jobs: Jobs | None = None,
    stages: Stages = unseen,
) -> list[Tried]:
    """Each value of each factor, in this order; the traces are read twice for all."""
    tried = [(factor, _changes(factor, value)) for factor in factors for value in values]
    found = Replays(load(sources, options), model, jobs, stages).outcomes([changes for _, changes in tried])
    return [
        Tried(factor, changes, why_not=one) if isinstance(one, str) else Tried(factor, changes, one)
        for (factor, changes), one in zip(tried, found, strict=True)
    ]


def _blocks(now: Latencies) -> statistics.Blocks | statistics.NoBlocks | None:
    return statistics.blocks_of(i64(now.begin), i64(now.ns), now.host)


def _changes(factor: Factor, value: str) -> list[Change]:
    return [parse(f"{name}={value}") for name in dict.fromkeys(factor.functions)]


def _is_drift(closed: Outcome, opened: Outcome) -> bool:
    """Whether waiting for answers alone makes that much of the variance."""
    with_clients, without = closed["variance"].ratio, opened["variance"].ratio
    return with_clients is not None and without is not None and with_clients > _MUCH_WORSE * without


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
