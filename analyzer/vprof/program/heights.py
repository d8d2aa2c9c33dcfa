"""Heights: the longest call path below each function, also inside recursive groups (docs/algorithms.md section 5).

    calls -> components -> levels -> calls that count (no cycle remains) -> longest path

A recursive group has no longest path, so some of its calls must not count. Which ones depends on the graph, on what was
observed and on the functions' keys alone, not on the order of a walk:

- the level of a function is its least number of calls from an entry, which is a function that nobody calls;
- inside a group, calls that were observed come first, then the others; of either, those to a deeper level come first,
  then those that go back the fewest levels;
- each counts in turn, unless it closes a cycle of calls that count.

So what counts is as much as can: a call does not count only if its callee comes back to the caller by calls that do. A
function is higher than all that it calls by calls that count. So where the observed calls have no cycle, no caller is
below its callee on an observed path, whatever else may be called. A function all of whose calls come back is no leaf:
it counts as calling what its group calls outside.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np

from vprof.program.callgraph import Graph, components
from vprof.tables.kernels import kernel, loop
from vprof.tables.model import Bool, Int32, Int64

Key = str | tuple[str, ...]
"""What identifies a function: keys are distinct, and order what levels do not."""


def heights(counting: Graph) -> Int32:
    """Longest path below each function, 0 for one that calls nothing. REQUIRES: no cycle, see `acyclic`."""
    height = np.zeros(len(counting), np.int32)
    for [f] in components(counting):
        height[f] = max((height[callee] + 1 for callee in counting[f]), default=0)
    return height


def group_sizes(graph: Graph) -> Int32:
    """How many functions call each other with each function among them, 1 if none."""
    sizes = np.ones(len(graph), np.int32)
    for members in components(graph):
        sizes[members] = len(members)
    return sizes


def longest_chain(counting: Graph, height: Int32, keys: Sequence[Key], f: int) -> list[int]:
    """The path that gives f its height, from f to a function of height 0; of equal ones the first by keys."""
    chain = [f]
    while height[chain[-1]]:
        below = [callee for callee in counting[chain[-1]] if height[callee] == height[chain[-1]] - 1]
        chain.append(min(below, key=keys.__getitem__))
    return chain


def acyclic(
    graph: Graph, keys: Sequence[Key], apart: Collection[int] = (), observed: Collection[tuple[int, int]] = ()
) -> Graph:
    """The calls that count: all between groups, inside a group as many as close no cycle, those of `observed` first.

    `apart`: functions nobody calls that are no entries, since only the calls into them were taken away. `observed`
    (caller, callee) count as calls, also if the graph has only a path there; a function does not call itself.
    """
    called = graph
    graph = with_observed(graph, observed)
    groups = components(graph)
    order = sorted(range(len(graph)), key=keys.__getitem__)
    rank = [0] * len(graph)
    for position, f in enumerate(order):
        rank[f] = position
    recursive = [members for members in groups if len(members) > 1]
    level = _levels(called, components(called), rank, apart) if recursive else []
    counting = [[callee for callee in callees if callee != f] for f, callees in enumerate(graph)]
    for members in recursive:
        inside = set(members)
        kept = _without_cycles(members, graph, rank, level, observed)
        outside = {f: [callee for callee in counting[f] if callee not in inside] for f in members}
        below = sorted({callee for callees in outside.values() for callee in callees})
        for f in members:
            counting[f] = sorted(outside[f] + kept[f]) or below
    return counting


def with_observed(graph: Graph, observed: Collection[tuple[int, int]]) -> Graph:
    """The graph with these (caller, callee) as calls."""
    added: dict[int, set[int]] = defaultdict(set)
    for caller, callee in observed:
        added[caller].add(callee)
    return [sorted({*callees, *added[f]}) if f in added else callees for f, callees in enumerate(graph)]


def _levels(graph: Graph, groups: list[list[int]], rank: list[int], apart: Collection[int]) -> list[int]:
    """The least number of calls from an entry. A group that nobody calls is entered at its first function.

    What only functions of `apart` reach has its level from them.
    """
    group = [0] * len(graph)
    for number, members in enumerate(groups):
        for f in members:
            group[f] = number
    called = {group[callee] for f, callees in enumerate(graph) for callee in callees if group[callee] != group[f]}
    entries = [min(members, key=rank.__getitem__) for number, members in enumerate(groups) if number not in called]
    level = [-1] * len(graph)
    for starts in ([f for f in entries if f not in apart], [f for f in entries if f in apart]):
        queue = [f for f in starts if level[f] < 0]
        for f in queue:
            level[f] = 0
        for f in queue:
            for callee in graph[f]:
                if level[callee] < 0:
                    level[callee] = level[f] + 1
                    queue.append(callee)
    return level


def _without_cycles(
    members: list[int], graph: Graph, rank: list[int], level: list[int], observed: Collection[tuple[int, int]]
) -> dict[int, list[int]]:
    """The calls inside one group that count."""
    members = sorted(members, key=lambda f: (level[f], rank[f]))
    number = {f: i for i, f in enumerate(members)}
    calls = [(f, callee) for f in members for callee in graph[f] if callee in number and callee != f]
    calls.sort(key=lambda call: (call not in observed, level[call[0]] - level[call[1]], rank[call[0]], rank[call[1]]))
    caller = np.array([number[f] for f, _ in calls], np.int64)
    callee = np.array([number[f] for _, f in calls], np.int64)
    counting: dict[int, list[int]] = {f: [] for f in members}
    for call in np.flatnonzero(close_no_cycle(len(members), caller, callee)):
        counting[calls[call][0]].append(calls[call][1])
    return counting


@kernel
def close_no_cycle(n: int, tail: Int64, head: Int64) -> Bool:
    """Which edges of a graph of n vertices are kept when each, in turn, is kept unless it closes a cycle of kept ones.

    Keeps a topological order. An edge against it costs a search from its head, no further than its tail; if that does
    not find the tail, what it found moves behind the tail (Marchetti-Spaccamela, Nanni, Rohnert, "Maintaining a
    topological order under edge insertions", 1996). REQUIRES: no edge from a vertex to itself. Best numbered such that
    most edges go up.
    """
    kept = np.zeros(len(tail), np.bool_)
    first, following = np.full(n, -1), np.full(len(tail), -1)
    position, at = np.arange(n), np.arange(n)
    found_for = np.full(n, -1)
    found = np.empty(n, np.int64)
    for edge in range(len(tail)):
        i, j = tail[edge], head[edge]
        if position[i] > position[j]:
            found[0], found_for[j] = j, edge
            _search(edge, i, first, following, head, position, found_for, found)
            if found_for[i] == edge:
                continue
            _move_behind(edge, position[j], position[i], position, at, found_for, found)
        kept[edge] = True
        following[edge], first[i] = first[i], edge
    return kept


@loop
def _search(
    mark: int, wanted: int, first: Int64, following: Int64, head: Int64, position: Int64, found_for: Int64, found: Int64
) -> None:
    """Marks what found[0] reaches that is no later than `wanted`, until that is found; overwrites `found`."""
    count, done = 1, 0
    while done < count and found_for[wanted] != mark:
        out = first[found[done]]
        done += 1
        while out >= 0:
            v = head[out]
            out = following[out]
            if found_for[v] != mark and position[v] <= position[wanted]:
                found[count], found_for[v] = v, mark
                count += 1


@loop
def _move_behind(mark: int, low: int, high: int, position: Int64, at: Int64, found_for: Int64, moved: Int64) -> None:
    """Moves the marked vertices between two positions behind the others; both keep their order."""
    count, to = 0, low
    for place in range(low, high + 1):
        v = at[place]
        if found_for[v] == mark:
            moved[count] = v
            count += 1
        else:
            at[to], position[v] = v, to
            to += 1
    for k in range(count):
        at[to + k], position[moved[k]] = moved[k], to + k
