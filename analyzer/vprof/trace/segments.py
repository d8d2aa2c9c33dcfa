"""Segments: what each thread did from its first to its last moment (ALGORITHMS section 1 and 2).

    labels + waits + time off the CPU + lives of threads -> segments without gaps or overlaps

A wait inside another (a condition variable waits for a mutex, a described primitive waits inside): the outer wait
lasts until the first inner wait that began after the outer's wake-up; from there on the inner ones count, and the time
between them is execution. Where nobody is known to have ended the outer wait it gives way to every inner one. A wait
explains all time off the CPU in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.intervals import Labels
from vprof.kernels import helper, kernel
from vprof.lives import Lives
from vprof.model import BLOCKED, EXEC, NONE, OBJECT_CLASSES, Bool, Int8, Int32, Int64, Segments
from vprof.nesting import SATURATED, nest, preorder
from vprof.off_cpu import OffCpu
from vprof.window import Window


@dataclass(frozen=True)
class Waits:
    """Blocked waits, grouped by thread in the order of their ends. `waker` is a thread or NONE: nobody is known.

    begin <= t < end, with `t` when the waker acted; `span` as of `nesting.nest`; `corrected` counts the times that had
    to be moved for that, of waits that ended in the window.
    """

    thread: Int32
    begin: Int64
    end: Int64
    waker: Int32
    t: Int64
    object_class: Int8
    span: Int64
    corrected: int

    @classmethod
    def of(cls, rows: Int64, window: Window) -> Waits:
        """Makes the waits of a thread nest and puts the wake-ups inside them. `rows`: of `window.Content`."""
        thread, begin, end, class_, waker, t = (np.ascontiguousarray(column) for column in rows.T)
        thread, waker = thread.astype(np.int32), waker.astype(np.int32)
        # A class that a newer runtime knows is not known here.
        object_class = np.where(class_ < len(OBJECT_CLASSES), class_, 0).astype(np.int8)
        depth = np.full(len(thread), SATURATED, np.int32)
        span, corrected = nest(thread, depth, begin, end, window.begin, window.end)
        inside = np.maximum(begin, np.minimum(t, end - 1))
        moved = (waker != NONE) & (np.abs(inside - t) > 1) & window.owns(end)
        return cls(thread, begin, end, waker, inside, object_class, span, corrected + int(np.count_nonzero(moved)))


@dataclass(frozen=True)
class Cut:
    """Segments, and for each the row of its wait in `Waits`, or NONE."""

    segments: Segments
    wait: Int64


def cut(lives: Lives, labels: Labels, label: Int32, waits: Waits, off: OffCpu) -> Cut:
    """Cuts each thread's life at changes of label, at waits and where it is off the CPU.

    `label`: what the label column holds for each of the labels.
    """
    order, _ = preorder(waits.thread, waits.span)
    still = _pieces(order, waits.thread, waits.begin, waits.end, waits.waker != NONE, waits.t)
    thread, start, end, wait, states = _with_off_cpu(*still, off.thread, off.start, off.stop, off.state)
    owner, label, ts, te, state, of = _cut(
        lives.first, lives.last, labels.thread, labels.t, label, thread, start, end, wait, states
    )
    return Cut(Segments(owner, label, ts, te, state, np.r_[waits.object_class, np.int8(0)][of]), of)


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
def _pieces(
    order: Int64, thread: Int32, begin: Int64, end: Int64, known: Bool, t: Int64
) -> tuple[Int32, Int64, Int64, Int64]:
    """Pieces of standing still (thread, from, to, wait) in order, without overlaps. `order`: outer before inner."""
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
    return owner[:n], start[:n], stop[:n], of[:n]


@kernel
def _with_off_cpu(
    thread: Int32,
    start: Int64,
    stop: Int64,
    wait: Int64,
    off_thread: Int32,
    off_start: Int64,
    off_stop: Int64,
    off_state: Int8,
) -> tuple[Int32, Int64, Int64, Int64, Int8]:
    """Both in order: standing still in a wait, and where there is none, being off the CPU (wait NONE)."""
    size = 2 * (len(thread) + len(off_thread))
    owner, begin, end = np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.int64)
    of, state = np.empty(size, np.int64), np.empty(size, np.int8)
    n = k = 0
    for i in range(len(thread) + 1):
        last = i == len(thread)
        while k < len(off_thread) and (last or off_thread[k] <= thread[i]):
            now = off_start[k]
            if i and thread[i - 1] == off_thread[k]:
                now = max(now, stop[i - 1])
            ahead = not last and off_thread[k] == thread[i]
            until = min(off_stop[k], start[i]) if ahead else off_stop[k]
            if now < until:
                owner[n], begin[n], end[n], of[n], state[n] = off_thread[k], now, until, NONE, off_state[k]
                n += 1
            if ahead and off_stop[k] > start[i]:
                break  # the rest may lie after this wait
            k += 1
        if not last:
            owner[n], begin[n], end[n], of[n], state[n] = thread[i], start[i], stop[i], wait[i], BLOCKED
            n += 1
    return owner[:n], begin[:n], end[:n], of[:n], state[:n]


@kernel
def _cut(
    life_start: Int64,
    life_end: Int64,
    label_thread: Int32,
    label_t: Int64,
    label: Int32,
    piece_thread: Int32,
    piece_from: Int64,
    piece_to: Int64,
    piece_wait: Int64,
    piece_state: Int8,
) -> tuple[Int32, Int32, Int64, Int64, np.ndarray, Int64]:
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
