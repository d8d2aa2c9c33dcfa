"""One tree for both views of waiting: every nanosecond of every critical path at one node.

    Forest + which of its nodes have time  ->  PathTree

Source: docs/algorithms.md section 3. An exec piece lies at its thread's stack; within a wait, at the waiter's stack,
`[blocked]`, then the waker's stack, and so on inwards; time off the CPU (`[preempted]` and its like) below the stack
where execution would be (places.py). Time at a node that also has children is moved to a leaf of its own, body(f) or
rest(f): so all time is at leaves and a parent is the sum of its children, per interval, in whole nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.path.stacks import MAX_DEPTH, T_DEPTH, T_LABEL, T_PARENT, Forest, Stacks
from vprof.tables.columns import i32, i64
from vprof.tables.kernels import helper, kernel
from vprof.tables.kinds import L_BLOCKED, L_BODY, PSEUDO, WAKER
from vprof.tables.model import NONE, Bool, Int32, Int64, Trace
from vprof.tables.naming import distinct

ROOT_NAME = "<interval>"


@dataclass(frozen=True, kw_only=True)
class PathTree:
    """Nodes in an order where parents come first; node 0 is the virtual root.

    `function` and `call_site` are NONE for pseudo-nodes, `pseudo` is the label (L_*) or NONE for frames. `inner`: a
    frame that has its own function among its ancestors, also across `[blocked]`. `folded`: the tree reached MAX_DEPTH.
    `calls`: how many recorded calls that worked for the intervals were entered right there, over all of them; those of
    wakers count where they worked for their own.
    """

    parent: Int32
    function: Int32
    call_site: Int32
    pseudo: Int32
    inner: Bool
    name: list[str]
    folded: bool
    calls: Int64

    def is_body(self, x: int) -> bool:
        return bool(self.pseudo[x] == L_BODY)


def calls_of(trace: Trace, stacks: Stacks) -> Int64:
    """By node of the forest: the calls that were entered there in one of the trace's intervals and for it."""
    intervals, calls = trace.intervals, trace.invocations
    begin, end, nodes = i64(intervals.begin), i64(intervals.end), len(stacks.forest.nodes)
    return _count_calls(stacks.timeline.frames.node, calls.interval, calls.fs, begin, end, intervals.ignore, nodes)


@kernel
def _count_calls(node: Int64, interval: Int32, fs: Int64, begin: Int64, end: Int64, ignore: Bool, nodes: int) -> Int64:
    count = np.zeros(nodes, np.int64)
    for i in range(len(node)):
        count[node[i]] += _is_entered(interval[i], fs[i], begin, end, ignore)
    return count


@helper
def _is_entered(interval: int, t: int, begin: Int64, end: Int64, ignore: Bool) -> bool:
    return bool(0 <= interval < len(begin) and begin[interval] <= t < end[interval] and not ignore[interval])


def tree_of(trace: Trace, forest: Forest, has_own: Bool, calls: Int64) -> tuple[PathTree, Int64, Bool]:
    """`has_own` marks the nodes of the forest with time of their own, `calls` counts the calls there.

    Also by node: the one of the forest, and whether it is the own time of that one.
    """
    shape = _shape(forest, has_own)
    return _named(trace, forest, shape, calls), shape.origin, shape.is_body


@dataclass(frozen=True)
class _Shape:
    """Nodes with time, and a leaf of its own (`is_body`) for the own time of a node that has others below it; `origin`
    is the node of the trie."""

    parent: Int64
    label: Int64
    origin: Int64
    is_body: Bool
    folded: bool


def _shape(forest: Forest, has_own: Bool) -> _Shape:
    nodes = forest.nodes
    origin = _in_order(nodes, with_ancestors(np.flatnonzero(has_own), nodes[:, T_PARENT]), forest.ranks())
    number = np.zeros(len(nodes), np.int64)
    number[origin] = np.arange(len(origin))
    parent, label, depth = nodes[origin].T
    parent = np.where(parent == NONE, NONE, number[parent])
    has_child = np.zeros(len(parent), np.bool_)
    has_child[parent[1:]] = True
    split = np.flatnonzero(has_child & has_own[origin])
    return _Shape(
        np.r_[parent, split],
        np.r_[label, np.full(len(split), L_BODY)],
        np.r_[origin, origin[split]],
        np.arange(len(parent) + len(split)) >= len(parent),
        bool(depth.max() == MAX_DEPTH),
    )


def _in_order(nodes: Int64, used: Bool, rank: Int64) -> Int64:
    """The used nodes, parents first, in an order that does not depend on which was met first: level by level, below
    each other in the order of their labels' ranks."""
    depth, place = nodes[:, T_DEPTH], np.zeros(len(nodes), np.int64)
    level, found = np.zeros(1, np.int64), [np.zeros(1, np.int64)]
    by_depth = np.flatnonzero(used)[np.argsort(depth[used], kind="stable")]
    for below in np.split(by_depth, np.flatnonzero(np.diff(depth[by_depth])) + 1)[1:]:
        place[level] = np.arange(len(level))
        level = below[np.lexsort((rank[nodes[below, T_LABEL]], place[nodes[below, T_PARENT]]))]
        found.append(level)
    return np.concatenate(found)


def _named(trace: Trace, forest: Forest, shape: _Shape, calls: Int64) -> PathTree:
    function = np.array(forest.function, np.int32)[shape.label]
    number = {name: n for n, name in enumerate(trace.call_sites)}
    sites = np.array([*(number[name] for name in forest.site_names), NONE], np.int32)
    site = sites[np.array(forest.call_site)[shape.label]]
    function[0] = site[0] = NONE
    pseudo = i32(np.where(shape.label < len(PSEUDO), shape.label, NONE))
    return PathTree(
        parent=i32(shape.parent),
        function=function,
        call_site=site,
        pseudo=pseudo,
        inner=_inner(shape.parent, function),
        name=_names(trace, shape.parent, function, site, pseudo),
        folded=shape.folded,
        calls=np.where(
            shape.is_body, 0, np.r_[calls, np.zeros(len(forest.nodes) - len(calls), np.int64)][shape.origin]
        ),
    )


def with_ancestors(node: Int64, parent: Int64) -> Bool:
    """Marks the root, these nodes, and all nodes above them."""
    marked = np.zeros(len(parent), np.bool_)
    marked[0] = True
    marked[node] = True
    for x in range(len(parent) - 1, 0, -1):  # children come after their parents
        if marked[x]:
            marked[parent[x]] = True
    return marked


def _inner(parent: Int64, function: Int32) -> Bool:
    """Marks the frames that have their own function above them. All frames climb one level at a time."""
    inner = np.zeros(len(parent), np.bool_)
    climbing = np.flatnonzero(function != NONE)
    above = parent[climbing]
    while len(climbing):
        inner[climbing[function[above] == function[climbing]]] = True
        going_on = (above > 0) & ~inner[climbing]
        climbing, above = climbing[going_on], parent[above[going_on]]
    return inner


def _names(trace: Trace, parent: Int64, function: Int32, site: Int32, pseudo: Int32) -> list[str]:
    """`f@site`, `[blocked]`, `body(f)`, `[waker]` (a waker's time outside functions with probes); functions that share
    a name are told apart by their place."""
    functions = display_names(trace)
    program = trace.program
    whole = bool(program.complete.all())
    plain: list[str] = []
    names: list[str] = []
    for i in range(len(parent)):
        if i == 0:
            plain.append(ROOT_NAME)
        elif pseudo[i] == L_BODY and pseudo[parent[i]] == L_BLOCKED:
            plain.append(WAKER)
        elif pseudo[i] == L_BODY:
            p = int(parent[i])
            all_on = whole if function[p] == NONE else bool(program.complete[function[p]])
            plain.append(f"{'body' if all_on else 'rest'}({plain[p]})")
        else:
            plain.append(functions[function[i]] if pseudo[i] == NONE else PSEUDO[pseudo[i]])
        where = trace.call_sites[site[i]] if site[i] != NONE else ""
        names.append(f"{plain[i]}@{where}" if where else plain[i])
    return names


def display_names(trace: Trace) -> list[str]:
    """Function names as reports print them and plans take them: `name`, or `name (file:line)` where names collide."""
    return distinct(trace.program.functions, trace.program.definitions)
