"""Lost records and the intervals they spoil (docs/algorithms.md section 8)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from vprof.tables.model import NONE, Bool, Int64, Losses
from vprof.trace.chunks import TraceFile
from vprof.trace.clock import Clock
from vprof.trace.edges import Handovers
from vprof.trace.intervals import LOSS, Instances, Labels
from vprof.trace.records import COUNT, LOST, Records


@dataclass(frozen=True)
class Ranges:
    """Times in ns from which records of a thread are missing."""

    thread: Int64
    start: Int64
    end: Int64

    def of(self, threads: Bool) -> Ranges:
        """Those of some threads."""
        chosen = threads[self.thread]
        return Ranges(self.thread[chosen], self.start[chosen], self.end[chosen])

    def touch(self, instances: Instances) -> Bool:
        """Which intervals overlap one."""
        order = np.argsort(self.start)
        latest_end = np.maximum.accumulate(self.end[order])
        before = np.searchsorted(self.start[order], instances.end, "right")
        hit = np.zeros(len(instances.end), np.bool_)
        some = before > 0
        hit[some] = latest_end[before[some] - 1] >= instances.begin[some]
        return hit


def totals(file: TraceFile, losses: Losses) -> dict[str, int | float]:
    """Records `written` by the program, and those of them that were `dropped`."""
    dropped = sum(losses.values())
    return {"written": sum(chunk.count for chunk in file.chunks) + dropped, "dropped": dropped}


def losses_of(file: TraceFile, records: Records) -> Losses:
    """From `loss` events and LOST records. One that goes on at the end of a file is told there, and again, as a whole,
    by the thread or at the end of the next file."""
    marks = records.rows(LOST, COUNT).tolist()
    told = [(int(event["uid"]), int(event["from"]), int(event["count"])) for event in file.of("loss")]
    told += [
        (records.uids[records.thread[mark]], int(records.word[mark]), int(records.word[mark + 1])) for mark in marks
    ]
    losses: Losses = {}
    for uid, start, count in told:
        key = (file.session, uid, start)
        losses[key] = max(count, losses.get(key, 0))
    return losses


def told_lost(records: Records) -> Counter[int]:
    """How many records each thread (by uid) tells of as lost."""
    told: Counter[int] = Counter()
    for mark in records.rows(LOST, COUNT).tolist():
        told[records.uids[records.thread[mark]]] += int(records.word[mark + 1])
    return told


def contradictions(file: TraceFile, told_lost: Counter[int]) -> list[str]:
    """What a trace says about its own records that cannot be true: one line each. `told_lost`: by thread (uid).

    Every record that a thread wrote is stored or dropped; none is in the file that was not stored; no more are told as
    lost than were dropped.
    """
    found: Counter[int] = Counter()
    told = told_lost.copy()
    for chunk in file.chunks:
        found[chunk.uid] += chunk.count
    for loss in file.of("loss"):
        told[loss["uid"]] += int(loss["count"])
    lines = []
    for end in file.of("thread_end"):
        uid, written, stored, dropped = (int(end[key]) for key in ("uid", "written", "stored", "dropped"))
        if written != stored + dropped:
            lines.append(f"thread {uid} wrote {written} records, but {stored} were stored and {dropped} dropped")
        if found[uid] > stored:
            lines.append(f"thread {uid} has {found[uid]} records in the file, but {stored} were stored")
        if told[uid] > dropped:
            lines.append(f"thread {uid} tells of {told[uid]} lost records, but {dropped} were dropped")
    for end in file.of("end"):
        if end["records"] != found.total():
            lines.append(f"the file has {found.total()} records, but {end['records']} were stored in it")
    return lines


def read_lost(file: TraceFile, records: Records, clock: Clock) -> Ranges:
    """Lost ranges, from LOST records and from `loss` events."""
    marks = records.rows(LOST, COUNT)
    threads = {uid: index for index, uid in enumerate(records.uids)}
    events = [(threads[loss["uid"]], clock.one(loss["from"]), clock.one(loss["to"])) for loss in file.of("loss")]
    thread, start, end = np.array(events, np.int64).reshape(-1, 3).T
    return Ranges(
        np.concatenate([records.thread[marks].astype(np.int64), thread]),
        np.concatenate([clock.to_ns(records.word[marks].astype(np.int64)), start]),
        np.concatenate([records.t[marks], end]),
    )


def visited(labels: Labels, wakers: Bool, given: Handovers) -> Bool:
    """The threads that critical paths may visit: they worked for some interval, woke somebody or made a task.

    What other threads lost cannot matter to an interval.
    """
    found = wakers.copy()
    found[labels.thread[labels.instance != NONE]] = True
    found[given.created.creator[given.created.creator != NONE]] = True
    return found


def spoiled_times(lost: Ranges, may_be_visited: Bool) -> list[tuple[int, int, int, str]]:
    """The ranges as `Trace.spoiled` lists them: of all threads where a path may visit the one that lost."""
    thread = np.where(may_be_visited[lost.thread], NONE, lost.thread)
    return [(*row, LOSS) for row in zip(thread.tolist(), lost.start.tolist(), lost.end.tolist(), strict=True)]
