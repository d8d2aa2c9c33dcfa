"""Programs compiled together, plain and instrumented: does each do the same, and does vprof record what it did?

program ─┬─ compiler ──────> output, exit code                                      ─┐
         └─ vprof-cc ──┬──── dormant, attached, probes flipping, all on: the same? ──┴─> findings
                       └───> trace against the program's log: the same calls?
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import oracle

from programs import HERE, Program
from vprof.errors import VprofError
from vprof.program.elf import read_program
from vprof.program.metadata import Unit
from vprof.session.owned import Session, end_with_parent
from vprof.session.plan import Plan
from vprof.trace.reading import load_binary

PREFIX = Path(os.environ.get("VPROF_PREFIX", sys.prefix))
ALL_SITES = HERE.parent / "all_sites.json"
"""The descriptor: functions of random programs are small, and each is to have a probe."""
PLAIN = os.environ.get("VPROF_REAL_CC", "clang-19")
PLAIN_CXX = os.environ.get("VPROF_REAL_CXX", "clang++-19")
_LINES_BY_GCC = PLAIN_CXX != "clang++-19" and os.environ.get("VPROF_PROBES") != "body"
"""gcc's debug information gives calls in some initialisers of C++ the line where their function ends."""
RUN_SECONDS, HANG_SECONDS, COMPILE_SECONDS = 30, 1200, 1800
"""A program may take so much CPU, however busy the machine is; one that waits for ever hangs."""
_LOG_FULL = 123  # fuzz.h
_NOTHING, _ALL = Plan.of([]), Plan.of(["*"])


@dataclass(frozen=True)
class Verdict:
    kind: str
    """same, different, skipped (it runs too long), invalid (it is no fair program: the generator's fault)."""
    lines: tuple[str, ...] = ()


class _UnfairError(Exception):
    """The real compiler refuses the program, or it does not end well by itself."""


class _SlowError(Exception):
    """It runs too long."""


class _RefusedError(Exception):
    """vprof-cc fails."""


@dataclass(frozen=True)
class Ran:
    stdout: str
    stderr: str
    status: int

    def __str__(self) -> str:
        return f"exit code {self.status}, output {(self.stdout + self.stderr)[-200:]!r}"


def verdicts(program: Program, folder: Path, seeds: Iterable[int]) -> dict[int, Verdict]:
    """What becomes of each of the seeds, which are some of the program's.

    `folder` is empty, and full of the program's files after. Raises subprocess.TimeoutExpired if a compiler hangs.
    """
    seeds = list(seeds)
    for name, text in program.files.items():
        (folder / name).write_text(text)
    try:
        # What the programs print does not depend on optimisation, and this is the quickest to compile.
        _compile(program, folder, PLAIN_CXX if program.cxx else PLAIN, ["-O0"], "plain", _UnfairError)
        wrapper = PREFIX / "bin" / ("vprof-c++" if program.cxx else "vprof-cc")
        said = _compile(program, folder, wrapper, [], "probed", _RefusedError)
    except _UnfairError as failure:
        return dict.fromkeys(seeds, Verdict("invalid", (str(failure),)))
    except _RefusedError as failure:
        return dict.fromkeys(seeds, Verdict("different", (f"vprof-cc fails: {failure}",)))
    units = read_program(folder / "probed")
    lines = (*([f"vprof-cc says {said!r}"] if said else []), *_unchanged(units))
    if lines:
        return dict.fromkeys(seeds, Verdict("different", lines))
    places = oracle.comparable(program, units)
    with _session(folder) as session:
        return {seed: _verdict(program, folder, seed, session, places) for seed in seeds}


def _verdict(program: Program, folder: Path, seed: int, session: Session, places: set[oracle.Place]) -> Verdict:
    try:
        found = tuple(_differences(program, folder, seed, session, places))
    except _UnfairError as reason:
        return Verdict("invalid", (str(reason),))
    except _SlowError as reason:
        return Verdict("skipped", (str(reason),))
    return Verdict("different" if found else "same", found)


_kept = tempfile.TemporaryDirectory(prefix="fuzz-log-")


@cache
def log_object() -> Path:
    """fuzz_log.c, compiled once for all programs of this process."""
    made = Path(_kept.name) / "fuzz_log.o"
    subprocess.run([PLAIN, "-O2", "-c", HERE / "fuzz_log.c", "-o", made], check=True)
    return made


def _compile(
    program: Program,
    folder: Path,
    compiler: Path | str,
    options: list[str],
    output: str,
    failure: type[Exception],
) -> str:
    words = [compiler, *program.flags, *options, *program.units, log_object(), "-o", output]
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(ALL_SITES)}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=COMPILE_SECONDS, env=environment)
    if done.returncode:
        raise failure(done.stderr[:1500] or f"exit code {done.returncode}")
    return done.stderr


def _run(folder: Path, name: str, seed: int, env: dict[str, str], meanwhile: Callable[[], object] | None = None) -> Ran:
    """Runs the program of one seed to its end; `meanwhile` is called again and again until then."""
    process = subprocess.Popen(
        ["prlimit", f"--cpu={RUN_SECONDS}", f"./{name}", str(seed)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
        preexec_fn=end_with_parent,
    )
    try:
        deadline = time.monotonic() + HANG_SECONDS
        while meanwhile and process.poll() is None and time.monotonic() < deadline:
            meanwhile()
        stdout, stderr = process.communicate(timeout=HANG_SECONDS)
    except subprocess.TimeoutExpired:
        raise _SlowError(f"{name} does not end") from None
    finally:
        process.kill()
        process.communicate()
    if process.returncode == -signal.SIGXCPU:
        raise _SlowError(f"{name} takes more than {RUN_SECONDS} s of CPU")
    return Ran(stdout, stderr, process.returncode)


def _run_plain(folder: Path, seed: int) -> Ran:
    plain = _run(folder, "plain", seed, {})
    if plain.status == _LOG_FULL:
        raise _SlowError("it makes more calls than its log holds")
    if plain.status < 0 or plain.status > 127:
        raise _UnfairError(f"the plain program ends with {plain}")
    return plain


def _unchanged(units: list[Unit]) -> Iterator[str]:
    for unit in units:
        if unit.status != "instrumented":
            yield f"{Path(unit.unit).name} is compiled unchanged: {unit.reason}"


def _differences(
    program: Program, folder: Path, seed: int, session: Session, places: set[oracle.Place]
) -> Iterator[str]:
    plain = _run_plain(folder, seed)
    env = {"VPROF_SESSION": str(session.directory)}
    ran = _run(folder, "probed", seed, {})
    if ran != plain:
        yield f"dormant: {ran}, plain: {plain}"
    session.flip("off", session.sites.numbers(_ALL))
    for name, meanwhile in (("attached", lambda: session.follow(_NOTHING)), ("flipping", _flips(session))):
        ran = _run(folder, "probed", seed, env, meanwhile)
        if ran != plain:
            yield f"{name}: {ran}, plain: {plain}"
    session.flip("on", session.sites.numbers(_ALL))
    trace, log = folder / f"{seed}.trace", folder / f"{seed}.log"
    session.rotate(trace)
    ran = _run(folder, "probed", seed, {**env, "FUZZ_LOG": log.name})
    session.rotate(None)
    if ran != plain:
        yield f"all on: {ran}, plain: {plain}"
    if places:
        nested = "-DFUZZ_ENTRIES" not in program.flags
        yield from _misrecorded(trace, log, places, nested, oracle.ends(program) if _LINES_BY_GCC else set())


def _session(folder: Path) -> Session:
    """A collector with little memory: `vprof record` takes more, which costs more time than these programs do. A ring
    holds what a full log does."""
    directory = folder / f"session-{secrets.token_hex(4)}"
    command = [PREFIX / "lib/vprof/vprof-collector", "--session", directory, "--output", "-", "--hold"]
    sizes = ["--slots", "16", "--ring-bytes", str(2 << 20)]
    collector = subprocess.Popen(
        [*map(str, command), *sizes],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=end_with_parent,
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


def _misrecorded(file: Path, log: Path, places: set[oracle.Place], nested: bool, uncertain: set[str]) -> Iterator[str]:
    """Where trace and log differ. `uncertain` lines of calls do not count."""
    try:
        trace = load_binary(file)
    except VprofError as error:
        yield f"the trace is unreadable: {error}"
        return
    if trace.loss.get("dropped"):
        yield f"records were dropped: {trace.loss}"
        return
    yield from oracle.differences(oracle.logged(log, places), oracle.recorded(trace, places), nested, uncertain)
