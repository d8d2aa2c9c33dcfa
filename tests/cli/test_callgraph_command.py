"""`vprof callgraph`: the reports on a small program whose graph is known, from metadata in an ELF file and a trace."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from vprof.commands.callgraph import command
from vprof.errors import UsageError, VprofError


def function(name: str, site: int | None, *calls: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"c:@F@{name}",
        "name": name,
        "file": "/src/a.cpp",
        "line": 1,
        "site": site,
        "left": None if site is not None else "small",
        "noreturn": False,
        "calls": [[callee, 2] for callee in calls],
        "indirect": [],
        **more,
    }


NAMES = ["main", "serve", "small", "lock", "wait", "commit", "put_a", "put_b", "on_timer", "fail", "write"]
UNIT = {
    "schema": "vprof-unit/1",
    "unit": "/src/a.cpp",
    "language": "c++",
    "status": "instrumented",
    "reason": "",
    "functions": [
        function("main", 0, 1, 9),
        function("serve", 1, 2, 5, indirect=[["void ()", 3]], virtual=[[6, 4]]),
        function("small", None, 3),
        function("lock", 2, 4),
        function("wait", 3, 3, 10),
        function("commit", 4, 3),
        function("put_a", 5, 5),
        function("put_b", 6),
        function("on_timer", 7),
    ],
    "symbols": [{"id": f"c:@F@{name}", "name": name, "noreturn": name == "fail"} for name in NAMES],
    "taken": [[8, "void ()"]],
    "overrides": [[7, 6]],
    "matched": [],
}
UNCHANGED = {**UNIT, "unit": "/src/b.c", "status": "unchanged", "functions": [], "symbols": [], "taken": []} | {
    "overrides": [],
    "reason": "clang cannot parse it: b.c:3:1: error",
}


def packed(unit: dict[str, Any]) -> bytes:
    text = json.dumps(unit).encode()
    return struct.pack("<4sIQII", b"VPUM", 1, 0x4040, 8, len(text)) + text + bytes(-len(text) % 8)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "meta").write_bytes(packed(UNIT) + packed(UNCHANGED))
    shutil.copy("/bin/true", folder / "prog")
    subprocess.run(["objcopy", f"--add-section=.vprof_meta={folder / 'meta'}", folder / "prog"], check=True)
    return folder / "prog"


def text(*arguments: object) -> str:
    return CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False).output


def about(program: Path, name: str, *more: object) -> dict[str, Any]:
    report = json.loads(text(program, "-f", name, "--format", "json", *more))
    assert report["schema"] == "vprof-callgraph/1"
    [function] = report["functions"]
    return function


def edges(items: list[dict[str, Any]]) -> dict[str, str]:
    return {item["name"]: item["how"] for item in items}


def test_a_height_comes_with_the_chain_that_makes_it(program: Path) -> None:
    serve = about(program, "serve")
    assert serve["height"] == 4
    assert serve["chain"] == ["serve", "commit", "lock", "wait", "write"]


def test_children_are_what_a_drill_switches_on(program: Path) -> None:
    """lock is entered through a function without a probe; candidates are said to be such."""
    children = {child["name"]: (child["how"], child["via"]) for child in about(program, "serve")["children"]}
    assert children == {
        "commit": ("direct", None),
        "lock": ("direct", "small"),
        "on_timer": ("pointer", None),
        "put_a": ("virtual", None),
        "put_b": ("virtual", None),
    }


def test_callees_and_callers_say_how(program: Path) -> None:
    assert edges(about(program, "serve")["callees"]) == {
        "small": "direct",
        "commit": "direct",
        "on_timer": "pointer",
        "put_a": "virtual",
        "put_b": "virtual",
    }
    assert edges(about(program, "commit")["callers"]) == {"serve": "direct", "put_a": "direct"}
    assert edges(about(program, "put_b")["callers"]) == {"serve": "virtual"}


def test_a_recursive_group_says_which_calls_do_not_count(program: Path) -> None:
    wait = about(program, "wait")
    assert wait["group"] == ["lock", "wait"]
    assert wait["comes_back"] == ["lock"]
    assert about(program, "serve")["group"] == []


def test_a_function_without_a_probe_says_why(program: Path) -> None:
    assert about(program, "small")["left"] == "small"
    assert about(program, "write")["left"] == "no source"
    assert about(program, "lock")["left"] is None
    assert about(program, "fail")["ignored"]


def test_paths_are_counted_from_main_or_the_root_given(program: Path) -> None:
    """main > serve > small > lock, main > serve > commit > lock."""
    assert about(program, "lock")["paths_from_root"] == 2
    assert about(program, "lock", "--root", "commit")["paths_from_root"] == 1
    assert about(program, "commit", "--root", "lock")["paths_from_root"] == 0
    assert about(program, "commit")["paths_below"] == 3


def test_the_summary_counts(program: Path) -> None:
    summary = json.loads(text(program, "--format", "json"))["summary"]
    highest = summary.pop("highest")
    assert (highest[0]["name"], highest[0]["height"]) == ("main", 5)
    assert summary == {
        "functions": 9,
        "external": 2,
        "sites": 8,
        "left": {"small": 1},
        "direct_calls": 10,
        "observed_calls": 0,
        "indirect_calls": 1,
        "virtual_calls": 1,
        "reachable": 8,
        "largest_group": {"size": 2, "share": 0.25, "members": ["lock", "wait"]},
        "call_paths": 9,
        "units": {"instrumented": 1, "unchanged": {"clang cannot parse it": 1}},
        "warnings": [
            "25% of the reachable functions call each other: heights say little; name error and exit functions in "
            "ignore_for_height"
        ],
    }


def test_text_of_a_function(program: Path) -> None:
    assert text(program, "-f", "serve,wait") == (
        "serve  /src/a.cpp:1\n"
        "  probe      yes\n"
        "  height     4: serve > commit > lock > wait > write\n"
        "  paths      1 from main; 7 below\n"
        "  children (a drill switches them on): 5\n"
        "    commit  /src/a.cpp:1\n"
        "    lock  /src/a.cpp:1  through small\n"
        "    on_timer (candidate by type)  /src/a.cpp:1\n"
        "    put_a (candidate, virtual)  /src/a.cpp:1\n"
        "    put_b (candidate, virtual)  /src/a.cpp:1\n"
        "  callees: 5\n"
        "    commit  /src/a.cpp:1\n"
        "    small  /src/a.cpp:1\n"
        "    on_timer (candidate by type)  /src/a.cpp:1\n"
        "    put_a (candidate, virtual)  /src/a.cpp:1\n"
        "    put_b (candidate, virtual)  /src/a.cpp:1\n"
        "  callers: 1\n"
        "    main  /src/a.cpp:1\n"
        "\n"
        "wait  /src/a.cpp:1\n"
        "  probe      yes\n"
        "  height     1: wait > write\n"
        "  recursion  2 functions call each other: lock, wait\n"
        "             calls that come back and do not count: lock\n"
        "  paths      2 from main; 2 below\n"
        "  children (a drill switches them on): 1\n"
        "    lock  /src/a.cpp:1\n"
        "  callees: 2\n"
        "    lock  /src/a.cpp:1\n"
        "    write\n"
        "  callers: 1\n"
        "    lock  /src/a.cpp:1\n"
    )


def test_text_of_the_summary(program: Path) -> None:
    assert text(program).split("\n\n")[0] == (
        "functions  9 defined, 2 without source\n"
        "sites      8; left alone: 1 small\n"
        "calls      10 direct, 0 more were observed at run time\n"
        "           1 places call a pointer, 1 a virtual method\n"
        "reachable  8 functions from main\n"
        "recursion  at most 2 functions call each other (25.0 % of the reachable): lock, wait\n"
        "paths      9 from main: what decomposing everything costs\n"
        "units      1 instrumented; compiled unchanged: 1 clang cannot parse it"
    )


def test_globs_are_in_the_order_of_names(program: Path) -> None:
    report = json.loads(text(program, "-f", "put_*,commit", "--format", "json"))
    assert [one["name"] for one in report["functions"]] == ["commit", "put_a", "put_b"]


def test_a_program_given_twice_counts_once(program: Path) -> None:
    assert text(program, program) == text(program)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ([], UsageError, "nothing to show"),
        (["PROGRAM", "-f", "serv"], UsageError, "no function matches 'serv'; near misses: serve"),
        (["PROGRAM", "-f", " , "], UsageError, "--function is empty"),
        (["PROGRAM", "--root", "start"], UsageError, "no function matches 'start'"),
        (["--target", "nothing"], UsageError, "nothing"),
        (["/bin/true"], VprofError, "CC=vprof-cc"),
        (["/no/such/file"], VprofError, "No such file"),
    ],
)
def test_a_mistake_is_one_line(program: Path, arguments: list[str], error: type[VprofError], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        text(*[program if argument == "PROGRAM" else argument for argument in arguments])
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == (2 if error is UsageError else 1)
