"""Attaches the edges of a JSON trace to its segments and puts their stamps in order (docs/algorithms.md section 2).

The papers' tuples have no record order, so times must do: a wake-up belongs to the wait it falls into, and a
created-by edge to the segment that starts when the task was taken.
"""

from __future__ import annotations

import numpy as np

from vprof.tables.kinds import BLOCKED
from vprof.tables.model import NONE, SINCE_ALWAYS, Created, Int64, Segments, Wakeups


def link_wakeups(rows: list[tuple[int, ...]], seg: Segments, notes: list[str]) -> Wakeups:
    """Rows (thread, waker, t, since). Of those that tell since when the waker is to blame, each is for the time before
    the next one's. A stamp a little after its wait, within the thread's next segment, is moved back to the
    wait's end (clocks of two CPUs); one that fits no wait is left out. Both are counted in the notes."""
    linked: dict[int, list[tuple[int, ...]]] = {}
    late = []
    dropped = 0
    for thread, waker, t, since in rows:
        s = _last_start(seg, thread, t)
        if s != NONE and seg.state[s] == BLOCKED and t <= seg.te[s]:
            linked.setdefault(s, []).append((thread, waker, t, since))
        elif s != NONE and s - 1 >= 0 and seg.thread[s - 1] == thread and seg.state[s - 1] == BLOCKED:
            late.append((s - 1, thread, waker, since))
        elif s != NONE and seg.state[s] == BLOCKED:
            late.append((s, thread, waker, since))
        else:
            dropped += 1
    moved = 0
    for s, thread, waker, since in late:
        if s in linked:
            dropped += 1
        else:
            linked[s] = [(thread, waker, int(seg.te[s]), since)]
            moved += 1
    if moved:
        notes.append(f"{moved} wake-ups stamped after the wait they ended were moved to its end")
    if dropped:
        notes.append(f"{dropped} wake-ups fall into no wait and were left out")
    flat = [(*row, s) for s, group in sorted(linked.items()) for row in _one_after_the_other(group)]
    c = np.array(flat, np.int64).reshape(-1, 5).T
    return Wakeups(c[0].astype(np.int32), c[1].astype(np.int32), c[2], c[4].astype(np.int32), c[3])


def _one_after_the_other(group: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Of the wakers of one wait those that are to blame for a time of their own, in order of time. Where nobody is to
    blame any more but for all before, the others are kept: the walk may be unable to use the last one."""
    kept: list[tuple[int, ...]] = []
    before = None
    for thread, waker, t, since in sorted(group, key=lambda row: row[2])[::-1]:
        if before is not None and before != SINCE_ALWAYS and since >= before:
            continue
        if before == SINCE_ALWAYS and since != SINCE_ALWAYS:
            since = SINCE_ALWAYS
        kept.append((thread, waker, t, since))
        before = since
    return kept[::-1]


def link_created(rows: list[tuple[int, ...]], seg: Segments, notes: list[str]) -> Created:
    """Rows (creator, ts, thread, ts2). ts2 is moved to the start of the segment that serves the task; a creation that
    does not precede it is moved to 1 ns before (counted in the notes)."""
    out = []
    moved = 0
    for creator, ts, thread, ts2 in rows:
        taken = _served_from(seg, creator, ts, thread, ts2)
        if ts >= taken:
            ts = taken - 1
            moved += 1
        out.append((creator, ts, thread, taken))
    if moved:
        notes.append(f"{moved} tasks stamped as taken before they were created: the creation was moved before")
    c = np.array(out, np.int64).reshape(-1, 4).T
    return Created(c[0].astype(np.int32), c[1], c[2].astype(np.int32), c[3])


def _bounds(seg: Segments, thread: int) -> tuple[int, int]:
    a, b = np.searchsorted(seg.thread, [thread, thread + 1])
    return int(a), int(b)


def _last_start(seg: Segments, thread: int, t: int) -> int:
    """The thread's last segment that starts before t (at t, if none does)."""
    a, b = _bounds(seg, thread)
    s = a + int(np.searchsorted(seg.ts[a:b], t)) - 1
    if s < a:
        return a if a < b and seg.ts[a] == t else NONE
    if seg.te[s] < t and s + 1 < b and seg.ts[s + 1] == t:
        return s + 1
    return s


def _served_from(seg: Segments, creator: int, ts: int, thread: int, ts2: int) -> int:
    """Start of the segment of `thread` that serves the task: at ts2, else the next one of the creator's interval."""
    a, b = _bounds(seg, thread)
    starts: Int64 = seg.ts[a:b]
    s = a + int(np.searchsorted(starts, ts2))
    if s < b and seg.ts[s] == ts2:
        return ts2
    m = _last_start(seg, creator, ts)
    if m != NONE and seg.te[m] >= ts and seg.interval[m] != NONE:
        same = np.flatnonzero(seg.interval[s:b] == seg.interval[m])
        if len(same):
            return int(seg.ts[s + same[0]])
    return ts2
