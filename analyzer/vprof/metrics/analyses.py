"""A recent piece through `vprof analyze` now and then, in a process of its own that yields to all others.

    piece -> a second name of its file, which the watch does not delete -> vprof analyze -> Done: its JSON

The next one begins when all that these took so far is less than BUDGET of the time since: a long piece is paid for by a
long pause.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vprof.metrics.figures import FACTORS
from vprof.watch.pieces import Piece

BUDGET = 0.005
"""Of one core."""
FEWEST_INTERVALS = 100
"""A piece with fewer says nothing of variance."""
_LONGEST_SECONDS = 600
_VERB = "import os; os.nice(19); from vprof.cli import main; main()"


@dataclass(frozen=True)
class Done:
    """`document`: None where it failed, `reason` says why. `seconds`: of the piece, `ended`: when it did; `cpu`: what
    the analysis took."""

    document: dict[str, Any] | None
    reason: str
    seconds: float
    ended: float
    cpu: float


@dataclass(frozen=True)
class _Running:
    process: subprocess.Popen[bytes]
    out: int
    err: int
    begun: float
    piece_seconds: float
    piece_ended: float


class Analyses:
    """At most one at a time. `begin` and `poll` are called after each piece."""

    def __init__(self, folder: Path, root: str | None, budget: float = BUDGET) -> None:
        """`folder`: of the pieces."""
        self._file, self._root, self._budget = folder / "analyzed.trace", root, budget
        self._running: _Running | None = None
        self._next = 0.0

    def begin(self, piece: Piece, ended: float, intervals: int) -> None:
        """Does nothing while one runs, before the next is due, or if too few intervals ended. Raises OSError."""
        now = time.monotonic()
        if self._running or now < self._next or intervals < FEWEST_INTERVALS:
            return
        self._next = now + _LONGEST_SECONDS  # unless it is known what it took
        self._file.unlink(missing_ok=True)
        os.link(piece.path, self._file)
        options = ["--by-type", "-k", str(FACTORS), "--format", "json", *(["--root", self._root] if self._root else [])]
        out, err = os.memfd_create("analysis"), os.memfd_create("complaint")
        process = subprocess.Popen(
            [sys.executable, "-c", _VERB, "analyze", str(self._file), *options],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        self._running = _Running(process, out, err, now, (piece.end - piece.begin) / 1e9, ended)

    def poll(self) -> Done | None:
        """What has ended, once."""
        running = self._running
        if running is None:
            return None
        if time.monotonic() - running.begun > _LONGEST_SECONDS:
            running.process.kill()
        # Not `Popen.poll`: it does not tell what the process took.
        pid, status, usage = os.wait4(running.process.pid, os.WNOHANG)
        if not pid:
            return None
        running.process.returncode = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime
        self._next = running.begun + cpu / self._budget
        document, reason = _document(running)
        self._end()
        return Done(document, reason, running.piece_seconds, running.piece_ended, cpu)

    def close(self) -> None:
        if self._running:
            self._running.process.kill()
            self._running.process.wait()
            self._end()

    def _end(self) -> None:
        if self._running:
            os.close(self._running.out)
            os.close(self._running.err)
        self._running = None
        self._file.unlink(missing_ok=True)


def _document(running: _Running) -> tuple[dict[str, Any] | None, str]:
    """Also of one that failed after it had printed it: nothing was ranked then."""
    try:
        return json.loads(_read(running.out)), ""
    except ValueError:
        told = _read(running.err).decode(errors="replace").strip().splitlines()
        return None, told[-1] if told else f"it ended with status {running.process.returncode}"


def _read(descriptor: int) -> bytes:
    with open(os.dup(descriptor), "rb") as file:  # noqa: PTH123  a descriptor is no path
        file.seek(0)
        return file.read()
