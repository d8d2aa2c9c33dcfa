"""Which frames were open when: invocations -> one trie of call stacks, and per thread a step function of (time, frame).

Source: ALGORITHMS section 3. Frames are told apart by function and call site. The trie's root (node 0) is the empty
stack; it is the same trie that `path_tree` grafts waits and wakers onto, so a home thread's stack *is* its tree node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vprof.columns import groups, i32, i64
from vprof.errors import TraceError
from vprof.kernels import helper, kernel, roomy
from vprof.model import NONE, Int32, Int64, Invocations, Trace

L_BLOCKED, L_QUEUE, L_GAP, L_SCHED, L_UNKNOWN, L_BODY = range(6)
L_PREEMPTED, L_FAULT, L_DISK, L_OFF_CPU = range(6, 10)
"""In the order of the pieces P_PREEMPTED ... P_OFF_CPU."""
PSEUDO = (
    "[blocked]",
    "[queue]",
    "[gap]",
    "[sched]",
    "[unknown]",
    "body",
    "[preempted]",
    "[fault]",
    "[disk]",
    "[off cpu]",
)
FIRST_FRAME = len(PSEUDO)
"""Labels of tree nodes: pseudo-nodes first, then one label per (function, call site)."""

MAX_DEPTH = 200
"""Depth of the tree: what lies deeper counts for the node there, so runaway recursion stays readable (and JSON
loadable)."""

T_PARENT, T_LABEL, T_DEPTH = range(3)


class Trie(NamedTuple):
    """A tree of labels that grows: `nodes` has one row of T_* per node, of which used[0] are in use; `slots` finds a
    node by (parent, label), 0 is a free slot."""

    nodes: Int64
    slots: Int64
    used: Int64


class Timeline(NamedTuple):
    """The open frames of every thread over time.

    A thread's steps are the columns first[thread] .. first[thread + 1] of `steps`: (time, the innermost frame that is
    open from then on, or NONE). A frame is an invocation, a column of `frames`: (the frame around it or NONE, its
    node in the trie, when it was left).
    """

    first: Int64
    steps: Int64
    frames: Int64


@dataclass(frozen=True)
class Stacks:
    """`label_function` and `label_site` are by label, NONE for pseudo-labels."""

    trie: Trie
    label_function: Int32
    label_site: Int32
    timeline: Timeline

    def innermost(self, thread: Int32, t: Int64) -> Int64:
        """The invocation that was the innermost one of the thread at that time, NONE if none was open."""
        first, (times, rows) = self.timeline.first, self.timeline.steps
        found = np.full(len(t), NONE, np.int64)
        order = np.argsort(thread, kind="stable")
        for group in groups(thread[order]):
            asked = order[group]
            a, b = first[thread[asked[0]]], first[thread[asked[0]] + 1]
            found[asked] = np.r_[NONE, rows[a:b]][np.searchsorted(times[a:b], t[asked], "right")]
        return found


def build_stacks(trace: Trace) -> Stacks:
    """Raises TraceError if invocations of one thread overlap without nesting."""
    inv = trace.invocations
    label, function, site = _labels(inv)
    first = i64(np.searchsorted(inv.thread, np.arange(len(trace.threads) + 1)))
    n = len(label)
    timeline = Timeline(np.zeros_like(first), np.empty((2, 2 * n), np.int64), np.empty((3, n), np.int64))
    bad, trie = _nest(i64(inv.fs), i64(inv.fe), i64(inv.depth), label, first, _new_trie(), timeline)
    if bad != NONE:
        name = trace.program.functions[inv.function[bad]]
        raise TraceError(f"calls do not nest on thread {trace.threads[inv.thread[bad]]}: {name} at {inv.fs[bad]} ns")
    return Stacks(trie, function, site, timeline)


def _new_trie() -> Trie:
    """The root alone."""
    root = np.array([[NONE, NONE, 0]], np.int64)
    return Trie(root, np.zeros(1024, np.int64), np.ones(1, np.int64))


def _labels(inv: Invocations) -> tuple[Int64, Int32, Int32]:
    """Each invocation's label, and the function and the call site of every label."""
    n_sites = int(inv.site.max(initial=NONE)) + 2
    pair = inv.function.astype(np.int64) * n_sites + (inv.site + 1)
    seen = np.unique(pair)
    label = i64(np.searchsorted(seen, pair) + FIRST_FRAME)
    pseudo = np.full(FIRST_FRAME, NONE, np.int64)
    return label, i32(np.r_[pseudo, seen // n_sites]), i32(np.r_[pseudo, seen % n_sites - 1])


@helper
def roomy_trie(trie):  # type: ignore[no-untyped-def]
    """The trie with room for one path more than it has."""
    n = trie.used[0]
    if n + MAX_DEPTH <= len(trie.nodes):
        return trie
    nodes = roomy(trie.nodes, n, MAX_DEPTH)
    size = len(trie.slots)
    while size < 2 * len(nodes):
        size *= 2
    slots = np.zeros(size, np.int64)
    for node in range(1, n):
        slots[_slot(nodes[node, T_PARENT], nodes[node, T_LABEL], nodes, slots)] = node
    return Trie(nodes, slots, trie.used)


@helper
def _slot(node, label, nodes, slots):  # type: ignore[no-untyped-def]
    """Where the child of `node` with this label is, or is to be put."""
    mixed = node * 0x1E3779B97F4A7C15 + label * 0x2545F4914F6CDD1D
    slot = (mixed ^ (mixed >> 29)) & (len(slots) - 1)
    while slots[slot] != 0 and (nodes[slots[slot], T_PARENT] != node or nodes[slots[slot], T_LABEL] != label):
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@helper
def child_of(node, label, trie):  # type: ignore[no-untyped-def]
    """The child of `node` with this label, made if there is none; `node` itself at MAX_DEPTH. REQUIRES: room."""
    depth = trie.nodes[node, T_DEPTH]
    if depth == MAX_DEPTH:
        return node
    slot = _slot(node, label, trie.nodes, trie.slots)
    if trie.slots[slot] == 0:
        made = trie.used[0]
        trie.slots[slot] = made
        trie.nodes[made, T_PARENT], trie.nodes[made, T_LABEL], trie.nodes[made, T_DEPTH] = node, label, depth + 1
        trie.used[0] += 1
    return trie.slots[slot]


@kernel
def _nest(fs, fe, depth, label, first, trie, timeline):  # type: ignore[no-untyped-def]
    """Fills the timeline; returns (a row that does not nest or NONE, trie)."""
    frames, steps = timeline.frames, timeline.steps
    base = end = 0
    bad = NONE
    for thread in range(len(first) - 1):
        top = NONE
        for i in range(first[thread], first[thread + 1]):
            while top != NONE and _over(fs, fe, depth, top, i):
                end = _step(steps, base, end, fe[top], frames[0, top])
                top = frames[0, top]
            if top != NONE and fe[i] > fe[top]:
                bad = i
            trie = roomy_trie(trie)
            above = 0 if top == NONE else frames[1, top]
            frames[0, i], frames[1, i], frames[2, i] = top, child_of(above, label[i], trie), fe[i]
            end = _step(steps, base, end, fs[i], i)
            top = i
        while top != NONE:
            end = _step(steps, base, end, fe[top], frames[0, top])
            top = frames[0, top]
        base = end
        timeline.first[thread + 1] = end
    return bad, trie


@helper
def _over(fs, fe, depth, top, i):  # type: ignore[no-untyped-def]
    """Frame `top` has returned when invocation i starts; at equal times the depth tells."""
    return fe[top] <= fs[i] and not (fe[i] <= fe[top] and depth[i] > depth[top])


@helper
def _step(steps, base, end, time, row):  # type: ignore[no-untyped-def]
    """Appends a step; a later step at the same time replaces the earlier one."""
    if end > base and steps[0, end - 1] == time:
        end -= 1
    steps[0, end], steps[1, end] = time, row
    return end + 1


@helper
def step_at(timeline, thread, time, near):  # type: ignore[no-untyped-def]
    """The thread's step in force at `time`, one before its first step if there is none yet. `near[thread]` is the step
    that was asked for last: the search goes on from there."""
    a, b = timeline.first[thread], timeline.first[thread + 1]
    steps, last = timeline.steps[0], near[thread]
    if a <= last < b and steps[last] <= time:
        a, width = last + 1, 1
        while a + width < b and steps[a + width] <= time:
            a, width = a + width + 1, 2 * width
        b = min(b, a + width)
    while a < b:
        m = (a + b) // 2
        if steps[m] <= time:
            a = m + 1
        else:
            b = m
    near[thread] = a - 1
    return a - 1
