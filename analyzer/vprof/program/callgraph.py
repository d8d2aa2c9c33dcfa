"""The whole program's call graph and its number of call paths (docs/algorithms.md sections 5 and 6). Heights are
heights.py.

    units -> merged by function id -> direct calls (+ edges observed at run time) -> components

Graphs are lists of successor lists over function numbers, so the functions below serve any graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TypeVar

from vprof.errors import VprofError
from vprof.program.metadata import Unit, distinct, uncollected

Graph = list[list[int]]
T = TypeVar("T", int, str)


UNPLANNED = "unplanned"
"""Why a function has no site that would have one in a build for another plan (instrumenter/UNIT_METADATA.md)."""


@dataclass(kw_only=True)
class CallGraph:
    """Every function that is defined or named in some unit.

    `calls[f]` are distinct direct callees. `candidates[f]` are functions that f may call otherwise: those whose
    address is taken with a type that f calls through a pointer, and (also in `virtual[f]`) those that a virtual call
    may mean. They propose children, they never count for heights. `sited[f]`: f has a probe, or would have in a build
    for another plan. `ignored[f]`: calls into
    f do not count for heights, because it does not return or a descriptor's `ignore_for_height` names it.
    `definitions[f]` is "file:line", or "" if no unit defines f. `numbered[f]`: call number -> (function named there,
    line), for the calls that f tells apart; none if its copies do so differently. `meant[m]`: the methods that a
    virtual call of m may mean, for methods that are called so. `unfollowed[f]`: "file:line" of the calls through
    pointers for which no unit takes an address of that type.
    """

    number: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    definitions: list[str] = field(default_factory=list)
    sited: list[bool] = field(default_factory=list)
    ignored: list[bool] = field(default_factory=list)
    calls: Graph = field(default_factory=list)
    candidates: Graph = field(default_factory=list)
    virtual: Graph = field(default_factory=list)
    numbered: list[dict[int, tuple[int, int]]] = field(default_factory=list)
    meant: dict[int, list[int]] = field(default_factory=dict)
    unfollowed: dict[int, list[str]] = field(default_factory=dict)

    def add(self, id_: str, name: str) -> int:
        """The number of a function, new if it is seen for the first time."""
        if id_ not in self.number:
            self.number[id_] = len(self.names)
            self.names.append(name)
            self.definitions.append("")
            self.sited.append(False)
            self.ignored.append(False)
            self.calls.append([])
            self.candidates.append([])
            self.virtual.append([])
            self.numbered.append({})
        return self.number[id_]

    def keys(self) -> list[tuple[str, str]]:
        """(name, id) of each function: an order that does not depend on that of the units."""
        return list(zip(self.names, self.number, strict=True))

    def counted(self, calls: Graph) -> Graph:
        """The calls that can count for heights: those into error, exit and interrupt functions cannot."""
        return [[callee for callee in callees if not self.ignored[callee]] for callees in calls]

    def counted_pairs(self, pairs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        """Those of some (caller, callee) that can count for heights; calls of a function by itself cannot."""
        return {(f, g) for f, g in pairs if f != g and not self.ignored[g]}

    def apart(self) -> set[int]:
        """The numbers of the ignored functions."""
        return {f for f, ignored in enumerate(self.ignored) if ignored}


@uncollected()
def build(units: Iterable[Unit]) -> CallGraph:
    """Merges units. A function defined in several (a header's) has the calls of all its copies. Raises VprofError when
    they call a function that none of them names."""
    try:
        return _built(units)
    except KeyError as id_:
        raise VprofError(f"the unit metadata call {id_}, which they name nowhere: build the program again") from None


def _built(units: Iterable[Unit]) -> CallGraph:
    graph = CallGraph()
    taken: dict[str, set[int]] = defaultdict(set)
    through: dict[str, set[str]] = defaultdict(set)
    indirect: dict[int, set[tuple[str, str]]] = defaultdict(set)
    virtual: dict[int, set[int]] = defaultdict(set)
    overriding: dict[int, set[int]] = defaultdict(set)
    copies: dict[int, dict[int, tuple[int, int]]] = {}
    globs: set[str] = set()
    units = list(units)
    functions = list(distinct(units))
    for function in functions:
        f = graph.add(function.id, function.name)
        graph.definitions[f] = graph.definitions[f] or f"{function.file}:{function.line}"
        graph.sited[f] |= function.site is not None or function.no_site == UNPLANNED
        graph.ignored[f] |= function.noreturn
    for symbol in {symbol: None for unit in units for symbol in unit.symbols}:
        graph.ignored[graph.add(symbol.id, symbol.name)] |= symbol.noreturn
    for unit in units:
        globs.update(unit.ignore_for_height)
        for id_, type_ in unit.taken:
            taken[type_].add(graph.number[id_])
        for type_, to in unit.through:
            through[type_].add(to)
        for method, overridden in unit.overrides:
            overriding[graph.number[overridden]].add(graph.number[method])
    for function in functions:
        f = graph.number[function.id]
        graph.calls[f] += [graph.number[callee] for callee, _ in function.calls]
        indirect[f].update((type_, f"{function.file}:{line}") for type_, line in function.indirect)
        virtual[f].update(graph.number[method] for method, _ in function.virtual)
        numbered = {number: (graph.number[callee], line) for number, callee, line in function.numbered}
        if copies.setdefault(f, numbered) != numbered:
            copies[f] = {}
        graph.numbered[f] = copies[f]
    for glob in globs:
        for f in (f for f, name in enumerate(graph.names) if fnmatchcase(name, glob)):
            graph.ignored[f] = True
    _resolve_virtual(graph, virtual, overriding)
    graph.calls = [sorted(set(callees)) for callees in graph.calls]
    _resolve_pointers(graph, indirect, taken, through, overriding)
    return graph


def _resolve_pointers(
    graph: CallGraph,
    indirect: dict[int, set[tuple[str, str]]],
    taken: dict[str, set[int]],
    through: dict[str, set[str]],
    overriding: dict[int, set[int]],
) -> None:
    """A call through a pointer may mean what is taken with its type, also behind the library's code. `indirect`: by
    function, (type, place) of the calls."""
    candidates: dict[str, set[int]] = {}
    for f, called in indirect.items():
        for type_ in {type_ for type_, _ in called} - candidates.keys():
            types = _reachable_in(through, type_)
            candidates[type_] = {m for t in types for g in taken[t] for m in _meant(graph, overriding, g)}
        graph.candidates[f] = sorted(set(graph.virtual[f]).union(*(candidates[type_] for type_, _ in called)))
        if places := sorted({place for type_, place in called if not candidates[type_]}):
            graph.unfollowed[f] = places


def _meant(graph: CallGraph, overriding: dict[int, set[int]], method: int) -> list[int]:
    """The function itself, or what a virtual call of it may mean. What no unit defines (a pure method) is no candidate
    if anything else is."""
    if method not in graph.meant:
        if method not in overriding:
            return [method]
        family = _reachable_in(overriding, method)
        graph.meant[method] = sorted(m for m in family if graph.definitions[m]) or [method]
    return graph.meant[method]


def _resolve_virtual(graph: CallGraph, virtual: dict[int, set[int]], overriding: dict[int, set[int]]) -> None:
    """A virtual call means the method it names or one that overrides it, in any unit, at any remove. A single candidate
    is a direct call."""
    for f, methods in virtual.items():
        several: set[int] = set()
        for method in methods:
            meant = _meant(graph, overriding, method)
            if len(meant) == 1:
                graph.calls[f] += meant
            else:
                several.update(meant)
        graph.virtual[f] = sorted(several)


def _reachable_in(edges: dict[T, set[T]], start: T) -> set[T]:
    seen = {start}
    todo = [start]
    while todo:
        new = edges.get(todo.pop(), set()) - seen
        seen |= new
        todo += new
    return seen


def add_observed(graph: Graph, edges: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Adds edges seen at run time that direct calls do not explain, in place; returns those.

    A caller and a callee whose frames nested may have frames without a probe between them; so an edge is added only
    where no path of direct calls leads from one to the other: then a pointer was called on the way.
    """
    callees = defaultdict(set)
    for caller, callee in edges:
        if callee not in graph[caller]:
            callees[caller].add(callee)
    unexplained = {caller: wanted - reachable(graph, graph[caller]) for caller, wanted in callees.items()}
    for caller, new in unexplained.items():
        graph[caller] = sorted({*graph[caller], *new})
    return {(caller, callee) for caller, new in unexplained.items() for callee in new}


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


def call_paths(graph: Graph, roots: Collection[int]) -> int:
    """How many call paths start at the roots (each prefix is one) on the condensed graph: what decomposing everything
    costs."""
    return sum(_ways(graph, roots)[1])


def paths_to(graph: Graph, roots: Collection[int]) -> list[int]:
    """How many call paths lead from one of the roots to each function, on the condensed graph; 0 where none does."""
    group, ways = _ways(graph, roots)
    return [ways[number] for number in group]


def _ways(graph: Graph, roots: Collection[int]) -> tuple[list[int], list[int]]:
    """The recursive group of each function, and the number of call paths from the roots to each group."""
    below = reachable(graph, roots)
    groups = components([callees if f in below else [] for f, callees in enumerate(graph)])
    group = [0] * len(graph)
    for number, members in enumerate(groups):
        for f in members:
            group[f] = number
    ways = [0] * len(groups)
    for f in roots:
        ways[group[f]] += 1
    for number in range(len(groups) - 1, -1, -1):
        if ways[number]:
            inner = {group[callee] for f in groups[number] for callee in graph[f]} - {number}
            for callee in inner:
                ways[callee] += ways[number]
    return group, ways


def ancestors(graph: Graph, functions: Iterable[int]) -> set[int]:
    """The functions and everything that calls them, directly or not."""
    return reachable(reversed_graph(graph), functions)


def reversed_graph(graph: Graph) -> Graph:
    """By function: its callers."""
    callers: Graph = [[] for _ in graph]
    for f, callees in enumerate(graph):
        for callee in callees:
            callers[callee].append(f)
    return callers


def between(calls: Graph, through: Collection[int], f: int, g: int) -> set[int]:
    """The functions of `through` that lie on a way from f to g of which all inner functions are in `through`."""
    below: set[int] = set()
    work = [f]
    while work:
        found = {callee for callee in calls[work.pop()] if callee in through} - below - {g}
        below |= found
        work += found
    callers: dict[int, list[int]] = defaultdict(list)
    for caller in below:
        for callee in calls[caller]:
            callers[callee].append(caller)
    leading: set[int] = set()
    work = [g]
    while work:
        found = set(callers[work.pop()]) - leading
        leading |= found
        work += found
    return leading


def probed_children(graph: CallGraph, calls: Graph, f: int) -> dict[int, int]:
    """Functions with a site that f enters next: callees and candidates, or what those without a site enter.

    Each with the function that calls it there: f, or one without a site, by as few calls as can be. Functions without
    source have nothing below them and no site: they do not count; error and exit functions (`ignored`) neither.
    """
    return _entered_next(graph, calls, f)[0]


def unfollowed_calls(graph: CallGraph, calls: Graph, f: int) -> list[str]:
    """Where f, or a function without a site that it enters next, calls through a pointer what nobody knows."""
    return sorted({place for g in _entered_next(graph, calls, f)[1] for place in graph.unfollowed.get(g, ())})


def _entered_next(graph: CallGraph, calls: Graph, f: int) -> tuple[dict[int, int], list[int]]:
    """What probed_children says, and f with the functions that are looked through."""
    seen: set[int] = set()
    queue = [f]
    children: dict[int, int] = {}
    for caller in queue:
        for callee in [*calls[caller], *graph.candidates[caller]]:
            if callee in seen or graph.ignored[callee]:
                continue
            seen.add(callee)
            if graph.sited[callee]:
                children[callee] = caller
            else:
                queue.append(callee)
    return children, queue
