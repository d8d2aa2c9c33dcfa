"""Some traces gone through under changes: in this process, or by workers. The same bits either way.

    several files   each is a task: what is known of a change in it, its replay, its simulation
    one file        what is read of each window is a task; this process replays them as they come, in order
    as wholes       each file is a task, one file, too: it is loaded, replayed and made a trace again where it is needed

Sums of times are whole numbers below 2^53, so they come to the same in any order. What workers learn of a trace by
reading it, this process learns from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, TypeVar

import numpy as np

from vprof.jobs.tasks import Jobs, Progress, Stages, unseen
from vprof.tables.columns import i64
from vprof.tables.model import Bool, Created, Int64, Trace
from vprof.trace.locks import LockSteps
from vprof.trace.reading import Learned
from vprof.trace.sources import Loaded, Source, attach, learn, learned_by
from vprof.trace.window import WHOLE, Window
from vprof.whatif.changes import Resolved
from vprof.whatif.graph import Built
from vprof.whatif.logged import Logged, logged
from vprof.whatif.model import Model
from vprof.whatif.replay import Times
from vprof.whatif.retimed import Clock, retimed
from vprof.whatif.scales import Totals
from vprof.whatif.simulated import Simulated, joined, simulated
from vprof.whatif.stretch import Read, read_of
from vprof.whatif.windows import Looks, Replay, Replayed, look, needs_totals

T = TypeVar("T")
S = TypeVar("S", bound=Source)

Reads = Callable[[Source, Bool], Iterator[tuple[Window, Read]]]
"""Of a source and the functions that may be changed: its windows in order, and what is read of each."""


class Passes:
    """`jobs`: who does it, None: this process."""

    def __init__(self, sources: Sequence[Source], model: Model, jobs: Jobs | None, stages: Stages = unseen) -> None:
        self.sources, self._model, self._jobs, self._stages = sources, model, jobs, stages
        self._shared = jobs.share(list(sources)) if jobs else None

    def called(self) -> list[Bool]:
        """Of each source by function whether it is called; reads all windows."""
        return self._of_files("reading", _called)

    def totals(self, variants: Sequence[Totals], as_wholes: bool = False) -> None:
        """Adds what has to be known of all windows before the first one is replayed."""
        unknown = [one for one in variants if needs_totals(one.changes)]
        if unknown:
            changes = [one.changes for one in unknown]
            for found in self._in_order("measuring", _totals, as_wholes, changes, self._model):
                _add(found, unknown)

    def replayed(self, variants: Sequence[Totals]) -> list[Replayed]:
        """Of each source. Adds what is known then of changes that only multiply."""
        found = self._in_order("replaying", _replay, False, variants, self._model)
        for _, grown in found:
            _add(grown, variants)
        return [run for run, _ in found]

    def replayed_whole(self, one: Totals) -> tuple[list[Replayed], list[Source], list[Source]]:
        """Of each source under one set of changes, and to be analyzed: the trace as it is, and as it becomes."""
        if self._jobs is None:
            loading = self._each("loading", self.sources)
            wholes = [Loaded(source.conclude(source.trace(WHOLE))) for _, source in loading]
            Passes(wholes, self._model, None, self._stages).totals([one])
            here = [_replay_whole(*numbered, one, self._model) for numbered in self._each("replaying", wholes)]
            for run in here:
                _add(run.grown, [one])
            return [run.run for run in here], [*wholes], [Loaded(run.trace) for run in here]
        self.totals([one], as_wholes=True)
        found = self._of_files("replaying", _replay_bare, one, self._model)
        now: list[Source] = []
        then: list[Source] = []
        for number, (source, (_, grown, bare, changed)) in enumerate(zip(self.sources, found, strict=True)):
            now.append(MadeAgain(source.conclude(bare), partial(_whole, source)))
            make = partial(_changed, number, source, one, self._model)
            then.append(MadeAgain(source.conclude(changed), make))
            _add(grown, [one])
        return [run for run, *_ in found], now, then

    def simulated(self, variants: Sequence[Totals], wholes: Sequence[Source]) -> Simulated:
        """`variants`: sets of changes of which all totals are known. `wholes`: the traces, if they are in memory."""
        told = [logged(source.lock_steps()) for source in self.sources]
        if self._jobs is None:
            pairs = self._each("simulating", wholes or self.sources)
            return joined([simulated(n, source.trace(WHOLE), told[n], variants, self._model) for n, source in pairs])
        return joined(self._of_files("simulating", _simulate, told, variants, self._model))

    def _in_order(self, stage: str, task: Callable[..., T], as_wholes: bool, *args: Any) -> list[T]:
        """`task` gets the number of each source, the source, how it is read, and `args`."""
        if self._jobs is not None and (len(self.sources) > 1 or as_wholes):
            return self._of_files(stage, task, _whole_read if as_wholes else _here, *args)
        reads = _counted(_here if self._jobs is None else self._apart, self.sources, self._stages(stage))
        return [task(number, source, reads, *args) for number, source in enumerate(self.sources)]

    def _of_files(self, stage: str, task: Callable[..., T], *args: Any) -> list[T]:
        """`task` gets the number of each source, the source, and `args`."""
        if self._jobs is None:
            return [task(number, source, *args) for number, source in self._each(stage, self.sources)]
        shared = [self._shared, task, self._jobs.share(args)]
        found = self._jobs.each(_of_file, shared, range(len(self.sources)), self._stages(stage))
        learn(self.sources, [learned for _, learned in found])
        return [result for result, _ in found]

    def _each(self, stage: str, sources: Sequence[S]) -> Iterator[tuple[int, S]]:
        """With their numbers. REQUIRES: who takes them is done with each when taking the next."""
        progress = self._stages(stage)
        for number, source in enumerate(sources):
            yield number, source
            progress((number + 1) / len(sources))

    def _apart(self, source: Source, wanted: Bool) -> Iterator[tuple[Window, Read]]:
        """Windows of the only source are read by workers."""
        assert self._jobs is not None
        windows = list(source.windows())
        found = self._jobs.stream(_read_apart, [self._shared, wanted], windows)
        for window, (read, learned) in zip(windows, found, strict=True):
            learn(self.sources, [learned])
            yield window, read


@dataclass(frozen=True)
class MadeAgain:
    """A trace as one window, a `Source`, which each process that needs it makes: what is sent there is what makes it.
    `known`: without what happened."""

    known: Trace
    make: Callable[[], Trace]
    size = 1

    def bare(self) -> Trace:
        return self.known

    def windows(self) -> Iterator[Window]:
        yield WHOLE

    def rows(self, window: Window) -> Int64:
        return np.arange(len(self.known.intervals.begin))

    def trace(self, window: Window) -> Trace:
        return self.make()

    def created(self) -> Created:
        return self.make().created

    def lock_steps(self) -> LockSteps | None:
        return None

    def conclude(self, trace: Trace) -> Trace:
        return trace


def _here(source: Source, wanted: Bool) -> Iterator[tuple[Window, Read]]:
    for window in source.windows():
        yield window, read_of(source.trace(window), window, wanted)


def _counted(reads: Reads, sources: Sequence[Source], progress: Progress) -> Reads:
    """The same, told which part of all their windows is done. REQUIRES: the sources are read one after the other."""
    done, windows = count(1), sum(source.size for source in sources)

    def counted(source: Source, wanted: Bool) -> Iterator[tuple[Window, Read]]:
        for found in reads(source, wanted):
            yield found
            progress(next(done) / windows)

    return counted


def _whole_read(source: Source, wanted: Bool) -> Iterator[tuple[Window, Read]]:
    yield WHOLE, read_of(source.trace(WHOLE), WHOLE, wanted)


def _of_file(
    sources: Sequence[Source], task: Callable[..., T], args: Sequence[Any], number: int
) -> tuple[T, Learned | None]:
    """A task: one of the sources. And what was learned of it."""
    source = sources[number]
    attach([source])
    return task(number, source, *args), learned_by([source])[0]


def _read_apart(sources: Sequence[Source], wanted: Bool, window: Window) -> tuple[Read, Learned | None]:
    """A task: one window of the only source. Of what was mended there, that of this window."""
    attach(sources)
    read = read_of(sources[0].trace(window), window, wanted)
    [learned] = learned_by(sources)
    return read, learned and replace(learned, mended={window: learned.mended[window]})


def _called(number: int, source: Source) -> Bool:
    found = np.zeros(len(source.bare().program.functions), np.bool_)
    for window in source.windows():
        found[source.trace(window).invocations.function] = True
    return found


def _totals(
    number: int, source: Source, reads: Reads, changes: Sequence[Sequence[Resolved]], model: Model
) -> list[Totals | None]:
    found, looks = [Totals(one) for one in changes], Looks(source, changes, model)
    for window, read in reads(source, looks.wanted):
        look(number, looks, found, read, window)
    return [*found]


def _growing(variants: Sequence[Totals]) -> tuple[list[Totals], list[bool]]:
    """Totals to replay with: new ones where they are not known yet, and whether they grow."""
    grows = [not needs_totals(one.changes) for one in variants]
    return [Totals(one.changes) if is_new else one for one, is_new in zip(variants, grows, strict=True)], grows


def _grown(used: Sequence[Totals], grows: Sequence[bool]) -> list[Totals | None]:
    return [one if is_new else None for one, is_new in zip(used, grows, strict=True)]


def _add(found: Sequence[Totals | None], to: Sequence[Totals]) -> None:
    for one, totals in zip(found, to, strict=True):
        if one:
            totals.merge(one)


def _replay(
    number: int, source: Source, reads: Reads, variants: Sequence[Totals], model: Model
) -> tuple[Replayed, list[Totals | None]]:
    used, grows = _growing(variants)
    run = Replay(number, source, used, grows, model)
    for window, read in reads(source, run.wanted):
        run.add(read, window)
    return run.done(), _grown(used, grows)


@dataclass(frozen=True)
class _Whole:
    """A trace as it becomes, and what was found on the way."""

    run: Replayed
    grown: list[Totals | None]
    trace: Trace


def _replay_whole(number: int, source: Source, one: Totals, model: Model) -> _Whole:
    used, grows = _growing([one])
    run, trace = Replay(number, source, used, grows, model), source.trace(WHOLE)
    built, times = run.add(read_of(trace, WHOLE, run.wanted), WHOLE)
    done = run.done()
    return _Whole(done, _grown(used, grows), _afterwards(trace, done, built, times[0]))


def _replay_bare(
    number: int, source: Source, one: Totals, model: Model
) -> tuple[Replayed, list[Totals | None], Trace, Trace]:
    """And the trace as it is and as it becomes, without what happens."""
    found = _replay_whole(number, source, one, model)
    return found.run, found.grown, source.bare(), Loaded(found.trace).bare()


def _whole(source: Source) -> Trace:
    attach([source])
    return source.trace(WHOLE)


def _changed(number: int, source: Source, one: Totals, model: Model) -> Trace:
    attach([source])
    return _replay_whole(number, source, one, model).trace


def _afterwards(trace: Trace, run: Replayed, built: Built, times: Times) -> Trace:
    """What a whole trace would have been under the first set of changes."""
    begin = i64(np.floor(run.begin[0] + 0.5)) + run.origin
    end = i64(np.floor(run.end[0] + 0.5)) + run.origin
    return retimed(trace, Clock(built.moments, times), begin, np.maximum(end, begin))


def _simulate(
    number: int, source: Source, told: Sequence[Logged], variants: Sequence[Totals], model: Model
) -> Simulated:
    return simulated(number, source.trace(WHOLE), told[number], variants, model)
