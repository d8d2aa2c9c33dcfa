"""`vprof doctor`: whether this machine has what vprof needs, by recording a small program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from vprof.chunks import TraceFile, read_chunks
from vprof.errors import TraceError
from vprof.paths import native
from vprof.session import NEEDED_BYTES
from vprof.sessions import SHARED_MEMORY

_PROGRAM = """\
static int work(int n) { while (n > 9) n /= 2; return n; }
int main(void) { return work(0); }
"""
_ON_DISK = "sessions lie in the temporary folder, and probes wait for its disk"


@dataclass(frozen=True)
class Finding:
    """`ok` is None where something is missing that vprof can do without."""

    name: str
    ok: bool | None
    text: str


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(form: str) -> None:
    """Check compilers, clock, time off the CPU and shared memory of this machine.

    A small program is built with each compiler, run and recorded, under the limits of this shell. Exit code 1 if vprof
    cannot work here.

    \b
    Examples:
      vprof doctor
      vprof doctor --format json
    """
    findings = [*_compilers(), *_recording(), _shared_memory()]
    if form == "json":
        click.echo(json.dumps({"schema": "vprof-doctor/1", "findings": [asdict(f) for f in findings]}, indent=1))
    else:
        for f in findings:
            click.echo(f"{ {True: 'ok', None: 'lacking', False: 'FAILS'}[f.ok]:<8} {f.name}: {f.text}")
    if any(f.ok is False for f in findings):
        sys.exit(1)


def _compilers() -> list[Finding]:
    """clang has to work; gcc may be missing."""
    found = []
    for name, real in (("vprof-cc", os.environ.get("VPROF_REAL_CC", "")), ("vprof-cc with gcc", "gcc")):
        if real == "gcc" and shutil.which("gcc") is None:
            found.append(Finding(name, None, "gcc is not installed"))
            continue
        with tempfile.TemporaryDirectory(prefix="vprof-doctor-") as folder:
            error = _build(Path(folder), real)
        found.append(Finding(name, not error, error or "builds a program"))
    return found


def _build(folder: Path, real: str = "") -> str:
    """Makes `folder`/program; returns what went wrong, in one line, or ""."""
    (folder / "program.c").write_text(_PROGRAM, encoding="utf-8")
    command = [str(native("bin/vprof-cc")), "-O1", "program.c", "-o", "program"]
    environment = os.environ | ({"VPROF_REAL_CC": real} if real else {})
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["failed without a word"])[0]


def _recording() -> list[Finding]:
    with tempfile.TemporaryDirectory(prefix="vprof-doctor-") as name:
        folder = Path(name)
        if _build(folder):
            return []  # said already
        vprof = [sys.executable, "-c", "from vprof.cli import main; main()"]
        command = [*vprof, "record", "--sites", "all", "-o", "run.trace", "--", "./program"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        try:
            trace = read_chunks(folder / "run.trace")
        except (TraceError, OSError):
            lines = done.stderr.strip().splitlines() or ["no trace"]
            return [Finding("recording", False, lines[-1])]
    records = sum(len(chunk.words) for chunk in trace.chunks)
    if records == 0:
        return [Finding("recording", False, "the program ran, but no probe was recorded")]
    return [Finding("recording", True, f"{records} records of a small program"), _clock(trace), _off_cpu(trace)]


def _clock(trace: TraceFile) -> Finding:
    if trace.of("session")[0]["clock"] == "tsc":
        return Finding("clock", True, "time stamp counter of the CPU")
    return Finding("clock", None, "the CPU's counter is not invariant: clock_gettime, which makes probes dearer")


def _off_cpu(trace: TraceFile) -> Finding:
    if all(thread.get("off_cpu") == "rseq" for thread in trace.of("thread")):
        return Finding("time off the CPU", True, "known by rseq")
    return Finding(
        "time off the CPU",
        None,
        "not known, it counts as execution: the C library registers no rseq (glibc before 2.35, GLIBC_TUNABLES) "
        "or the kernel does not keep it",
    )


def _shared_memory() -> Finding:
    name = "shared memory"
    try:
        free = shutil.disk_usage(SHARED_MEMORY).free
    except OSError:
        return Finding(name, None, f"there is no {SHARED_MEMORY}: {_ON_DISK}")
    text = f"{free >> 20} MB free in {SHARED_MEMORY}"
    return Finding(name, True, text) if free > NEEDED_BYTES else Finding(name, None, f"{text}: {_ON_DISK}")
