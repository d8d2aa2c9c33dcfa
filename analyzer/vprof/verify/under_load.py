"""Both programs with several clients at once, in turn, each run on a copy of its own: compared as `vprof diff` does."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vprof.compare.diff import Diff, diff
from vprof.compare.run_metrics import MeasuredRun
from vprof.errors import VprofError
from vprof.tables.model import Int64
from vprof.verify.alone import SIDES
from vprof.verify.databases import Copies
from vprof.verify.plan import Load

_MORE_S = 60
"""For transactions that have begun."""


@dataclass(frozen=True)
class Loaded:
    """`returned`: how often each side's transaction returned which value."""

    diff: Diff
    returned: tuple[Counter[int], Counter[int]]


def under_load(programs: Sequence[Path], copies: Copies, load: Load, folder: Path) -> Loaded:
    """Rounds begin with the one side and the other in turn. Raises VprofError if a client fails."""
    runs: tuple[list[MeasuredRun], list[MeasuredRun]] = ([], [])
    returned: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    for number in range(load.rounds):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            name = f"{SIDES[side]} {number + 1}"
            with copies(["load"]) as [copy]:
                rows = _measured(programs[side], copy.environment, load, number, folder)
            if not len(rows):
                raise VprofError(f"{name}: no transaction ended: give more seconds")
            runs[side].append(_run(Path(name), rows))
            returned[side].update(rows[:, 2].tolist())
    return Loaded(diff(*runs), returned)


def _measured(program: Path, where: Mapping[str, str], load: Load, number: int, folder: Path) -> Int64:
    """A row for each transaction: begin, end, value."""
    files = [folder / f"client{client}" for client in range(load.clients)]
    clients = [
        subprocess.Popen(
            [program, "load", str(load.seconds), str(1000 * number + at), file],
            env={**os.environ, **where},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for at, file in enumerate(files, 1)
    ]
    try:
        for client in clients:
            _, said = client.communicate(timeout=load.seconds + _MORE_S)
            if client.returncode:
                raise VprofError(f"a client ended with exit code {client.returncode}: {' '.join(said.split()[:40])}")
    except subprocess.TimeoutExpired as e:
        raise VprofError(f"a client did not end within {_MORE_S} s after its time") from e
    finally:
        for client in clients:
            client.kill()
            client.wait()
    texts = [file.read_text(encoding="utf-8").split() for file in files]
    return np.concatenate([np.array(text, np.int64).reshape(-1, 3) for text in texts])


def _run(name: Path, rows: Int64) -> MeasuredRun:
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    return MeasuredRun(name, rows[:, 0], rows[:, 1] - rows[:, 0], np.zeros(0, np.int64), {}, [], [])
