"""External functions: calls of the C library are leaves below their callers, recorded only while they are on."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tuples import Tuples

from vprof.installed import native
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.tables.model import Trace
from vprof.trace.reading import load_binary
from vprof.variance.factors import Factor
from vprof.variance.planner import expansions

SOURCE = Path(__file__).parent / "programs" / "external.c"
FUNCTIONS = [
    "main",
    "load",
    "save",
    "receive",
    "fail",
    "cancel",
    "stuck",
    "interrupt",
    "on_alarm",
    "spawn",
    "child",
    "borrow",
]
EXTERNAL = ["pread", "pwrite", "write", "fsync", "send", "recv", "read", "fdatasync", "waitpid", "close", "usleep"]


def build(folder: Path, *options: str) -> Path:
    program = folder / "program"
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(Path(__file__).parents[1] / "all_sites.json")}
    command = [str(native("bin/vprof-cc")), "-pthread", "-Wall", "-Werror", *options, "-o", str(program), str(SOURCE)]
    subprocess.run(command, check=True, env=environment)
    return program


def record(program: Path, functions: list[str]) -> Trace:
    plan, output = Plan.of(functions), program.with_suffix(".trace")
    with Session.start(output) as session:
        process = subprocess.Popen([program, program.with_suffix(".data")], env=session.environment())
        session.attend(process, plan)
        session.stop()
    assert process.returncode == 0
    return load_binary(output)


def calls_by_caller(trace: Trace) -> Counter[tuple[str, str]]:
    """(caller, callee) of the external calls: the caller is the innermost open function of the same thread."""
    calls = Tuples(trace).calls()
    found: Counter[tuple[str, str]] = Counter()
    for thread, _, name, begin, end, depth in calls:
        if name in EXTERNAL:
            around = [c for c in calls if c[0] == thread and c[5] == depth - 1 and c[3] <= begin and end <= c[4]]
            found[around[0][2] if around else "", name] += 1
    return found


@pytest.mark.parametrize(
    "options",
    [
        ["-O1"],
        ["-O2", "-D_FORTIFY_SOURCE=2"],
        ["-O1", "-D_FILE_OFFSET_BITS=64"],
        ["-O1", "-static"],
        ["-O2", "-static-pie", "-fPIE"],
    ],
)
def test_external_calls_are_leaves_below_their_callers(tmp_path: Path, options: list[str]) -> None:
    trace = record(build(tmp_path, *options), FUNCTIONS + EXTERNAL)
    assert calls_by_caller(trace) == {
        ("save", "pwrite"): 1,
        ("save", "fsync"): 1,
        ("load", "pread"): 5,
        ("receive", "send"): 1,
        ("receive", "recv"): 1,
        ("fail", "read"): 2,
        ("stuck", "read"): 1,
        ("cancel", "usleep"): 1,
        ("interrupt", "recv"): 1,
        ("on_alarm", "write"): 1,
        ("child", "fdatasync"): 1,
        ("spawn", "waitpid"): 1,
        ("borrow", "close"): 1,
        ("borrow", "waitpid"): 1,
    }
    [slept] = [call for call in Tuples(trace).calls() if call[2] == "usleep"]
    assert slept[4] - slept[3] >= 20_000_000


def test_external_calls_that_are_off_leave_no_record(tmp_path: Path) -> None:
    trace = record(build(tmp_path, "-O1"), FUNCTIONS)
    assert {call[2] for call in Tuples(trace).calls()} == set(FUNCTIONS)


def test_expanding_a_caller_proposes_its_external_callees(tmp_path: Path) -> None:
    program = record(build(tmp_path, "-O1"), ["main", "save"]).program
    number = {name: f for f, name in enumerate(program.functions)}
    factor = Factor(
        kind="variance",
        functions=["save"],
        sites=[],
        expandable=[number["save"]],
        instances=[],
        contribution_ns2=1.0,
        share=1.0,
        height=0,
        specificity=1,
        score=1.0,
    )
    [expansion] = expansions(program, [factor])
    assert {program.functions[f] for f in expansion.children} == {"pwrite", "fsync"}
    assert program.height[number["fsync"]] == 0
    assert program.height[number["save"]] == 1
    assert not program.complete[number["save"]]


def test_a_callee_of_large_files_is_the_function_it_stands_for(tmp_path: Path) -> None:
    program = record(build(tmp_path, "-O1"), ["main", "load", "pread"]).program
    number = {name: f for f, name in enumerate(program.functions)}
    assert program.complete[number["load"]]
    assert program.switchable[number["pread"]]
    assert not program.switchable[number["pread64"]]


def test_a_program_with_external_functions_alone_can_be_recorded(tmp_path: Path) -> None:
    """Whatever loads libvprof: its own functions have no probes, those it calls have, gcc's checked ones too."""
    output, program = tmp_path / "run.trace", tmp_path / "plain"
    subprocess.run(["gcc", "-O2", "-D_FORTIFY_SOURCE=2", "-pthread", "-o", program, SOURCE], check=True)
    assert b"__pread_chk" in program.read_bytes()
    with Session.start(output) as session:
        environment = session.environment() | {"LD_PRELOAD": str(native("lib/vprof/libvprof.so"))}
        process = subprocess.Popen([program, tmp_path / "data"], env=environment)
        session.attend(process, Plan.of(["pread", "fsync"]))
        session.stop()
    assert process.returncode == 0
    assert Counter(call[2] for call in Tuples(load_binary(output)).calls()) == {"pread": 5, "fsync": 1}
