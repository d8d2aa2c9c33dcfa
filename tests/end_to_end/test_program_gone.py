"""A trace of a program that was built anew, moved or removed since: what it tells, and that it says what it cannot."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_SECONDS

from vprof.installed import native

PROGRAM = """\
#include <unistd.h>
__attribute__((noinline)) void work(int microseconds) { usleep(microseconds); }
__attribute__((noinline)) void request(int i) {
  work(50);
  work(i + 1000);
}
int main(void) {
  for (int i = 0; i < 20; i++) request(i);
  return 0;
}
"""
TOLD_APART = {"p.c:4", "p.c:5"}
NOT_TOLD_APART = {""}


def build(folder: Path, source: str = PROGRAM) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "p.c").write_text(source)
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(Path(__file__).parents[1] / "all_sites.json")}
    subprocess.run([native("bin/vprof-cc"), "-O2", "p.c", "-o", "p"], cwd=folder, check=True, env=environment)
    return folder / "p"


def vprof(*arguments: object) -> str:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True).stdout


def told(trace: Path) -> tuple[set[str], list[str]]:
    """Where `work` is called, and what is said of the program's file."""
    analysis, work = (
        json.loads(vprof("analyze", trace, "--root", "request", "--format", "json", *more))
        for more in ((), ("--explain", "work"))
    )
    places = {site["name"] for site in work["sides"][0]["sites"]}
    return places, [note for note in analysis["notes"] if "/p is" in note]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    (tmp_path / "traces").mkdir()
    trace = tmp_path / "traces" / "run.trace"
    program = build(tmp_path / "program")
    vprof("record", "--sites", "all", "-o", trace, "--", program)
    assert told(trace) == (TOLD_APART, [])
    return trace


@pytest.mark.parametrize("since", ["built anew", "removed"])
def test_it_is_said_that_places_are_not_known(trace: Path, since: str) -> None:
    """Built with another constant it has the same functions, lines and calls, and other code."""
    program = trace.parents[1] / "program/p"
    shutil.copy(program, trace.parents[1] / "kept")
    program.unlink()
    if since == "built anew":
        build(program.parent, PROGRAM.replace("i + 1000", "i + 1"))
    places, [note] = told(trace)
    assert places == NOT_TOLD_APART
    assert note.startswith(f"{program} is not there as it was recorded")

    shutil.copy(trace.parents[1] / "kept", trace.parent / "p")
    assert told(trace) == (TOLD_APART, []), "a copy beside the trace does as well"


def test_a_diff_does_not_depend_on_it(trace: Path) -> None:
    """Of one trace, with a copy of the program and without."""
    (beside := trace.parent / "beside").mkdir()
    shutil.copy(trace, beside)
    (trace.parents[1] / "program/p").rename(beside / "p")
    sides = ("--root", "request", "--format", "json", beside / trace.name, "--", trace)
    factors = json.loads(vprof("diff", *sides))["factors"]
    assert {tuple(factor["functions"]) for factor in factors} >= {("work",), ("usleep",)}
    assert [factor for factor in factors if abs(factor["change"]) > 1e-9] == []


def test_of_a_bundle_the_program_it_was_made_of_does(tmp_path: Path) -> None:
    """The copy that was recorded is gone, or on another machine."""
    program, bundle, trace = build(tmp_path / "program"), tmp_path / "bundle", tmp_path / "run.trace"
    vprof("bundle", program, "-o", bundle)
    record = ["./record", "--run", "plan", "--output", trace, "--", "./p"]
    subprocess.run(record, cwd=bundle, check=True, timeout=PATIENCE_SECONDS)
    shutil.rmtree(bundle)
    assert told(trace)[0] == NOT_TOLD_APART
    shutil.copy(program, tmp_path)
    assert told(trace) == (TOLD_APART, [])
