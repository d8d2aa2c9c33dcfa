"""One program, plain and instrumented: does it do the same, and does vprof record what it did?

program ─┬─ compiler ──────> output, exit code                                      ─┐
         └─ vprof-cc ──┬──── dormant, attached, probes flipping, all on: the same? ──┴─> findings
                       └───> trace against the program's log: the same calls?
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import oracle

from programs import HERE, Program
from vprof.errors import VprofError
from vprof.metadata import read_program
from vprof.plan import Plan
from vprof.session import Session
from vprof.trace import load_binary

PREFIX = Path(os.environ.get("VPROF_PREFIX", sys.prefix))
PLAIN = os.environ.get("VPROF_REAL_CC", "clang-19")
PLAIN_CXX = os.environ.get("VPROF_REAL_CXX", "clang++-19")
RUN_SECONDS, COMPILE_SECONDS = 10, 240
_LOG_FULL = 123  # fuzz.h
_NOTHING, _ALL = Plan.of([]), Plan.of(["*"])


class InvalidError(Exception):
    """The program is no fair one: the real compiler refuses it, or it does not end well by itself."""


class SkippedError(Exception):
    """It runs too long."""


@dataclass(frozen=True)
class Ran:
    stdout: str
    stderr: str
    status: int

    def __str__(self) -> str:
        return f"exit code {self.status}, output {(self.stdout + self.stderr)[-200:]!r}"


def findings(program: Program, folder: Path) -> list[str]:
    """What differs, one line each; none if all is well. `folder` is empty, and full of the program's files after."""
    for name, text in program.files.items():
        (folder / name).write_text(text)
    _compile(program, folder, [PLAIN_CXX if program.cxx else PLAIN], "plain", InvalidError)
    plain = _run(folder, "plain", {})
    if plain.status == _LOG_FULL:
        raise SkippedError("it makes more calls than its log holds")
    if plain.status < 0 or plain.status > 127:
        raise InvalidError(f"the plain program ends with {plain}")
    try:
        said = _compile(
            program, folder, [PREFIX / "bin" / ("vprof-c++" if program.cxx else "vprof-cc")], "probed", _RefusedError
        )
    except _RefusedError as failure:
        return [f"vprof-cc fails: {failure}"]
    return [*([f"vprof-cc says {said!r}"] if said else []), *_unchanged(folder), *_compared(program, folder, plain)]


class _RefusedError(Exception):
    pass


_kept = tempfile.TemporaryDirectory(prefix="fuzz-log-")


@cache
def log_object() -> Path:
    """fuzz_log.c, compiled once for all programs of this process."""
    made = Path(_kept.name) / "fuzz_log.o"
    subprocess.run([PLAIN, "-O2", "-c", HERE / "fuzz_log.c", "-o", made], check=True)
    return made


def _compile(program: Program, folder: Path, command: list[Path | str], output: str, failure: type[Exception]) -> str:
    words = [*command, *program.flags, *program.units, log_object(), "-o", output]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=COMPILE_SECONDS)
    if done.returncode:
        raise failure(done.stderr[:1500] or f"exit code {done.returncode}")
    return done.stderr


def _run(folder: Path, name: str, env: dict[str, str], meanwhile: Callable[[], object] | None = None) -> Ran:
    """Runs a program to its end; `meanwhile` is called again and again until then."""
    process = subprocess.Popen(
        [f"./{name}"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )
    try:
        while meanwhile and process.poll() is None:
            meanwhile()
        stdout, stderr = process.communicate(timeout=RUN_SECONDS)
    except subprocess.TimeoutExpired:
        raise SkippedError(f"{name} runs longer than {RUN_SECONDS} s") from None
    finally:
        process.kill()
        process.communicate()
    return Ran(stdout, stderr, process.returncode)


def _unchanged(folder: Path) -> Iterator[str]:
    for unit in read_program(folder / "probed"):
        if unit.status != "instrumented":
            yield f"{Path(unit.unit).name} is compiled unchanged: {unit.reason}"


def _compared(program: Program, folder: Path, plain: Ran) -> Iterator[str]:
    ran = _run(folder, "probed", {})
    if ran != plain:
        yield f"dormant: {ran}, plain: {plain}"
    with _session(folder) as session:
        env = {"VPROF_SESSION": str(session.directory)}
        for name, meanwhile in (("attached", lambda: session.follow(_NOTHING)), ("flipping", _flips(session))):
            ran = _run(folder, "probed", env, meanwhile)
            if ran != plain:
                yield f"{name}: {ran}, plain: {plain}"
        session.flip("on", session.sites.numbers(_ALL))
        session.rotate(folder / "run.trace")
        ran = _run(folder, "probed", {**env, "FUZZ_LOG": "log"})
        if ran != plain:
            yield f"all on: {ran}, plain: {plain}"
        session.stop()
    yield from _misrecorded(program, folder)


def _session(folder: Path) -> Session:
    """A collector with little memory: `vprof record` takes more, which costs more time than these programs do."""
    directory = folder / f"session-{secrets.token_hex(4)}"
    command = [PREFIX / "lib/vprof/vprof-collector", "--session", directory, "--output", "-", "--hold"]
    sizes = ["--slots", "16", "--ring-bytes", str(1 << 20)]
    collector = subprocess.Popen(
        [*map(str, command), *sizes], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert collector.stdout
    if collector.stdout.readline().strip() != "ready":
        raise RuntimeError("the collector did not start")
    return Session(directory, collector)


def _flips(session: Session) -> Callable[[], object]:
    """Switches all probes on, then off, whenever it is called."""
    state = {"on": False}

    def flip() -> None:
        state["on"] = not state["on"]
        session.flip("on" if state["on"] else "off", session.sites.numbers(_ALL))

    return flip


def _misrecorded(program: Program, folder: Path) -> Iterator[str]:
    """Where trace and log differ."""
    places = oracle.comparable(program, read_program(folder / "probed"))
    if not places:
        return
    try:
        trace = load_binary(folder / "run.trace")
    except VprofError as error:
        yield f"the trace is unreadable: {error}"
        return
    if trace.loss.get("dropped"):
        yield f"records were dropped: {trace.loss}"
        return
    log, found = oracle.logged(folder / "log", places), oracle.recorded(trace, places)
    yield from oracle.differences(log, found, nested="-DFUZZ_ENTRIES" not in program.flags)
