"""The whole program's call graph, its heights and its number of call paths (ALGORITHMS section 5 and 6).

    units -> merged by function id -> direct calls (+ edges observed at run time) -> components -> heights

Graphs are lists of successor lists over function numbers, so the functions below serve any graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from vprof.metadata import Unit, uncollected
from vprof.model import Int32

Graph = list[list[int]]


@dataclass
class CallGraph:
    """Every function that is defined or named in some unit.

    `calls[f]` are distinct direct callees. `candidates[f]` are the functions whose address is taken with a type that f
    calls through a pointer: they propose children, they never count for heights. `sited[f]`: f has a probe.
    `ignored[f]`: calls into f do not count for heights, because it does not return or a
    descriptor's `ignore_for_height` names it.
    """

    number: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    sited: list[bool] = field(default_factory=list)
    ignored: list[bool] = field(default_factory=list)
    calls: Graph = field(default_factory=list)
    candidates: Graph = field(default_factory=list)

    def add(self, id_: str, name: str) -> int:
        """The number of a function, new if it is seen for the first time."""
        if id_ not in self.number:
            self.number[id_] = len(self.names)
            self.names.append(name)
            self.places.append("")
            self.sited.append(False)
            self.ignored.append(False)
            self.calls.append([])
            self.candidates.append([])
        return self.number[id_]


@uncollected()
def build(units: Iterable[Unit]) -> CallGraph:
    """Merges units. A function defined in several (a header's) has the calls of all its copies."""
    graph = CallGraph()
    taken: dict[str, set[int]] = defaultdict(set)
    indirect: dict[int, set[str]] = defaultdict(set)
    globs: set[str] = set()
    for unit in units:
        for function in unit.functions:
            f = graph.add(function.id, function.name)
            graph.places[f] = graph.places[f] or f"{function.file}:{function.line}"
            graph.sited[f] |= function.site is not None
            graph.ignored[f] |= function.noreturn
        for symbol in unit.symbols:
            graph.ignored[graph.add(symbol.id, symbol.name)] |= symbol.noreturn
        globs.update(unit.ignore_for_height)
        for id_, type_ in unit.taken:
            taken[type_].add(graph.number[id_])
        for function in unit.functions:
            f = graph.number[function.id]
            graph.calls[f] += [graph.number[callee] for callee, _ in function.calls]
            indirect[f].update(type_ for type_, _ in function.indirect)
    graph.calls = [sorted(set(callees)) for callees in graph.calls]
    for glob in globs:
        for f in (f for f, name in enumerate(graph.names) if fnmatchcase(name, glob)):
            graph.ignored[f] = True
    for f, types in indirect.items():
        graph.candidates[f] = sorted({callee for type_ in types for callee in taken[type_]})
    return graph


def add_observed(graph: Graph, edges: Iterable[tuple[int, int]]) -> None:
    """Adds edges seen at run time that direct calls do not explain, in place.

    A caller and a callee whose frames nested may have frames without a probe between them; so an edge is added only
    where no path of direct calls leads from one to the other: then a pointer was called on the way.
    """
    callees = defaultdict(set)
    for caller, callee in edges:
        if callee not in graph[caller]:
            callees[caller].add(callee)
    unexplained = {caller: sorted(wanted - reachable(graph, graph[caller])) for caller, wanted in callees.items()}
    for caller, new in unexplained.items():
        graph[caller] = sorted({*graph[caller], *new})


def reachable(graph: Graph, starts: Iterable[int]) -> set[int]:
    """The starts and everything below them."""
    seen = set(starts)
    todo = list(seen)
    while todo:
        for callee in graph[todo.pop()]:
            if callee not in seen:
                seen.add(callee)
                todo.append(callee)
    return seen


def components(graph: Graph) -> list[list[int]]:
    """Strongly connected components, callees before callers (Tarjan, with an explicit stack)."""
    index = [-1] * len(graph)
    low = [0] * len(graph)
    on_stack = [False] * len(graph)
    stack: list[int] = []
    found: list[list[int]] = []
    clock = 0
    for start in range(len(graph)):
        if index[start] >= 0:
            continue
        walk = [(start, 0)]
        while walk:
            f, position = walk.pop()
            if position == 0:
                index[f] = low[f] = clock
                clock += 1
                stack.append(f)
                on_stack[f] = True
            if position < len(graph[f]):
                walk.append((f, position + 1))
                callee = graph[f][position]
                if index[callee] < 0:
                    walk.append((callee, 0))
                elif on_stack[callee]:
                    low[f] = min(low[f], index[callee])
                continue
            for callee in graph[f]:
                if on_stack[callee]:
                    low[f] = min(low[f], low[callee])
            if low[f] == index[f]:
                found.append(_pop_component(stack, on_stack, f))
    return found


def _pop_component(stack: list[int], on_stack: list[bool], root: int) -> list[int]:
    members: list[int] = []
    while not members or members[-1] != root:
        members.append(stack.pop())
        on_stack[members[-1]] = False
    return sorted(members)


def without(graph: Graph, ignored: Collection[int]) -> Graph:
    """The graph without calls into some functions (error, exit and interrupt functions)."""
    return [[callee for callee in callees if callee not in ignored] for callees in graph]


def heights(graph: Graph) -> Int32:
    """Longest call path below each function, 0 for one that calls nothing; calls back up a recursion do not count.

    Back up means: to a function on the path by which a depth-first walk, from the functions nobody calls, came there.
    So a caller outside a recursive group is higher than all it calls inside, and the order inside follows the way in.
    """
    height = np.zeros(len(graph), np.int32)
    called = {callee for callees in graph for callee in callees}
    new, on_path, done = range(3)
    state = [new] * len(graph)
    for start in sorted(range(len(graph)), key=lambda f: f in called):
        walk = [(start, 0)] if state[start] == new else []
        while walk:
            f, position = walk.pop()
            state[f] = on_path
            if position < len(graph[f]):
                walk.append((f, position + 1))
                if state[graph[f][position]] == new:
                    walk.append((graph[f][position], 0))
                continue
            height[f] = max((height[callee] + 1 for callee in graph[f] if state[callee] == done), default=0)
            state[f] = done
    return height


def call_paths(graph: Graph, root: int) -> int:
    """How many call paths start at the root (each prefix is one) on the condensed graph: what decomposing all costs."""
    below = reachable(graph, [root])
    component: dict[int, int] = {}
    paths: list[int] = []
    for members in components([callees if f in below else [] for f, callees in enumerate(graph)]):
        callees = {component[callee] for f in members for callee in graph[f] if callee in component}
        paths.append(1 + sum(paths[callee] for callee in callees))
        component.update(dict.fromkeys(members, len(paths) - 1))
    return paths[component[root]]


def ancestors(graph: Graph, functions: Iterable[int]) -> set[int]:
    """The functions and everything that calls them, directly or not."""
    callers: Graph = [[] for _ in graph]
    for f, callees in enumerate(graph):
        for callee in callees:
            callers[callee].append(f)
    return reachable(callers, functions)


def probed_children(graph: CallGraph, calls: Graph, f: int) -> set[int]:
    """Functions with a site that f enters next: callees and candidates, or what those without a site enter.

    Functions without source have nothing below them and no site: they do not count; error and exit functions
    (`ignored`) neither.
    """
    seen: set[int] = set()
    todo = [*calls[f], *graph.candidates[f]]
    children = set()
    while todo:
        callee = todo.pop()
        if callee in seen or graph.ignored[callee]:
            continue
        seen.add(callee)
        if graph.sited[callee]:
            children.add(callee)
        else:
            todo += [*calls[callee], *graph.candidates[callee]]
    return children
