"""Heights, recursion, call paths, observed edges (ALGORITHMS sections 5 and 6)."""

from __future__ import annotations

import random

import pytest

from vprof import callgraph
from vprof.callgraph import Graph, add_observed, build, call_paths, components, heights, probed_children
from vprof.metadata import Function, Symbol, Unit


def unit(*functions: Function, symbols: tuple[Symbol, ...] = (), taken: tuple[tuple[str, str], ...] = ()) -> Unit:
    named = {function.name for function in functions} | {symbol.name for symbol in symbols}
    callees = {callee for function in functions for callee, _ in function.calls}
    missing = tuple(Symbol(name, name, False) for name in sorted(callees - named))
    return Unit("a.c", "c", "instrumented", "", 0, 0, list(functions), [*symbols, *missing], list(taken), [], [])


def function(name: str, *calls: str, site: int | None = 0, indirect: str = "") -> Function:
    pointers = [(indirect, 1)] if indirect else []
    return Function(name, name, "a.c", 1, site, None, False, [(callee, 1) for callee in calls], pointers)


def named_heights(*functions: Function) -> dict[str, int]:
    graph = build([unit(*functions)])
    return dict(zip(graph.names, heights(graph.calls).tolist(), strict=True))


def test_height_is_the_longest_path_below() -> None:
    assert named_heights(function("main", "a", "b"), function("a", "b"), function("b", "printf")) == {
        "main": 3,
        "a": 2,
        "b": 1,
        "printf": 0,
    }


def test_calls_of_itself_do_not_add_height() -> None:
    assert named_heights(function("main", "f"), function("f", "f", "g")) == {"main": 2, "f": 1, "g": 0}


def test_inside_recursion_depth_from_the_entry_orders() -> None:
    """main enters the cycle a -> b -> c -> a at a; the call back to a does not count."""
    assert named_heights(function("main", "a"), function("a", "b"), function("b", "c"), function("c", "a", "leaf")) == {
        "main": 4,
        "a": 3,
        "b": 2,
        "c": 1,
        "leaf": 0,
    }


def test_a_cycle_entered_at_two_places_is_ordered_from_the_first() -> None:
    assert named_heights(function("main", "a", "b"), function("a", "b"), function("b", "a", "leaf")) == {
        "main": 3,
        "a": 2,
        "b": 1,
        "leaf": 0,
    }


def test_recursion_nobody_enters_is_ordered_from_its_first_function() -> None:
    assert named_heights(function("a", "b"), function("b", "a")) == {"a": 1, "b": 0}


def test_ignored_functions_carry_no_height() -> None:
    graph = build(
        [unit(function("main", "work", "die"), function("work"), function("die", "flush"), function("flush", "x"))]
    )
    counted = callgraph.without(graph.calls, {graph.number["die"]})
    assert heights(counted)[graph.number["main"]] == 1


def test_a_function_of_a_header_has_the_calls_of_all_its_copies() -> None:
    graph = build([unit(function("h", "a", site=None)), unit(function("h", "b"))])
    assert {graph.names[callee] for callee in graph.calls[graph.number["h"]]} == {"a", "b"}
    assert graph.sited[graph.number["h"]]
    assert not graph.sited[graph.number["a"]]


def test_pointers_propose_candidates_but_are_not_calls() -> None:
    graph = build(
        [
            unit(function("run", indirect="int (int)"), function("one"), taken=(("one", "int (int)"),)),
            unit(function("two"), function("other"), taken=(("two", "int (int)"), ("other", "void (void)"))),
        ]
    )
    run = graph.number["run"]
    assert graph.calls[run] == []
    assert [graph.names[f] for f in graph.candidates[run]] == ["one", "two"]


def test_an_edge_seen_at_run_time_is_added_only_where_no_call_explains_it() -> None:
    graph: Graph = [[1], [2], [], []]
    add_observed(graph, [(0, 1), (0, 2), (1, 3)])
    assert graph == [[1], [2, 3], [], []]


def test_functions_without_a_site_are_looked_through() -> None:
    graph = build(
        [unit(function("f", "small", "g", "memcpy"), function("small", "h", site=None), function("g"), function("h"))]
    )
    children = probed_children(graph, graph.calls, graph.number["f"])
    assert {graph.names[child] for child in children} == {"g", "h"}


def test_call_paths_of_a_ladder_double_at_each_rung() -> None:
    """0 -> {1, 2} -> 3 -> {4, 5} -> 6 ...: every rung doubles the number of paths."""
    rungs = 200
    graph: Graph = []
    for rung in range(rungs):
        graph += [[3 * rung + 1, 3 * rung + 2], [3 * rung + 3], [3 * rung + 3]]
    graph.append([])
    expected = 1
    for _ in range(rungs):
        expected = 1 + 2 * (1 + expected)
    assert call_paths(graph, 0) == expected
    assert expected > 2**200


def test_call_paths_count_a_recursive_group_once() -> None:
    assert call_paths([[1], [0, 2], []], 0) == 2


def test_deep_graphs_do_not_exhaust_the_stack() -> None:
    size = 50_000
    graph: Graph = [[f + 1] for f in range(size)] + [[]]
    assert heights(graph)[0] == size


@pytest.mark.parametrize("seed", range(30))
def test_components_are_the_pairs_that_reach_each_other(seed: int) -> None:
    chance = random.Random(seed)
    size = 12
    graph: Graph = [sorted(chance.sample(range(size), chance.randint(0, 3))) for _ in range(size)]
    below = [callgraph.reachable(graph, [f]) for f in range(size)]
    expected = {frozenset(g for g in below[f] if f in below[g]) for f in range(size)}
    found = components(graph)
    assert {frozenset(members) for members in found} == expected
    position = {f: number for number, members in enumerate(found) for f in members}
    assert all(position[callee] <= position[f] for f, callees in enumerate(graph) for callee in callees)
    height = heights(graph)
    outside = [(f, c) for f, callees in enumerate(graph) for c in callees if position[f] != position[c]]
    assert all(height[f] > height[c] for f, c in outside)
