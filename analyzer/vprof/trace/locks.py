"""The steps of logical locks: who asked for what, had it and gave it back, and when (TRACE_FORMAT.md section 2.10).

    chunks -> LOCK records, each with the interval that its thread works for -> LockSteps, in the order of time
    chunks -> NAMED records, the same way -> LockNames: what the program called waits of its threads

A reading of its own, for the few reports that need them: what is kept is seven numbers of each step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vprof.errors import UsageError, VprofError
from vprof.tables.columns import i64
from vprof.tables.kernels import kernel, loop, roomy
from vprof.tables.lookup import latest
from vprof.tables.model import NONE, Bool, Int64
from vprof.trace import loss
from vprof.trace.clock import line_at, ns_on
from vprof.trace.decode import (
    Source,
    aux_of,
    has_time,
    is_hold,
    is_lock,
    is_named,
    kind_of,
    name_of,
    start_of_name,
    unwrapped,
)
from vprof.trace.intervals import Instances
from vprof.trace.loading import is_json
from vprof.trace.outline import WINDOW_RECORDS, Outline, Scanned, instances_of
from vprof.trace.records import INTERVAL_BEGIN, INTERVAL_END, ON_BEHALF
from vprof.trace.retries import join, retry_of
from vprof.trace.scan import C_AT, C_BASE, C_BEFORE, C_COUNT, C_THREAD

REQUEST, GRANT, RELEASE, RELEASE_ALL = range(4)
SHARED, EXCLUSIVE = 1, 2
"""Modes; 0: not told."""

_TIME, _FLAGS, _OBJECT, _OWNER, _END, _THREAD = range(6)
"""Columns of what is read: `_OWNER` is the id of an interval, 0: of none; of a name `_OBJECT` is its number, and
`_TIME` and `_END` are those of the call whose waits have it."""
_OF_NAME = 1 << 16
"""In _FLAGS, above those of a step."""


@dataclass(frozen=True)
class LockSteps:
    """In the order of time, ns; at one time what is given back comes first. `owner`: the number of its interval; those
    that are not analyzed (aborted, unfinished) have numbers behind these. `thread`: the one that did it, or said so.
    Whatever an owner has when an attempt at its interval ends is released by a RELEASE_ALL then, of object 0."""

    t: Int64
    step: Int64
    mode: Int64
    object: Int64
    owner: Int64
    thread: Int64


@dataclass(frozen=True)
class LockNames:
    """By owner, then in the order of time: the calls with waits that the program named (TRACE_FORMAT.md section 2.9).
    `begin`, `end`: of the call; `text`: by the numbers in `name`."""

    owner: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    begin: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    end: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    name: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    text: dict[int, str] = field(default_factory=dict)

    def between(self, owner: int, begin: int, end: int) -> list[str]:
        """The names of the owner's calls that were under way in that time."""
        first, last = np.searchsorted(self.owner, (owner, owner + 1)).tolist()
        begun = int(np.searchsorted(self.begin[first:last], end, "right"))
        over = int(np.searchsorted(self.end[first:last], begin))
        found = self.name[first + over : first + begun]
        return [self.text[number] for number in found.tolist() if number in self.text]


@dataclass(frozen=True)
class LockTrace:
    """By interval: `attempt`, when the last attempt at it began, `types`, and `thread`, the one that it began on (None:
    not known). `unowned`: steps of no known interval, which are in `steps` no more. `lost`: whether records were
    lost."""

    path: Path
    steps: LockSteps
    begin: Int64
    attempt: Int64
    end: Int64
    types: list[str]
    unowned: int
    lost: int
    names: LockNames = field(default_factory=LockNames)
    thread: Int64 | None = None


def read_locks(path: Path) -> LockTrace:
    """Raises UsageError where a trace has no lock events, TraceError if it is none."""
    if is_json(path):
        raise UsageError(f"{path}: JSON traces have no lock events: record the program with vprof record --locks")
    known = Outline.of(Scanned.of(path, WINDOW_RECORDS, lambda done: None))
    scanned = known.scanned
    found, named = _read(scanned)
    if not len(found):
        raise UsageError(f"{path}: no lock events: {_why(known)}")
    intervals = known.selection.intervals
    if not len(intervals.end):
        raise VprofError(f"{path}: it has lock events, but no finished interval whose locks they are")
    steps, unowned = _owned(known, found)
    attempt = intervals.begin.copy()
    np.maximum.at(attempt, known.attempts.interval, known.attempts.next_begin)
    types = [known.types[number] for number in intervals.type.tolist()]
    lost = int(loss.totals(scanned.file, loss.losses_of(scanned.file, scanned.scan.records))["dropped"])
    names = _names(known, named)
    thread = i64(intervals.begin_thread)
    return LockTrace(path, steps, intervals.begin, attempt, intervals.end, types, unowned, lost, names, thread)


def steps_of(known: Outline) -> LockSteps | None:
    """None where a trace has none."""
    found, _ = _read(known.scanned)
    return _owned(known, found)[0] if len(found) else None


def _read(scanned: Scanned) -> tuple[Int64, Int64]:
    """Steps and names."""
    file, chunks = scanned.file, scanned.scan.chunks
    file.need(chunks[:, C_AT], 2 * chunks[:, C_COUNT])  # all at once: what lies elsewhere is then in memory
    found = _steps(Source(scanned.file.words, scanned.clock.lines()), scanned.scan.chunks)
    scanned.file.release()
    is_name = found[:, _FLAGS] == _OF_NAME
    return i64(found[~is_name]), i64(found[is_name])


def _why(known: Outline) -> str:
    session = known.scanned.file.of("session")[:1]
    if session and session[0].get("locks"):
        return "they were wanted, but nothing was locked, or the program's descriptor has no [[lock]] entries"
    return "record it with vprof record --locks, the program built with [[lock]] entries in its descriptor"


def _names(known: Outline, named: Int64) -> LockNames:
    instances, number = _instances(known)
    instance, alive = _alive(instances, named)
    named, owner = named[alive], number[instance[alive]]
    order = np.lexsort((named[:, _TIME], owner))
    text = {event["number"]: event["text"] for event in known.scanned.file.of("name")}
    begin, end, name = (i64(named[order, column]) for column in (_TIME, _END, _OBJECT))
    return LockNames(i64(owner[order]), begin, end, name, text)


def _instances(known: Outline) -> tuple[Instances, Int64]:
    """And the number of each: of its interval, or one behind those of all intervals. Where intervals are the calls of a
    function, any number, the same one for all attempts at an interval."""
    instances = instances_of(known.scanned)
    number = join(instances, retry_of(known.scanned.file.of("mark"))).number
    return instances, i64(number if known.root else known.selection.number[number])


def _alive(instances: Instances, found: Int64) -> tuple[Int64, Bool]:
    """The instance of each row's owner, and whether it had begun and not ended yet."""
    instance = latest(instances.id, instances.begin, found[:, _OWNER].view(np.uint64), found[:, _TIME])
    ended = instances.end_thread[instance] != NONE
    return instance, (instance != NONE) & (~ended | (found[:, _TIME] <= instances.end[instance]))


def _owned(known: Outline, found: Int64) -> tuple[LockSteps, int]:
    """With the numbers of intervals, and how many steps have none."""
    instances, number = _instances(known)
    instance, alive = _alive(instances, found)
    found, instance = found[alive], instance[alive]
    ends = np.flatnonzero(instances.end_thread != NONE)
    flags, nothing = found[:, _FLAGS], np.zeros(len(ends), np.int64)
    t = np.r_[found[:, _TIME], instances.end[ends]]
    step = np.r_[flags & 3, nothing + RELEASE_ALL]
    order = np.lexsort((step < RELEASE, t))
    steps = LockSteps(
        t[order],
        step[order],
        np.r_[flags >> 2 & 3, nothing][order],
        np.r_[found[:, _OBJECT], nothing][order],
        i64(np.r_[number[instance], number[ends]][order]),
        i64(np.r_[found[:, _THREAD], instances.end_thread[ends]][order]),
    )
    return steps, int(np.count_nonzero(~alive))


@kernel
def _steps(source: Source, chunks: Int64) -> Int64:
    """Steps and names, rows _TIME ..., each thread's in its order. `chunks`: by thread."""
    rows, n, thread, working_for = np.zeros((1024, 6), np.int64), 0, -1, 0
    for c in range(len(chunks)):
        if chunks[c, C_THREAD] != thread:
            thread, working_for = chunks[c, C_THREAD], 0
        rows = roomy(rows, n, chunks[c, C_COUNT])
        n, working_for = _steps_of_chunk(source, chunks[c], working_for, rows, n)
    return rows[:n]


@loop
def _steps_of_chunk(source: Source, chunk: Int64, working_for: int, rows: Int64, n: int) -> tuple[int, int]:
    """Appends them from row n on; returns how many rows there are, and the interval that the thread works for."""
    words, lines, t, line = source.words, source.lines, chunk[C_BEFORE], 0
    for i in range(chunk[C_COUNT]):
        at = chunk[C_AT] + 2 * i
        head, rest = words[at], chunk[C_COUNT] - i
        kind, of_lock, is_name = kind_of(head), is_lock(head), is_named(head)
        if not has_time(kind) and not is_hold(words, at, rest) and not of_lock and not is_name:
            continue
        ticks = unwrapped(head, chunk[C_BASE])
        line = line_at(lines, ticks, line)
        now = ns_on(lines, ticks, line)
        if is_name:
            row = rows[n]
            row[_TIME], row[_END] = start_of_name(source, at, chunk[C_BASE], line), now
            row[_FLAGS], row[_OBJECT], row[_OWNER] = _OF_NAME, name_of(words[at + 1]), working_for
            n += 1
            continue
        if of_lock:
            if rest > 1:
                row = rows[n]
                row[_TIME], row[_FLAGS] = max(now, t), aux_of(head)
                row[_OBJECT], row[_OWNER] = words[at + 3], words[at + 1] if words[at + 1] != 0 else working_for
                row[_THREAD] = chunk[C_THREAD]
                n += 1
            continue
        t = max(now, t + 1)
        if kind in (INTERVAL_BEGIN, ON_BEHALF):
            working_for = words[at + 1]
        elif kind == INTERVAL_END:
            working_for = 0
    return n, working_for
