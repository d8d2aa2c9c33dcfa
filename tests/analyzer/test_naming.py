"""Functions that share a name: the shortest places that tell them apart, and plans that take what reports print."""

from __future__ import annotations

import pytest

from vprof.tables.naming import Names, distinct, without_place


@pytest.mark.parametrize(
    ("places", "shown"),
    [
        (["/src/a/q.cc:3", "/src/a/q.cc:9"], ["q.cc:3", "q.cc:9"]),
        (["/src/a/q.cc:3", "/src/b/r.cc:3"], ["q.cc:3", "r.cc:3"]),
        (["/src/a/q.cc:3", "/src/b/q.cc:3", "/src/b/q.cc:4"], ["a/q.cc:3", "b/q.cc:3", "b/q.cc:4"]),
        (["/a/q.cc:3", "/a/a/q.cc:3"], ["/a/q.cc:3", "a/a/q.cc:3"]),
        (["/src/q.cc:3", ""], ["q.cc:3", "1"]),
    ],
    ids=["one file", "files", "folders", "whole paths", "no place"],
)
def test_the_shortest_place_that_tells_functions_apart(places: list[str], shown: list[str]) -> None:
    names = ["push"] * len(places)
    assert distinct([*names, "alone"], [*places, "/src/a/q.cc:7"]) == [*(f"push ({place})" for place in shown), "alone"]


@pytest.mark.parametrize(
    ("pattern", "chosen"),
    [
        ("Queue::push", [3, 9]),
        ("Queue::push (q.cc:3)", [3]),
        ("Queue::push (a/q.cc:9)", [9]),
        ("Queue::push (/src/a/q.cc:9)", [9]),
        ("*::push (q.cc:9)", [9]),
        ("Queue::push (cc:9)", []),
        ("Queue::push (q.cc:4)", []),
        ("push", []),
    ],
)
def test_a_pattern_takes_as_much_of_the_place_as_it_has(pattern: str, chosen: list[int]) -> None:
    known = Names(f"Queue::push (/src/a/q.cc:{line})" for line in (3, 9))
    assert list(known.matching(pattern)) == [f"Queue::push (/src/a/q.cc:{line})" for line in chosen]


@pytest.mark.parametrize(
    ("full", "alone"),
    [
        ("push (q.cc:3)", "push"),
        ("body(push (q.cc:3))", "body(push)"),
        ("rest(a::push (a/q.cc:3))", "rest(a::push)"),
        ("operator()", "operator()"),
        ("push", "push"),
    ],
)
def test_two_runs_are_compared_by_names_alone(full: str, alone: str) -> None:
    assert without_place(full) == alone
