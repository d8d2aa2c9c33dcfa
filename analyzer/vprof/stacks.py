"""Which frames were open when: invocations -> one trie of call stacks, and per thread a step function of (time, frame).

Source: ALGORITHMS section 3. Frames are told apart by function and call site. The trie's root (node 0) is the empty
stack; it is the same trie that `path_tree` grafts waits and wakers onto, so a home thread's stack *is* its tree node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, types
from numba.typed import Dict, List

from vprof.columns import i32, i64
from vprof.errors import TraceError
from vprof.model import NONE, Int32, Int64, Trace

L_BLOCKED, L_QUEUE, L_GAP, L_SCHED, L_UNKNOWN, L_BODY = range(6)
PSEUDO = ("[blocked]", "[queue]", "[gap]", "[sched]", "[unknown]", "body")
FIRST_FRAME = len(PSEUDO)
"""Labels of tree nodes: pseudo-nodes first, then one label per (function, call site)."""

MAX_DEPTH = 200
"""Depth of the tree: what lies deeper counts for the node there, so runaway recursion stays readable (and JSON
loadable)."""

Trie = tuple[Any, Any, Any, Any]
"""Numba containers: children (parent << 32 | label -> node), and by node its parent, label and depth."""


@dataclass(frozen=True)
class Stacks:
    """`label_function` and `label_site` are by label, NONE for pseudo-labels; `parent` and `node` by invocation.

    A thread's steps lie at step_first[thread] .. step_first[thread + 1]: from step_time on, the innermost open frame is
    the invocation step_row (NONE: no instrumented frame is open).
    """

    trie: Trie
    label_function: Int32
    label_site: Int32
    parent: Int64
    node: Int32
    step_time: Int64
    step_row: Int64
    step_first: Int64


def build_stacks(trace: Trace) -> Stacks:
    """Raises TraceError if invocations of one thread overlap without nesting."""
    inv = trace.invocations
    n_sites = len(trace.sites) + 1
    pair, label = np.unique(inv.function.astype(np.int64) * n_sites + inv.site + 1, return_inverse=True)
    pseudo = np.full(FIRST_FRAME, NONE, np.int64)
    trie = _new_trie()
    first = i64(np.searchsorted(inv.thread, np.arange(len(trace.threads) + 1)))
    bad, *columns = _nest(i64(inv.fs), i64(inv.fe), i32(inv.depth), first, i64(label.ravel() + FIRST_FRAME), trie)
    if bad != NONE:
        name = trace.program.functions[inv.function[bad]]
        raise TraceError(f"calls do not nest on thread {trace.threads[inv.thread[bad]]}: {name} at {inv.fs[bad]} ns")
    return Stacks(
        trie,
        i32(np.r_[pseudo, pair // n_sites]),
        i32(np.r_[pseudo, pair % n_sites - 1]),
        *columns,
    )


@njit(cache=True)
def _new_trie():  # type: ignore[no-untyped-def]
    children = Dict.empty(types.int64, types.int64)
    parent = List.empty_list(types.int64)
    label = List.empty_list(types.int64)
    depth = List.empty_list(types.int64)
    parent.append(NONE)
    label.append(NONE)
    depth.append(0)
    return children, parent, label, depth


@njit(cache=True)
def trie_columns(trie):  # type: ignore[no-untyped-def]
    """(parent, label, depth) by node, as arrays."""
    _, parent_of, label_of, depth_of = trie
    parent = np.empty(len(parent_of), np.int64)
    label = np.empty(len(parent_of), np.int64)
    depth = np.empty(len(parent_of), np.int64)
    for i in range(len(parent_of)):
        parent[i], label[i], depth[i] = parent_of[i], label_of[i], depth_of[i]
    return parent, label, depth


@njit(cache=True)
def child_of(node, label, trie):  # type: ignore[no-untyped-def]
    """The child of `node` with this label, made if there is none; `node` itself at MAX_DEPTH."""
    children, parent_of, label_of, depth_of = trie
    if depth_of[node] == MAX_DEPTH:
        return np.int64(node)
    key = (np.int64(node) << 32) | np.int64(label)
    if key in children:
        return children[key]
    made = np.int64(len(parent_of))
    children[key] = made
    parent_of.append(np.int64(node))
    label_of.append(np.int64(label))
    depth_of.append(depth_of[node] + 1)
    return made


@njit(cache=True)
def _nest(fs, fe, depth, first, label, trie):  # type: ignore[no-untyped-def]
    """Returns (a row that does not nest or NONE, parent, node, step_time, step_row, step_first)."""
    n = len(fs)
    parent = np.full(n, NONE, np.int64)
    node = np.zeros(n, np.int32)
    step_time = np.empty(2 * n, np.int64)
    step_row = np.empty(2 * n, np.int64)
    step_first = np.zeros(len(first), np.int64)
    steps = 0
    bad = NONE
    for thread in range(len(first) - 1):
        base = steps
        top = np.int64(NONE)
        for i in range(first[thread], first[thread + 1]):
            while top != NONE and _over(fs, fe, depth, top, i):
                steps = _step(step_time, step_row, base, steps, fe[top], parent[top])
                top = parent[top]
            if top != NONE and fe[i] > fe[top]:
                bad = i
            parent[i] = top
            node[i] = child_of(0 if top == NONE else node[top], label[i], trie)
            steps = _step(step_time, step_row, base, steps, fs[i], i)
            top = np.int64(i)
        while top != NONE:
            steps = _step(step_time, step_row, base, steps, fe[top], parent[top])
            top = parent[top]
        step_first[thread + 1] = steps
    return bad, parent, node, step_time[:steps].copy(), step_row[:steps].copy(), step_first


@njit(cache=True)
def _over(fs, fe, depth, top, i):  # type: ignore[no-untyped-def]
    """Frame `top` has returned when invocation i starts; at equal times the depth tells."""
    return fe[top] <= fs[i] and not (fe[i] <= fe[top] and depth[i] > depth[top])


@njit(cache=True)
def _step(step_time, step_row, base, steps, time, row):  # type: ignore[no-untyped-def]
    """Appends a step; a later step at the same time replaces the earlier one."""
    if steps > base and step_time[steps - 1] == time:
        steps -= 1
    step_time[steps] = time
    step_row[steps] = row
    return steps + 1


@njit(cache=True)
def step_at(step_time, step_first, thread, time):  # type: ignore[no-untyped-def]
    """Index of the thread's step in force at `time`, one before its first step if there is none yet."""
    a, b = step_first[thread], step_first[thread + 1]
    return a + np.searchsorted(step_time[a:b], time, side="right") - 1
