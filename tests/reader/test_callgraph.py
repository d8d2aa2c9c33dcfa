"""Calls, candidates, recursive groups, call paths, observed edges (docs/algorithms.md sections 5 and 6)."""

from __future__ import annotations

import random
from dataclasses import replace

from properties import seeds

from vprof.program import callgraph
from vprof.program.callgraph import (
    CallGraph,
    Graph,
    add_observed,
    build,
    call_paths,
    components,
    paths_to,
    probed_children,
)
from vprof.program.metadata import Function, Symbol, Unit


def unit(*functions: Function, symbols: tuple[Symbol, ...] = (), taken: tuple[tuple[str, str], ...] = ()) -> Unit:
    named = {function.name for function in functions} | {symbol.name for symbol in symbols}
    callees = {callee for function in functions for callee, _ in function.calls}
    missing = tuple(Symbol(name, name, False) for name in sorted(callees - named))
    return Unit(
        unit="a.c",
        language="c",
        status="instrumented",
        reason="",
        switch_addr=0,
        switch_count=0,
        functions=list(functions),
        symbols=[*symbols, *missing],
        taken=list(taken),
        matched=[],
        ignore_for_height=[],
    )


def function(name: str, *calls: str, site: int | None = 0, indirect: str = "") -> Function:
    pointers = [(indirect, 1)] if indirect else []
    return Function(name, name, "a.c", 1, site, None, False, [(callee, 1) for callee in calls], pointers)


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


def test_pointers_behind_library_code_propose_what_is_taken_with_their_type() -> None:
    pointed = unit(function("one"), function("two"), taken=(("one", "int ()"), ("two", "int (long)")))
    kept = replace(unit(), through=[("int (Any)", "int (Any, Any)"), ("int (Any, Any)", "int ()")])
    graph = build([unit(function("run", indirect="int (Any)")), pointed, kept])
    assert [graph.names[f] for f in graph.candidates[graph.number["run"]]] == ["one"]


def test_an_edge_seen_at_run_time_is_added_only_where_no_call_explains_it() -> None:
    graph: Graph = [[1], [2], [], []]
    assert add_observed(graph, [(0, 1), (0, 2), (1, 3)]) == {(1, 3)}
    assert graph == [[1], [2, 3], [], []]


def test_functions_without_a_site_are_looked_through() -> None:
    graph = build(
        [unit(function("f", "small", "g", "memcpy"), function("small", "h", site=None), function("g"), function("h"))]
    )
    children = probed_children(graph, graph.calls, graph.number["f"])
    assert {graph.names[child]: graph.names[via] for child, via in children.items()} == {"g": "f", "h": "small"}


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
    assert call_paths(graph, [0]) == expected
    assert expected > 2**200


def test_call_paths_count_a_recursive_group_once() -> None:
    assert call_paths([[1], [0, 2], []], [0]) == 2


@seeds(10)
def test_the_paths_to_all_functions_are_all_paths(seed: int) -> None:
    """Without recursion every call path is counted where it ends."""
    chance = random.Random(seed)
    size = 30
    graph: Graph = [sorted(chance.sample(range(f + 1, size), min(3, size - f - 1))) for f in range(size)]

    def walk(f: int) -> list[int]:
        return [f, *(end for callee in graph[f] for end in walk(callee))]

    ends = walk(0)
    assert paths_to(graph, [0]) == [ends.count(f) for f in range(size)]
    assert call_paths(graph, [0]) == len(ends)


def test_nothing_leads_to_what_the_root_does_not_reach() -> None:
    assert paths_to([[1], [], [1]], [0]) == [1, 1, 0]


@seeds(30)
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


def virtual_calls(*units: Unit) -> tuple[CallGraph, dict[str, set[str]], dict[str, set[str]]]:
    """The graph, and by name: direct callees, candidates."""
    graph = build(units)

    def by_name(table: Graph) -> dict[str, set[str]]:
        return {name: {graph.names[g] for g in table[f]} for f, name in enumerate(graph.names)}

    assert graph.virtual == graph.candidates
    return graph, by_name(graph.calls), by_name(graph.candidates)


def caller(method: str) -> Function:
    return Function("caller", "caller", "a.cpp", 1, 0, None, False, [], [], [(method, 7)])


def cxx_unit(*functions: Function, overrides: tuple[tuple[str, str], ...] = ()) -> Unit:
    named = {name for pair in overrides for name in pair} | {m for f in functions for m, _ in f.virtual}
    symbols = [Symbol(name, name, False) for name in sorted(named)]
    base = unit(*functions, symbols=tuple(symbols))
    return replace(base, unit="a.cpp", language="c++", overrides=overrides)


def test_a_virtual_call_means_all_overriding_methods_of_the_program() -> None:
    """Overrides of overrides, in whatever unit; they propose children and do not count as calls."""
    graph, calls, candidates = virtual_calls(
        cxx_unit(caller("Env::Sync"), function("Env::Sync")),
        cxx_unit(function("Posix::Sync"), overrides=(("Posix::Sync", "Env::Sync"),)),
        cxx_unit(function("Fast::Sync"), function("Other::Sync"), overrides=(("Fast::Sync", "Posix::Sync"),)),
    )
    assert calls["caller"] == set()
    assert candidates["caller"] == {"Env::Sync", "Posix::Sync", "Fast::Sync"}
    children = probed_children(graph, graph.calls, graph.number["caller"])
    assert {graph.names[child] for child in children} == candidates["caller"]


def test_a_call_of_an_overriding_method_does_not_mean_the_overridden() -> None:
    overrides = (("Posix::Sync", "Env::Sync"),)
    unit = cxx_unit(caller("Posix::Sync"), function("Env::Sync"), function("Posix::Sync"), overrides=overrides)
    _, calls, candidates = virtual_calls(unit)
    assert (calls["caller"], candidates["caller"]) == ({"Posix::Sync"}, set())


def test_a_pure_method_with_one_implementation_is_called_directly() -> None:
    unit = cxx_unit(caller("Env::Sync"), function("Posix::Sync"), overrides=(("Posix::Sync", "Env::Sync"),))
    _, calls, candidates = virtual_calls(unit)
    assert (calls["caller"], candidates["caller"]) == ({"Posix::Sync"}, set())


def test_a_method_of_a_library_is_called_directly_while_nothing_overrides_it() -> None:
    _, calls, candidates = virtual_calls(cxx_unit(caller("std::exception::what")))
    assert (calls["caller"], candidates["caller"]) == ({"std::exception::what"}, set())


def test_between_are_those_on_a_way_that_leads_on() -> None:
    f, one, two, blind, probed, g = range(6)
    calls = [[one, blind, probed, g], [two], [g, one], [one, f], [g], [two]]
    assert callgraph.between(calls, {one, two, blind}, f, g) == {one, two, blind}
    assert callgraph.between(calls, {two, blind}, f, g) == set()
    assert callgraph.between([[one], [one], [], [], [], []], {one}, f, g) == set()
