"""Which frames were open when: invocations -> one trie of call stacks, and per thread a step function of (time, frame).

Source: ALGORITHMS section 3. Frames are told apart by function and call site. The trie's root (node 0) is the empty
stack; it is the same trie that `path_tree` grafts waits and wakers onto, so a home thread's stack *is* its tree node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vprof.columns import i64
from vprof.errors import TraceError
from vprof.kernels import helper, kernel, maker, roomy
from vprof.lookup import distinct
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
CPU_WAITS = (L_PREEMPTED, L_SCHED, L_OFF_CPU)
"""A thread could run, and had no CPU."""
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
    open from then on, or NONE, and its node in the trie, the root if there is none). A frame is an invocation, a column
    of `frames`: (the frame around it or NONE, its node in the trie, when it was left).
    """

    first: Int64
    steps: Int64
    frames: Int64


class Forest:
    """What the call stacks of several windows and traces share: the trie, and its labels.

    `function[label]` and `site[label]` are NONE for pseudo-labels; sites are numbered as `site_names` says.
    """

    def __init__(self) -> None:
        self.trie = Trie(np.array([[NONE, NONE, 0]], np.int64), np.zeros(1024, np.int64), np.ones(1, np.int64))
        self.function = [NONE] * FIRST_FRAME
        self.site = [NONE] * FIRST_FRAME
        self.site_names: dict[str, int] = {}
        self._labels: dict[tuple[int, int], int] = {}

    @property
    def nodes(self) -> Int64:
        """Rows T_*, parents before their children; the root alone has no parent."""
        return self.trie.nodes[: self.trie.used[0]]

    def below_root(self, label: int) -> int:
        """The root's child with this label, made if there is none."""
        node: int
        node, self.trie = _below_root(self.trie, label)
        return node

    def labels(self, inv: Invocations, sites: list[str], functions: Int64 | None) -> Int64:
        """Each invocation's label. `functions`: the numbers here of the trace's functions, None if they are the
        same."""
        n_sites = len(sites) + 1
        keys, which = distinct(_label_keys(inv.function, inv.site, n_sites))
        label = np.empty(len(keys), np.int64)
        for k, (f, s) in enumerate(zip(*(column.tolist() for column in np.divmod(keys, n_sites)), strict=True)):
            function = f if functions is None else int(functions[f])
            label[k] = self._label(function, self._site(sites[s - 1]) if s else NONE)
        of_each: Int64 = label[which]
        return of_each

    def _site(self, name: str) -> int:
        return self.site_names.setdefault(name, len(self.site_names))

    def _label(self, function: int, site: int) -> int:
        known = self._labels.setdefault((function, site), len(self.function))
        if known == len(self.function):
            self.function.append(function)
            self.site.append(site)
        return known


@dataclass(frozen=True)
class Stacks:
    """The open frames of a trace over time; their nodes are those of the forest's trie."""

    forest: Forest
    timeline: Timeline

    def innermost(self, thread: Int32, t: Int64) -> Int64:
        """The invocation that was the innermost one of the thread at that time, NONE if none was open."""
        first, (times, rows, _) = self.timeline.first, self.timeline.steps
        found: Int64 = _innermost_at(thread, t, first, times, rows, np.full(len(first), NONE))
        return found


@kernel
def _innermost_at(thread, t, first, times, rows, near):  # type: ignore[no-untyped-def]
    found = np.empty(len(t), np.int64)
    for i in range(len(t)):
        step = step_at(first, times, thread[i], t[i], near)
        found[i] = rows[step] if step >= first[thread[i]] else NONE
    return found


@kernel
def _label_keys(function, site, sites):  # type: ignore[no-untyped-def]
    keys = np.empty(len(function), np.int64)
    for i in range(len(keys)):
        keys[i] = np.int64(function[i]) * sites + site[i] + 1
    return keys


def build_stacks(trace: Trace, forest: Forest | None = None, functions: Int64 | None = None) -> Stacks:
    """Grows the forest; `functions`: of `Forest.labels`. Raises TraceError if invocations of one thread overlap without
    nesting."""
    inv = trace.invocations
    forest = forest or Forest()
    label = forest.labels(inv, trace.sites, functions)
    first = i64(np.searchsorted(inv.thread, np.arange(len(trace.threads) + 1)))
    n = len(label)
    timeline = Timeline(np.zeros_like(first), np.empty((3, 2 * n), np.int64), np.empty((3, n), np.int64))
    bad, forest.trie = _nest(inv.fs, inv.fe, inv.depth, label, first, forest.trie, timeline)
    if bad != NONE:
        name = trace.program.functions[inv.function[bad]]
        raise TraceError(f"calls do not nest on thread {trace.threads[inv.thread[bad]]}: {name} at {inv.fs[bad]} ns")
    return Stacks(forest, timeline)


@helper
def is_full(trie):  # type: ignore[no-untyped-def]
    """Whether the trie may not have room for one path more than it has."""
    return trie.used[0] + MAX_DEPTH > len(trie.nodes)


@maker
def roomy_trie(trie):  # type: ignore[no-untyped-def]
    """The trie with room for one path more than it has."""
    if not is_full(trie):
        return trie
    n = trie.used[0]
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
def child_of(node, label, nodes, slots, used):  # type: ignore[no-untyped-def]
    """The child of `node` with this label, made if there is none; `node` itself at MAX_DEPTH. REQUIRES: room.

    The tables of a trie come one by one: taking them out of it costs more than the look.
    """
    depth = nodes[node, T_DEPTH]
    if depth == MAX_DEPTH:
        return node
    slot = _slot(node, label, nodes, slots)
    if slots[slot] == 0:
        made = used[0]
        slots[slot] = made
        nodes[made, T_PARENT], nodes[made, T_LABEL], nodes[made, T_DEPTH] = node, label, depth + 1
        used[0] += 1
    return slots[slot]


@kernel
def _below_root(trie, label):  # type: ignore[no-untyped-def]
    trie = roomy_trie(trie)
    return child_of(0, label, trie.nodes, trie.slots, trie.used), trie


N_THREAD, N_ROW, N_TOP, N_BASE, N_END, N_BAD = range(6)
"""How far `_nest_on` is: the thread and its next row, the frame around that, the thread's first step and the next one,
and a row that does not nest."""


@kernel
def _nest(fs, fe, depth, label, first, trie, timeline):  # type: ignore[no-untyped-def]
    """Fills the timeline; returns (a row that does not nest or NONE, trie)."""
    at = np.zeros(6, np.int64)
    at[N_ROW], at[N_TOP], at[N_BAD] = first[0], NONE, NONE
    while not _nest_on(
        fs,
        fe,
        depth,
        label,
        first,
        trie.nodes,
        trie.slots,
        trie.used,
        timeline.frames,
        timeline.steps,
        timeline.first,
        at,
    ):
        trie = roomy_trie(trie)
    return at[N_BAD], trie


@helper
def _nest_on(fs, fe, depth, label, first, nodes, slots, used, frames, steps, begins, at):  # type: ignore[no-untyped-def]
    """Goes on where `at` says; False when the trie has no room for another node."""
    thread, i, top, base, end = at[N_THREAD], at[N_ROW], at[N_TOP], at[N_BASE], at[N_END]
    while thread < len(first) - 1:
        while i < first[thread + 1]:
            while top != NONE and _over(fs, fe, depth, top, i):
                end = _step(steps, base, end, fe[top], frames[0, top], frames)
                top = frames[0, top]
            if used[0] == len(nodes):
                at[N_THREAD], at[N_ROW], at[N_TOP], at[N_BASE], at[N_END] = thread, i, top, base, end
                return False
            if top != NONE and fe[i] > fe[top]:
                at[N_BAD] = i
            above = 0 if top == NONE else frames[1, top]
            frames[0, i], frames[1, i], frames[2, i] = top, child_of(above, label[i], nodes, slots, used), fe[i]
            end = _step(steps, base, end, fs[i], i, frames)
            top = i
            i += 1
        while top != NONE:
            end = _step(steps, base, end, fe[top], frames[0, top], frames)
            top = frames[0, top]
        base = end
        thread += 1
        begins[thread] = end
    return True


@helper
def _over(fs, fe, depth, top, i):  # type: ignore[no-untyped-def]
    """Frame `top` has returned when invocation i starts; at equal times the depth tells."""
    return fe[top] <= fs[i] and not (fe[i] <= fe[top] and depth[i] > depth[top])


@helper
def _step(steps, base, end, time, row, frames):  # type: ignore[no-untyped-def]
    """Appends a step; a later step at the same time replaces the earlier one."""
    if end > base and steps[0, end - 1] == time:
        end -= 1
    steps[0, end], steps[1, end], steps[2, end] = time, row, 0 if row == NONE else frames[1, row]
    return end + 1


@helper
def step_at(first, times, thread, time, near):  # type: ignore[no-untyped-def]
    """The thread's step in force at `time`, one before its first step if there is none yet. `near[thread]` is the step
    that was asked for last: the search goes on from there. `first`, `times`: of a timeline."""
    a, b = first[thread], first[thread + 1]
    last = near[thread]
    if a <= last < b and times[last] <= time:
        a, width = last + 1, 1
        while a + width < b and times[a + width] <= time:
            a, width = a + width + 1, 2 * width
        b = min(b, a + width)
    while a < b:
        m = (a + b) // 2
        if times[m] <= time:
            a = m + 1
        else:
            b = m
    near[thread] = a - 1
    return a - 1
