"""Calls of one function at two places of its caller are two call sites, by the numbers of records and metadata."""

from __future__ import annotations

from pathlib import Path

import pytest
from writer import Writer, function, unit

from vprof.tables.model import Trace
from vprof.trace.loading import load_trace

SITE = {"p": 64, "f": 65, "g": 66, "inner": 67}
"""Numbers of the sites of the writer's unit."""


@pytest.fixture
def writer() -> Writer:
    """p calls f at lines 4 and 5, g once, and at lines 7, 8 and 8 a function without a site that calls inner."""
    writer = Writer()
    p = function("p", 0, calls=(0, 1, 2))
    p["numbered"] = [[1, 0, 4], [2, 0, 5], [3, 2, 7], [4, 2, 8], [5, 2, 8]]
    thin = function("thin", None, calls=(3,), left="small")
    functions = [p, function("f", 1), function("g", 2), function("inner", 3), thin]
    writer.unit(unit(functions, ("f", "g", "thin", "inner")))
    return writer


def called(writer: Writer, folder: Path, *calls: tuple[str, int]) -> list[str]:
    """The sites of these (callee, call number), made one after the other by p."""
    thread = writer.thread(1)
    for i, (callee, number) in enumerate(calls):
        thread.invocation(SITE[callee], 20 + 10 * i, 25 + 10 * i, depth=1, call=number)
    thread.invocation(SITE["p"], 10, 1000)
    return sites(load_trace(writer.save(folder / "run.trace")))


def sites(trace: Trace) -> list[str]:
    calls = trace.invocations
    return [trace.call_sites[site] for site, depth in zip(calls.call_site, calls.depth, strict=True) if depth == 1]


def test_two_calls_of_one_function_have_their_lines(writer: Writer, tmp_path: Path) -> None:
    assert called(writer, tmp_path, ("f", 1), ("f", 2), ("f", 1)) == ["a.c:4", "a.c:5", "a.c:4"]


def test_the_number_of_an_earlier_call_says_nothing(writer: Writer, tmp_path: Path) -> None:
    assert called(writer, tmp_path, ("g", 2), ("f", 0), ("f", 9)) == ["", "", ""]


def test_what_a_function_without_a_site_enters_is_called_at_its_place(writer: Writer, tmp_path: Path) -> None:
    assert called(writer, tmp_path, ("inner", 3)) == ["a.c:7"]


def test_two_calls_on_one_line_stay_apart(writer: Writer, tmp_path: Path) -> None:
    assert called(writer, tmp_path, ("inner", 4), ("inner", 5)) == ["a.c:8 #1", "a.c:8 #2"]


def test_a_virtual_call_means_its_overriders(tmp_path: Path) -> None:
    writer = Writer()
    p = function("p", 0)
    p["virtual"], p["numbered"] = [[0, 4], [0, 5]], [[1, 0, 4], [2, 0, 5]]
    functions = [p, function("f", 1), function("g", 2), function("inner", 3)]
    writer.unit(unit(functions, ("f", "g", "inner"), overrides=[[1, 0]]))
    assert called(writer, tmp_path, ("f", 1), ("g", 2), ("inner", 2)) == ["a.c:4", "a.c:5", ""]


def test_copies_that_number_their_calls_differently_have_no_places(writer: Writer, tmp_path: Path) -> None:
    other = function("p", 0, calls=(0,))
    other["numbered"] = [[1, 0, 5], [2, 0, 6]]
    writer.unit(unit([other, function("f", None, left="small")], ("f",)))
    assert called(writer, tmp_path, ("f", 1), ("f", 2)) == ["", ""]


def test_what_a_pointer_may_lead_to_is_not_called_by_a_function_without_a_site(tmp_path: Path) -> None:
    writer = Writer()
    p, thin = function("p", 0, calls=(2,)), function("thin", None, calls=(3,), left="small")
    p["numbered"], p["virtual"] = [[1, 2, 7], [2, 2, 8]], [[4, 9]]
    functions = [p, function("f", 1), function("g", 2), function("inner", 3), thin]
    overrides = [[3, 4], [1, 4]]
    writer.unit(unit(functions, ("f", "g", "thin", "inner", "method"), overrides=overrides))
    assert called(writer, tmp_path, ("inner", 2)) == [""]
