"""Every nanosecond of every critical path at one node, and the sums of these with all that is below a node.

    Pieces + Waits + Stacks  ->  rows (interval, node of the forest, ns)

The places are those of ALGORITHMS section 3 (path_tree.py says which). All stacks are read at the same instant, so a
piece is cut wherever one of them changes. Whole nanoseconds; rows of zero time are absent.
"""

from __future__ import annotations

import numpy as np

from vprof.columns import i64
from vprof.critical_path import P_EXEC, P_GAP, P_PREEMPTED, P_QUEUE, P_SCHED, Paths
from vprof.kernels import helper, kernel, roomy
from vprof.model import NONE, Int64, Trace
from vprof.stacks import (
    L_BLOCKED,
    L_GAP,
    L_PREEMPTED,
    L_QUEUE,
    L_SCHED,
    L_UNKNOWN,
    MAX_DEPTH,
    T_LABEL,
    T_PARENT,
    Stacks,
    child_of,
    roomy_trie,
    step_at,
)

_FOREVER = 2**63 - 1

_GRAFTS = 1 << 14
"""How many grafts are remembered."""

B_NODE, B_SINCE, B_UNTIL, B_INNER = range(4)
"""What the walk knows of a wait: its `[blocked]` node, since and until when it is that, and a link for `_update`."""

A_PIECE, A_TIME, A_TOUCHED, A_OUT = range(4)
"""How far `_place_on` is: the piece and the time in it, the nodes with time in the interval, the rows that are out."""


def place(trace: Trace, paths: Paths, stacks: Stacks) -> Int64:
    """Rows (interval, node of the forest, ns), by interval."""
    p, w = paths.pieces, paths.waits
    pieces = i64(np.stack((p.interval, p.kind, p.thread, p.start, p.stop, p.wait)))
    waits = i64(np.stack((w.parent, w.thread, w.start, w.stop, w.anchored)))
    near = np.full(len(trace.threads), NONE, np.int64)
    scratch = (
        np.zeros((len(w.thread), 4), np.int64),
        np.zeros((_GRAFTS, 3), np.int64),
        np.empty(MAX_DEPTH + 1, np.int64),
    )
    times: Int64
    times, stacks.forest.trie = _place(pieces, waits, stacks.timeline, near, *scratch, stacks.forest.trie)
    return times


@kernel
def _place(pieces, waits, timeline, near, below, grafts, path, trie):  # type: ignore[no-untyped-def]
    """Puts every nanosecond of the pieces (columns as in `Pieces`) at a node.

    Returns rows (interval, node, ns), by interval, and the trie.
    """
    at = np.zeros(4, np.int64)
    if pieces.shape[1]:
        at[A_TIME] = pieces[3, 0]
    trie = roomy_trie(trie)
    sums, out = np.zeros((len(trie.nodes) + 1, 2), np.int64), np.zeros((1024, 3), np.int64)
    while not _place_on(
        pieces,
        waits,
        timeline.first,
        timeline.steps[0],
        timeline.steps[1],
        timeline.steps[2],
        timeline.frames,
        near,
        below,
        grafts,
        path,
        trie.nodes,
        trie.slots,
        trie.used,
        sums,
        out,
        at,
    ):
        trie = roomy_trie(trie)
        sums = roomy(sums, len(sums), len(trie.nodes) + 1 - len(sums))
        out = roomy(out, at[A_OUT], at[A_TOUCHED])
    return out[: at[A_OUT]], trie


@helper
def _place_on(  # type: ignore[no-untyped-def]
    pieces, waits, first, times, innermost, stacks, frames, near, below, grafts, path, nodes, slots, used, sums, out, at
):
    """Goes on where `at` says; False when the trie or `out` is full."""
    k, t, touched, n = at[A_PIECE], at[A_TIME], at[A_TOUCHED], at[A_OUT]
    while k < pieces.shape[1]:
        kind, thread, wait, stop = pieces[1, k], pieces[2, k], pieces[5, k], pieces[4, k]
        home = wait == NONE
        if home and kind == P_EXEC:
            touched = _add_steps(first, times, stacks, thread, t, stop, near, sums, touched)
            t = stop
        while t < stop and used[0] + MAX_DEPTH <= len(nodes):
            node, until = 0, stop
            if not home:
                _update(
                    wait,
                    t,
                    below,
                    waits,
                    first,
                    times,
                    innermost,
                    stacks,
                    frames,
                    near,
                    grafts,
                    path,
                    nodes,
                    slots,
                    used,
                )
                node, until = below[wait, B_NODE], min(until, below[wait, B_UNTIL])
            if kind == P_EXEC:
                step, last = step_at(first, times, thread, t, near), first[thread + 1] - 1
                while t < until and used[0] + MAX_DEPTH <= len(nodes):
                    frame = _stack(first, stacks, thread, step)
                    leaves = min(until, times[step + 1]) if step < last else until
                    grafted = _graft(node, frame, grafts, path, nodes, slots, used)
                    touched = _add(grafted, leaves - t, sums, touched)
                    t = leaves
                    step += 1
                continue
            if kind >= P_PREEMPTED:
                step = step_at(first, times, thread, t, near)
                until = min(until, _step_end(first, times, thread, step))
                frame = _stack(first, stacks, thread, step)
                node = _graft(node, frame, grafts, path, nodes, slots, used)
                node = child_of(node, L_PREEMPTED + kind - P_PREEMPTED, nodes, slots, used)
            else:
                if home:
                    node = _anchor(first, times, innermost, frames, thread, t, stop, near)
                node = child_of(node, _label(kind), nodes, slots, used)
            touched = _add(node, until - t, sums, touched)
            t = until
        ends = k + 1 == pieces.shape[1] or pieces[0, k + 1] != pieces[0, k]
        if t < stop or (ends and n + touched > len(out)):
            at[A_PIECE], at[A_TIME], at[A_TOUCHED], at[A_OUT] = k, t, touched, n
            return False
        if ends:
            _flush(pieces[0, k], sums, touched, out, n)
            n, touched = n + touched, 0
        k += 1
        if k < pieces.shape[1]:
            t = pieces[3, k]
    at[A_OUT] = n
    return True


@helper
def _add_steps(first, times, stacks, thread, t, stop, near, sums, touched):  # type: ignore[no-untyped-def]
    """[t, stop] of a home thread that executes: most of the time of most traces."""
    step, end = step_at(first, times, thread, t, near) + 1, first[thread + 1]
    node = _stack(first, stacks, thread, step - 1)
    while step < end and times[step] < stop:
        touched = _add(node, times[step] - t, sums, touched)
        t, node = times[step], stacks[step]
        step += 1
    return _add(node, stop - t, sums, touched)


@helper
def _update(wait, t, below, waits, first, times, innermost, stacks, frames, near, grafts, path, nodes, slots, used):  # type: ignore[no-untyped-def]
    """Brings the wait's row of `below` up to time t: its `[blocked]` node, from when and until when that holds.

    Remembered per wait, and pieces come in order of time: so a chain of n waits inside each other costs n, not n * n.
    The way in, through the waits that are not up to date, is noted beside it.
    """
    w, inner = wait, NONE
    while w != NONE and not below[w, B_SINCE] <= t < below[w, B_UNTIL]:
        below[w, B_INNER] = inner
        w, inner = waits[0, w], w
    node, until = 0, _FOREVER
    if w != NONE:
        node, until = below[w, B_NODE], below[w, B_UNTIL]
    w = inner
    while w != NONE:
        thread = waits[1, w]
        if waits[4, w]:
            stack = _anchor(first, times, innermost, frames, thread, waits[2, w], waits[3, w], near)
        else:
            step = step_at(first, times, thread, t, near)
            stack = _stack(first, stacks, thread, step)
            until = min(until, _step_end(first, times, thread, step))
        grafted = _graft(node, stack, grafts, path, nodes, slots, used)
        node = child_of(grafted, L_BLOCKED, nodes, slots, used)
        below[w, B_NODE], below[w, B_SINCE], below[w, B_UNTIL] = node, t, until
        w = below[w, B_INNER]


@helper
def _label(kind):  # type: ignore[no-untyped-def]
    if kind == P_QUEUE:
        return L_QUEUE
    if kind == P_GAP:
        return L_GAP
    return L_SCHED if kind == P_SCHED else L_UNKNOWN


@helper
def _stack(first, stacks, thread, step):  # type: ignore[no-untyped-def]
    """The trie node of the stack at this step; the root before the thread's first one."""
    return stacks[step] if step >= first[thread] else 0


@helper
def _step_end(first, times, thread, step):  # type: ignore[no-untyped-def]
    return times[step + 1] if step + 1 < first[thread + 1] else _FOREVER


@helper
def _anchor(first, times, innermost, frames, thread, start, stop, near):  # type: ignore[no-untyped-def]
    """The trie node of the thread's frames that are open over all of [start, stop]; the root if there is none."""
    step = step_at(first, times, thread, start, near)
    row = NONE if step < first[thread] else innermost[step]
    while row != NONE and frames[2, row] < stop:
        row = frames[0, row]
    return 0 if row == NONE else frames[1, row]


@helper
def _graft(onto, stack, grafts, path, nodes, slots, used):  # type: ignore[no-untyped-def]
    """The tree node of call stack `stack` below node `onto`. `grafts` remembers the latest ones, `path` is scratch."""
    if onto == 0 or stack == 0:
        return onto + stack
    memo = (onto * 31 + stack) & (_GRAFTS - 1)
    if grafts[memo, 0] == onto and grafts[memo, 1] == stack:
        return grafts[memo, 2]
    n, node = 0, stack
    while node != 0:
        path[n] = nodes[node, T_LABEL]
        node = nodes[node, T_PARENT]
        n += 1
    node = onto
    for i in range(n - 1, -1, -1):
        node = child_of(node, path[i], nodes, slots, used)
    grafts[memo, 0], grafts[memo, 1], grafts[memo, 2] = onto, stack, node
    return node


@kernel
def sum_upwards(own, parent):  # type: ignore[no-untyped-def]
    """`own`: (interval, node, ns) as columns, by interval. Rows of inclusive times: every node's own time and all below
    it; by interval, nodes in no order."""
    sums, touched = np.zeros((len(parent) + 1, 2), np.int64), 0
    out, n = np.zeros((1024, 3), np.int64), 0
    for k in range(own.shape[1]):
        x = own[1, k]
        while x != NONE:
            touched = _add(x, own[2, k], sums, touched)
            x = parent[x]
        if k + 1 == own.shape[1] or own[0, k + 1] != own[0, k]:
            if n + touched > len(out):
                out = roomy(out, n, touched)
            _flush(own[0, k], sums, touched, out, n)
            n, touched = n + touched, 0
    return out[:n]


@helper
def _add(node, ns, sums, touched):  # type: ignore[no-untyped-def]
    """`sums`: the time of each node in the current interval and, as a list beside it, the nodes that have some. It has
    a row more than there are nodes: the list's next place is written in any case, which costs less than to guess."""
    sums[touched, 1] = node
    touched += sums[node, 0] == 0
    sums[node, 0] += ns
    return touched


@helper
def _flush(interval, sums, touched, out, n):  # type: ignore[no-untyped-def]
    """Moves one interval's times to `out` from row n on."""
    for j in range(touched):
        x = sums[j, 1]
        out[n + j, 0], out[n + j, 1], out[n + j, 2] = interval, x, sums[x, 0]
        sums[x, 0] = 0
