"""Random transactions leave the same database, reordered or not: run alone, on PostgreSQL, from the same rows."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from properties import named, seeds
from random_transactions import SCHEMA, runner, transaction
from real_servers import RealServer, postgres
from reordered import INCLUDES, index_of, reorder

LOT = 25
"""So many are compiled into one program, for one seed of the test."""


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with postgres(["fsync=off"]) as running:
        yield running


def where(server: RealServer) -> str:
    return f"host={server.socket} user=vprof dbname=vprof"


@seeds(2)
def test_random_transactions_do_the_same(seed: int, server: RealServer, tmp_path: Path) -> None:
    own = range(seed * LOT, (seed + 1) * LOT)
    moved = 0
    for number in own:
        with named(number):
            moved += write_both(number, tmp_path)
    plain, other = (run(tmp_path, kind, own, server) for kind in ("plain", "reordered"))
    assert plain == other
    assert len(set(plain)) > LOT and moved > LOT // 4


def write_both(seed: int, folder: Path) -> bool:
    """Whether the second one differs."""
    name = f"t{seed}"
    (folder / "schema.sql").write_text(SCHEMA)
    for kind in ("plain", "reordered"):
        (folder / kind).mkdir(exist_ok=True)
        (folder / kind / f"{name}.c").write_text(transaction(seed, name))
    file = folder / "reordered" / f"{name}.c"
    before = file.read_text()
    (folder / "index.json").write_text(json.dumps(index_of(before)))
    options = ["--index", folder / "index.json", "--schema", folder / "schema.sql", "--apply"]
    done = reorder(file, "--function", name, *options)
    assert done.exit_code == 0, done.exception
    return file.read_text() != before


def run(folder: Path, kind: str, seeds: range, server: RealServer) -> list[str]:
    """What all of them print, a line for each run."""
    names = [f"t{seed}" for seed in seeds]
    (folder / kind / "main.c").write_text(runner(names))
    sources = [f"{name}.c" for name in [*names, "main"]]
    command = ["clang-19", "-Werror=uninitialized", "-o", "all", *sources, *INCLUDES, "-lpq"]
    subprocess.run(command, cwd=folder / kind, check=True)
    done = subprocess.run([folder / kind / "all", where(server), SCHEMA], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()
