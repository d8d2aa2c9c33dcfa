"""Heights: the longest call path below each function, also inside recursive groups (ALGORITHMS section 5).

    calls -> components -> levels -> calls that count (no cycle left) -> longest path

A recursive group has no longest path, so some of its calls must not count. Which ones depends on the graph and on the
functions' keys alone, not on the order of a walk:

- the level of a function is its least number of calls from an entry, which is a function that nobody calls;
- inside a group, calls to a deeper level count;
- then each other call counts, those that go back the fewest levels first, unless it closes a cycle of calls that count.

So what counts is as much as can: a call is left out only if its callee comes back to the caller by calls that count. A
function that calls anything else is higher than it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from vprof.callgraph import Graph, components
from vprof.kernels import helper, kernel
from vprof.model import Bool, Int32, Int64

Key = str | tuple[str, ...]
"""What identifies a function: keys are distinct, and order what levels do not."""


def heights(counting: Graph) -> Int32:
    """Longest path below each function, 0 for one that calls nothing. REQUIRES: no cycle, see `acyclic`."""
    height = np.zeros(len(counting), np.int32)
    for [f] in components(counting):
        height[f] = max((height[callee] + 1 for callee in counting[f]), default=0)
    return height


def longest_chain(counting: Graph, height: Int32, keys: Sequence[Key], f: int) -> list[int]:
    """The path that gives f its height, from f to a function of height 0; of equal ones the first by keys."""
    chain = [f]
    while height[chain[-1]]:
        below = [callee for callee in counting[chain[-1]] if height[callee] == height[chain[-1]] - 1]
        chain.append(min(below, key=keys.__getitem__))
    return chain


def acyclic(graph: Graph, keys: Sequence[Key], apart: Collection[int] = ()) -> Graph:
    """The calls that count: all between groups, inside a group as many as close no cycle.

    `apart`: functions nobody calls that are no entries, since only the calls into them were taken away.
    """
    groups = components(graph)
    order = sorted(range(len(graph)), key=keys.__getitem__)
    rank = [0] * len(graph)
    for position, f in enumerate(order):
        rank[f] = position
    recursive = [members for members in groups if len(members) > 1]
    level = _levels(graph, groups, rank, apart) if recursive else []
    counting = [[callee for callee in callees if callee != f] for f, callees in enumerate(graph)]
    for members in recursive:
        inside = set(members)
        kept = _without_cycles(members, graph, rank, level)
        for f in members:
            counting[f] = sorted([callee for callee in counting[f] if callee not in inside] + kept[f])
    return counting


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


def _without_cycles(members: list[int], graph: Graph, rank: list[int], level: list[int]) -> dict[int, list[int]]:
    """The calls inside one group that count."""
    members = sorted(members, key=lambda f: (level[f], rank[f]))
    number = {f: i for i, f in enumerate(members)}
    calls = [(f, callee) for f in members for callee in graph[f] if callee in number and callee != f]
    calls.sort(key=lambda call: (level[call[0]] - level[call[1]], rank[call[0]], rank[call[1]]))
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


@helper
def _search(mark, wanted, first, following, head, position, found_for, found):  # type: ignore[no-untyped-def]
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


@helper
def _move_behind(mark, low, high, position, at, found_for, moved):  # type: ignore[no-untyped-def]
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
