"""The program `vprof-load-driver` (workloads/README.md): started, listened to, ended in order; its JSON checked.

It is no part of the terminal's group of processes: a Ctrl-C reaches us, and we ask it to end. A second one kills it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from vprof.errors import UsageError, VprofError
from vprof.installed import LOAD_DRIVER, native
from vprof.session.owned import end_with_parent
from vprof.shapes import FLAG, NUMBER, TEXT, list_of, optional, table_of, whole

SCHEMA = "vprof-load-run/1"
USAGE, CUT_SHORT, CONDITION_FAILED = 2, 3, 4
"""Its exit codes, beside 0 and 1."""

_NS = whole(0, (1 << 63) - 1)
_COUNT = whole(0, (1 << 53) - 1)
_RUN = table_of(
    {
        "workload": TEXT,
        "server": optional(TEXT),
        "on": TEXT,
        "clients": _COUNT,
        "scale": optional(NUMBER),
        "seed": whole(0, (1 << 64) - 1),
        "isolation": optional(TEXT),
        "rate": optional(NUMBER),
        "arrivals": optional(TEXT),
        "think_ms": optional(NUMBER),
        "warmup_s": NUMBER,
        "seconds": NUMBER,
        "types": list_of(TEXT),
        "begin_ns": _NS,
        "end_ns": _NS,
        "begin_realtime_ns": _NS,
        "cpu_ns": _NS,
        "retries": _COUNT,
        "lost_connections": _COUNT,
        "first_error": optional(TEXT),
        "interrupted": FLAG,
        "peak_rss_kb": _COUNT,
    },
    may={"cut_short": optional(TEXT)},
)
_PROGRESS = re.compile(r"\s*(-?\d+(?:\.\d+)?) (\d+) (\d+) (\d+) (-?\d+(?:\.\d+)?)\s*")
_BROKEN = "FAILED "
"""Begin of a line of `check` about a condition that does not hold."""
_SAID = 20
"""Lines of its standard error that are kept."""


@dataclass(frozen=True)
class Where:
    """The server: what it speaks (`on`, a name that the driver knows), its socket, who connects, to what. None: as the
    driver chooses."""

    on: str
    socket: str
    user: str | None = None
    database: str | None = None

    def options(self) -> list[str]:
        return [f"--on={self.on}", f"--socket={self.socket}", *given(user=self.user, database=self.database)]


@dataclass(frozen=True)
class Second:
    """What a second of a run did: `at_s` counts from when the warm-up is over, `behind_ms` is how far the newest start
    lies behind its intended time."""

    at_s: float
    finished: int
    failed: int
    retries: int
    behind_ms: float


@dataclass(frozen=True)
class Run:
    """`report` is the driver's JSON; `cut_short` says why the run ended too early, "" if it did not."""

    report: dict[str, Any]
    cut_short: str


class Driver:
    """Raises VprofError when it is not installed. Its methods raise UsageError and VprofError with what it says, and
    KeyboardInterrupt when we were to end meanwhile; but a run that is interrupted is one with what was measured."""

    def __init__(self) -> None:
        self._program = str(native(LOAD_DRIVER))

    def workloads(self) -> dict[str, str]:
        """Their names, each with what it is."""
        done = self._done(["list"])
        rows = (line.split(maxsplit=1) for line in done.splitlines() if line.strip())
        return {row[0]: row[1] if len(row) > 1 else "" for row in rows}

    def check_run(self, workload: str, where: Where, options: list[str]) -> None:
        """Raises UsageError when `run` does not take these options. Runs nothing."""
        self.check_run_words([workload, *where.options(), f"--latencies={os.devnull}", *options])

    def check_run_words(self, words: list[str]) -> None:
        """As check_run, of all words that follow `run`."""
        self._done(["run", *words, "--dry-run"])

    def setup(self, workload: str, where: Where, options: list[str], tell: Callable[[str], None]) -> None:
        """Makes its tables and fills them. `tell` gets what the driver says meanwhile."""
        self._done(["setup", workload, *where.options(), *options], tell)

    def check(self, workload: str, where: Where, options: list[str]) -> list[str]:
        """The conditions that the data break, one line each; none if it is consistent."""
        process, said = self._start(["check", workload, *where.options(), *options])
        output = self._wait(process, said)
        if process.returncode == CONDITION_FAILED:
            lines = [line.strip() for line in [*output.splitlines(), *said]]
            return [line.removeprefix(_BROKEN) for line in lines if line.startswith(_BROKEN)] or ["a condition failed"]
        self._raise_if_failed(process, said)
        return []

    def run(
        self,
        workload: str,
        where: Where,
        options: list[str],
        latencies: Path,
        tell: Callable[[Second], None] | None = None,
    ) -> Run:
        """Writes `latencies`. `tell` gets each second. A run that was cut short is one with what was measured."""
        told = ["--progress"] if tell else []
        words = ["run", workload, *where.options(), f"--latencies={latencies}", *options, *told]
        process, said = self._start(words)

        def line(text: str) -> None:
            found = _PROGRESS.fullmatch(text)
            if found and tell:
                at, finished, failed, retries, behind = found.groups()
                tell(Second(float(at), int(finished), int(failed), int(retries), float(behind)))

        output = self._wait(process, said, line, in_order=True)
        if process.returncode == CUT_SHORT and output.strip():
            report = _report(output)
            return Run(report, report.get("cut_short") or _last(said, "the server was lost"))
        self._raise_if_failed(process, said)
        return Run(_report(output), "")

    def _done(self, words: list[str], tell: Callable[[str], None] | None = None) -> str:
        process, said = self._start(words)
        output = self._wait(process, said, tell)
        self._raise_if_failed(process, said)
        return output

    def _start(self, words: list[str]) -> tuple[subprocess.Popen[str], list[str]]:
        """The process, and the list that will hold what it says."""
        process = subprocess.Popen(
            [self._program, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        return process, []

    def _wait(
        self,
        process: subprocess.Popen[str],
        said: list[str],
        tell: Callable[[str], None] | None = None,
        in_order: bool = False,
    ) -> str:
        """Until it ends; what it printed. Its JSON is a few hundred bytes, which a pipe holds until it is read.

        When we are asked to end, it is, too; that raises KeyboardInterrupt, unless it then ends `in_order`."""
        assert process.stdout and process.stderr
        with process, _asked_to_end(process) as asked:
            try:
                for line in process.stderr:
                    text = line.rstrip("\n")
                    if tell:
                        tell(text)
                    if not _PROGRESS.fullmatch(text) and text.strip():
                        said[:] = [*said[1 - _SAID :], text.strip()]
                output = process.stdout.read()
                process.wait()
            except BaseException:
                process.kill()
                raise
        if asked and not (in_order and process.returncode >= 0):
            raise KeyboardInterrupt
        return output

    def _raise_if_failed(self, process: subprocess.Popen[str], said: list[str]) -> None:
        status = process.returncode
        if status == USAGE:
            raise UsageError(_last(said, "the driver refuses these options"))
        if status < 0:
            raise VprofError(f"the driver was ended by signal {-status}: {_last(said, 'it said nothing')}")
        if status:
            raise VprofError(_last(said, f"the driver failed (status {status})"))


def check_name(workload: str) -> None:
    """Raises UsageError when the driver does not know it."""
    known = Driver().workloads()
    if workload not in known:
        raise UsageError(f"there is no workload '{workload}': give one of {', '.join(known)}")


def check_command(command: list[str]) -> None:
    """Raises UsageError when a command that runs the driver names a workload or options that it does not know."""
    _, _, workload, *options = command
    check_name(workload)
    Driver().check_run_words([workload, *options])


def run_in_log(log: Path) -> Run | None:
    """The run whose JSON is a line of a file, among what else the driver said; None if there is none."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in lines:
        if line.startswith("{"):
            return Run(_report(line), "")
    return None


def given(**values: object) -> list[str]:
    """Those that are not None as options: isolation="serializable" -> --isolation=serializable."""
    return [f"--{name}={value}" for name, value in values.items() if value is not None]


def _last(said: list[str], otherwise: str) -> str:
    return said[-1].removeprefix("vprof-load-driver: ") if said else otherwise


def _report(output: str) -> dict[str, Any]:
    try:
        found = json.loads(output)
    except ValueError:
        raise VprofError("the driver printed no JSON: build and install the native parts with `make setup`") from None
    if not isinstance(found, dict) or found.get("schema", SCHEMA) != SCHEMA:
        raise VprofError(f"the driver's JSON is not {SCHEMA}: build and install the native parts with `make setup`")
    if wrong := _RUN.wrong(found):
        raise VprofError(f"the driver's JSON is not as its contract says{wrong}")
    return found


@contextmanager
def _asked_to_end(process: subprocess.Popen[str]) -> Iterator[list[int]]:
    """SIGINT, SIGTERM and SIGHUP for us ask it to end, the second one kills it. Yields those that came."""
    came: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL if came else signal.SIGINT)
        came.append(number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
