"""The same calls with both programs, each alone on its own copy: what they print, and all tables, after each call."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vprof.errors import VprofError
from vprof.verify.databases import Copy, Table, compared
from vprof.verify.main_text import NO_CONNECTION

SIDES = ("original", "reordered")
_PATIENCE_S = 60


@dataclass(frozen=True)
class Difference:
    """`run`: counted from 1. `where`: the table, or "the output". What each side has there, and the other has not; ""
    if that is nothing."""

    run: int
    call: str
    where: str
    columns: tuple[str, ...]
    original: str
    reordered: str


@dataclass(frozen=True)
class Alone:
    """`runs`: those made. `tables`: those compared."""

    runs: int
    tables: int
    difference: Difference | None


def alike(programs: Sequence[Path], calls: Sequence[str], two: Sequence[Copy], ignore: frozenset[str]) -> Alone:
    """Up to the first call after which something differs. `programs`, `two`: in the order of SIDES."""
    tables = compared(two[0].tables(), ignore)
    if early := _in_tables(0, "", tables, two):
        raise VprofError(
            f"the copies differ in {early.where} before the first call: is somebody writing to the database?"
        )
    for number, call in enumerate(calls):
        said = [_output(program, number, copy) for program, copy in zip(programs, two, strict=True)]
        found = _in_output(number, call, said) or _in_tables(number, call, tables, two)
        if found:
            return Alone(number + 1, len(tables), found)
    return Alone(len(calls), len(tables), None)


def _output(program: Path, number: int, copy: Copy) -> str:
    """What the call prints, with how it ended."""
    try:
        done = subprocess.run(
            [program, str(number)],
            env={**os.environ, **copy.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"(did not end within {_PATIENCE_S} s)\n"
    if done.returncode == NO_CONNECTION:
        raise VprofError(f"no connection to the copy: {' '.join(done.stderr.split())}")
    return done.stdout + (f"(exit code {done.returncode})\n" if done.returncode else "")


def _in_output(number: int, call: str, said: Sequence[str]) -> Difference | None:
    if said[0] == said[1]:
        return None
    lines = [one.splitlines() for one in said]
    same = next((at for at, (a, b) in enumerate(zip(*lines, strict=False)) if a != b), min(map(len, lines)))
    own = [one[same] if same < len(one) else "" for one in lines]
    return Difference(number + 1, call, "the output", (), own[0], own[1])


def _in_tables(number: int, call: str, tables: Sequence[Table], two: Sequence[Copy]) -> Difference | None:
    for table in tables:
        if two[0].digest(table) != two[1].digest(table):
            rows = [one.rows(table) for one in two]
            own = [_first(rows[0] - rows[1]), _first(rows[1] - rows[0])]
            return Difference(number + 1, call, f"table {table.called}", tuple(table.columns), own[0], own[1])
    return None


def _first(rows: Counter[str]) -> str:
    return min(rows, default="")
