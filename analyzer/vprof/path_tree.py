"""One tree for both views of waiting: every nanosecond of every critical path at one node.

    Pieces + Waits + Stacks  ->  PathTree: nodes, and per (interval, node) the nanoseconds spent right there

Source: ALGORITHMS section 3. An exec piece lies at its thread's stack; within a wait, at the waiter's stack,
`[blocked]`, then the waker's stack, and so on inwards. All stacks are read at the same instant, so a piece is cut
wherever one of them changes. Time at a node that also has children is moved to a leaf of its own, body(f) or
rest(f): so all time is at leaves and a parent is the sum of its children, per interval, in whole nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.typed import Dict, List

from vprof.columns import i32, i64
from vprof.critical_path import (
    P_EXEC,
    P_GAP,
    P_QUEUE,
    P_SCHED,
    Paths,
)
from vprof.model import NONE, Bool, Int32, Int64, Trace
from vprof.stacks import (
    L_BLOCKED,
    L_BODY,
    L_GAP,
    L_QUEUE,
    L_SCHED,
    L_UNKNOWN,
    MAX_DEPTH,
    PSEUDO,
    Stacks,
    build_stacks,
    child_of,
    step_at,
    trie_columns,
)

ROOT_NAME = "<interval>"

_FOREVER = np.int64(2**63 - 1)


@dataclass(frozen=True)
class PathTree:
    """Nodes in an order where parents come first; node 0 is the virtual root.

    `function` and `site` are NONE for pseudo-nodes, `pseudo` is the label (L_*) or NONE for frames. `inner`: a frame
    that has its own function among its ancestors, also across `[blocked]`. The time columns are sorted by (interval,
    node); `own_ns` is time at leaves, `total_ns` includes everything below. Rows of zero time are absent.
    `folded`: the tree reached MAX_DEPTH.
    """

    parent: Int32
    function: Int32
    site: Int32
    pseudo: Int32
    inner: Bool
    name: list[str]
    own_interval: Int32
    own_node: Int32
    own_ns: Int64
    interval: Int32
    node: Int32
    total_ns: Int64
    folded: bool

    def is_body(self, x: int) -> bool:
        return bool(self.pseudo[x] == L_BODY)


class _Steps(NamedTuple):
    time: Int64
    row: Int64
    first: Int64
    parent: Int64
    node: Int32
    fe: Int64


class _Waits(NamedTuple):
    parent: Int32
    thread: Int32
    start: Int64
    stop: Int64
    anchored: Int64


def build_path_tree(trace: Trace, paths: Paths) -> PathTree:
    stacks = build_stacks(trace)
    fe = i64(trace.invocations.fe)
    steps = _Steps(stacks.step_time, stacks.step_row, stacks.step_first, stacks.parent, stacks.node, fe)
    p, w = paths.pieces, paths.waits
    waits = _Waits(w.parent, w.thread, i64(w.start), i64(w.stop), i64(w.anchored))
    piece = (i32(p.interval), p.kind, p.thread, i64(p.start), i64(p.stop), p.wait)
    interval, node, ns = _place(*piece, waits, steps, stacks.trie)
    return _finish(trace, stacks, interval, node, ns)


def _finish(trace: Trace, stacks: Stacks, interval: Int64, node: Int64, ns: Int64) -> PathTree:
    """Prunes nodes without time, gives inner nodes' own time a leaf, sums upwards and names the nodes."""
    parent, label, depth = trie_columns(stacks.trie)
    used = np.zeros(len(parent), np.bool_)
    used[node] = True
    used[0] = True
    for i in range(len(parent) - 1, 0, -1):  # children come after their parents
        if used[i]:
            used[parent[i]] = True
    used_nodes = np.flatnonzero(used)
    renumber = np.cumsum(used) - 1
    parent, label = np.where(parent[used] == NONE, NONE, renumber[parent[used]]), label[used]
    node = renumber[node]
    has_child = np.zeros(len(parent), np.bool_)
    has_child[parent[1:]] = True
    split = np.unique(node[has_child[node]])
    body = np.full(len(parent), NONE, np.int64)
    body[split] = len(parent) + np.arange(len(split))
    node = np.where(body[node] == NONE, node, body[node])
    parent = np.r_[parent, split]
    label = np.r_[label, np.full(len(split), L_BODY)]
    order = np.lexsort((node, interval))
    interval, node, ns = interval[order], node[order], ns[order]
    total = _sum_upwards(i64(interval), i64(node), i64(ns), i64(parent))
    function = stacks.label_function[label]
    function[0] = NONE
    site = stacks.label_site[label]
    site[0] = NONE
    pseudo = i32(np.where(label < len(PSEUDO), label, NONE))
    return PathTree(
        i32(parent),
        function,
        site,
        pseudo,
        _inner(i64(parent), i32(function)),
        _names(trace, parent, function, site, pseudo),
        i32(interval),
        i32(node),
        ns,
        i32(total[0]),
        i32(total[1]),
        total[2],
        bool(depth[used_nodes].max() == MAX_DEPTH),
    )


def _names(trace: Trace, parent: Int64, function: Int32, site: Int32, pseudo: Int32) -> list[str]:
    """`f@site`, `[blocked]`, `body(f)`; functions that share a name are told apart by their place."""
    functions = display_names(trace)
    program = trace.program
    whole = bool(program.complete.all())
    plain: list[str] = []
    names: list[str] = []
    for i in range(len(parent)):
        if i == 0:
            plain.append(ROOT_NAME)
        elif pseudo[i] == L_BODY:
            p = int(parent[i])
            all_on = whole if function[p] == NONE else bool(program.complete[function[p]])
            plain.append(f"{'body' if all_on else 'rest'}({plain[p]})")
        else:
            plain.append(functions[function[i]] if pseudo[i] == NONE else PSEUDO[pseudo[i]])
        where = trace.sites[site[i]] if site[i] != NONE else ""
        names.append(f"{plain[i]}@{where}" if where else plain[i])
    return names


def display_names(trace: Trace) -> list[str]:
    """Function names as reports print them, unique: `name`, or `name (place)` where names collide."""
    names, places = trace.program.functions, trace.program.places
    count: dict[str, int] = {}
    for name in names:
        count[name] = count.get(name, 0) + 1
    return [n if count[n] == 1 else f"{n} ({p or i})" for i, (n, p) in enumerate(zip(names, places, strict=True))]


@njit(cache=True)
def _inner(parent, function):  # type: ignore[no-untyped-def]
    inner = np.zeros(len(parent), np.bool_)
    for i in range(1, len(parent)):
        p = parent[i]
        while function[i] != NONE and p != NONE:
            if function[p] == function[i]:
                inner[i] = True
                break
            p = parent[p]
    return inner


@njit(cache=True)
def _sum_upwards(interval, node, ns, parent):  # type: ignore[no-untyped-def]
    """Inclusive times, sorted by (interval, node): every node gets its own time and all time below it."""
    scratch = _scratch(len(parent))
    acc, touched, count = scratch
    seen_in = np.full(len(parent), NONE, np.int64)
    out, n = np.empty((max(16, 2 * len(ns)), 3), np.int64), 0
    for k in range(len(ns)):
        if k > 0 and interval[k] != interval[k - 1]:
            _give_to_parents(parent, scratch)
            out, n = _flush(interval[k - 1], scratch, out, n)
        x = node[k]
        acc[x] += ns[k]
        while x != NONE and seen_in[x] != interval[k]:
            seen_in[x] = interval[k]
            touched[count[0]] = x
            count[0] += 1
            x = parent[x]
    if len(ns) > 0:
        _give_to_parents(parent, scratch)
        out, n = _flush(interval[-1], scratch, out, n)
    return out[:n].T.copy()


@njit(cache=True)
def _give_to_parents(parent, scratch):  # type: ignore[no-untyped-def]
    """Adds every touched node's time to its parent's, children first (they have the higher numbers)."""
    acc, touched, count = scratch
    nodes = touched[: count[0]]
    nodes.sort()
    for j in range(len(nodes) - 1, 0, -1):
        acc[parent[nodes[j]]] += acc[nodes[j]]


@njit(cache=True)
def _scratch(n_nodes):  # type: ignore[no-untyped-def]
    """Times of one interval by node, the nodes that have some, and (in one cell) how many these are."""
    return np.zeros(n_nodes, np.int64), np.empty(n_nodes, np.int64), np.zeros(1, np.int64)


@njit(cache=True)
def _add(node, ns, scratch):  # type: ignore[no-untyped-def]
    acc, touched, count = scratch
    if acc[node] == 0:
        touched[count[0]] = node
        count[0] += 1
    acc[node] += ns


@njit(cache=True)
def _flush(interval, scratch, out, n):  # type: ignore[no-untyped-def]
    """Moves one interval's times to `out` from row n on, nodes ascending; returns `out`, grown if need be, and n."""
    acc, touched, count = scratch
    m = count[0]
    if n + m > len(out):
        out = np.concatenate((out, np.empty((n + m, 3), np.int64)))
    touched[:m].sort()
    for x in touched[:m]:
        out[n, 0], out[n, 1], out[n, 2] = interval, x, acc[x]
        acc[x] = 0
        n += 1
    count[0] = 0
    return out, n


@njit(cache=True)
def _place(interval, kind, thread, start, stop, wait, waits, steps, trie):  # type: ignore[no-untyped-def]
    """Puts every nanosecond of the pieces at a node; returns rows (interval, node, ns), sorted by interval."""
    grafts = Dict.empty(types.int64, types.int64)
    below = np.zeros((len(waits.parent), 3), np.int64)
    time = steps.time
    scratch = _scratch(1024)
    out, n = np.empty((1024, 3), np.int64), 0
    for k in range(len(kind)):
        if k > 0 and interval[k] != interval[k - 1]:
            out, n = _flush(interval[k - 1], scratch, out, n)
        step = step_at(time, steps.first, thread[k], start[k])
        last = steps.first[thread[k] + 1] - 1
        t = start[k]
        while t < stop[k]:
            node, until = np.int64(0), stop[k]
            if wait[k] != NONE:
                _update(wait[k], t, below, waits, steps, grafts, trie)
                node, until = below[wait[k], 0], min(until, below[wait[k], 2])
            if kind[k] == P_EXEC:
                while step < last and time[step + 1] <= t:
                    step += 1
                if step < last:
                    until = min(until, time[step + 1])
                stack = _frame(steps, thread[k], step)
                node = stack if node == 0 else _graft(node, stack, grafts, trie)
            else:
                if wait[k] == NONE:
                    node = _anchor(steps, thread[k], start[k], stop[k])
                node = child_of(node, _label(kind[k]), trie)
            if node >= len(scratch[0]):
                scratch = _larger(scratch, 2 * node)
            _add(node, until - t, scratch)
            t = until
    if len(kind) > 0:
        out, n = _flush(interval[-1], scratch, out, n)
    return out[:n, 0].copy(), out[:n, 1].copy(), out[:n, 2].copy()


@njit(cache=True)
def _update(wait, t, below, waits, steps, grafts, trie):  # type: ignore[no-untyped-def]
    """Brings below[wait] = (its `[blocked]` node, valid from, valid until) up to time t.

    Remembered per wait, and pieces come in order of time: so a chain of n waits inside each other costs n, not n * n.
    """
    stale = List.empty_list(types.int64)
    w = np.int64(wait)
    while w != NONE and not below[w, 1] <= t < below[w, 2]:
        stale.append(w)
        w = np.int64(waits.parent[w])
    node, until = (np.int64(0), _FOREVER) if w == NONE else (below[w, 0], below[w, 2])
    for j in range(len(stale) - 1, -1, -1):
        w = stale[j]
        if waits.anchored[w]:
            stack = _anchor(steps, waits.thread[w], waits.start[w], waits.stop[w])
        else:
            step = step_at(steps.time, steps.first, waits.thread[w], t)
            stack = _frame(steps, waits.thread[w], step)
            until = min(until, _until(steps, waits.thread[w], step))
        node = child_of(_graft(node, stack, grafts, trie), L_BLOCKED, trie)
        below[w, 0], below[w, 1], below[w, 2] = node, t, until


@njit(cache=True)
def _larger(scratch, n_nodes):  # type: ignore[no-untyped-def]
    """The scratch table for more nodes."""
    acc, touched, count = _scratch(n_nodes)
    acc[: len(scratch[0])] = scratch[0]
    touched[: len(scratch[1])] = scratch[1]
    count[0] = scratch[2][0]
    return acc, touched, count


@njit(cache=True)
def _label(kind):  # type: ignore[no-untyped-def]
    if kind == P_QUEUE:
        return L_QUEUE
    if kind == P_GAP:
        return L_GAP
    return L_SCHED if kind == P_SCHED else L_UNKNOWN


@njit(cache=True)
def _until(steps, thread, step):  # type: ignore[no-untyped-def]
    """When the thread's next step begins."""
    return steps.time[step + 1] if step + 1 < steps.first[thread + 1] else _FOREVER


@njit(cache=True)
def _frame(steps, thread, step):  # type: ignore[no-untyped-def]
    """The trie node of the stack at this step."""
    if step < steps.first[thread] or steps.row[step] == NONE:
        return np.int64(0)
    return np.int64(steps.node[steps.row[step]])


@njit(cache=True)
def _anchor(steps, thread, start, stop):  # type: ignore[no-untyped-def]
    """The trie node of the thread's frames that are open over all of [start, stop]; the root if there is none."""
    step = step_at(steps.time, steps.first, thread, start)
    if step < steps.first[thread]:
        return np.int64(0)
    row = steps.row[step]
    while row != NONE and steps.fe[row] < stop:
        row = steps.parent[row]
    return np.int64(0) if row == NONE else np.int64(steps.node[row])


@njit(cache=True)
def _graft(onto, stack, grafts, trie):  # type: ignore[no-untyped-def]
    """The tree node of call stack `stack` below node `onto`; remembered, so that it is walked once."""
    if onto == 0 or stack == 0:
        return onto + stack
    key = (onto << 32) | stack
    if key in grafts:
        return grafts[key]
    _, parent_of, label_of, _ = trie
    path = List.empty_list(types.int64)
    s = stack
    while s != 0:
        path.append(label_of[s])
        s = parent_of[s]
    node = onto
    for i in range(len(path) - 1, -1, -1):
        node = child_of(node, path[i], trie)
    grafts[key] = node
    return node
