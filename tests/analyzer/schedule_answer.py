"""The critical paths of a Schedule, told from what happened in it and not from its tuples.

At any moment somebody is to blame: a thread that executes blames itself, one that waits blames whoever will end the
wait, until that happens; from then on it is not yet running. One that waits for a read-write lock blames for each
moment who had the lock then. `Answer(schedule).path(sid)` gives, from begin to end, stretches (kind, tid, node, start,
stop), node being the labels of the tree from the root down.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise

from schedules import Schedule
from simulation import Context, Span, Thread

Node = tuple[str, ...]
Stretch = tuple[str, str, Node, int, int]
OFF_CPU = {
    "preempted": "[preempted]",
    "fault": "[fault]",
    "disk": "[disk]",
    "off_cpu": "[off cpu]",
    "sleep": "[sleep]",
    "memory": "[memory]",
}


class Answer:
    def __init__(self, schedule: Schedule) -> None:
        self.threads = {thread.tid: thread for thread in schedule.threads}
        self.intervals = {iv["sid"]: iv for iv in schedule.intervals}
        spans = [t for thread in schedule.threads for span in thread.spans for t in (span.start, span.stop)]
        calls = [t for thread in schedule.threads for call in thread.calls for t in (call[4], call[5])]
        wakes = [t for w in schedule.wakeups for t in (w[2], *w[4:])] + [
            t for c in schedule.created for t in (c[1], c[3])
        ]
        self.moments = sorted({*spans, *calls, *wakes})
        """Between two of these nothing changes."""

    def path(self, sid: str) -> list[Stretch]:
        iv = self.intervals[sid]
        begin, e = iv["begin"]["t"], iv["end"]["t"]
        thread: Thread = self.threads[iv["end"]["tid"]]
        found: list[Stretch] = []
        context = self._latest(thread, sid, e)
        while e > begin:
            if context is None:
                found += self._idle("unknown", thread, begin, e)
                break
            since = max(context.stop, begin)
            if since < e:
                found += self._busy(thread, since, e)
                e = since
                continue
            start = max(context.start, begin)
            found += self._blamed(thread, start, e, ())
            e = start
            if e > begin and context.task is not None:
                thread, e, context = self._origin(context, thread, sid, begin, found)
            else:
                context = self._latest(thread, sid, e)
        return sorted(found, key=lambda stretch: stretch[3])

    def _origin(
        self, context: Context, thread: Thread, sid: str, begin: int, found: list[Stretch]
    ) -> tuple[Thread, int, Context | None]:
        """Where the task came from: its creator, if that worked for the interval; else before it the creator is to
        blame, back to where the thread worked for it the last time."""
        assert context.task is not None
        creator, made, where = context.task
        if where is not None:
            found += self._idle("queue", thread, max(made, begin), context.start)
            return creator, max(made, begin), where
        previous = self._latest(thread, sid, context.start)
        floor = max(begin, previous.stop) if previous else begin
        found += self._idle("queue", thread, max(made, floor), context.start)
        if made > floor:
            around = (*self._open_across(thread, floor, context.start), "[blocked]")
            found += self._blamed(creator, floor, made, around)
        return thread, floor, previous

    def _latest(self, thread: Thread, sid: str, e: int) -> Context | None:
        """The thread's last context of the interval that starts before e."""
        mine = [context for context in thread.contexts if context.sid == sid and context.start < e]
        return mine[-1] if mine else None

    def _idle(self, kind: str, thread: Thread, start: int, stop: int) -> list[Stretch]:
        if start >= stop:
            return []
        return [(kind, thread.tid, (*self._open_across(thread, start, stop), f"[{kind}]"), start, stop)]

    def _busy(self, thread: Thread, start: int, stop: int) -> list[Stretch]:
        """The thread did not work for the interval: what it did for others, or nothing."""
        above = self._open_across(thread, start, stop)
        inner = self.moments[bisect_right(self.moments, start) : bisect_left(self.moments, stop)]
        found = []
        for a, b in pairwise([start, *inner, stop]):
            span = self._span(thread, a)
            waits_for_nobody = span and span.wait and span.wait.ended_by is None and span.state not in OFF_CPU
            if span is None or (span.label is None and waits_for_nobody):
                found.append(("gap", thread.tid, (*above, "[gap]"), a, b))
            else:
                kind, tid, node = self._blame(thread, a, ())
                found.append((kind, tid, (*above, "[busy]", *node[len(above) :]), a, b))
        return found

    def _blamed(self, thread: Thread, start: int, stop: int, around: Node) -> list[Stretch]:
        inner = self.moments[bisect_right(self.moments, start) : bisect_left(self.moments, stop)]
        cuts = [start, *inner, stop]
        return [(*self._blame(thread, a, around), a, b) for a, b in pairwise(cuts)]

    def _blame(self, thread: Thread, t: int, around: Node) -> tuple[str, str, Node]:
        span = self._span(thread, t)
        if span is None:
            return "unknown", thread.tid, (*around, "[unknown]")
        stack = (*around, *self._stack(thread, t))
        if span.state == "exec":
            return "exec", thread.tid, stack
        if span.state in OFF_CPU:
            return span.state, thread.tid, (*stack, OFF_CPU[span.state])
        assert span.wait is not None
        inside = (*stack, "[blocked]")
        if span.wait.ended_by is None:
            return "blocked_unknown", thread.tid, (*inside, "[unknown]")
        if t >= span.wait.ended_at:
            return "sched", thread.tid, (*inside, "[sched]")
        to_blame = self._holder(span, t) if span.wait.holds else span.wait.ended_by
        if to_blame is None:
            return "sched", thread.tid, (*inside, "[sched]")
        return self._blame(to_blame, t, inside)

    def _holder(self, span: Span, t: int) -> Thread | None:
        """Of those who had the lock at t and let it go before the wait ended the one who did so last; but who had it
        when the one to blame afterwards came. None: the lock was free. REQUIRES: the wait has not ended at t."""
        assert span.wait is not None
        e = span.wait.ended_at + 1
        while True:
            had = [hold for hold in span.wait.holds if hold.since < e]
            last = max(had, key=lambda hold: hold.release)
            if t >= last.since:
                return last.thread if t < last.release else None
            e = last.since

    def _span(self, thread: Thread, t: int) -> Span | None:
        i = bisect_right(thread.spans, t, key=lambda span: span.start) - 1
        return thread.spans[i] if i >= 0 and t < thread.spans[i].stop else None

    def _stack(self, thread: Thread, t: int) -> Node:
        return _names([call for call in thread.calls if call[4] <= t < call[5]])

    def _open_across(self, thread: Thread, start: int, stop: int) -> Node:
        return _names([call for call in thread.calls if call[4] <= start and call[5] >= stop])


def _names(calls: list[list]) -> Node:  # type: ignore[type-arg]
    return tuple(f"{call[2]}@{call[3]}" for call in sorted(calls, key=lambda call: call[6]))
