"""What is known of a binary trace before any window of it is read alone.

    file -> chunks -> clock, plan epochs -> one pass over all records (scan.py)              = Scanned
    Scanned -> instances, labels, hand-overs, losses -> the intervals to analyze, and why not the others  = Outline

Nothing here changes once it is made: `Outline.with_calls` is another outline of the same records. Memory: what is known
of each interval, change of label and hand-over of a task.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vprof.jobs.tasks import Jobs, Progress
from vprof.tables.columns import i32, i64
from vprof.tables.lookup import values_of
from vprof.tables.model import Aborted, Attempts, Bool, Int64, Slice
from vprof.trace import intervals as semantic
from vprof.trace import loss
from vprof.trace.chunks import TraceFile, read_chunks
from vprof.trace.clock import Clock
from vprof.trace.described import Sites, read_sites
from vprof.trace.edges import Handovers, handovers
from vprof.trace.epochs import Epoch, choose, holds, read_epochs, sites_on, spoiled_times
from vprof.trace.intervals import Instances, Labels, Selection
from vprof.trace.lives import Lives
from vprof.trace.marks import GIVEN_UP
from vprof.trace.retries import join, retry_of
from vprof.trace.root import choose as choose_calls
from vprof.trace.root import label
from vprof.trace.scan import DamagedError, Scan
from vprof.trace.scanning import scan
from vprof.trace.turns import Span, plan_of, read_spans, slices
from vprof.trace.window import open_frames

WINDOW_RECORDS = 1 << 18
"""Records of a window: what is kept of each is some 200 bytes, until its intervals are analyzed."""

_OF_THREADS = ("thread", "thread_end", "stray", "open", "loss")


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """What the file says, and one pass over its records. `end`: the last moment it knows of, in ns. `open_frames`: the
    calls that were open then, rows X_* of decode.py."""

    file: TraceFile
    clock: Clock
    epochs: list[Epoch]
    scan: Scan
    end: int
    open_frames: Int64
    sites: Sites

    @classmethod
    def of(cls, path: Path, window_records: int, progress: Progress, jobs: Jobs | None = None) -> Scanned:
        """`window_records`: how many records a window has; 0: all are one window. Raises TraceError."""
        if jobs:
            try:
                return cls._of(read_chunks(path, records=False), window_records, progress, jobs)
            except DamagedError:
                pass  # what comes before the damage is read as if there was no more
        return cls._of(read_chunks(path), window_records, progress, jobs)

    @classmethod
    def _of(cls, file: TraceFile, window_records: int, progress: Progress, jobs: Jobs | None) -> Scanned:
        session = file.of("session")
        clock = Clock.of(session[0]["clock"] if session else "unknown", file.of("anchor"))
        uids = list(dict.fromkeys(event["uid"] for event in file.events if event["event"] in _OF_THREADS))
        epochs = read_epochs(file, clock)
        times = [(epoch.start, epoch.end) for epoch in epochs] if len(epochs) > 1 else []
        borders = _borders(file, clock, window_records)
        scanned = scan(file, uids, clock, borders, np.array(times, np.int64).reshape(-1, 2), progress, jobs)
        end = _end(file, clock, scanned)
        frames = open_frames(scanned, clock, file.of("open"), end)
        numbers = values_of(np.concatenate([scanned.seen, frames[:, 5] >> 32 & 0x3FFFFF]))
        sites = read_sites(file, numbers)
        return cls(file=file, clock=clock, epochs=epochs, scan=scanned, end=end, open_frames=frames, sites=sites)

    @property
    def open_at(self) -> int | None:
        """When the file ended, if calls were open then."""
        return self.end if len(self.open_frames) else None


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The intervals that are analyzed, and what is known of all threads.

    `attempts`: the aborted ones of intervals that were tried again. `aborted`: what was and is left out for that.
    `labels`, `given`: who worked for what, and who made whose tasks. `chosen`: the epochs of the plan that is analyzed,
    `on`: its sites. `visited`: threads that critical paths may visit. `spans`: the slices with probes on and off in
    turn; `slices`: with their latencies. `spoiled`: as `Trace.spoiled`. `not_believed`: as `Instances.not_believed`.
    `types`: names by number. `root`: the function whose calls the intervals are, or "".
    """

    scanned: Scanned
    selection: Selection
    attempts: Attempts
    aborted: Aborted
    labels: Labels
    given: Handovers
    chosen: list[Epoch]
    on: Int64
    visited: Bool
    lives: Lives
    spans: list[Span]
    slices: list[Slice]
    spoiled: list[tuple[int, int, int, str]]
    not_believed: dict[str, int]
    types: list[str]
    root: str = ""

    @classmethod
    def of(cls, scanned: Scanned) -> Outline:
        """The outline whose intervals are those that the program annotated."""
        file, clock, records, epochs = scanned.file, scanned.clock, scanned.scan.records, scanned.epochs
        texts = _labels(file)
        instances = instances_of(scanned)
        labels, foreign = semantic.label(records, instances)
        retry = retry_of(file.of("mark"))
        joined = join(instances, retry)
        labels = labels.renumbered(np.r_[joined.number, len(joined.instances.id) + np.arange(len(foreign))])
        given = handovers(records, instances, labels)
        instances = joined.instances
        entered = scanned.scan.calls_entered if len(epochs) > 1 else np.zeros(1, np.int64)
        spans = read_spans(file, clock)
        chosen = choose(epochs, instances, entered, plan_of(spans, epochs))
        lost = loss.read_lost(file, records, clock)
        visited = loss.visited(labels, scanned.scan.wakers, given)
        touched = lost.of(visited).touch(instances)
        selection = semantic.select(instances, foreign, _reasons(epochs, chosen, instances, touched))
        return cls(
            scanned=scanned,
            selection=selection,
            attempts=joined.attempts(selection.number, len(selection.instance)),
            aborted=instances.what_aborted(retry is not None),
            labels=labels,
            given=given,
            chosen=chosen,
            on=sites_on(file, chosen[0]),
            visited=visited,
            lives=_lives(scanned),
            spans=spans,
            slices=_slices(spans, instances, instances.finished & ~touched),
            spoiled=[*loss.spoiled_times(lost, visited), *spoiled_times(epochs, chosen)],
            not_believed=instances.not_believed,
            types=_types(texts, selection),
        )

    def with_calls(self, root: str, calls: Int64) -> Outline:
        """The outline whose intervals, and labels of their threads, are the outermost calls of a function: columns
        (thread, begin, end) of `calls`. Raises UsageError if there are none."""
        thread, fs, fe = calls[:, np.lexsort((calls[1], calls[0]))]
        open_at = self.scanned.open_at
        has_copies = self.scanned.sites.before_bodies
        programs = [module["path"] for module in self.scanned.file.of("module")] if has_copies else []
        chosen = choose_calls(root, programs, i32(thread), fs, fe, self.spoiled, open_at)
        others = [time for time in self.spoiled if time[3] != semantic.OTHER_PLAN]
        of_all = choose_calls(root, programs, i32(thread), fs, fe, others, open_at).intervals
        intervals, rows = chosen.intervals, np.arange(len(chosen.ids))
        labels, home = self.labels, intervals.begin_thread
        owner, t = np.r_[labels.thread, home, home], np.r_[labels.t, intervals.begin, intervals.end]
        order = np.lexsort((t, owner))
        owner, t = owner[order], t[order]
        new = np.ones(len(t), np.bool_)
        new[1:] = (np.diff(t) != 0) | (np.diff(owner) != 0)
        owner, t = i32(owner[new]), t[new]
        return replace(
            self,
            selection=Selection(intervals, rows, chosen.ids, i32(rows), chosen.excluded, chosen.lost_latencies),
            attempts=Attempts.none(),
            aborted=Aborted(),
            labels=Labels(owner, t, i64(label(intervals, owner, t))),
            slices=slices(self.spans, of_all.begin, of_all.end),
            types=[""],
            root=root,
        )

    def without_records(self) -> Outline:
        """What windows need: the records of intervals and tasks are in the rest of it."""
        scan = self.scanned.scan
        return replace(self, scanned=replace(self.scanned, scan=replace(scan, records=scan.records.none())))

    def strayed(self) -> tuple[list[int], list[int]]:
        """Threads with several flows of control in their records: those that critical paths may visit, and others."""
        numbers, intervals = self.scanned.scan.threads, self.selection.intervals
        home = {*intervals.begin_thread.tolist(), *intervals.end_thread.tolist()}
        found = list(dict.fromkeys(numbers[event["uid"]] for event in self.scanned.file.of("stray")))
        matters = [self.visited[thread] or thread in home for thread in found]
        pairs = list(zip(found, matters, strict=True))
        return [thread for thread, does in pairs if does], [thread for thread, does in pairs if not does]


def _borders(file: TraceFile, clock: Clock, window_records: int) -> Int64:
    """Times, in ns, between which about as many records were written as a window is to have."""
    if not window_records or not file.chunks:
        return np.zeros(0, np.int64)
    base, size = np.array([(chunk.base_ticks, chunk.count) for chunk in file.chunks], np.int64).T
    order = np.argsort(base, kind="stable")
    part = np.cumsum(size[order]) // window_records
    return values_of(clock.to_ns(base[order][np.flatnonzero(np.diff(part)) + 1]))


def _end(file: TraceFile, clock: Clock, scanned: Scan) -> int:
    """The last moment the file knows of, in ns."""
    named = ("anchor", "open", "thread_end", "end")
    told = [clock.one(event["ticks"]) for name in named for event in file.of(name)]
    return max([int(scanned.lives.last.max(initial=0)), *told])


def _reasons(epochs: list[Epoch], chosen: list[Epoch], instances: Instances, lost: Bool) -> dict[str, Bool]:
    """Why finished instances are left out."""
    return {
        semantic.FLIP: ~holds(epochs, instances),
        semantic.OTHER_PLAN: ~holds(chosen, instances),
        semantic.LOSS: lost,
    }


def _slices(spans: list[Span], instances: Instances, usable: Bool) -> list[Slice]:
    return slices(spans, instances.created[usable], instances.end[usable])


def _lives(scanned: Scanned) -> Lives:
    """From when to when each thread is known to have lived: by its events, its records, and the starts they hold.

    A thread whose end is not recorded lives as long as the file goes on.
    """
    file, clock, threads, frames = scanned.file, scanned.clock, scanned.scan.threads, scanned.open_frames
    lives = scanned.scan.lives.copy()
    lives.extend(frames[:, 0], frames[:, 2], frames[:, 3])
    for event in file.of("thread"):
        lives.include(threads[event["uid"]], clock.one(event["ticks"]))
    ended = {threads[event["uid"]]: clock.one(event["ticks"]) for event in file.of("thread_end")}
    for thread in lives.known():
        lives.include(thread, ended.get(thread, scanned.end))
    return lives


def instances_of(scanned: Scanned) -> Instances:
    """What the program annotated; attempts at one interval are rows of their own."""
    texts = _labels(scanned.file)
    given_up = next((number for number, text in texts.items() if text == GIVEN_UP), None)
    found = semantic.pair(scanned.scan.records, given_up)
    # What is known in ns cannot be taken from such times.
    return replace(found, created=found.begin) if scanned.clock.remark else found


def _labels(file: TraceFile) -> dict[int, str]:
    return {int(event["number"]): str(event["text"]) for event in file.of("label")}


def _types(texts: dict[int, str], selection: Selection) -> list[str]:
    """Labels by number; "" for none and for labels the file does not hold."""
    size = max([*texts, int(selection.intervals.type.max(initial=0))], default=0) + 1
    return [texts.get(number, "") for number in range(size)]
