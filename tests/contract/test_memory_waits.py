"""Waits for the process's memory map, in calls that a library makes which was not built with vprof: they have a name,
and so has where the program waits; no probe is on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from vprof.installed import native
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.tables.model import NONE, Trace
from vprof.trace.reading import load_binary
from vprof.variance.analysis import analyze

PROGRAMS = Path(__file__).parent / "programs"
KNOWN_NS = 20e6
"""Of 400 ms or more that the requests take; each sleeps three times or more."""


def recorded(folder: Path, kind: str, *flags: str) -> Trace:
    library, program = folder / "library.o", folder / "prog"
    source = PROGRAMS / "memory_library.c"
    subprocess.run(["gcc", "-O2", "-fPIC", "-c", "-o", library, source], check=True)
    if "-static" not in flags:
        shared = folder / "library.so"
        subprocess.run(["gcc", "-shared", "-o", shared, library], check=True)
        library = shared
    command = [native("bin/vprof-cc"), "-I", native("include"), "-O2", "-pthread", "-o", program]
    subprocess.run([*command, PROGRAMS / "memory_waits.c", library, *flags], check=True)
    with Session.start(folder / "run.trace") as session:
        process = subprocess.Popen([program, kind], env=session.environment())
        session.attend(process, Plan.of([]))
        session.stop()
    assert process.returncode == 0
    return load_binary(folder / "run.trace")


@pytest.mark.quiet_cpus
@pytest.mark.parametrize("flags", [[], ["-static"]], ids=" ".join)
@pytest.mark.parametrize("kind", ["map", "send"])
def test_waits_for_the_memory_map_have_a_name(tmp_path: Path, kind: str, flags: list[str]) -> None:
    analysis = analyze(recorded(tmp_path, kind, *flags))
    causes = analysis.blocked_ns
    assert next(iter(causes)) == "memory map"
    assert causes["memory map"] > KNOWN_NS
    assert causes.get("unknown", 0) <= 0.02 * sum(causes.values())


@pytest.mark.quiet_cpus
@pytest.mark.parametrize("kind", ["map", "send"])
def test_the_call_stack_tells_which_function_called_the_library(tmp_path: Path, kind: str) -> None:
    trace = recorded(tmp_path, kind)
    samples = trace.wait_samples
    of_requests = (samples.interval != NONE) & (samples.ns > 0)
    stacks = {trace.wait_stacks[stack] for stack in samples.stack[of_requests].tolist()}
    assert stacks
    assert all("serve" in stack for stack in stacks)
    assert samples.ns[of_requests].sum() > KNOWN_NS


def test_a_pipe_that_is_full_is_a_wait_for_who_reads_it(tmp_path: Path) -> None:
    causes = analyze(recorded(tmp_path, "full")).blocked_ns
    assert next(iter(causes)) == "time", "for which the reader sleeps"
    assert "memory map" not in causes


def test_pages_that_are_mapped_meanwhile_are_no_reason_for_another_sleep(tmp_path: Path) -> None:
    causes = analyze(recorded(tmp_path, "unseen")).blocked_ns
    assert next(iter(causes)) == "unknown"
    assert "memory map" not in causes
