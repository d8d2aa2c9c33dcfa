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

from vprof.errors import TraceError, VprofError
from vprof.installed import native
from vprof.program.elf import read_program
from vprof.program.places import read_places
from vprof.session.interposition import look
from vprof.session.owned import NEEDED_BYTES, Session
from vprof.session.plan import Plan
from vprof.session.running import SHARED_MEMORY
from vprof.trace.chunks import TraceFile, read_chunks

_PROGRAM = """\
int work(int n) { while (n > 9) n /= 2; return n; }
int main(void) { return work(0); }
"""
_HOST = "import ctypes; library = ctypes.CDLL('./library.so'); library.work(0)"
"""A program without vprof that loads an instrumented library: Python."""
_ENTRY = {"VPROF_PROBES": "entry"}
_BEFORE = "probes before bodies"
_ON_DISK = "sessions lie in the temporary folder, and probes wait for its disk"


@dataclass(frozen=True)
class Check:
    """`ok` is None where something is missing that vprof can do without."""

    name: str
    ok: bool | None
    text: str


@click.command()
@click.argument("program", required=False, type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(program: Path | None, form: str) -> None:
    """Check compilers, clock, time off the CPU and shared memory of this machine.

    vprof builds a small program with each compiler, runs it and records it, under the limits of this shell. The exit
    code is 1 if vprof cannot work here. With PROGRAM, vprof also reports where that program's probes stand, and whether
    it can see its waits, or needs `vprof record --preload` for that; PROGRAM is not started.

    \b
    Examples:
      vprof doctor
      vprof doctor ./server
      vprof doctor --format json
    """
    findings = [*_compilers(), *_recording(), *_before_bodies(), _shared_memory()]
    if program:
        findings += [Check(str(program), *look(program)), *_probes(program)]
    if form == "json":
        click.echo(json.dumps({"schema": "vprof-doctor/1", "findings": [asdict(f) for f in findings]}, indent=1))
    else:
        for f in findings:
            click.echo(f"{ {True: 'ok', None: 'missing', False: 'FAILS'}[f.ok]:<8} {f.name}: {f.text}")
    if any(f.ok is False for f in findings):
        sys.exit(1)


def _compilers() -> list[Check]:
    """clang has to work; gcc may be missing."""
    found = []
    for name, real in (("vprof-cc", os.environ.get("VPROF_REAL_CC", "")), ("vprof-cc with gcc", "gcc")):
        if real == "gcc" and shutil.which("gcc") is None:
            found.append(Check(name, None, "gcc is not installed"))
            continue
        with tempfile.TemporaryDirectory(prefix="vprof-doctor-") as folder:
            error = _build(Path(folder), real)
        found.append(Check(name, not error, error or "builds a program"))
    return found


def _build(
    folder: Path, real: str = "", *options: str, output: str = "program", choices: dict[str, str] | None = None
) -> str:
    """Makes `folder`/`output`; returns what went wrong, in one line, or "". `choices`: variables for vprof-cc."""
    (folder / "program.c").write_text(_PROGRAM, encoding="utf-8")
    command = [str(native("bin/vprof-cc")), "-O1", *options, "program.c", "-o", output]
    environment = os.environ | ({"VPROF_REAL_CC": real} if real else {}) | (choices or {})
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["failed and printed nothing"])[0]


def _recording() -> list[Check]:
    with tempfile.TemporaryDirectory(prefix="vprof-doctor-") as name:
        folder = Path(name)
        if _build(folder):
            return []  # said already
        trace = _record(folder, "./program")
        if isinstance(trace, str):
            return [Check("recording", False, trace)]
        preloading = _preloading(folder)
    records = sum(chunk.count for chunk in trace.chunks)
    if records == 0:
        return [Check("recording", False, "the program ran, but no probe was recorded")]
    recording = Check("recording", True, f"{records} records of a small program")
    return [recording, _clock(trace), _off_cpu(trace), preloading]


def _record(folder: Path, *command: str) -> TraceFile | str:
    """The trace of a command, or why there is none."""
    vprof = [sys.executable, "-c", "from vprof.cli import main; main()"]
    given = [*vprof, "record", "--sites", "all", "-o", "run.trace", *command]
    done = subprocess.run(given, cwd=folder, capture_output=True, text=True)
    try:
        return read_chunks(folder / "run.trace")
    except (TraceError, OSError):
        return (done.stderr.strip().splitlines() or ["no trace"])[-1]


def _preloading(folder: Path) -> Check:
    """Whether --preload makes the waits of a program without vprof seen."""
    name = "waits of programs built without vprof"
    failed = _build(folder, "", "-shared", "-fPIC", output="library.so")
    trace = failed or _record(folder, "--preload", "--", sys.executable, "-c", _HOST)
    if isinstance(trace, str):
        return Check(name, None, f"not seen: {trace}")
    threads = trace.of("thread")
    if not threads or not all(thread["interposed"] for thread in threads):
        return Check(name, None, "not seen: the dynamic linker does not follow LD_PRELOAD here")
    return Check(name, True, "seen with `vprof record --preload`, where they load an instrumented library")


def _before_bodies() -> list[Check]:
    """What VPROF_PROBES is worth here; nothing if no program can be built or recorded: that is said already."""
    with tempfile.TemporaryDirectory(prefix="vprof-doctor-") as name:
        program = Path(name) / "program"
        if _build(program.parent, choices=_ENTRY):
            return []
        if not _before(program)[0]:
            return [
                Check(_BEFORE, None, "not by this compiler, but by clang 19 and gcc 12: probes that are off cost more")
            ]
        try:
            with Session.start(None) as session:
                process = subprocess.Popen([program], env=session.environment(), stdout=subprocess.DEVNULL)
                session.attend(process, Plan.of(["*"]))
                totals = session.stop()
        except VprofError:
            return []
    if totals["not_wrapped"]:
        return [Check(_BEFORE, None, "not recorded here: a process can write its code nowhere (/proc/self/mem)")]
    if totals["own_text"]:
        why = "; ".join(totals["own_text_why"])
        return [Check(_BEFORE, None, f"each process patches its own code, and a probe that is off is a jump: {why}")]
    return [Check(_BEFORE, True, "processes of a session share their code, and a probe that is off is one no-op")]


def _probes(program: Path) -> list[Check]:
    """Where they stand; nothing of a program without."""
    try:
        before, inside = _before(program)
    except VprofError:
        return []
    said = f"{before} before bodies, {inside} in them" if before else f"{inside}, all in bodies"
    return [Check(f"{program}: probes", True, said)]


def _before(program: Path) -> tuple[int, int]:
    """Functions by where their probe stands: before the body, in it. Raises VprofError if it was built without."""
    units, places = read_program(program), read_places(program)
    sites = [(unit.switch_addr + f.site, f) for unit in units for f in unit.functions if f.site is not None]
    before = {function.id for byte, function in sites if function.before_body or byte in places.own}
    return len(before), len({function.id for _, function in sites} - before)


def _clock(trace: TraceFile) -> Check:
    if trace.of("session")[0]["clock"] == "tsc":
        return Check("clock", True, "time stamp counter of the CPU")
    return Check("clock", None, "the CPU's counter is not invariant: clock_gettime, so probes cost more")


def _off_cpu(trace: TraceFile) -> Check:
    if all(thread.get("off_cpu") == "rseq" for thread in trace.of("thread")):
        return Check("time off the CPU", True, "measured with rseq")
    return Check(
        "time off the CPU",
        None,
        "not measured, so it counts as execution: the C library does not register rseq (glibc before 2.35, "
        "GLIBC_TUNABLES), or the kernel does not support it",
    )


def _shared_memory() -> Check:
    name = "shared memory"
    try:
        free = shutil.disk_usage(SHARED_MEMORY).free
    except OSError:
        return Check(name, None, f"there is no {SHARED_MEMORY}: {_ON_DISK}")
    text = f"{free >> 20} MB free in {SHARED_MEMORY}"
    return Check(name, True, text) if free > NEEDED_BYTES else Check(name, None, f"{text}: {_ON_DISK}")
