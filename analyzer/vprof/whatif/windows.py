"""One trace, replayed window by window, under several sets of changes at once.

    traces of windows, in order  ->  [Looks] graph of each  ->  [Replay] new times  ->  begins and ends of all intervals

All edges go forward in time, so a window needs nothing of those after it. Of those before it is known, for each thread,
its last moment; and of all moments of a while (`History`), since a wait may end here that somebody ended before the
border, or a task be taken up that was made there.

Memory: one graph; the moments as far back as intervals go that have not ended; a few numbers by interval and changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vprof.tables.columns import floats, i64
from vprof.tables.kinds import BLOCKED
from vprof.tables.model import NONE, Bool, Float, Int32, Int64, Trace
from vprof.trace.sources import Source
from vprof.trace.window import Window
from vprof.whatif.changes import Resolved
from vprof.whatif.graph import Built, Moments, build
from vprof.whatif.model import Model
from vprof.whatif.replay import Known, Times, check_identity, known, replay
from vprof.whatif.scales import Totals, lengths, numbers_of, prepare
from vprof.whatif.stretch import NEVER, Stretch, made_outside, stretch


class Looks:
    """The graphs of a trace's windows, in order."""

    def __init__(self, source: Source, wanted: Bool) -> None:
        """`wanted`: the functions of the source whose calls may be changed."""
        bare = source.bare()
        self.intervals = bare.intervals
        self.threads = len(bare.threads)
        self.origin: int | None = None
        self._outside = made_outside(source.created(), bare.intervals)
        self._wanted = wanted
        self._since = np.full(self.threads, NEVER)

    def next(self, trace: Trace, window: Window) -> tuple[Stretch, Built]:
        since = self._since
        part = stretch(trace, window, self._wanted, self.intervals, self._outside, since, self.origin)
        built = build(part)
        self.origin = built.moments.origin
        last = built.graph.first[1 : self.threads + 1] - 1
        has = last >= built.graph.first[: self.threads]
        self._since = since.copy()
        self._since[has] = built.graph.time[last[has]] + self.origin
        return part, built


class Clock:
    """When something happens that happened at a time of a thread."""

    def __init__(self, moments: Moments, times: Times) -> None:
        self._moments, self._times = moments, times
        self._thread, self._time = moments.columns()

    def at(self, thread: Int32 | Int64, t: Int64) -> Float:
        """In ns since the origin. Between two moments time passes evenly; before a thread's first one that is known,
        and after its last one, all moves with that."""
        thread = i64(thread)
        last = self._moments.before(thread, t)
        size = len(self._time)
        relative = (t - self._moments.origin).astype(np.float64)
        if not size:
            return relative
        following = np.minimum(last + 1, size - 1)
        follows = self._thread[following] == thread
        since = relative - self._time[last]
        length = (self._time[following] - self._time[last]).astype(np.float64)
        inside = follows & (following > last) & (length > 0)
        rate = np.divide(self._times.at[following] - self._times.after[last], length, out=np.ones(len(t)), where=inside)
        new = np.where(since == 0, self._times.at[last], self._times.after[last] + since * rate)
        earlier = relative + np.where(follows, self._times.at[following] - self._time[following], 0.0)
        return np.where(last == NONE, earlier, new)

    def after(self, thread: Int64) -> Float:
        """When threads go on from their last moments. REQUIRES: they have one."""
        return floats(self._times.after[np.searchsorted(self._thread, thread, "right") - 1])

    def ns(self, thread: Int32 | Int64, t: Int64) -> Int64:
        """In whole ns, as the trace counts them."""
        return i64(np.floor(self.at(thread, t) + 0.5)) + self._moments.origin


class History:
    """The moments of the trace's threads of the last windows, and when they come, by set of changes."""

    def __init__(self, threads: int, count: int) -> None:
        empty = np.zeros(0, np.int64)
        self._threads = threads
        self._moments = Moments.of(threads, empty, empty)
        self._times = [Times(np.zeros(0), np.zeros(0)) for _ in range(count)]

    def clock(self, k: int) -> Clock:
        return Clock(self._moments, self._times[k])

    def add(self, moments: Moments, times: Sequence[Times], horizon: int) -> None:
        """Of a window. What is before the horizon is forgotten, but for each thread's last moment there."""
        old_thread, old_time = self._moments.columns()
        thread, time = moments.columns()
        mine = thread < self._threads
        at_once = old_time + self._moments.origin
        kept = (at_once >= horizon) | (np.r_[at_once[1:], 0] >= horizon) | (np.r_[old_thread[1:], NONE] != old_thread)
        of = np.concatenate([old_thread[kept], thread[mine]])
        t = np.concatenate([at_once[kept], time[mine] + moments.origin])
        self._moments = Moments.of(self._threads, i64(of), i64(t), moments.origin)
        place = self._moments.at(i64(of), i64(t))
        for k, new in enumerate(times):
            columns = []
            for before, after in zip(self._times[k], new, strict=True):
                column = np.empty(len(self._moments.key))
                column[place] = np.concatenate([before[kept], after[mine]])
                columns.append(floats(column))
            self._times[k] = Times(*columns)


class Replay:
    """A trace under several sets of changes: `begin` and `end` of each interval in each, in ns since `origin`."""

    def __init__(
        self, number: int, source: Source, variants: Sequence[Totals], counts: Sequence[bool], model: Model
    ) -> None:
        """`number` of the trace. `variants`: what is known of each set of changes, which has to be complete unless
        these only multiply; `counts`: whether to add to it. `model` of all."""
        bare = source.bare()
        self._number, self._model, self._variants, self._counts = number, model, variants, counts
        self._of_function = [numbers_of(one.changes, bare) for one in variants]
        self._looks = Looks(source, wanted(self._of_function, bare))
        self._horizons = _horizons(source)
        self._history = History(self._looks.threads, len(variants))
        size = (len(variants), len(bare.intervals.begin))
        self.begin, self.end = np.zeros(size), np.zeros(size)
        self.has_edges, self.unknown_ns, self._windows = False, 0, 0

    @property
    def origin(self) -> int:
        return self._looks.origin or 0

    def clock(self, k: int) -> Clock:
        """Of a set of changes, for what the windows that were added hold."""
        return self._history.clock(k)

    def add(self, trace: Trace, window: Window) -> None:
        """The next window."""
        part, built = self._looks.next(trace, window)
        graph = built.graph
        check_identity(graph, built.arrives)
        self.has_edges |= bool(len(graph.waits.end) or len(graph.made))
        self.unknown_ns += _unknown_ns(part, built)
        found = []
        for k, totals in enumerate(self._variants):
            one = prepare(part, built, totals.changes, self._of_function[k], self._model)
            if self._counts[k]:
                totals.add(self._number, one)
            new = lengths(self._number, one, totals, self._model.is_open)
            times = replay(graph, new, self._known(built, k))
            self.begin[k, part.begins], self.end[k, part.ends] = times.at[built.begin], times.at[built.end]
            found.append(times)
        self._history.add(built.moments, found, self._horizons[self._windows])
        self._windows += 1

    def _known(self, built: Built, k: int) -> Known:
        """The moments of the windows before."""
        before, graph, threads = known(built.graph), built.graph, self._looks.threads
        old = graph.first[:threads][graph.known[:threads] > graph.first[:threads]]
        past = np.arange(graph.first[threads + 1], len(graph.time))
        rows = i64(np.concatenate([old, past]))
        if len(rows):
            thread = np.where(graph.thread[rows] > threads, graph.thread[rows] - threads - 1, graph.thread[rows])
            clock = self._history.clock(k)
            before.times.at[rows] = clock.at(thread, graph.time[rows] + built.moments.origin)
            before.times.after[rows] = before.times.at[rows]
            before.times.after[old] = clock.after(thread[: len(old)])
        return before


def wanted(of_function: Sequence[Int64], bare: Trace) -> Bool:
    """The functions that some set of changes changes. `of_function`: of `numbers_of`, by set."""
    found = np.zeros(len(bare.program.functions), np.bool_)
    for numbers in of_function:
        found |= numbers != NONE
    return found


def look(
    number: int, looks: Looks, variants: Sequence[Totals], of_function: Sequence[Int64], trace: Trace, window: Window
) -> None:
    """Adds the next window to what is known of the changes."""
    part, built = looks.next(trace, window)
    for totals, numbers in zip(variants, of_function, strict=True):
        totals.add(number, prepare(part, built, totals.changes, numbers))


def _horizons(source: Source) -> list[int]:
    """By window: since when moments are needed from it on."""
    since = [window.since for window in source.windows()]
    found: list[int] = np.minimum.accumulate(np.array(since, np.int64)[::-1])[::-1].tolist()
    return found


def _unknown_ns(part: Stretch, built: Built) -> int:
    """How long threads were blocked for intervals while nobody is known to have ended it."""
    graph, seg = built.graph, part.segments
    length = np.diff(graph.time, prepend=0)
    blocked = np.r_[(seg.state == BLOCKED) & (seg.interval != NONE), False][graph.segment] & (graph.wait == NONE)
    return int(length[blocked].sum())


def needs_totals(changes: Sequence[Resolved]) -> bool:
    """What a change makes of a call depends on other calls, or on what that takes in other windows."""
    return any(resolved.change.rule != "times" for resolved in changes)
