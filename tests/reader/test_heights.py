"""Heights (docs/algorithms.md section 5): of worked graphs, and what holds of any graph."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from properties import examples, seeds

from vprof.program.callgraph import Graph, components, reachable
from vprof.program.heights import acyclic, close_no_cycle, heights, longest_chain


def height_of(
    *, apart: frozenset[str] = frozenset(), observed: Sequence[tuple[str, str]] = (), **calls: str
) -> dict[str, int]:
    """Heights by name; a function's callees are separated by spaces, those that are not given call nothing."""
    names = list(dict.fromkeys([*calls, *(callee for callees in calls.values() for callee in callees.split())]))
    graph = [[names.index(callee) for callee in calls.get(name, "").split()] for name in names]
    seen = {(names.index(caller), names.index(callee)) for caller, callee in observed}
    counting = acyclic(graph, names, {names.index(name) for name in apart}, seen)
    return dict(zip(names, heights(counting).tolist(), strict=True))


def test_height_is_the_longest_path_below() -> None:
    assert height_of(main="a b", a="b", b="printf") == {"main": 3, "a": 2, "b": 1, "printf": 0}


def test_calls_of_itself_do_not_add_height() -> None:
    assert height_of(main="f", f="f g") == {"main": 2, "f": 1, "g": 0}


def test_a_cycle_is_ordered_from_where_it_is_entered() -> None:
    """main enters the cycle a -> b -> c -> a at a; the call back to a does not count."""
    assert height_of(main="a", a="b", b="c", c="a leaf") == {"main": 4, "a": 3, "b": 2, "c": 1, "leaf": 0}


def test_a_function_whose_calls_all_come_back_is_no_leaf() -> None:
    """main enters at c; b only calls c, which leads on to leaf."""
    assert height_of(main="c", a="b", b="c", c="a leaf") == {"main": 4, "c": 3, "a": 2, "b": 1, "leaf": 0}


def test_what_was_observed_decides_inside_a_group() -> None:
    """As in nginx, whose request's entry (handle) lies deeper from main than what it calls, and phases come back to it
    by a pointer: by levels alone, run would be above handle."""
    calls = {"main": "loop", "loop": "run handle_later", "handle_later": "x", "x": "handle", "handle": "run"}
    calls |= {"run": "phase", "phase": "handle_later leaf"}
    alone = height_of(**calls)
    assert alone["run"] > alone["handle"]
    seen = height_of(**calls, observed=[("handle", "run"), ("run", "phase"), ("phase", "leaf")])
    assert seen["handle"] > seen["run"] > seen["phase"] > seen["leaf"]
    assert seen["main"] > seen["loop"] > seen["handle"]


def test_an_observed_path_through_a_function_without_a_probe_orders_its_ends() -> None:
    """b -> a is the call that goes to a deeper level, yet b was seen below a."""
    calls = {"main": "b", "b": "a leaf", "a": "off", "off": "b"}
    assert height_of(**calls)["b"] > height_of(**calls)["a"]
    seen = height_of(**calls, observed=[("a", "b")])
    assert seen["a"] > seen["b"]


def test_a_cycle_entered_at_two_places_is_ordered_by_name() -> None:
    assert height_of(main="a b", a="b", b="a leaf") == {"main": 3, "a": 2, "b": 1, "leaf": 0}


def test_recursion_nobody_enters_is_ordered_from_its_first_function() -> None:
    assert height_of(b="a", a="b") == {"a": 1, "b": 0}


def test_a_wrapper_in_a_recursive_group_is_higher_than_what_it_wraps() -> None:
    """wrap is met last, when its only callee is known already; that callee comes back to it by no other way."""
    height = height_of(main="inner", inner="work", work="far", far="main2", main2="wrap", wrap="inner", other="wrap")
    assert height["wrap"] > height["inner"] > height["work"] > 0


def test_error_functions_are_no_entries() -> None:
    """report -> b would make b's level 1 and turn the order of the group."""
    calls = {"main": "x", "x": "a", "a": "b", "b": "a", "report": "b"}
    assert height_of(**calls) == {"main": 2, "x": 1, "a": 0, "b": 1, "report": 2}
    assert height_of(**calls, apart=frozenset(["report"])) == {"main": 3, "x": 2, "a": 1, "b": 0, "report": 1}


def test_the_longest_chain_shows_where_a_height_comes_from() -> None:
    names = ["main", "a", "z", "b", "leaf"]
    graph: Graph = [[1, 2, 3], [4], [4], [1, 2], []]
    counting = acyclic(graph, names)
    chain = longest_chain(counting, heights(counting), names, 0)
    assert [names[f] for f in chain] == ["main", "b", "a", "leaf"]


def test_deep_graphs_do_not_exhaust_the_stack() -> None:
    size = 50_000
    ring: Graph = [[(f + 1) % size] for f in range(size)] + [[0]]
    assert heights(acyclic(ring, [f"{f:05}" for f in range(size + 1)]))[size] == size


GRAPHS = st.integers(1, 14).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, size - 1), unique=True, max_size=4), min_size=size, max_size=size)
)


@examples(100)
@given(GRAPHS)
def test_calls_between_groups_go_down(graph: Graph) -> None:
    counting = acyclic(graph, keys(graph))
    height = heights(counting)
    group = {f: number for number, members in enumerate(components(graph)) for f in members}
    for f, callees in enumerate(graph):
        outside = [callee for callee in callees if group[callee] != group[f]]
        assert all(height[f] > height[callee] for callee in outside)


@examples(100)
@given(GRAPHS)
def test_what_counts_has_no_cycle_and_is_all_that_can(graph: Graph) -> None:
    """So a function is higher than any callee that does not come back to it by calls that count."""
    counting = acyclic(graph, keys(graph))
    height = heights(counting)
    assert max(map(len, components(counting))) == 1
    for f, callees in enumerate(graph):
        kept = set(counting[f]) & set(callees)
        if not kept:
            assert set(counting[f]) == (below_group(graph, f) if callees else set())
            continue
        assert set(counting[f]) <= set(callees)
        for callee in callees:
            comes_back = f in reachable(counting, [callee])
            assert (callee in counting[f]) != comes_back
            assert comes_back or height[f] > height[callee]


def below_group(graph: Graph, f: int) -> set[int]:
    """What the recursive group of f calls outside."""
    group = next(set(members) for members in components(graph) if f in members)
    return {callee for member in group for callee in graph[member]} - group if len(group) > 1 else set()


@examples(300)
@given(GRAPHS, st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=12))
def test_no_caller_is_below_its_callee_on_an_observed_path(graph: Graph, pairs: list[tuple[int, int]]) -> None:
    """Whatever else may be called, where what was observed has no cycle: these go from lower to higher numbers."""
    observed = {(min(f, g), max(f, g)) for f, g in pairs if f != g and max(f, g) < len(graph)}
    height = heights(acyclic(graph, keys(graph), observed=observed))
    for f, g in observed:
        assert height[f] > height[g]


@examples(100)
@given(GRAPHS, st.randoms(use_true_random=False))
def test_heights_do_not_depend_on_the_numbers_of_functions(graph: Graph, chance: random.Random) -> None:
    names = keys(graph)
    new = list(range(len(graph)))
    chance.shuffle(new)
    renumbered: Graph = [[] for _ in graph]
    renamed = [""] * len(graph)
    for f, callees in enumerate(graph):
        renumbered[new[f]] = [new[callee] for callee in callees]
        renamed[new[f]] = names[f]
        chance.shuffle(renumbered[new[f]])
    before = heights(acyclic(graph, names))
    after = heights(acyclic(renumbered, renamed))
    assert [after[new[f]] for f in range(len(graph))] == before.tolist()


def keys(graph: Graph) -> list[str]:
    return [f"f{f:03}" for f in range(len(graph))]


@seeds(5)
def test_a_topological_order_kept_up_says_the_same_as_a_search_for_each_edge(seed: int) -> None:
    chance = random.Random(seed)
    size = 60
    edges = [(chance.randrange(size), chance.randrange(size)) for _ in range(500)]
    edges = [(i, j) for i, j in edges if i != j]
    kept: Graph = [[] for _ in range(size)]
    expected = []
    for i, j in edges:
        expected.append(i not in reachable(kept, [j]))
        if expected[-1]:
            kept[i].append(j)
    tail, head = np.array(edges, np.int64).T.copy()
    assert close_no_cycle(size, tail, head).tolist() == expected
