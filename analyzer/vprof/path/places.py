"""Every nanosecond of every critical path at one node, and the sums of these with all that is below a node.

    Pieces + Waits + Stacks  ->  rows (interval, node of the forest, ns)

The places are those of docs/algorithms.md section 3 (path_tree.py says which). All stacks are read at the same instant,
so a piece is cut wherever one of them changes. Whole nanoseconds; rows of zero time are absent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vprof.path.pieces import BUSY, Paths
from vprof.path.stacks import (
    MAX_DEPTH,
    T_LABEL,
    T_PARENT,
    Stacks,
    Timeline,
    Trie,
    child_of,
    has_room,
    roomy_trie,
    step_at,
)
from vprof.tables.columns import i64
from vprof.tables.kernels import helper, kernel, loop, roomy
from vprof.tables.kinds import (
    L_ABORTED,
    L_BLOCKED,
    L_BUSY,
    L_GAP,
    L_PREEMPTED,
    L_QUEUE,
    L_SCHED,
    L_UNKNOWN,
    P_EXEC,
    P_GAP,
    P_PREEMPTED,
    P_QUEUE,
    P_SCHED,
)
from vprof.tables.model import NONE, R_INTERVAL, R_NODE, R_NS, Int64, Trace

_FOREVER = 2**63 - 1

_GRAFTS = 1 << 14
"""How many grafts are remembered."""

B_NODE, B_SINCE, B_UNTIL, B_INNER, B_ABOVE = range(5)
"""What the walk knows of a wait: its `[blocked]` node, since and until when it is that, a link for `_update`, and the
call stack above a `[busy]`."""

G_ONTO, G_STACK, G_ABOVE, G_NODE = range(4)
"""A graft: the node, the call stack, how much of it is above, and the node of the rest below that one."""

S_TIME, S_TOUCHED = range(2)
"""Sums of the current interval: the time of each node and, as a list beside it, the nodes that have some."""

A_PIECE, A_TIME, A_TOUCHED, A_OUT, A_ATTEMPT = range(5)
"""How far `_place_on` is: the piece and the time in it, the nodes with time in the interval, the rows that are out, and
the first aborted attempt that does not end before the piece."""


class _Pieces(NamedTuple):
    """As `pieces.Pieces`, for kernels."""

    interval: Int64
    kind: Int64
    thread: Int64
    start: Int64
    stop: Int64
    wait: Int64


class _Waits(NamedTuple):
    """As `pieces.Waits`, for kernels."""

    parent: Int64
    thread: Int64
    start: Int64
    stop: Int64
    anchored: Int64


class _Attempts(NamedTuple):
    """As `model.Attempts`, for kernels."""

    interval: Int64
    thread: Int64
    begin: Int64
    end: Int64
    next_begin: Int64


class _Walk(NamedTuple):
    """What is placed, and what is known of it: the step that was asked for last of each thread, of each wait a row B_*,
    the latest grafts as rows G_*; `path` is scratch."""

    pieces: _Pieces
    waits: _Waits
    attempts: _Attempts
    timeline: Timeline
    near: Int64
    below: Int64
    grafts: Int64
    path: Int64


def place(trace: Trace, paths: Paths, stacks: Stacks) -> Int64:
    """Rows (interval, node of the forest, ns), by interval."""
    p, w, a = paths.pieces, paths.waits, trace.attempts
    walk = _Walk(
        _Pieces(*map(i64, (p.interval, p.kind, p.thread, p.start, p.stop, p.wait))),
        _Waits(*map(i64, (w.parent, w.thread, w.start, w.stop, w.anchored))),
        _Attempts(*map(i64, (a.interval, a.thread, a.begin, a.end, a.next_begin))),
        stacks.timeline,
        near=np.full(len(trace.threads), NONE, np.int64),
        below=np.zeros((len(w.thread), 5), np.int64),
        grafts=np.zeros((_GRAFTS, 4), np.int64),
        path=np.empty(MAX_DEPTH + 1, np.int64),
    )
    times, stacks.forest.trie = _place(walk, stacks.forest.trie)
    return times


@kernel
def _place(walk: _Walk, trie: Trie) -> tuple[Int64, Trie]:
    """Puts every nanosecond of the pieces at a node. Returns rows R_*, by interval, and the trie."""
    at = np.zeros(5, np.int64)
    if len(walk.pieces.start):
        at[A_TIME] = walk.pieces.start[0]
    trie = roomy_trie(trie)
    sums, out = np.zeros((len(trie.nodes) + 1, 2), np.int64), np.zeros((1024, 3), np.int64)
    while not _place_on(walk, trie, sums, out, at):
        trie = roomy_trie(trie)
        sums = roomy(sums, len(sums), len(trie.nodes) + 1 - len(sums))
        out = roomy(out, at[A_OUT], at[A_TOUCHED])
    return out[: at[A_OUT]], trie


@loop
def _place_on(walk: _Walk, trie: Trie, sums: Int64, out: Int64, at: Int64) -> bool:
    """Goes on where `at` says; False when the trie or `out` is full."""
    pieces = walk.pieces
    k, t, touched, n = at[A_PIECE], at[A_TIME], at[A_TOUCHED], at[A_OUT]
    while k < len(pieces.start):
        stop = pieces.stop[k]
        attempt = _attempt(walk, k, at)
        if pieces.wait[k] == NONE and pieces.kind[k] == P_EXEC and attempt == NONE:
            touched = _add_steps(walk, pieces.thread[k], t, stop, sums, touched)
            t = stop
        while t < stop and has_room(trie):
            t, touched = _place_some(walk, trie, k, t, attempt, sums, touched)
        ends = k + 1 == len(pieces.start) or pieces.interval[k + 1] != pieces.interval[k]
        if t < stop or (ends and n + touched > len(out)):
            at[A_PIECE], at[A_TIME], at[A_TOUCHED], at[A_OUT] = k, t, touched, n
            return False
        if ends:
            _flush(pieces.interval[k], sums, touched, out, n)
            n, touched = n + touched, 0
        k += 1
        if k < len(pieces.start):
            t = pieces.start[k]
    at[A_OUT] = n
    return True


@helper
def _attempt(walk: _Walk, k: int, at: Int64) -> int:
    """The aborted attempt in which piece k lies, or NONE. No piece lies across the begin or the end of one."""
    attempts, interval, t = walk.attempts, walk.pieces.interval[k], walk.pieces.start[k]
    c = at[A_ATTEMPT]
    while c < len(attempts.interval) and (
        attempts.interval[c] < interval or (attempts.interval[c] == interval and attempts.end[c] <= t)
    ):
        c += 1
    at[A_ATTEMPT] = c
    inside = c < len(attempts.interval) and attempts.interval[c] == interval and attempts.begin[c] <= t
    return int(c) if inside else NONE


@helper
def _add_steps(walk: _Walk, thread: int, t: int, stop: int, sums: Int64, touched: int) -> int:
    """[t, stop] of a home thread that executes: most of the time of most traces."""
    timeline = walk.timeline
    step, end = step_at(timeline, thread, t, walk.near) + 1, timeline.first[thread + 1]
    node = _stack(timeline, thread, step - 1)
    while step < end and timeline.times[step] < stop:
        touched = _add(node, timeline.times[step] - t, sums, touched)
        t, node = timeline.times[step], timeline.stacks[step]
        step += 1
    return _add(node, stop - t, sums, touched)


@helper
def _place_some(walk: _Walk, trie: Trie, k: int, t: int, attempt: int, sums: Int64, touched: int) -> tuple[int, int]:
    """Places what piece k has from t on until one of the stacks that it lies below changes. REQUIRES: room in the trie.

    Returns until when that is, and how many nodes have time.
    """
    pieces, kind, wait = walk.pieces, walk.pieces.kind[k], walk.pieces.wait[k]
    node, until, above = 0, pieces.stop[k], 0
    if attempt != NONE:
        above = _around(walk, attempt)
        node = child_of(above, L_ABORTED, trie)
    if kind == P_GAP and wait != NONE:
        stack = _anchor(walk, pieces.thread[k], walk.waits.start[wait], walk.waits.stop[wait])
        node = _graft(walk, trie, node, stack, above)
        return until, _add(child_of(node, L_GAP, trie), until - t, sums, touched)
    if wait != NONE:
        _update(walk, trie, wait, t, node, above)
        node, above = walk.below[wait, B_NODE], walk.below[wait, B_ABOVE]
        until = min(until, walk.below[wait, B_UNTIL])
    if kind == P_EXEC:
        return _graft_steps(walk, trie, node, above, pieces.thread[k], t, until, sums, touched)
    if kind >= P_PREEMPTED:
        step = step_at(walk.timeline, pieces.thread[k], t, walk.near)
        until = min(until, _step_end(walk.timeline, pieces.thread[k], step))
        node = _graft(walk, trie, node, _stack(walk.timeline, pieces.thread[k], step), above)
        node = child_of(node, L_PREEMPTED + kind - P_PREEMPTED, trie)
    else:
        if wait == NONE:
            node = _graft(walk, trie, node, _anchor(walk, pieces.thread[k], t, pieces.stop[k]), above)
        node = child_of(node, _label(kind), trie)
    return until, _add(node, until - t, sums, touched)


@helper
def _around(walk: _Walk, attempt: int) -> int:
    """The calls in which an aborted attempt was made and the next one began."""
    attempts = walk.attempts
    return _anchor(walk, attempts.thread[attempt], attempts.begin[attempt], attempts.next_begin[attempt])


@helper
def _graft_steps(
    walk: _Walk, trie: Trie, onto: int, above: int, thread: int, t: int, until: int, sums: Int64, touched: int
) -> tuple[int, int]:
    """[t, until] of a thread that executes, below node `onto`; less if the trie gets full. Returns as `_place_some`."""
    timeline = walk.timeline
    step, last = step_at(timeline, thread, t, walk.near), timeline.first[thread + 1] - 1
    while t < until and has_room(trie):
        leaves = min(until, timeline.times[step + 1]) if step < last else until
        node = _graft(walk, trie, onto, _stack(timeline, thread, step), above)
        touched = _add(node, leaves - t, sums, touched)
        t = leaves
        step += 1
    return t, touched


@helper
def _update(walk: _Walk, trie: Trie, wait: int, t: int, home: int, above: int) -> None:
    """Brings the wait's row of `below` up to time t: its `[blocked]` node, from when and until when that holds. `home`:
    the node that the interval's own threads hang below, the root or an `[aborted]`, and the calls `above` it.

    Remembered per wait, and pieces come in order of time: so a chain of n waits inside each other costs n, not n * n.
    The way in, through the waits that are not up to date, is noted beside it.
    """
    waits, below, timeline = walk.waits, walk.below, walk.timeline
    w, inner = wait, NONE
    while w != NONE and not below[w, B_SINCE] <= t < below[w, B_UNTIL]:
        below[w, B_INNER] = inner
        w, inner = waits.parent[w], w
    node, until = home, _FOREVER
    if w != NONE:
        node, until, above = below[w, B_NODE], below[w, B_UNTIL], below[w, B_ABOVE]
    w = inner
    while w != NONE:
        thread = waits.thread[w]
        if waits.anchored[w]:
            stack = _anchor(walk, thread, waits.start[w], waits.stop[w])
        else:
            step = step_at(timeline, thread, t, walk.near)
            stack = _stack(timeline, thread, step)
            until = min(until, _step_end(timeline, thread, step))
        is_busy = waits.anchored[w] == BUSY
        node = child_of(_graft(walk, trie, node, stack, above), L_BUSY if is_busy else L_BLOCKED, trie)
        above = stack if is_busy else 0
        below[w, B_NODE], below[w, B_SINCE], below[w, B_UNTIL], below[w, B_ABOVE] = node, t, until, above
        w = below[w, B_INNER]


@helper
def _label(kind: int) -> int:
    if kind == P_QUEUE:
        return L_QUEUE
    if kind == P_GAP:
        return L_GAP
    return L_SCHED if kind == P_SCHED else L_UNKNOWN


@helper
def _stack(timeline: Timeline, thread: int, step: int) -> int:
    """The trie node of the stack at this step; the root before the thread's first one."""
    return int(timeline.stacks[step]) if step >= timeline.first[thread] else 0


@helper
def _step_end(timeline: Timeline, thread: int, step: int) -> int:
    return int(timeline.times[step + 1]) if step + 1 < timeline.first[thread + 1] else _FOREVER


@helper
def _anchor(walk: _Walk, thread: int, start: int, stop: int) -> int:
    """The trie node of the thread's frames that are open over all of [start, stop]; the root if there is none."""
    timeline, frames = walk.timeline, walk.timeline.frames
    step = step_at(timeline, thread, start, walk.near)
    row = NONE if step < timeline.first[thread] else timeline.innermost[step]
    while row != NONE and frames.left[row] < stop:
        row = frames.around[row]
    return 0 if row == NONE else int(frames.node[row])


@helper
def _graft(walk: _Walk, trie: Trie, onto: int, stack: int, above: int) -> int:
    """The tree node of call stack `stack` below node `onto`, without those calls that are `above` that already: the
    stack around a `[busy]` or an `[aborted]`, 0 elsewhere."""
    if onto == 0 or stack == 0:
        return onto + stack
    graft = walk.grafts[(onto * 31 + stack) & (_GRAFTS - 1)]
    if graft[G_ONTO] == onto and graft[G_STACK] == stack and graft[G_ABOVE] == above:
        return int(graft[G_NODE])
    n, node = 0, stack
    while node not in (0, above):
        walk.path[n] = trie.nodes[node, T_LABEL]
        node = trie.nodes[node, T_PARENT]
        n += 1
    node = onto
    for i in range(n - 1, -1, -1):
        node = child_of(node, walk.path[i], trie)
    graft[G_ONTO], graft[G_STACK], graft[G_ABOVE], graft[G_NODE] = onto, stack, above, node
    return node


@kernel
def sum_upwards(interval: Int64, own: Int64, ns: Int64, parent: Int64) -> Int64:
    """Of times at nodes, by interval: rows R_* of inclusive times, every node's own time and all below it; by interval,
    nodes in no order."""
    sums, touched = np.zeros((len(parent) + 1, 2), np.int64), 0
    out, n = np.zeros((1024, 3), np.int64), 0
    for k in range(len(own)):
        x = own[k]
        while x != NONE:
            touched = _add(x, ns[k], sums, touched)
            x = parent[x]
        if k + 1 == len(own) or interval[k + 1] != interval[k]:
            if n + touched > len(out):
                out = roomy(out, n, touched)
            _flush(interval[k], sums, touched, out, n)
            n, touched = n + touched, 0
    return out[:n]


@helper
def _add(node: int, ns: int, sums: Int64, touched: int) -> int:
    """`sums`: columns S_*. It has a row more than there are nodes: the list's next place is written in any case, which
    costs less than to guess."""
    sums[touched, S_TOUCHED] = node
    touched += sums[node, S_TIME] == 0
    sums[node, S_TIME] += ns
    return touched


@helper
def _flush(interval: int, sums: Int64, touched: int, out: Int64, n: int) -> None:
    """Moves one interval's times to `out` from row n on."""
    for j in range(touched):
        x = sums[j, S_TOUCHED]
        out[n + j, R_INTERVAL], out[n + j, R_NODE], out[n + j, R_NS] = interval, x, sums[x, S_TIME]
        sums[x, S_TIME] = 0
