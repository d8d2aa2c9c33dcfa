"""Until when a stretch of a trace can be replayed: what is not decided before its end waits for the next window.

Not known there is whether a task that is taken up later ended a wait that nobody else is known to have ended; and for
what a thread waited before an interval that begins later.
"""

from __future__ import annotations

from typing import NamedTuple

from vprof.tables.kernels import helper, kernel, loop
from vprof.tables.kinds import BLOCKED, IDLE, QUEUE
from vprof.tables.model import NONE, Bool, Int64
from vprof.whatif.waits import Line, Placed, idle_before


class Idle(NamedTuple):
    """By moment, whether the thread works for no interval in the time that ends there, and whether it waits then for
    what comes from outside."""

    works: Bool
    waits: Bool


class Ahead(NamedTuple):
    """What is known of the time after a stretch. By thread whether it takes up tasks, and begins intervals; the tasks
    that were made and wait for thread n: when they were made, t[first[n]:first[n + 1]]."""

    takes: Bool
    begins: Bool
    first: Int64
    t: Int64


@kernel
def undecided(seg: Placed, line: Line, woken_by: Int64, idle: Idle, ahead: Ahead, is_open: bool, strict: bool) -> Int64:
    """By thread its first moment that is not decided, or the one after its last one."""
    found = line.first[1 : len(ahead.takes) + 1].copy()
    _find_undecided(seg, line, woken_by, idle, ahead, is_open, strict, found)
    return found


@loop
def _find_undecided(
    seg: Placed, line: Line, woken_by: Int64, idle: Idle, ahead: Ahead, is_open: bool, strict: bool, found: Int64
) -> None:
    b = 0
    for thread in range(len(found)):
        a = b
        while b < len(seg.thread) and seg.thread[b] == thread:
            b += 1
        if line.first[thread] < line.first[thread + 1]:
            last = b - 1 if b > a else NONE
            at = _may_be_ended_by_task(seg, line, woken_by, ahead, strict, thread, last)
            found[thread] = min(found[thread], max(at, line.known[thread]))
            if is_open and ahead.begins[thread]:
                at = _may_have_waited(seg, line, woken_by, idle, ahead, thread, last, found[thread])
                found[thread] = min(found[thread], at)


@helper
def _may_be_ended_by_task(
    seg: Placed, line: Line, woken_by: Int64, ahead: Ahead, strict: bool, thread: int, last: int
) -> int:
    """The first moment in or at the end of a wait that a task may have ended which is taken up later."""
    none = line.first[thread + 1]
    if last == NONE or not seg.goes_on[last]:  # nothing is recorded at the end
        after = line.first[thread] if last == NONE else seg.end[last]
        return int(after + 1 if ahead.takes[thread] or strict else none)
    w = idle_before(seg, last, woken_by)
    if w == NONE:
        return int(none)
    since, until = ahead.first[thread], ahead.first[thread + 1]
    if seg.goes_on[w]:
        may = since < until or ((strict or seg.interval[w] != NONE) and ahead.takes[thread])
        return int(seg.start[w] + 1 if may else none)
    for k in range(since, until):
        if line.time[seg.start[w]] <= ahead.t[k] <= line.time[seg.end[w]]:
            return int(seg.start[w] + 1)
    return int(none)


@helper
def _may_have_waited(
    seg: Placed, line: Line, woken_by: Int64, idle: Idle, ahead: Ahead, thread: int, last: int, undecided: int
) -> int:
    """The end of the wait after which the thread does nothing for an interval until the end, and begins one later."""
    none = line.first[thread + 1]
    passes = ahead.takes[thread]
    if last != NONE and seg.goes_on[last]:
        waits = seg.state[last] == BLOCKED or seg.state[last] == QUEUE or seg.state[last] == IDLE
        passes = seg.interval[last] == NONE and (not waits or woken_by[last] != NONE or passes)
    if not passes:
        return int(none)
    n, low = none - 1, max(line.known[thread], line.first[thread] + 1)
    while n >= low and idle.works[n] and (not idle.waits[n] or n >= undecided):
        n -= 1
    return int(n if n >= low and idle.waits[n] else none)
