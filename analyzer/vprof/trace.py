"""The only reader of binary traces (runtime/TRACE_FORMAT.md): a file in, the papers' tuples out.

    chunks -> clock -> scan of the whole file -> intervals of one plan epoch
    one window of it after the other: calls, waits -> segments, edges -> model.Trace of the intervals that end there

Intervals that cannot be trusted are left out and counted: unfinished, aborted, begun before the file, overlapping a
flip of the plan, under another plan, touching lost records. Everything that was mended is said in `Trace.notes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from vprof import intervals as semantic
from vprof import loss
from vprof.call_sites import CallSites
from vprof.chunks import TraceFile, read_chunks
from vprof.clock import Clock
from vprof.columns import i32, i64
from vprof.edges import handovers, wakeups
from vprof.epochs import choose, holds, measured, read_epochs, spoiled_times
from vprof.errors import TraceError
from vprof.intervals import Labels, Selection
from vprof.invocations import Calls, kept, labels_at_entry, nested_calls
from vprof.lives import Lives
from vprof.model import NONE, Created, Int32, Int64, Intervals, Invocations, Program, Segments, Trace, Wakeups
from vprof.off_cpu import OffCpu, read_off_cpu
from vprof.program import Sites, describe, read_sites
from vprof.records import Records
from vprof.root import choose as choose_calls
from vprof.root import functions_named, label, outermost
from vprof.scan import Progress, scan
from vprof.segments import Waits, cut
from vprof.turns import plan_of, read_spans, slices
from vprof.window import WHOLE, Window, open_frames, read_window, rows_between

_MUCH_UNPLACED = 0.01
WINDOW_RECORDS = 1 << 18
"""Records of a window: what is kept of each is some 200 bytes, until its intervals are analyzed."""


def load_binary(path: Path | str) -> Trace:
    """Reads a binary trace, whole or cut off at any byte.

    Raises TraceError, in one line, when the file is no trace, is empty, or is of a newer version.
    """
    reading = Reading(Path(path), 0)
    return reading.conclude(reading.trace(WHOLE))


def read_nested_calls(path: Path) -> tuple[Sites, list[tuple[int, int]]]:
    """The functions of a trace, and (caller, callee) of the calls that nested directly in it. Raises TraceError."""
    reading = Reading(path, WINDOW_RECORDS)
    places = CallSites(reading.sites.graph)
    for window in reading.windows():
        calls = reading.content(window).calls
        places.of(calls, reading.sites.functions(calls.number))
    return reading.sites, sorted(places.nested)


@dataclass(frozen=True)
class Content:
    """What a window holds before anything is chosen or left out."""

    calls: Calls
    waits: Waits
    off: OffCpu


class Reading:
    """A trace that is read window by window.

    Memory: what is known of each interval, change of label and hand-over of a task; and one window. The windows may be
    read in any order, and again; `conclude` knows of those that were.
    """

    def __init__(
        self, path: Path, window_records: int, root: str | None = None, progress: Progress = lambda part: None
    ) -> None:
        """`window_records`: how many records a window has; 0: all are one window. `root`: each outermost call of this
        function is an interval. Raises TraceError or UsageError."""
        self.file = read_chunks(path)
        with _sound_events(path):
            self._begin(window_records, progress)
            if root is not None:
                self._use(root)

    def _begin(self, window_records: int, progress: Progress) -> None:
        file = self.file
        session = file.of("session")
        self.clock = Clock.of(session[0]["clock"] if session else "unknown", file.of("anchor"))
        anchored = [int(anchor["monotonic_ns"]) for anchor in file.of("anchor")]
        self._recorded_ns = max(anchored, default=0) - min(anchored, default=0)
        self._probe_ns = session[0]["probe_ps"] / 1000 if session and "probe_ps" in session[0] else None
        uids = list(dict.fromkeys(int(event["uid"]) for event in file.events if "uid" in event))
        self._epochs = read_epochs(file, self.clock)
        times = [(epoch.start, epoch.end) for epoch in self._epochs[: len(self._epochs) * (len(self._epochs) > 1)]]
        borders = _borders(file, self.clock, window_records)
        self.scan = scan(file, uids, self.clock, borders, np.array(times, np.int64).reshape(-1, 2), progress)
        self.end = self._end()
        frames = open_frames(self.scan, self.clock, file.of("open"), self.end)
        self._open = frames
        numbers = np.union1d(self.scan.seen, frames[:, 5] >> 32 & 0x3FFFFF)
        self.sites = read_sites(file, numbers)
        self._places = CallSites(self.sites.graph)
        self._select()
        self._lives = self._all_lives()
        self._mended: dict[Window, tuple[int, int, int]] = {}
        """Of the windows that were read: times corrected, ns off the CPU that were left out, and that were not."""

    def _end(self) -> int:
        """The last moment the file knows of, in ns."""
        named = ("anchor", "open", "thread_end", "end")
        told = [self.clock.one(event["ticks"]) for name in named for event in self.file.of(name)]
        return max([int(self.scan.lives.last.max(initial=0)), *told])

    def _select(self) -> None:
        records, epochs = self.scan.records, self._epochs
        instances = semantic.pair(records)
        if self.clock.remark:  # what is known in ns cannot be taken from these times
            instances = replace(instances, created=instances.begin)
        self._labels, foreign = semantic.label(records, instances)
        self._given = handovers(records, instances, self._labels)
        self._not_believed = instances.not_believed
        entered = self.scan.calls_entered if len(epochs) > 1 else np.zeros(1, np.int64)
        self._spans = read_spans(self.file, self.clock)
        self._chosen = choose(epochs, instances, entered, plan_of(self._spans, epochs))
        self._lost = loss.read_lost(self.file, records, self.clock)
        self._visited = loss.visited(self._labels, self.scan.wakers, self._given)
        lost = self._lost.of(self._visited).touch(instances)
        usable = instances.finished & ~lost
        self._slices = slices(self._spans, instances.created[usable], instances.end[usable])
        self.selection = semantic.select(
            instances,
            foreign,
            {
                semantic.FLIP: ~holds(epochs, instances),
                semantic.OTHER_PLAN: ~holds(self._chosen, instances),
                semantic.LOSS: lost,
            },
        )
        self._spoiled = [*loss.spoiled_times(self._lost, self._visited), *spoiled_times(epochs, self._chosen)]
        self._threads = _thread_names(self.file, records)
        self._types = _types(self.file, self.selection)
        self._program = _unranked(self.sites)
        self._index()

    def _index(self) -> None:
        threads = np.arange(len(self.scan.records.uids) + 1)
        self._label_first = i64(np.searchsorted(self._labels.thread, threads))
        self._created_first = i64(np.searchsorted(self._given.created.thread, threads))
        self._by_end = np.argsort(self.selection.intervals.end, kind="stable")
        self._ends = self.selection.intervals.end[self._by_end]

    def _use(self, root: str) -> None:
        """Makes the outermost calls of a function the intervals, and the labels of their threads."""
        calls = np.concatenate([self._calls_of(root, window) for window in self.windows()], axis=1)
        thread, fs, fe = calls[:, np.lexsort((calls[1], calls[0]))]
        chosen = choose_calls(root, i32(thread), fs, fe, self._spoiled, self.open_at)
        others = [time for time in self._spoiled if time[3] != semantic.OTHER_PLAN]
        of_all = choose_calls(root, i32(thread), fs, fe, others, self.open_at).intervals
        self._slices = slices(self._spans, of_all.begin, of_all.end)
        intervals, rows = chosen.intervals, np.arange(len(chosen.ids))
        self.selection = Selection(intervals, rows, chosen.ids, i32(rows), chosen.excluded, chosen.lost_latencies)
        self._types = [""]
        labels, home = self._labels, intervals.begin_thread
        owner, t = np.r_[labels.thread, home, home], np.r_[labels.t, intervals.begin, intervals.end]
        order = np.lexsort((t, owner))
        owner, t = owner[order], t[order]
        new = np.r_[True, (np.diff(t) != 0) | (np.diff(owner) != 0)]
        owner, t = i32(owner[new]), t[new]
        self._labels = Labels(owner, t, i64(label(intervals, owner, t)))
        self._index()

    def _calls_of(self, root: str, window: Window) -> Int64:
        """Columns (thread, begin, end) of the outermost calls of a function that end in the window."""
        calls = self._measured(self.content(window).calls)
        wanted = functions_named(self.sites.graph.names, root)
        rows = outermost(calls.thread, self.sites.functions(calls.number), calls.start, calls.end, wanted)
        rows = rows[window.owns(calls.end[rows])]
        begin = int(calls.start[rows].min(initial=window.since))
        if begin < window.since:  # what is before a call may correct its start
            return self._calls_of(root, replace(window, since=begin))
        return np.stack((calls.thread[rows].astype(np.int64), calls.start[rows], calls.end[rows]))

    def _measured(self, calls: Calls) -> Calls:
        return kept(calls, measured(self._epochs, self._chosen, calls))

    @property
    def size(self) -> int:
        """How many windows there are."""
        return len(self.scan.borders) + 1

    @property
    def open_at(self) -> int | None:
        return self.end if len(self._open) else None

    def windows(self) -> Iterator[Window]:
        """Windows that cover all times, in order; the data of each begins with the earliest interval that ends in
        it."""
        edges = [WHOLE.begin, *self.scan.borders.tolist(), WHOLE.end]
        intervals = self.selection.intervals
        for begin, end in pairwise(edges):
            mine = self.rows(Window(begin, begin, end))
            yield Window(min(begin, int(intervals.begin[mine].min(initial=begin))), begin, end)

    def rows(self, window: Window) -> Int64:
        """The intervals that end in the window."""
        first, last = np.searchsorted(self._ends, [window.begin, window.end])
        return np.sort(self._by_end[first:last])

    def content(self, window: Window) -> Content:
        found = read_window(self.file, self.scan, self.clock, window, self._open)
        self.file.release()
        calls = nested_calls(found.calls, window)
        waits = Waits.of(found.waits, window)
        return Content(calls, waits, read_off_cpu(found.offs, calls, window))

    def trace(self, window: Window) -> Trace:
        """The intervals that end in the window, and all that overlaps them. What is known at the end only, `conclude`
        adds."""
        content = self.content(window)
        waits, off = content.waits, content.off
        self._mended[window] = content.calls.corrected + waits.corrected, off.unplaced_ns, off.placed_ns
        intervals, ids = self._intervals(window)
        lives = self._lives_in(window, waits, off)
        labels = self._labels_in(lives)
        label = self._numbers(labels, window)
        pieces = cut(lives, labels, label, waits, off)
        calls = self._measured(content.calls)
        function = self.sites.functions(calls.number)
        site = self._places.of(calls, function)
        return replace(
            self.outline(),
            interval_ids=ids,
            segments=pieces.segments,
            invocations=_invocations(calls, function, site, labels, label),
            wakeups=wakeups(pieces, waits),
            created=self._created_in(lives),
            intervals=intervals,
        )

    def outline(self) -> Trace:
        """All intervals and names, without what happened."""
        empty, none, small = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int8)
        return Trace(
            threads=self._threads,
            interval_ids=self.selection.ids,
            types=self._types,
            sites=self._places.names,
            program=self._program,
            segments=Segments(none, none, empty, empty, small, small),
            invocations=Invocations(none, none, none, none, empty, empty, none),
            wakeups=Wakeups(none, none, empty, none),
            created=Created(none, empty, none, empty),
            intervals=self.selection.intervals,
            has_sync=bool(self.scan.waits or self._given.adopted.any()),
            excluded=self.selection.excluded,
            excluded_latencies=self.selection.lost_latencies,
            spoiled=self._spoiled,
            open_at=self.open_at,
            takers=np.unique(self._given.created.thread),
            slices=self._slices,
            recorded_ns=self._recorded_ns,
            probe_ns=self._probe_ns,
        )

    def conclude(self, trace: Trace) -> Trace:
        """The trace with all that is known after its windows were read."""
        on, entries = self._chosen[0].on, np.array(sorted(self._places.entries), np.int32)
        program, remarks = describe(self.sites, on, sorted(self._places.nested), entries)
        with _sound_events(self.file.path):
            losses = loss.losses_of(self.file, self.scan.records)
            told = loss.contradictions(self.file, loss.told_lost(self.scan.records))
            totals = loss.totals(self.file, losses)
        return replace(
            trace,
            sites=self._places.names,
            program=program,
            loss=totals,
            losses=losses,
            notes=[*told, *self._notes(), *self.sites.remarks, *remarks],
        )

    def _intervals(self, window: Window) -> tuple[Intervals, list[str]]:
        """Those that end in the window, and their names."""
        selection = self.selection
        if window == WHOLE:
            return selection.intervals, selection.ids
        rows = self.rows(window)
        return Intervals(*(column[rows] for column in vars(selection.intervals).values())), []

    def _numbers(self, labels: Labels, window: Window) -> Int32:
        """What each label is in the tables of the window: the number of an interval, a larger one if it is another's,
        or NONE."""
        selection, instance = self.selection, labels.instance
        if window == WHOLE:
            return i32(np.r_[selection.number, np.int32(NONE)][instance])
        rows = self.rows(window)
        mine = selection.instance[rows]
        order = np.argsort(mine)
        at = np.searchsorted(mine[order], instance)
        number = np.where(np.r_[mine[order], NONE][at] == instance, np.r_[order, NONE][at], len(rows))
        return i32(np.where(instance == NONE, NONE, number))

    def _all_lives(self) -> Lives:
        """From when to when each thread is known to have lived: by its events, its records, and the starts they hold.

        A thread whose end is not recorded lives as long as the file goes on.
        """
        file, clock, threads = self.file, self.clock, self.scan.threads
        lives = self.scan.lives.copy()
        lives.extend(self._open[:, 0], self._open[:, 2], self._open[:, 3])
        for event in file.of("thread"):
            lives.include(threads[event["uid"]], clock.one(event["ticks"]))
        ended = {threads[event["uid"]]: clock.one(event["ticks"]) for event in file.of("thread_end")}
        for thread in lives.known():
            lives.include(thread, ended.get(thread, self.end))
        return lives

    def _lives_in(self, window: Window, waits: Waits, off: OffCpu) -> Lives:
        """The part of the lives that the window's data covers."""
        whole, part = self._lives, Lives.none(len(self._lives.first))
        part.first[:], part.last[:] = window.since, window.end
        part.extend(waits.thread, waits.begin, waits.end)
        part.extend(off.thread, off.start, off.stop)
        return Lives(np.maximum(whole.first, part.first), np.minimum(whole.last, part.last))

    def _labels_in(self, lives: Lives) -> Labels:
        labels = self._labels
        rows = rows_between(self._label_first, i64(labels.t), lives.first, lives.last)
        return Labels(labels.thread[rows], labels.t[rows], labels.instance[rows])

    def _created_in(self, lives: Lives) -> Created:
        created = self._given.created
        rows = rows_between(self._created_first, i64(created.ts2), lives.first, lives.last)
        return Created(created.creator[rows], created.ts[rows], created.thread[rows], created.ts2[rows])

    def _notes(self) -> list[str]:
        file, scanned, given = self.file, self.scan, self._given
        threads = {event["uid"]: event.get("off_cpu") for event in file.of("thread")}
        blind = sum(known == "unknown" for known in threads.values())
        mended, unplaced, placed = (sum(column) for column in zip((0, 0, 0), *self._mended.values(), strict=True))
        corrected = scanned.backwards + mended + given.corrected
        remarks = [
            (file.stopped, file.stopped),
            (not file.stopped and not file.of("end"), "the recording was not finished: the file has no end event"),
            (self.clock.remark, self.clock.remark),
            (corrected, f"times adjusted where clocks of CPUs disagreed: {corrected}"),
            (scanned.unknown, f"records of unknown kinds skipped: {scanned.unknown}"),
            (
                scanned.abandoned,
                f"calls left by longjmp or thread exit, their ends are upper bounds: {scanned.abandoned}",
            ),
            (len(self._open), f"calls still open at the end of the file: {len(self._open)}"),
            (blind, f"when threads were off the CPU is not known of {blind} of {len(threads)}: it counts as execution"),
            (
                unplaced > _MUCH_UNPLACED * placed,
                f"time off the CPU between events too close for it, left out: {unplaced / 1e6:.3g} ms",
            ),
            *(
                (count, f"created_at {wrong}: {count} intervals begin where the program began them")
                for wrong, count in self._not_believed.items()
            ),
            (given.unmatched_dequeues, f"tasks dequeued whose enqueue is not in the file: {given.unmatched_dequeues}"),
        ]
        return [text for applies, text in remarks if applies]


@contextmanager
def _sound_events(path: Path) -> Iterator[None]:
    try:
        yield
    except KeyError as key:
        raise TraceError(f"{path}: an event lacks the key {key}: writer and reader do not fit together") from None
    except OverflowError:
        raise TraceError(f"{path}: an event holds a number out of range: record again") from None


def _borders(file: TraceFile, clock: Clock, window_records: int) -> Int64:
    """Times, in ns, between which about as many records were written as a window is to have."""
    if not window_records or not file.chunks:
        return np.zeros(0, np.int64)
    base, size = np.array([(chunk.base_ticks, len(chunk.words)) for chunk in file.chunks], np.int64).T
    order = np.argsort(base, kind="stable")
    part = np.cumsum(size[order]) // window_records
    return np.unique(clock.to_ns(base[order][np.flatnonzero(np.diff(part)) + 1]))


def _unranked(sites: Sites) -> Program:
    """The program's names, before its calls and heights are known."""
    names = sites.graph.names
    nothing = np.zeros(len(names), np.bool_)
    return Program(names, sites.graph.places, [[]] * len(names), nothing.astype(np.int32), 0, nothing, nothing)


def _invocations(calls: Calls, function: Int32, site: Int32, labels: Labels, label: Int32) -> Invocations:
    """`label`: the interval of each of the labels."""
    return Invocations(
        thread=calls.thread,
        interval=labels_at_entry(calls.thread, calls.start, labels.thread, labels.t, label),
        function=function,
        site=site,
        fs=calls.start,
        fe=calls.end,
        depth=calls.depth,
    )


def _thread_names(file: TraceFile, records: Records) -> list[str]:
    """ "pid/tid name", or "thread N" where the file does not say."""
    known = {event["uid"]: f"{event['pid']}/{event['tid']} {event['name']}" for event in file.of("thread")}
    return [known.get(uid, f"thread {uid}") for uid in records.uids]


def _types(file: TraceFile, selection: Selection) -> list[str]:
    """Labels by number; "" for none and for labels the file does not hold."""
    texts = {int(event["number"]): str(event["text"]) for event in file.of("label")}
    size = max([*texts, int(selection.intervals.type.max(initial=0))], default=0) + 1
    return [texts.get(number, "") for number in range(size)]
