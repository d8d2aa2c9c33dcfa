"""The only reader of binary traces (runtime/TRACE_FORMAT.md): a file in, the papers' tuples out.

    file -> Outline (outline.py: the whole, read once)
    Outline -> Windows: one after the other, calls, waits -> segments, edges -> model.Trace of the intervals that end
    there

Intervals that cannot be trusted are left out and counted: unfinished, aborted, begun before the file, overlapping a
flip of the plan, under another plan, touching lost records. Everything that was mended is said in `Trace.notes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vprof.jobs.tasks import Jobs, Progress, spans
from vprof.tables.columns import i32, i64
from vprof.tables.lookup import values_of
from vprof.tables.model import (
    NONE,
    Attempts,
    Created,
    Int32,
    Int64,
    Intervals,
    Invocations,
    Program,
    Recorded,
    Trace,
    nothing_happened,
)
from vprof.trace import loss
from vprof.trace.call_sites import CallSites
from vprof.trace.chunks import TraceFile
from vprof.trace.described import Sites, describe
from vprof.trace.edges import wakeups
from vprof.trace.epochs import measured
from vprof.trace.holds import Holds
from vprof.trace.intervals import Labels
from vprof.trace.invocations import Calls, kept, labels_at_entry, nested_calls
from vprof.trace.lives import Lives
from vprof.trace.objects import Names, holds_of, objects_of
from vprof.trace.off_cpu import OffCpu, read_off_cpu
from vprof.trace.origins import host_of, processes
from vprof.trace.outline import WINDOW_RECORDS, Outline, Scanned
from vprof.trace.records import Records
from vprof.trace.remarks import Mended, remarks
from vprof.trace.root import functions_named, outermost
from vprof.trace.segments import BlockedWaits, cut
from vprof.trace.wait_stacks import WaitStacks
from vprof.trace.window import WHOLE, Window, read_window, rows_between

if TYPE_CHECKING:
    from vprof.trace.locks import LockSteps


def load_binary(path: Path | str) -> Trace:
    """Reads a binary trace, whole or cut off at any byte.

    Raises TraceError, in one line, when the file is no trace, is empty, or is of a newer version.
    """
    windows = open_windows(Path(path), 0)
    return windows.conclude(windows.trace(WHOLE))


def read_nested_calls(path: Path) -> tuple[Sites, list[tuple[int, int]]]:
    """The functions of a trace, and (caller, callee) of the calls that nested directly in it. Raises TraceError."""
    windows = open_windows(path, WINDOW_RECORDS)
    sites = windows.known.scanned.sites
    call_sites = CallSites(sites.graph, sites.returns)
    for window in windows.windows():
        calls = windows.content(window).calls
        call_sites.of(calls, sites.functions(calls.number))
    return sites, sorted(call_sites.nested)


def open_windows(
    path: Path,
    window_records: int,
    root: str | None = None,
    progress: Progress = lambda done: None,
    jobs: Jobs | None = None,
) -> Windows:
    """`window_records`: how many records a window has; 0: all are one window. `root`: each outermost call of this
    function is an interval. Raises TraceError or UsageError."""
    windows = Windows(Outline.of(Scanned.of(path, window_records, progress, jobs)))
    return windows if root is None else Windows(windows.known.with_calls(root, windows.calls_of(root, jobs)))


@dataclass(frozen=True)
class Content:
    """What a window holds before anything is chosen or left out. `holds`: columns H_*."""

    calls: Calls
    waits: BlockedWaits
    holds: Int64
    off: OffCpu
    stacks: Int64


@dataclass(frozen=True)
class Learned:
    """What windows of a trace told of the whole: names of call sites, (caller, callee) of nested calls, functions that
    nobody called, what was mended."""

    call_sites: list[str]
    nested: set[tuple[int, int]]
    entries: set[int]
    mended: dict[Window, Mended]


class Windows:
    """A trace, of which the outline is `known`, as windows of time: a `Source` (sources.py).

    Memory: the outline, and one window. The windows may be read in any order, and again; `conclude` knows of those that
    were, in this process or, by `learn`, in another: what is sent there is the outline.
    """

    def __init__(self, known: Outline) -> None:
        self.known = known
        scanned, intervals = known.scanned, known.selection.intervals
        threads = np.arange(len(scanned.scan.records.uids) + 1)
        self._label_first = i64(np.searchsorted(known.labels.thread, threads))
        self._created_first = i64(np.searchsorted(known.given.created.thread, threads))
        self._by_end = np.argsort(intervals.end, kind="stable")
        self._ends = intervals.end[self._by_end]
        self._call_sites = CallSites(scanned.sites.graph, scanned.sites.returns)
        self._stacks = WaitStacks(scanned.file, scanned.clock)
        self._mended: dict[Window, Mended] = {}
        self._names = Names(scanned.file)
        bare = _bare(known, self._call_sites.names)
        self._bare = replace(bare, wait_stacks=self._stacks.stacks, object_names=self._names.texts)

    def __reduce__(self) -> tuple[type[Windows], tuple[Outline]]:
        return Windows, (self.known.without_records(),)

    def attach(self) -> None:
        """Makes windows readable in a process that was sent this. Raises TraceError if the file is not there."""
        self.known.scanned.file.attach()

    @property
    def learned(self) -> Learned:
        """What the windows that were read told of the whole."""
        return Learned(self._call_sites.names, self._call_sites.nested, self._call_sites.entries, self._mended)

    def learn(self, learned: Learned) -> None:
        self._call_sites.learn(learned.call_sites, learned.nested, learned.entries)
        self._mended.update(learned.mended)

    @property
    def size(self) -> int:
        """How many windows there are."""
        return len(self.known.scanned.scan.borders) + 1

    def windows(self) -> Iterator[Window]:
        """Windows that cover all times, in order; the data of each begins with the earliest interval that ends in
        it."""
        edges = [WHOLE.begin, *self.known.scanned.scan.borders.tolist(), WHOLE.end]
        intervals = self.known.selection.intervals
        for begin, end in pairwise(edges):
            mine = self.rows(Window(begin, begin, end))
            yield Window(min(begin, int(intervals.begin[mine].min(initial=begin))), begin, end)

    def rows(self, window: Window) -> Int64:
        """The intervals that end in the window."""
        first, last = np.searchsorted(self._ends, [window.begin, window.end])
        return np.sort(self._by_end[first:last])

    def content(self, window: Window) -> Content:
        scanned = self.known.scanned
        found = read_window(scanned.file, scanned.scan, scanned.clock, window, scanned.open_frames)
        scanned.file.release()
        calls = nested_calls(found.calls, window)
        waits = BlockedWaits.of(found.waits, window)
        return Content(calls, waits, found.holds, read_off_cpu(found.offs, calls, window), found.stacks)

    def calls_of(self, root: str, jobs: Jobs | None = None) -> Int64:
        """Columns (thread, begin, end) of the outermost calls of a function. Raises UsageError when there is none of
        that name."""
        if jobs is None:
            return np.concatenate([self._calls_in(root, window) for window in self.windows()], axis=1)
        return np.concatenate(jobs.each(_calls_in, [jobs.share(self), root], spans(self.size, jobs.parts)), axis=1)

    def _calls_in(self, root: str, window: Window) -> Int64:
        """Those that end in the window."""
        sites = self.known.scanned.sites
        calls = self._measured(self.content(window).calls)
        wanted = functions_named(sites.graph.names, root)
        rows = outermost(calls.thread, sites.functions(calls.number), calls.start, calls.end, wanted)
        rows = rows[window.owns(calls.end[rows])]
        begin = int(calls.start[rows].min(initial=window.since))
        if begin < window.since:  # what is before a call may correct its start
            return self._calls_in(root, replace(window, since=begin))
        return np.stack((calls.thread[rows].astype(np.int64), calls.start[rows], calls.end[rows]))

    def _measured(self, calls: Calls) -> Calls:
        return kept(calls, measured(self.known.scanned.epochs, self.known.on, calls))

    def trace(self, window: Window) -> Trace:
        """The intervals that end in the window, and all that overlaps them. What is known at the end only, `conclude`
        adds."""
        content = self.content(window)
        waits, off = content.waits, content.off
        self._mended[window] = Mended(content.calls.corrected + waits.corrected, off.unplaced_ns, off.placed_ns)
        intervals, ids = self._intervals(window)
        lives = self._lives_in(window, waits, off)
        labels = self._labels_in(lives)
        label = self._numbers(labels, window)
        objects = objects_of(waits, content.holds, self._names)
        pieces = cut(lives, labels, label, waits, objects.of_wait, off)
        calls = self._measured(content.calls)
        function = self.known.scanned.sites.functions(calls.number)
        site = self._call_sites.of(calls, function)
        return replace(
            self._bare,
            interval_ids=ids,
            segments=pieces.segments,
            invocations=_invocations(calls, function, site, labels, label),
            wakeups=wakeups(pieces, waits, Holds.of(content.holds), window.end),
            created=self._created_in(lives),
            wait_samples=self._stacks.samples(content.stacks, window, labels, label, waits, objects.of_wait),
            objects=objects.objects,
            holds=holds_of(content.holds, waits, objects, window, self.known.scanned.scan.spanning),
            intervals=intervals,
            attempts=self._attempts(window),
        )

    def bare(self) -> Trace:
        """All intervals and names, without what happened."""
        return self._bare

    def created(self) -> Created:
        """All tasks that were handed over."""
        return self.known.given.created

    def lock_steps(self) -> LockSteps | None:
        """All steps of logical locks, None if none were recorded."""
        from vprof.trace.locks import steps_of  # a reading of its own, which few reports need

        return steps_of(self.known)

    def conclude(self, trace: Trace) -> Trace:
        """The trace with all that is known after its windows were read."""
        scanned, call_sites = self.known.scanned, self._call_sites
        entries = np.array(sorted(call_sites.entries), np.int32)
        program, doubts = describe(scanned.sites, self.known.on, sorted(call_sites.nested), entries)
        losses = loss.losses_of(scanned.file, scanned.scan.records)
        told = loss.contradictions(scanned.file, loss.told_lost(scanned.scan.records))
        mended = remarks(self.known, self._mended.values(), trace.threads)
        return replace(
            trace,
            call_sites=call_sites.names,
            program=program,
            loss=loss.totals(scanned.file, losses),
            losses=losses,
            notes=[*told, *mended, *scanned.sites.remarks, *doubts],
        )

    def _intervals(self, window: Window) -> tuple[Intervals, Sequence[str]]:
        """Those that end in the window, and their names."""
        selection = self.known.selection
        if window == WHOLE:
            return selection.intervals, selection.ids
        rows = self.rows(window)
        return Intervals(*(column[rows] for column in vars(selection.intervals).values())), []

    def _attempts(self, window: Window) -> Attempts:
        """Those of the intervals that end in the window."""
        attempts = self.known.attempts
        if window == WHOLE or not len(attempts.interval):
            return attempts
        rows = self.rows(window)
        mine = np.isin(attempts.interval, rows)
        part = Attempts(**{name: column[mine] for name, column in vars(attempts).items()})
        return replace(part, interval=i32(np.searchsorted(rows, part.interval)))

    def _numbers(self, labels: Labels, window: Window) -> Int32:
        """What each label is in the tables of the window: the number of an interval, a larger one if it is another's,
        or NONE."""
        selection, instance = self.known.selection, labels.instance
        if window == WHOLE:
            return i32(np.r_[selection.number, np.int32(NONE)][instance])
        rows = self.rows(window)
        mine = selection.instance[rows]
        order = np.argsort(mine)
        at = np.searchsorted(mine[order], instance)
        number = np.where(np.r_[mine[order], NONE][at] == instance, np.r_[order, NONE][at], len(rows))
        return i32(np.where(instance == NONE, NONE, number))

    def _lives_in(self, window: Window, waits: BlockedWaits, off: OffCpu) -> Lives:
        """The part of the lives that the window's data covers."""
        whole = self.known.lives
        part = Lives.none(len(whole.first))
        part.first[:], part.last[:] = window.since, window.end
        part.extend(waits.thread, waits.begin, waits.end)
        part.extend(off.thread, off.start, off.stop)
        return Lives(np.maximum(whole.first, part.first), np.minimum(whole.last, part.last))

    def _labels_in(self, lives: Lives) -> Labels:
        labels = self.known.labels
        rows = rows_between(self._label_first, i64(labels.t), lives.first, lives.last)
        return Labels(labels.thread[rows], labels.t[rows], labels.instance[rows])

    def _created_in(self, lives: Lives) -> Created:
        created = self.known.given.created
        rows = rows_between(self._created_first, i64(created.ts2), lives.first, lives.last)
        return Created(created.creator[rows], created.ts[rows], created.thread[rows], created.ts2[rows])


def _calls_in(windows: Windows, root: str, span: tuple[int, int]) -> Int64:
    windows.attach()
    return np.concatenate([windows._calls_in(root, window) for window in islice(windows.windows(), *span)], axis=1)


def _bare(known: Outline, call_sites: list[str]) -> Trace:
    """All intervals and names, without what happened. `call_sites` grow."""
    scanned, selection = known.scanned, known.selection
    file = scanned.file
    threads = _thread_names(file, scanned.scan.records)
    anchored = [int(anchor["monotonic_ns"]) for anchor in file.of("anchor")]
    session = file.of("session")[:1]
    found, process_of = processes(file, scanned.scan.records.uids)
    return Trace(
        threads=threads,
        interval_ids=selection.ids,
        types=known.types,
        call_sites=call_sites,
        program=_unranked(scanned.sites),
        intervals=selection.intervals,
        has_sync=bool(scanned.scan.waits or known.given.adopted.any()),
        excluded=selection.excluded,
        excluded_latencies=selection.lost_latencies,
        attempts=known.attempts,
        aborted=known.aborted,
        spoiled=known.spoiled,
        open_at=scanned.open_at,
        takers=values_of(known.given.created.thread),
        slices=known.slices,
        strayed=[threads[thread] for thread in known.strayed()[0]],
        uninterposed=_uninterposed(file),
        recorded_ns=max(anchored, default=0) - min(anchored, default=0),
        probe_ns=next((event["probe_ps"] / 1000 for event in session if "probe_ps" in event), None),
        built_from=[event["built_from"] for event in session if "built_from" in event],
        recorded=[
            replace(
                _recorded(event, file.of("anchor")[:1], file.of("module")), before_bodies=scanned.sites.before_bodies
            )
            for event in session
        ],
        hosts=[host_of(file)],
        processes=found,
        process_of=process_of,
        root=known.root,
        **nothing_happened(),
    )


def _recorded(session: dict[str, Any], anchors: list[dict[str, Any]], modules: list[dict[str, Any]]) -> Recorded:
    """`anchors`: the first, if there is one. Of libvprof, which is a module itself, nobody asks what compiled it."""
    said = {key: session[key] for key in ("host", "cpu", "cpus", "kernel", "load", "offered_rate") if key in session}
    modules = [module for module in modules if not module["path"].endswith("/libvprof.so")]
    compilers = [text for module in modules for text in module.get("compilers", [])]
    return Recorded(
        command=" ".join(session.get("command", [])),
        begun_ns=next((anchor["realtime_ns"] for anchor in anchors if "realtime_ns" in anchor), None),
        vprof=session.get("collector_version", ""),
        modules=tuple(dict.fromkeys(module["path"] for module in modules)),
        compilers=tuple(dict.fromkeys(compilers)),
        **said,
    )


def _unranked(sites: Sites) -> Program:
    """The program's names, before its calls and heights are known."""
    names = sites.graph.names
    nothing = np.zeros(len(names), np.bool_)
    return Program(
        functions=names,
        definitions=sites.graph.definitions,
        calls=[[]] * len(names),
        height=nothing.astype(np.int32),
        root_height=0,
        on=nothing,
        complete=nothing,
    )


def _invocations(calls: Calls, function: Int32, site: Int32, labels: Labels, label: Int32) -> Invocations:
    """`label`: the interval of each of the labels."""
    return Invocations(
        thread=calls.thread,
        interval=labels_at_entry(calls.thread, calls.start, labels.thread, labels.t, label),
        function=function,
        call_site=site,
        fs=calls.start,
        fe=calls.end,
        depth=calls.depth,
    )


def _thread_names(file: TraceFile, records: Records) -> list[str]:
    """ "pid/tid name", a fiber's with its number, or "thread N" where the file does not say."""
    known = {
        event["uid"]: f"{event['pid']}/{event['tid']} {event['name']}"
        + (f" fiber {event['uid']}" if event.get("fiber") else "")
        for event in file.of("thread")
    }
    return [known.get(uid, f"thread {uid}") for uid in records.uids]


def _uninterposed(file: TraceFile) -> list[tuple[int, str]]:
    """Processes that libvprof could not see waiting, each by its first thread that the file names."""
    found: dict[int, str] = {}
    for event in file.of("thread"):
        if event.get("interposed") is False and (event["pid"] not in found or event["pid"] == event["tid"]):
            found[event["pid"]] = str(event["name"])
    return list(found.items())
