"""`vprof doctor`: what this machine has, found by a recording."""

import json
import subprocess
import sys
from pathlib import Path

from vprof.installed import native


def doctor(before: str = "", after: str = "") -> tuple[int, dict[str, tuple[bool | None, str]]]:
    command = f"{before} exec {native('bin/vprof')} doctor --format json {after}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert report["schema"] == "vprof-doctor/1"
    return done.returncode, {f["name"]: (f["ok"], f["text"]) for f in report["findings"]}


def test_a_machine_that_runs_these_tests_is_fit() -> None:
    code, found = doctor()
    assert code == 0
    assert found["vprof-cc"] == (True, "builds a program")
    assert found["recording"][0] is True
    assert found["time off the CPU"] == (True, "measured with rseq")
    assert found["waits of programs built without vprof"][0] is True


def test_a_program_built_without_vprof_is_told_to_preload() -> None:
    program = Path(sys.executable).resolve()
    code, found = doctor(after=str(program))
    assert code == 0
    ok, text = found[str(program)]
    assert ok is None
    assert text.endswith("record with `vprof record --preload`")


def test_without_rseq_time_off_the_cpu_is_said_to_be_unknown() -> None:
    code, found = doctor("GLIBC_TUNABLES=glibc.pthread.rseq=0")
    assert code == 0, "vprof can do without"
    ok, text = found["time off the CPU"]
    assert ok is None
    assert text.startswith("not measured, so it counts as execution")


def test_a_limit_that_keeps_a_session_from_its_memory_is_named() -> None:
    code, found = doctor("ulimit -f 4000;")
    assert code == 1
    ok, text = found["recording"]
    assert ok is False
    assert "cannot allocate" in text


def test_a_compiler_that_fails_is_named_with_its_error() -> None:
    code, found = doctor("VPROF_REAL_CC=/bin/false")
    assert code == 1
    assert found["vprof-cc"][0] is False
    assert "recording" not in found
