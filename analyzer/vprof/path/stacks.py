"""Which frames were open when: invocations -> one trie of call stacks, and per thread a step function of (time, frame).

Source: docs/algorithms.md section 3. Frames are told apart by function and call site. The trie's root (node 0) is the
empty stack; it is the same trie that `path_tree` grafts waits and wakers onto, so a home thread's stack *is* its tree
node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vprof.errors import TraceError
from vprof.tables.columns import i64
from vprof.tables.kernels import helper, kernel, loop, maker, roomy
from vprof.tables.kinds import FIRST_FRAME
from vprof.tables.lookup import distinct
from vprof.tables.model import NONE, Int32, Int64, Invocations, Trace

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


class Frames(NamedTuple):
    """By invocation: the frame around it or NONE, its node in the trie, when it was left."""

    around: Int64
    node: Int64
    left: Int64


class Timeline(NamedTuple):
    """The open frames of every thread over time.

    A thread's steps are first[thread] .. first[thread + 1]: from times[step] on the frame innermost[step], an
    invocation, is the innermost one that is open, or none is (NONE); `stacks` has its node in the trie, or the root.
    """

    first: Int64
    times: Int64
    innermost: Int64
    stacks: Int64
    frames: Frames


class Forest:
    """What the call stacks of several windows and traces share: the trie, and its labels.

    `function[label]` and `call_site[label]` are NONE for pseudo-labels; sites are numbered as `site_names` says.
    """

    def __init__(self) -> None:
        self.trie = Trie(np.array([[NONE, NONE, 0]], np.int64), np.zeros(1024, np.int64), np.ones(1, np.int64))
        self.function = [NONE] * FIRST_FRAME
        self.call_site = [NONE] * FIRST_FRAME
        self.site_names: dict[str, int] = {}
        self._labels: dict[tuple[int, int], int] = {}

    @property
    def nodes(self) -> Int64:
        """Rows T_*, parents before their children; the root alone has no parent."""
        return self.trie.nodes[: self.trie.used[0]]

    def below_root(self, label: int) -> int:
        """The root's child with this label, made if there is none."""
        node, self.trie = _below_root(self.trie, label)
        return node

    def labels(self, inv: Invocations, sites: list[str], functions: Int64 | None) -> Int64:
        """Each invocation's label. `functions`: the numbers here of the trace's functions, None if they are the
        same."""
        n_sites = len(sites) + 1
        keys, which = distinct(_label_keys(inv.function, inv.call_site, n_sites))
        label = np.empty(len(keys), np.int64)
        for k, (f, s) in enumerate(zip(*(column.tolist() for column in np.divmod(keys, n_sites)), strict=True)):
            function = f if functions is None else int(functions[f])
            label[k] = self._label(function, self._site(sites[s - 1]) if s else NONE)
        of_each: Int64 = label[which]
        return of_each

    def graft(self, other: Forest) -> Int64:
        """Takes what another has; by node of that the one here."""
        name = [*other.site_names, ""]
        label = list(range(FIRST_FRAME))
        for function, site in zip(other.function[FIRST_FRAME:], other.call_site[FIRST_FRAME:], strict=True):
            label.append(self._label(function, NONE if site == NONE else self._site(name[site])))
        into, self.trie = _grafted(other.nodes, i64(np.array(label, np.int64)), self.trie)
        return into

    def ranks(self) -> Int64:
        """By label: its place in an order that does not depend on which was met first."""
        name = [*self.site_names, ""]
        own = [(f, site != NONE, name[site]) for f, site in zip(self.function, self.call_site, strict=True)]
        ordered = sorted(range(FIRST_FRAME, len(own)), key=own.__getitem__)
        ranks = np.arange(len(own))
        ranks[ordered] = np.arange(FIRST_FRAME, len(own))
        return ranks

    def _site(self, name: str) -> int:
        return self.site_names.setdefault(name, len(self.site_names))

    def _label(self, function: int, site: int) -> int:
        known = self._labels.setdefault((function, site), len(self.function))
        if known == len(self.function):
            self.function.append(function)
            self.call_site.append(site)
        return known


@dataclass(frozen=True)
class Stacks:
    """The open frames of a trace over time; their nodes are those of the forest's trie."""

    forest: Forest
    timeline: Timeline

    def innermost(self, thread: Int32, t: Int64) -> Int64:
        """The invocation that was the innermost one of the thread at that time, NONE if none was open."""
        return _innermost_at(thread, t, self.timeline, np.full(len(self.timeline.first), NONE))


@kernel
def _innermost_at(thread: Int32, t: Int64, timeline: Timeline, near: Int64) -> Int64:
    found = np.empty(len(t), np.int64)
    for i in range(len(t)):
        step = step_at(timeline, thread[i], t[i], near)
        found[i] = timeline.innermost[step] if step >= timeline.first[thread[i]] else NONE
    return found


@kernel
def _label_keys(function: Int32, site: Int32, sites: int) -> Int64:
    keys = np.empty(len(function), np.int64)
    for i in range(len(keys)):
        keys[i] = np.int64(function[i]) * sites + site[i] + 1
    return keys


def build_stacks(trace: Trace, forest: Forest | None = None, functions: Int64 | None = None) -> Stacks:
    """Grows the forest; `functions`: of `Forest.labels`. Raises TraceError if invocations of one thread overlap without
    nesting."""
    inv = trace.invocations
    forest = forest or Forest()
    label = forest.labels(inv, trace.call_sites, functions)
    first = i64(np.searchsorted(inv.thread, np.arange(len(trace.threads) + 1)))
    n = len(label)
    rows = _Rows(np.zeros_like(first), np.empty((3, 2 * n), np.int64), np.empty((3, n), np.int64))
    bad, forest.trie = _nest(_Calls(inv.fs, inv.fe, inv.depth, label), first, forest.trie, rows)
    if bad != NONE:
        name = trace.program.functions[inv.function[bad]]
        raise TraceError(f"calls do not nest on thread {trace.threads[inv.thread[bad]]}: {name} at {inv.fs[bad]} ns")
    times, innermost, nodes = rows.steps
    return Stacks(forest, Timeline(rows.first, times, innermost, nodes, Frames(*rows.frames)))


@maker
def roomy_trie(trie: Trie) -> Trie:
    """The trie with room for one path more than it has."""
    n = trie.used[0]
    if n + MAX_DEPTH <= len(trie.nodes):
        return trie
    nodes = roomy(trie.nodes, n, MAX_DEPTH)
    size = len(trie.slots)
    while size < 2 * len(nodes):
        size *= 2
    larger = Trie(nodes, np.zeros(size, np.int64), trie.used)
    for node in range(1, n):
        larger.slots[_slot(nodes[node, T_PARENT], nodes[node, T_LABEL], larger)] = node
    return larger


@helper
def has_room(trie: Trie) -> bool:
    """Whether there is room for one path more than it has."""
    return int(trie.used[0]) + MAX_DEPTH <= len(trie.nodes)


@helper
def _slot(node: int, label: int, trie: Trie) -> int:
    """Where the child of `node` with this label is, or is to be put."""
    nodes, slots = trie.nodes, trie.slots
    mixed = np.int64(node) * 0x1E3779B97F4A7C15 + np.int64(label) * 0x2545F4914F6CDD1D
    slot = (mixed ^ (mixed >> 29)) & (len(slots) - 1)
    while slots[slot] != 0 and (nodes[slots[slot], T_PARENT] != node or nodes[slots[slot], T_LABEL] != label):
        slot = (slot + 1) & (len(slots) - 1)
    return int(slot)


@helper
def child_of(node: int, label: int, trie: Trie) -> int:
    """The child of `node` with this label, made if there is none; `node` itself at MAX_DEPTH. REQUIRES: room."""
    nodes, slots = trie.nodes, trie.slots
    depth = nodes[node, T_DEPTH]
    if depth == MAX_DEPTH:
        return node
    slot = _slot(node, label, trie)
    if slots[slot] == 0:
        made = trie.used[0]
        slots[slot] = made
        nodes[made, T_PARENT], nodes[made, T_LABEL], nodes[made, T_DEPTH] = node, label, depth + 1
        trie.used[0] += 1
    return int(slots[slot])


@kernel
def _below_root(trie: Trie, label: int) -> tuple[int, Trie]:
    trie = roomy_trie(trie)
    return child_of(0, label, trie), trie


@kernel
def _grafted(nodes: Int64, label: Int64, trie: Trie) -> tuple[Int64, Trie]:
    """By row T_* of another trie the node here, made if there is none. `label`: the labels here of those there."""
    into = np.zeros(len(nodes), np.int64)
    for node in range(1, len(nodes)):
        if not has_room(trie):
            trie = roomy_trie(trie)
        into[node] = child_of(into[nodes[node, T_PARENT]], label[nodes[node, T_LABEL]], trie)
    return into, trie


class _Calls(NamedTuple):
    """Invocations, by (thread, fs, depth), and what they are in the trie."""

    fs: Int64
    fe: Int64
    depth: Int32
    label: Int64


class _Rows(NamedTuple):
    """A timeline in the making: `steps` has the columns of `Timeline` in rows E_*, `frames` those of `Frames` in F_*.
    Columns of one table cost less than as many arrays: an index is checked once."""

    first: Int64
    steps: Int64
    frames: Int64


E_TIME, E_INNERMOST, E_STACK = range(3)
F_AROUND, F_NODE, F_LEFT = range(3)

N_THREAD, N_ROW, N_TOP, N_BASE, N_END, N_BAD = range(6)
"""How far `_nest_on` is: the thread and its next row, the frame around that, the thread's first step and the next one,
and a row that does not nest."""


@kernel
def _nest(calls: _Calls, first: Int64, trie: Trie, rows: _Rows) -> tuple[int, Trie]:
    """Fills the rows; returns (a call that does not nest or NONE, trie). `first`: thread -> its calls."""
    at = np.zeros(6, np.int64)
    at[N_ROW], at[N_TOP], at[N_BAD] = first[0], NONE, NONE
    while not _nest_on(calls, first, trie, rows, at):
        trie = roomy_trie(trie)
    return at[N_BAD], trie


@loop
def _nest_on(calls: _Calls, first: Int64, trie: Trie, rows: _Rows, at: Int64) -> bool:
    """Goes on where `at` says; False when the trie has no room for another node."""
    fs, fe, frames = calls.fs, calls.fe, rows.frames
    thread, i, top, base, end = at[N_THREAD], at[N_ROW], at[N_TOP], at[N_BASE], at[N_END]
    while thread < len(first) - 1:
        while i < first[thread + 1]:
            while top != NONE and _is_over(calls, top, i):
                end = _step(rows, base, end, fe[top], frames[F_AROUND, top])
                top = frames[F_AROUND, top]
            if trie.used[0] == len(trie.nodes):
                at[N_THREAD], at[N_ROW], at[N_TOP], at[N_BASE], at[N_END] = thread, i, top, base, end
                return False
            if top != NONE and fe[i] > fe[top]:
                at[N_BAD] = i
            above = 0 if top == NONE else frames[F_NODE, top]
            frames[F_AROUND, i], frames[F_LEFT, i] = top, fe[i]
            frames[F_NODE, i] = child_of(above, calls.label[i], trie)
            end = _step(rows, base, end, fs[i], i)
            top = i
            i += 1
        while top != NONE:
            end = _step(rows, base, end, fe[top], frames[F_AROUND, top])
            top = frames[F_AROUND, top]
        base = end
        thread += 1
        rows.first[thread] = end
    return True


@helper
def _is_over(calls: _Calls, top: int, i: int) -> bool:
    """Frame `top` has returned when invocation i starts; at equal times the depth tells."""
    fs, fe, depth = calls.fs, calls.fe, calls.depth
    return bool(fe[top] <= fs[i] and not (fe[i] <= fe[top] and depth[i] > depth[top]))


@helper
def _step(rows: _Rows, base: int, end: int, time: int, frame: int) -> int:
    """Appends a step; a later step at the same time replaces the earlier one."""
    steps = rows.steps
    if end > base and steps[E_TIME, end - 1] == time:
        end -= 1
    steps[E_TIME, end], steps[E_INNERMOST, end] = time, frame
    steps[E_STACK, end] = 0 if frame == NONE else rows.frames[F_NODE, frame]
    return end + 1


@helper
def step_at(timeline: Timeline, thread: int, time: int, near: Int64) -> int:
    """The thread's step in force at `time`, one before its first step if there is none yet. `near[thread]` is the step
    that was asked for last: the search goes on from there."""
    times = timeline.times
    a, b = timeline.first[thread], timeline.first[thread + 1]
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
    return int(a - 1)
