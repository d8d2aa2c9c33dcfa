"""Critical paths: which thread's work, wait or idleness fills each nanosecond of an interval.

    Segments + Wakeups + Created + Intervals  ->  Pieces (what the time was) + Waits (where it is nested)

docs/algorithms.md section 2 defines the critical path and works two examples by hand; section 7 lists who
ends which wait. This text tells how the path is found. pieces.py has the two tables that come out of it,
segment_index.py answers what the walk asks about the trace.

THE WALK. It begins at the end of an interval, on the thread of the end, and goes backwards to the begin
(`_walk`). At each step it stands on a thread at a time e, and looks up the last segment of this thread that
starts before e. That segment decides what the time before e was:

- The thread executed, or was off the CPU for a reason that no thread ends: a piece of that kind (`_alone`).
- The thread waited. `_expand` looks up who ended the wait. The time from the wake-up to e is `sched`: the
  thread was awake and did not run yet. The time before the wake-up is no piece yet but a row of `Waits`.
  Without a usable waker the wait is `blocked_unknown`. (A `queue` segment, which JSON traces have, is a wait
  that the creator of the task ends.)
- The segment ended before e, or the thread worked there for another interval or for none. The walk jumps to the
  latest earlier segment of this interval on the thread; the time between becomes a row of `Waits` (BUSY), in which
  the thread itself is walked like a waker. If there is none, all that is left is `unknown`. (A wait without a label
  counts as a wait of the interval that falls into it.)

Then e becomes the start of the piece, and the next step begins.

WAITS. A row of `Waits` is a window of time in which one thread waited, and the thread that ended the wait. When
the walk has reached the begin, `_walk_waits` takes the interval's rows in the order in which they were
written, and walks each waker backwards in turn, from the wake-up down to the start of the window. This walk may
meet waits too: it adds their rows at the end of the table, and they are taken later. So the table replaces
recursion, however deeply waits are nested. `parent` is the window in which a window was found, and every piece
names the window in which it lies, NONE for the interval's own threads (*home*).

A waker's walk does not look at labels: whatever the waker did, and for whomever, it delayed us. It stays on the
waker's thread, also where that took up a task. Where nothing is recorded of the waker, the time is `unknown`. While
the interval's own thread was busy, that is `gap`, and so is what it waited for while it worked for nobody, if nobody is
known to have ended it.

A lock may have had several holders during one wait. Each wake-up says since when its thread is to blame
(`Wakeups.since`). `_expand` charges the latest of them for the time since then, and returns that time; so the
next step meets the same segment again with an earlier e, and finds the holder before.

TASKS. Where a home segment begins with a task from a queue, the time since the task was made is `queue`, and home
moves to the creator's thread (`_follow_task`). It does so only if the creator worked for the interval when it made
the task. Another creator is walked like a waker, in a window that reaches down to the previous segment of the
interval on the thread that took the task (an *anchored* row); home stays where it is.

ATTEMPTS. An interval that was aborted and tried again is walked attempt by attempt (stretches.py), each like an
interval of its own, from its end on the thread of its end down to its begin. The time between two of them is a row of
`Waits` (BUSY): what the thread on which the next one began did meanwhile, mostly `gap`. So no piece lies across the
begin or the end of an attempt; places.py hangs those of aborted ones below `[aborted]`.

WORKED EXAMPLE. tests/cases/04_nested_wakeups.json: thread 1 waits for thread 2, which waits for thread 3.

    time        0      10                 25    28  30                  50          60          80
    thread 1    | txnA | wait1 .................................................... | txnA      |
    thread 2    | txnB                    | wait2 ..................... | txnB            (until 70)
    thread 3    | flushD                        |   | flushC                    (until 55)

    what is walked               pieces, as they are written                    rows of `Waits` that it adds
    home: thread 1, 80 to 0      exec 60-80, exec 0-10                          0: thread 1, 10-60, ended by 2 at 60
    row 0: thread 2, 60 to 10    exec 50-60, exec 10-25                         1: thread 2, 25-50, ended by 3 at 50
    row 1: thread 3, 50 to 25    exec 30-50, unknown 28-30, exec 25-28

The lengths are 20 + 10, then 10 + 15, then 20 + 2 + 3: together 80, the latency. No `sched` piece occurs, since
both threads ran at once when they were woken. `paths_of` puts the pieces in order of time.

WHAT IS GUARANTEED. The pieces of an interval partition [begin, end]: `check_partition` compares them for every
interval of every run, and raises InvariantError. Every walk ends, because e decreases at each step. A chain of
waits ends, because a window lies within its parent's and a thread waits in it once at most: a waker that is itself
waiting at that moment, in a window further up the chain, is not usable (`_usable`); neither is a thread that woke
itself. Then an earlier waker of the same wait is tried. Intervals do not influence each other.

COST. A step costs one look-up, which begins where the last one on that thread ended, and so takes constant time in
a walk that goes on; a jump and a wait with several wakers cost a binary search. A step writes two pieces and two rows
at most. So the time grows with the number of pieces, and these with the segments of home and of the wakers in their
windows; `_usable` adds the depth of the chain for each wait. Nothing is kept from one interval for the next: fifty
intervals that wait for one holder walk it fifty times. Memory: 48 bytes a piece and 72 a row, for one window of the
trace.

A trace without any record of synchronisation has nothing to walk along. There `_concatenate` puts the segments
that are labelled with the interval in order of time, with `gap` between them, as TProfiler did.
"""

from __future__ import annotations

import numpy as np

from vprof.path.pieces import (
    BUSY,
    FOR_TASK,
    N_PIECES,
    N_WAITS,
    W_ANCHORED,
    W_ENDED,
    W_PARENT,
    W_SEGMENT,
    W_START,
    W_WAKER,
    Paths,
    Tables,
    add_anchored,
    add_piece,
    add_wait,
    check_partition,
    is_full,
    paths_of,
)
from vprof.path.segment_index import (
    K_SINCE,
    K_TIME,
    K_WAKER,
    S_INTERVAL,
    S_STATE,
    S_TASK_AT_END,
    S_TASK_AT_START,
    S_TE,
    S_THREAD,
    S_TS,
    S_WAKES,
    T_CREATOR,
    T_TIME,
    SegmentIndex,
    index_of,
    last_before,
    last_mine,
    last_to_blame,
)
from vprof.path.stretches import I_BEGIN, I_BETWEEN, I_END, I_NUMBER, I_THREAD, stretches
from vprof.tables.kernels import helper, kernel, loop, roomy
from vprof.tables.kinds import (
    BLOCKED,
    EXEC,
    IDLE,
    P_BLOCKED_UNKNOWN,
    P_EXEC,
    P_GAP,
    P_PREEMPTED,
    P_QUEUE,
    P_SCHED,
    P_UNKNOWN,
    PREEMPTED,
    QUEUE,
)
from vprof.tables.model import NONE, Int64, Trace


def critical_paths(trace: Trace) -> Paths:
    """The critical paths of all intervals that are not ignored."""
    index = index_of(trace)
    rows = np.flatnonzero(~trace.intervals.ignore)
    pieces, waits = _walk_all(index, stretches(trace, rows), trace.has_sync)
    paths = paths_of(pieces, waits.T)
    check_partition(trace, rows, paths.pieces)
    return paths


@kernel
def _walk_all(x: SegmentIndex, intervals: Int64, has_sync: bool) -> tuple[Int64, Int64]:
    """`intervals`: rows I_*. Returns the tables of pieces and of waits."""
    used = np.zeros(2, np.int64)
    found = Tables(np.empty((1024, 6), np.int64), np.empty((1024, 9), np.int64), used)
    done = 0
    while True:
        done = _walk_from(x, intervals, has_sync, done, found)
        if done == intervals.shape[1]:
            return found.pieces[: used[N_PIECES]], found.waits[: used[N_WAITS]]
        pieces, waits = len(found.pieces) + 1, len(found.waits) + 1
        found = Tables(roomy(found.pieces, used[N_PIECES], pieces), roomy(found.waits, used[N_WAITS], waits), used)


@loop
def _walk_from(x: SegmentIndex, intervals: Int64, has_sync: bool, k: int, found: Tables) -> int:
    """Walks from interval k on; returns the first one for which there is no room, or their number."""
    used = found.used
    while k < intervals.shape[1]:
        pieces, waits = used[N_PIECES], used[N_WAITS]
        interval, thread = intervals[I_NUMBER, k], intervals[I_THREAD, k]
        begin, end = intervals[I_BEGIN, k], intervals[I_END, k]
        if intervals[I_BETWEEN, k]:
            done = _walk_between(x, interval, thread, begin, end, has_sync, found)
        elif has_sync:
            done = _walk_interval(x, interval, thread, begin, end, found)
        else:
            done = _concatenate(x, interval, thread, begin, end, found)
        if not done:
            used[N_PIECES], used[N_WAITS] = pieces, waits
            return k
        k += 1
    return k


@helper
def _walk_interval(x: SegmentIndex, interval: int, thread: int, lo: int, e: int, found: Tables) -> bool:
    """The home path from the end `e` on, then each waker's, as the waits turn up. False without room."""
    first = found.used[N_WAITS]
    return _walk(x, interval, thread, e, lo, NONE, found) and _walk_waits(x, interval, first, found)


@helper
def _walk_between(x: SegmentIndex, interval: int, thread: int, lo: int, e: int, has_sync: bool, found: Tables) -> bool:
    """The time between two attempts: what the thread did that took up the next one. False without room."""
    if is_full(found):
        return False
    if not has_sync:
        add_piece(found, interval, P_GAP, thread, lo, e, NONE)
        return True
    first = found.used[N_WAITS]
    add_anchored(found, interval, BUSY, thread, lo, e, thread, e)
    return _walk_waits(x, interval, first, found)


@helper
def _walk_waits(x: SegmentIndex, interval: int, w: int, found: Tables) -> bool:
    """The wakers of the waits from row w on, and of those that turn up meanwhile. False without room."""
    waits, used = found.waits, found.used
    while w < used[N_WAITS]:
        if waits[w, W_WAKER] != NONE and waits[w, W_ENDED] > waits[w, W_START]:
            waker, since, ended = waits[w, W_WAKER], waits[w, W_START], waits[w, W_ENDED]
            if not _walk(x, interval, waker, ended, since, w, found):
                return False
        w += 1
    return True


@helper
def _walk(x: SegmentIndex, interval: int, thread: int, e: int, lo: int, wait: int, found: Tables) -> bool:
    """Walks from (thread, e) down to lo; home is `wait == NONE`. False without room."""
    home, is_busy = wait == NONE, _is_busy(found, wait)
    segments = x.segments
    while e > lo:
        if is_full(found):
            return False
        s = last_before(x, thread, e)
        before = s
        if s != NONE and (segments[S_TE, s] < e or (home and not _counts_at_home(segments, s, interval))):
            s = NONE
        if s == NONE:
            t = last_mine(x, interval, thread, e) if home else before
            stop = lo if t == NONE else max(segments[S_TE, t], lo)
            if home and t != NONE:
                add_anchored(found, interval, BUSY, thread, stop, e, thread, e)
            else:
                add_piece(found, interval, P_GAP if is_busy else P_UNKNOWN, thread, stop, e, wait)
            e = stop
            continue
        start = max(segments[S_TS, s], lo)
        state = segments[S_STATE, s]
        if is_busy and state == IDLE:
            add_piece(found, interval, P_GAP, thread, start, e, wait)
        elif state == EXEC or state >= PREEMPTED:
            add_piece(found, interval, _alone(state), thread, start, e, wait)
        else:
            start = _expand(x, interval, s, start, e, wait, found)
        e = start
        if home and e > lo and e == segments[S_TS, s] and segments[S_TASK_AT_START, s] != NONE:
            thread, e = _follow_task(x, interval, s, e, lo, found)
    return True


@helper
def _is_busy(found: Tables, wait: int) -> bool:
    """The walk is in a time in which the interval's thread did not work for it, and in no wait within."""
    return bool(wait != NONE and found.waits[wait, W_ANCHORED] == BUSY)


@helper
def _alone(state: int) -> int:
    """The piece of a segment in which the thread waits for nobody."""
    return P_EXEC if state == EXEC else P_PREEMPTED + state - PREEMPTED


@helper
def _counts_at_home(segments: Int64, s: int, interval: int) -> bool:
    """The interval's own segments, and waits that nobody's label covers."""
    label = segments[S_INTERVAL, s]
    return bool(label == interval or (label == NONE and segments[S_STATE, s] == BLOCKED))


@helper
def _expand(x: SegmentIndex, interval: int, s: int, start: int, e: int, wait: int, found: Tables) -> int:
    """The waiting segment s over [start, e]: who is to blame at its end, and since when the thread could run. Returns
    since when he is: others are before.

    The latest usable waker that is to blame for a time before e. What lies between two wakers of one segment is a time
    in which nobody had the lock, and the thread had not run yet.
    """
    row, thread = found.used[N_WAITS], x.segments[S_THREAD, s]
    if x.segments[S_STATE, s] == QUEUE:
        waker, t = _maker_of_task(x, s, e, wait, found)
        since = start
    else:
        waker, t, since = _last_waker(x, s, start, e, wait, found)
    if waker == NONE and x.segments[S_INTERVAL, s] == NONE and _is_busy(found, wait):
        add_piece(found, interval, P_GAP, thread, since, e, wait)
        return since
    add_wait(found, interval, wait, thread, since, e, s, waker, t if waker != NONE else 0)
    if waker == NONE:
        add_piece(found, interval, P_BLOCKED_UNKNOWN, thread, since, e, row)
    else:
        add_piece(found, interval, P_SCHED, thread, max(t, since), e, row)
    return since


@helper
def _maker_of_task(x: SegmentIndex, s: int, e: int, wait: int, found: Tables) -> tuple[int, int]:
    """Who made the task that ended queue segment s, and when, e at the latest; NONE and e if nobody is known."""
    task = x.segments[S_TASK_AT_END, s]
    if task != NONE:
        creator, t = x.created[T_CREATOR, task], min(x.created[T_TIME, task], e)
        if _usable(x, creator, t, s, wait, found.waits):
            return creator, t
    return NONE, e


@helper
def _last_waker(x: SegmentIndex, s: int, start: int, e: int, wait: int, found: Tables) -> tuple[int, int, int]:
    """The latest usable waker of segment s that is to blame for a time before e; when it acted, and since when it is to
    blame. NONE, and since `start`, if there is none."""
    first = x.segments[S_WAKES, s]
    k = last_to_blame(x.wakes, first, x.segments[S_WAKES, s + 1], e)
    while k >= first:
        waker, t = x.wakes[K_WAKER, k], min(x.wakes[K_TIME, k], e)
        if _usable(x, waker, t, s, wait, found.waits):
            return waker, t, max(x.wakes[K_SINCE, k], start)
        k -= 1
    return NONE, start, start


@helper
def _usable(x: SegmentIndex, waker: int, t: int, s: int, wait: int, waits: Int64) -> bool:
    """False for a self-wake, and for a waker that is waiting at t in a segment whose expansion led here."""
    if waker == NONE or waker == x.segments[S_THREAD, s]:
        return False
    while wait != NONE:
        expanded = waits[wait, W_SEGMENT]
        waiting = expanded != NONE and x.segments[S_TS, expanded] < t <= x.segments[S_TE, expanded]
        if waiting and x.segments[S_THREAD, expanded] == waker:
            return False
        wait = waits[wait, W_PARENT]
    return True


@helper
def _follow_task(x: SegmentIndex, interval: int, s: int, e: int, lo: int, found: Tables) -> tuple[int, int]:
    """At e, the start of home segment s: moves home to the creator of the task that s serves.

    A creator that did not work for the interval does not become home: it is walked as a waker, down to the previous
    home segment, unless nobody is known to have created the task. An edge that does not go back in time is ignored, so
    e strictly decreases.
    """
    thread, edge = x.segments[S_THREAD, s], x.segments[S_TASK_AT_START, s]
    creator, t = x.created[T_CREATOR, edge], x.created[T_TIME, edge]
    if t >= e:
        return thread, e
    m = last_before(x, creator, t) if creator != NONE else NONE
    floor = lo
    moves = m != NONE and x.segments[S_TE, m] >= t and x.segments[S_INTERVAL, m] == interval
    if not moves:
        previous = last_mine(x, interval, thread, e)
        if previous != NONE:
            floor = max(lo, x.segments[S_TE, previous])
    add_piece(found, interval, P_QUEUE, thread, max(t, floor), e, NONE)
    if moves:
        return creator, max(t, lo)
    if t > floor and creator != NONE:
        add_anchored(found, interval, FOR_TASK, thread, floor, e, creator, t)
    return thread, floor


@helper
def _concatenate(x: SegmentIndex, interval: int, thread: int, lo: int, e: int, found: Tables) -> bool:
    """Without any sync record: the labelled segments in time order, `gap` between them (TProfiler). False without
    room."""
    now, kind = lo, P_UNKNOWN
    for k in range(x.mine_first[interval], x.mine_first[interval + 1]):
        s = x.mine[k]
        start, stop = max(x.segments[S_TS, s], now), min(x.segments[S_TE, s], e)
        if start >= stop:
            continue
        if is_full(found):
            return False
        thread = x.segments[S_THREAD, s]
        add_piece(found, interval, kind, thread, now, start, NONE)
        state = x.segments[S_STATE, s]
        if state == EXEC or state >= PREEMPTED:
            add_piece(found, interval, _alone(state), thread, start, stop, NONE)
        else:
            add_piece(found, interval, P_BLOCKED_UNKNOWN, thread, start, stop, found.used[N_WAITS])
            add_wait(found, interval, NONE, thread, start, stop, s, NONE, 0)
        now, kind = stop, P_GAP
    if is_full(found):
        return False
    add_piece(found, interval, kind, thread, now, e, NONE)
    return True
