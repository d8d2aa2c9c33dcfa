"""A project's own test suite: in the plain build, with a session and no probe on, with every probe on.

Not thread-safe: one suite at a time, for its processes are found by the build they run from.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from corpus_build import Build
from corpus_projects import Outcome
from own_tests import Totals, recording

from vprof.session.owned import Limit
from vprof.session.plan import Plan

PLANS = {"off": Plan.of([]), "on": Plan.of(["*"])}
SUITE_SECONDS = 1200
"""Beyond it a suite hangs: all of the table take less than half of it."""

_TRACE = Limit(1 << 30, newest=True)


@dataclass(frozen=True)
class Run:
    """One run of a test suite; `totals` are those of its session."""

    outcome: Outcome
    status: int
    seconds: float
    totals: Totals = field(default_factory=Totals)


def plain(build: Build, log: Path) -> Run:
    begin = time.monotonic()
    process = _start(build, log, build.environment())
    return _judged(build, process, log, begin)


def recorded(build: Build, mode: str, log: Path) -> Run:
    """With a session whose plan is that of the mode, "off" or "on"."""
    user = build.project.user if build.account() else None
    with recording(log.with_suffix(".trace"), user, _TRACE) as (session, totals):
        begin = time.monotonic()
        joined = {"VPROF_SESSION": session.environment()["VPROF_SESSION"]}
        process = _start(build, log, {**build.environment(), **joined})
        session.attend(process, PLANS[mode], SUITE_SECONDS)
        run = _judged(build, process, log, begin)
    return replace(run, totals=totals)


def _start(build: Build, log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            ["sh", "-c", build.project.test],
            cwd=build.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **build.account(),
        )


def _judged(build: Build, process: subprocess.Popen[bytes], log: Path, begin: float) -> Run:
    """Waits for the end, and ends what the suite left running."""
    try:
        status = process.wait(max(0, begin + SUITE_SECONDS - time.monotonic()))
    except subprocess.TimeoutExpired:
        status = -signal.SIGALRM
    seconds = time.monotonic() - begin
    _end(build, process)
    output = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(encoding="utf-8", errors="replace"))
    return Run(build.project.outcome(output), status, seconds)


def _end(build: Build, process: subprocess.Popen[bytes]) -> None:
    """Kills the suite's session, and what became a daemon but runs a program of the build or in its folder."""
    for pid in _processes_of(build, process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _processes_of(build: Build, session: int) -> list[int]:
    found = []
    for pid in (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        try:
            places = [Path(f"/proc/{pid}/{link}").readlink() for link in ("exe", "cwd")]
            if os.getsid(pid) == session or any(place.is_relative_to(build.folder) for place in places):
                found.append(pid)
        except OSError:
            continue
    return found
