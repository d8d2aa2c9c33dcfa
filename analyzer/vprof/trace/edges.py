"""Wake-up and created-by edges: who ended a wait, who made a task (docs/algorithms.md sections 2 and 7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.tables.columns import i32, i64
from vprof.tables.lookup import latest
from vprof.tables.model import NONE, Bool, Created, Int32, Int64, Wakeups
from vprof.trace.holds import Holds, LockWaits, links
from vprof.trace.intervals import Instances, Labels
from vprof.trace.records import (
    CREATED,
    DEQUEUE,
    ENQUEUE,
    INTERVAL_BEGIN,
    ON_BEHALF,
    PEER,
    PEER_UNKNOWN,
    Records,
)
from vprof.trace.segments import BlockedWaits, Cut


def _peers(records: Records, rows: Int64) -> Int32:
    """Thread numbers of PEER records, NONE where the peer is unknown."""
    unknown = (records.aux[rows] & PEER_UNKNOWN) != 0
    uids = np.array(records.uids, np.int64)
    order = np.argsort(uids)
    found = order.take(np.searchsorted(uids[order], records.low(rows)), mode="clip")
    return np.where(unknown, NONE, found).astype(np.int32)


def wakeups(cut: Cut, waits: BlockedWaits, holds: Holds, end: int) -> Wakeups:
    """Links each known waker to the segment of the wait it ended, and who had the lock before it. Where a label cut a
    wait, to the part it acted in. `end`: as of `holds.links`."""
    segments = cut.segments
    parts = np.flatnonzero(cut.wait != NONE)
    parts = parts[np.lexsort((segments.ts[parts], cut.wait[parts]))]
    thread, class_, waker = i32(waits.thread), waits.object_class.astype(np.int64), i32(waits.waker)
    asked = LockWaits(thread, i64(waits.begin), class_, i64(waits.lock), waker, i64(waits.t), i64(waits.told))
    found = links(asked, holds, end)
    part = latest(cut.wait[parts], segments.ts[parts], found.wait, found.t)
    rows = np.r_[parts, NONE][part]
    linked = (rows != NONE) & (found.t < segments.te[rows])
    rows = rows[linked]
    order = np.lexsort((found.t[linked], rows))
    return Wakeups(
        segments.thread[rows][order],
        found.waker[linked][order],
        found.t[linked][order],
        rows[order].astype(np.int32),
        found.since[linked][order],
    )


@dataclass(frozen=True)
class Handovers:
    """Created-by edges; `adopted`: taken up by a segment that works for somebody, not just by a thread that starts."""

    created: Created
    adopted: Bool
    unmatched_dequeues: int
    corrected: int


def handovers(records: Records, instances: Instances, labels: Labels) -> Handovers:
    """Created-by edges of tasks, of threads, and of requests that were created by nobody we know (creator NONE).

    A task's edge ends at the dequeuing thread's next change of label that works for the creator's interval, or if there
    is none at the very next one that works for any. A thread's edge ends at its first change to the creator's
    interval, or
    if there is none at the thread's first action.
    """
    takes, makes, unmatched = _tasks(records)
    starts = records.rows(CREATED, PEER)
    creators = _peers(records, starts + 1)
    starts, creators = starts[creators != NONE], creators[creators != NONE]
    adoptions = _Adoptions(records, labels)

    task_creator, task_t = records.thread[makes], records.t[makes]
    task_row = adoptions.next(takes, labels.at(task_creator, task_t))
    task_row = np.where(task_row >= 0, task_row, adoptions.next_any(takes))
    thread_t = records.t[starts + 1]
    thread_row = adoptions.next(starts, labels.at(creators, thread_t))

    waited = np.flatnonzero(instances.created < instances.begin)
    row = np.concatenate([task_row, np.where(thread_row >= 0, thread_row, starts)])
    taken = row >= 0
    row = row[taken]
    made = np.r_[np.concatenate([task_t, thread_t])[taken], instances.created[waited]]
    ts2 = np.r_[records.t[row], instances.begin[waited]]
    nobody = np.full(len(waited), NONE)
    created = Created(
        creator=np.r_[np.concatenate([task_creator, creators])[taken], nobody].astype(np.int32),
        ts=np.minimum(made, ts2 - 1),
        thread=np.r_[records.thread[row], instances.begin_thread[waited]],
        ts2=ts2,
    )
    adopted = np.r_[np.concatenate([task_row >= 0, thread_row >= 0])[taken], np.ones(len(waited), np.bool_)]
    order = np.lexsort((created.ts, created.ts2, created.thread))
    created = Created(created.creator[order], created.ts[order], created.thread[order], created.ts2[order])
    return Handovers(created, adopted[order], unmatched, int(np.count_nonzero(made - ts2 > 0)))


def _tasks(records: Records) -> tuple[Int64, Int64, int]:
    """Rows of dequeues and of the latest enqueue of the same task before each; and how many dequeues had none."""
    enqueues, dequeues = records.rows(ENQUEUE), records.rows(DEQUEUE)
    found = latest(records.word[enqueues], records.t[enqueues], records.word[dequeues], records.t[dequeues])
    known = found >= 0
    return dequeues[known], enqueues[found[known]], int(np.count_nonzero(~known))


class _Adoptions:
    """Records from which on a thread works for an instance, searchable by what follows a record on its thread."""

    def __init__(self, records: Records, labels: Labels) -> None:
        rows = np.flatnonzero((records.kind == INTERVAL_BEGIN) | ((records.kind == ON_BEHALF) & (records.word != 0)))
        self._thread = records.thread
        self._rows = rows
        self._size = len(records.kind) + 1
        self._by_instance = np.sort(labels.at(records.thread[rows], records.t[rows]) * self._size + rows)

    def next(self, after: Int64, instance: Int64) -> Int64:
        """The next row on the thread of `after` that adopts the instance, or -1 (also where instance is NONE)."""
        asked = instance * self._size + after
        position = np.searchsorted(self._by_instance, asked, "right")
        found = np.r_[self._by_instance, -1][position]
        row = np.where((found // self._size == instance) & (instance != NONE), found % self._size, -1)
        return self._same_thread(row, after)

    def next_any(self, after: Int64) -> Int64:
        """The next row on the thread of `after` that adopts anything, or -1."""
        return self._same_thread(np.r_[self._rows, -1][np.searchsorted(self._rows, after, "right")], after)

    def _same_thread(self, row: Int64, after: Int64) -> Int64:
        return np.where((row >= 0) & (self._thread[row] == self._thread[after]), row, -1)
