"""Segments: what each thread did from its first to its last moment (docs/algorithms.md section 1).

    labels + waits + time off the CPU + lives of threads -> segments without gaps or overlaps

A wait inside another (a condition variable waits for a mutex, a described primitive waits inside): the outer wait
lasts until the first inner wait that began after the outer's wake-up; from there on the inner ones count, and the time
between them is execution. Where nobody is known to have ended the outer wait it gives way to every inner one. A wait
explains all time off the CPU in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vprof.tables.kernels import helper, kernel, loop
from vprof.tables.kinds import BLOCKED, DISK, EXEC, IDLE, SLEEP
from vprof.tables.model import NONE, OBJECT_CLASSES, Bool, Int8, Int32, Int64, Segments
from vprof.trace.intervals import Labels
from vprof.trace.lives import Lives
from vprof.trace.nesting import SATURATED, nest, preorder
from vprof.trace.off_cpu import OffCpu
from vprof.trace.window import Window

_FROM_OUTSIDE = (OBJECT_CLASSES.index("pipe, socket or eventfd"), OBJECT_CLASSES.index("signal"))
_STORAGE = OBJECT_CLASSES.index("storage")


@dataclass(frozen=True, kw_only=True)
class BlockedWaits:
    """Blocked waits, grouped by thread in the order of their ends. `waker` is a thread or NONE: nobody is known.

    begin <= t < end, with `t` when the waker acted; `span` as of `nesting.nest`; `corrected` counts the times that had
    to be moved for that, of waits that ended in the window. `lock` names what was waited for, and `told` when it was
    released, as recorded (`holds.py`). `timed_out`: a time was over that the thread had set itself. `name`: the
    number of its name in the file, 0: it has none.
    """

    thread: Int32
    begin: Int64
    end: Int64
    waker: Int32
    t: Int64
    object_class: Int8
    span: Int64
    lock: Int64
    told: Int64
    timed_out: Bool
    name: Int64
    corrected: int

    @classmethod
    def of(cls, rows: Int64, window: Window) -> BlockedWaits:
        """Makes the waits of a thread nest and puts the wake-ups inside them. `rows`: of `window.Content`."""
        columns = (np.ascontiguousarray(column) for column in rows.T)
        thread, begin, end, class_, waker, t, lock, told, late, name = columns
        thread, waker = thread.astype(np.int32), waker.astype(np.int32)
        # A class that a newer runtime knows is not known here.
        object_class = np.where(class_ < len(OBJECT_CLASSES), class_, 0).astype(np.int8)
        depth = np.full(len(thread), SATURATED, np.int32)
        span, corrected = nest(thread, depth, begin, end, window.begin, window.end)
        inside = np.maximum(begin, np.minimum(t, end - 1))
        moved = (waker != NONE) & (np.abs(inside - t) > 1) & window.owns(end)
        corrected += int(np.count_nonzero(moved))
        return cls(
            thread=thread,
            begin=begin,
            end=end,
            waker=waker,
            t=inside,
            object_class=object_class,
            span=span,
            lock=lock,
            told=told,
            timed_out=late.astype(np.bool_),
            name=name,
            corrected=corrected,
        )


@dataclass(frozen=True)
class Cut:
    """Segments, and for each the row of its wait in `Waits`, or NONE."""

    segments: Segments
    wait: Int64


def cut(lives: Lives, labels: Labels, label: Int32, waits: BlockedWaits, objects: Int32, off: OffCpu) -> Cut:
    """Cuts each thread's life at changes of label, at waits and where it is off the CPU.

    `label`: what the label column holds for each of the labels; `objects`: the object of each wait.
    """
    order, _ = preorder(waits.thread, waits.span)
    waiting = _pieces(order, waits.thread, waits.begin, waits.end, waits.waker != NONE, waits.t)
    off_cpu = _Still(off.thread, off.start, off.stop, np.full(len(off.thread), NONE), off.state)
    still = _with_off_cpu(waiting, off_cpu)
    owner, label, ts, te, state, of = _cut(lives.first, lives.last, labels.thread, labels.t, label, still)
    segments = Segments(
        thread=owner,
        interval=label,
        ts=ts,
        te=te,
        state=state,
        object_class=np.r_[waits.object_class, np.int8(0)][of],
        object=np.r_[objects, np.int32(NONE)][of],
    )
    _name_waits_for_nobody(segments, waits, of)
    return Cut(segments, of)


def _name_waits_for_nobody(segments: Segments, waits: BlockedWaits, of: Int64) -> None:
    """Waits that no thread ended, and for which none is to blame: `idle` is waiting for what comes from outside while
    working for nobody, `sleep` waiting until a time is over, `disk` waiting for a request that is for a file."""
    ended = np.r_[waits.waker != NONE, True][of]
    outside = np.isin(segments.object_class, _FROM_OUTSIDE) & (segments.interval == NONE)
    segments.state[~ended & np.r_[waits.timed_out, False][of]] = SLEEP
    segments.state[~ended & outside & (of != NONE)] = IDLE
    segments.state[~ended & (segments.object_class == _STORAGE) & (of != NONE)] = DISK


class _Still(NamedTuple):
    """Pieces of standing still, by (thread, start), without overlaps: in which wait, or NONE, and as what (a state of
    segments)."""

    thread: Int32
    start: Int64
    stop: Int64
    wait: Int64
    state: Int8


@helper
def _painter(stack: Int64, top: int, known: Bool, released: Bool) -> int:
    """Which of the open waits (outermost first) explains that the thread stands still; -1: it executes."""
    for level in range(top):
        wait = stack[level]
        if known[wait] and not released[wait]:
            return int(wait)
        if not known[wait] and level == top - 1:
            return int(wait)
    return -1


@kernel
def _pieces(order: Int64, thread: Int32, begin: Int64, end: Int64, known: Bool, t: Int64) -> _Still:
    """Where threads stand still in a wait. `order`: outer before inner."""
    size = 2 * len(order)
    owner, start, stop = np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.int64)
    of = np.empty(size, np.int64)
    stack = np.empty(len(order), np.int64)
    released = np.zeros(len(order), np.bool_)
    n = top = 0
    cursor = np.int64(0)
    for step in range(len(order) + 1):
        new = order[step] if step < len(order) else -1
        while True:
            # Next moment at which the set of open waits changes: the innermost ends, or the new one begins.
            ends = top > 0 and (new < 0 or thread[stack[top - 1]] != thread[new] or end[stack[top - 1]] <= begin[new])
            if not ends and new < 0:
                break
            moment = end[stack[top - 1]] if ends else begin[new]
            wait = _painter(stack, top, known, released)
            if wait >= 0 and moment > cursor:
                if n and of[n - 1] == wait and stop[n - 1] == cursor:
                    stop[n - 1] = moment
                else:
                    owner[n], start[n], stop[n], of[n] = thread[wait], cursor, moment, wait
                    n += 1
            cursor = moment
            if not ends:
                break
            top -= 1
        if new >= 0:
            for level in range(top):
                if begin[new] > t[stack[level]]:
                    released[stack[level]] = True
            stack[top] = new
            top += 1
    return _Still(owner[:n], start[:n], stop[:n], of[:n], np.full(n, BLOCKED, np.int8))


@kernel
def _with_off_cpu(waiting: _Still, off: _Still) -> _Still:
    """Both in order: standing still in a wait, and where there is none, being off the CPU."""
    size = 2 * (len(waiting.thread) + len(off.thread))
    both = _Still(
        np.empty(size, np.int32),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int8),
    )
    n = _join(waiting, off, both)
    return _Still(both.thread[:n], both.start[:n], both.stop[:n], both.wait[:n], both.state[:n])


@loop
def _join(waiting: _Still, off: _Still, both: _Still) -> int:
    """Fills `both`; returns how many pieces there are."""
    thread, start, stop = waiting.thread, waiting.start, waiting.stop
    n = k = 0
    for i in range(len(thread) + 1):
        last = i == len(thread)
        while k < len(off.thread) and (last or off.thread[k] <= thread[i]):
            now = off.start[k]
            if i and thread[i - 1] == off.thread[k]:
                now = max(now, stop[i - 1])
            ahead = not last and off.thread[k] == thread[i]
            until = min(off.stop[k], start[i]) if ahead else off.stop[k]
            if now < until:
                _put(both, n, off, k)
                both.start[n], both.stop[n] = now, until
                n += 1
            if ahead and off.stop[k] > start[i]:
                break  # the rest may lie after this wait
            k += 1
        if not last:
            _put(both, n, waiting, i)
            n += 1
    return n


@helper
def _put(to: _Still, n: int, of: _Still, i: int) -> None:
    to.thread[n], to.start[n], to.stop[n] = of.thread[i], of.start[i], of.stop[i]
    to.wait[n], to.state[n] = of.wait[i], of.state[i]


@kernel
def _cut(
    life_start: Int64, life_end: Int64, label_thread: Int32, label_t: Int64, label: Int32, still: _Still
) -> tuple[Int32, Int32, Int64, Int64, Int8, Int64]:
    piece_thread, piece_from, piece_to = still.thread, still.start, still.stop
    piece_wait, piece_state = still.wait, still.state
    size = len(life_start) + len(label) + 2 * len(piece_wait)
    thread, interval, state = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int8)
    ts, te, wait = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    n = li = pi = 0
    for owner in range(len(life_start)):
        cursor, current = life_start[owner], NONE
        while cursor < life_end[owner]:
            moment = life_end[owner]
            relabel = li < len(label) and label_thread[li] == owner
            if relabel:
                moment = min(moment, label_t[li])
            has_piece = pi < len(piece_wait) and piece_thread[pi] == owner
            blocked = has_piece and piece_from[pi] <= cursor
            if has_piece:
                moment = min(moment, piece_to[pi] if blocked else piece_from[pi])
            if moment > cursor:
                thread[n], interval[n], ts[n], te[n] = owner, current, cursor, moment
                state[n], wait[n] = (piece_state[pi], piece_wait[pi]) if blocked else (EXEC, NONE)
                n += 1
            cursor = moment
            if relabel and label_t[li] == cursor:
                current = label[li]
                li += 1
            if blocked and piece_to[pi] == cursor:
                pi += 1
        while li < len(label) and label_thread[li] == owner:
            li += 1
    return thread[:n], interval[:n], ts[:n], te[:n], state[:n], wait[:n]
