"""`vprof doctor`: what this machine has, found by a recording."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_where_probes_stand_and_whether_they_can_be_switched_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int f(int n) { while (n > 9) n /= 2; return n; }\nint main(void) { return f(0); }\n")
    for probes in ("entry", "body"):
        command = [native("bin/vprof-cc"), "-O1", "a.c", "-o", probes]
        subprocess.run(command, cwd=tmp_path, check=True, env={**os.environ, "VPROF_PROBES": probes})
    _, found = doctor(after=str(tmp_path / "entry"))
    shared = (True, "processes of a session share their code, and a probe that is off is one no-op")
    assert found["probes before bodies"] == shared
    assert found[f"{tmp_path}/entry: probes"] == (True, "1 before bodies, 0 in them")
    _, found = doctor("export VPROF_REAL_CC=gcc;", after=str(tmp_path / "body"))
    assert found["probes before bodies"] == shared
    assert found[f"{tmp_path}/body: probes"] == (True, "1, all in bodies")
    _, found = doctor("export VPROF_REAL_CC='gcc -flto';")
    assert found["probes before bodies"] == (
        None,
        "not by this compiler, but by clang 19 and gcc 12: probes that are off cost more",
    )


_NOEXEC = "unshare -rm mount -o remount,bind,noexec /dev/shm"


@pytest.mark.skipif(subprocess.run(_NOEXEC.split(), capture_output=True).returncode != 0, reason="no mounts of our own")
def test_where_code_cannot_be_shared_it_is_said_why() -> None:
    command = shlex.quote(f"mount -o remount,bind,noexec /dev/shm; exec {native('bin/vprof')} doctor --format json")
    _, found = doctor(f"exec unshare -rm sh -c {command};")
    ok, text = found["probes before bodies"]
    assert ok is None
    assert text.endswith("the system does not let it execute the session's copy (noexec, SELinux)")
