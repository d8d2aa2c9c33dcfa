"""From factors to the next functions to switch on (docs/algorithms.md section 6).

    factors + call graph + what is on  ->  expansions  ->  next plan

A variance factor is explained by the children of its function, a covariance factor by those of both. Nothing explains
pseudo-nodes and bodies, and leaves have no children: those are end points. A function that was expanded before or
accepted as a finding is not proposed again, so the drill-down ends. Pure functions; used by `analyze` and by `drill`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from vprof.path.path_tree import PathTree
from vprof.program.callgraph import call_paths
from vprof.tables.lookup import values_of
from vprof.tables.model import NONE, Program
from vprof.variance.factors import Factor


@dataclass(frozen=True)
class Expansion:
    """Expanding `function`, because of `factor`, switches on `children` (function numbers; never empty)."""

    factor: str
    function: int
    children: list[int]


def expansions(program: Program, factors: Sequence[Factor], done: Collection[int] = ()) -> list[Expansion]:
    """What to expand, in the order of the factors; `done`: functions expanded before or accepted. Empty: an end
    point."""
    seen = set(done)
    result = []
    for factor in factors:
        for function in factor.expandable:
            children = [c for c in program.calls[function] if program.can_switch(c) and not program.on[c]]
            if function not in seen and children:
                result.append(Expansion(factor.name, function, children))
            seen.add(function)
    return result


def further(program: Program, begun: Sequence[int], most: int, over: Collection[int] = ()) -> list[int]:
    """What `begun` calls directly, then what that calls, and so on, as long as there are no more than `most`: functions
    that are off and can be switched, none of `over`. Of a function all callees or none, so that its own time is known.
    Functions without a site are passed through."""
    graph = program.calls if program.call_graph is None else program.call_graph
    found: list[int] = []
    seen = {*begun, *over, *np.flatnonzero(program.on).tolist()}
    level = list(begun)
    while level:
        below = []
        for function in level:
            called = _called(program, graph, function, seen)
            if len(found) + len(called) <= most:
                below += called
                found += called
                seen.update(called)
        level = below
    return found


def _called(program: Program, graph: list[list[int]], function: int, seen: set[int]) -> list[int]:
    """Functions outside of `seen` that one with a site enters next, in the order of its calls."""
    found, passed, work = dict[int, None](), {function}, list(reversed(graph[function]))
    while work:
        callee = work.pop()
        if program.can_switch(callee):
            if callee not in seen:
                found[callee] = None
        elif callee not in passed:
            passed.add(callee)
            work += reversed(graph[callee])
    return list(found)


def next_functions(chosen: Sequence[Expansion]) -> list[int]:
    """All functions these expansions switch on, each once, in order."""
    return list(dict.fromkeys(c for e in chosen for c in e.children))


def outermost_functions(tree: PathTree) -> list[int]:
    """The functions in which intervals' own time begins: the frames right below the tree's root."""
    return [int(f) for f in values_of(tree.function[tree.parent == 0]) if f != NONE]


def naive_cost(program: Program, roots: Sequence[int]) -> int:
    """How many call paths start at these functions, recursive groups taken as one: what decomposing everything would
    measure, instead of what matters."""
    return call_paths(program.calls if program.call_graph is None else program.call_graph, roots)
