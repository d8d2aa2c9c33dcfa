"""`vprof callgraph` of a trace: calls that nested at run time, beside those of the source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from writer import Writer, function, unit

from vprof.commands.callgraph import command
from vprof.trace.reading import load_binary

FIRST_SITE = 64
"""The number of site 0 of the writer's unit."""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """run calls on_timer and flush through pointers; only on_timer was seen, and tick below it through step."""
    writer = Writer()
    functions = [
        function("run", 0, indirect=("void ()",)),
        function("on_timer", 1, calls=(0,)),
        function("flush", 2),
        function("step", None, calls=(1,), left="small"),
        function("tick", 3),
    ]
    symbols = ("step", "tick", "on_timer", "flush")
    writer.unit(unit(functions, symbols, taken=((2, "void ()"), (3, "void ()"))))
    thread = writer.thread(1)
    thread.invocation(FIRST_SITE + 3, 30, 40, depth=2)
    thread.invocation(FIRST_SITE + 1, 20, 50, depth=1)
    thread.invocation(FIRST_SITE, 10, 60)
    return writer.save(tmp_path / "run.trace")


def report(trace: Path, *arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(command, [str(trace), "--format", "json", *arguments], catch_exceptions=False)
    return json.loads(done.stdout)


def test_a_call_through_a_pointer_that_was_seen_counts(trace: Path) -> None:
    [run] = report(trace, "-f", "run")["functions"]
    assert {callee["name"]: callee["how"] for callee in run["callees"]} == {"on_timer": "observed", "flush": "pointer"}
    assert run["chain"] == ["run", "on_timer", "step", "tick"]


def test_a_call_that_the_source_explains_is_not_observed_apart(trace: Path) -> None:
    [on_timer] = report(trace, "-f", "on_timer")["functions"]
    assert {callee["name"]: callee["how"] for callee in on_timer["callees"]} == {"step": "direct"}
    assert report(trace)["summary"]["observed_calls"] == 1


def test_text_says_that_a_call_was_seen(trace: Path) -> None:
    done = CliRunner().invoke(command, [str(trace), "-f", "on_timer"], catch_exceptions=False)
    assert "  callers: 1\n    run (observed)  /src/a.c:1\n" in done.stdout


def test_a_call_through_a_pointer_to_nothing_known_is_said_and_what_is_left_is_no_body(tmp_path: Path) -> None:
    writer = Writer()
    functions = [
        function("run", 0, calls=(0,)),
        function("step", None, indirect=("int (long)",), left="small"),
        function("tick", 1),
    ]
    writer.unit(unit(functions, ("step", "tick")))
    thread = writer.thread(1)
    thread.invocation(FIRST_SITE, 10, 60)
    trace = writer.save(tmp_path / "run.trace")
    [step] = report(trace, "-f", "step")["functions"]
    assert step["unfollowed"] == ["/src/a.c:3"]
    program = load_binary(trace).program
    named = {name: f for f, name in enumerate(program.functions)}
    assert program.unfollowed == {named["run"]: ["/src/a.c:3"]}
    assert not program.complete[named["run"]]
