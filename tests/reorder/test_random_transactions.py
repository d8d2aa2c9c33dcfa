"""Random transactions leave the same database, reordered or not: as `vprof reorder --verify` runs them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from properties import named, seeds
from random_transactions import SCHEMA, caller, transaction
from real_servers import RealServer, postgres
from reordered import INCLUDES, index_of, reorder

from vprof.verify.plan import Plan
from vprof.verify.verifying import verify

LOT = 25
"""So many are compiled into one program, for one seed of the test."""


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with postgres(["fsync=off"]) as running:
        with psycopg.connect(f"host={running.socket} user=vprof dbname=vprof") as connection:
            connection.execute(SCHEMA)
        yield running


@seeds(2)
def test_random_transactions_do_the_same(
    seed: int, server: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "clang-19")
    own = range(seed * LOT, (seed + 1) * LOT)
    texts = []
    for number in own:
        with named(number):
            texts.append(both(number, tmp_path))
    names = [f"t{number}" for number in own]
    before, after = ("".join(side) + caller(names) for side in zip(*texts, strict=True))
    plan = Plan(
        folder=tmp_path,
        server=f"host={server.socket} user=vprof",
        database="vprof",
        call="pick(conn, {number}, {p}, {q})",
        inputs={"number": (0, LOT - 1), "p": (1, 9), "q": (1, 9)},
        runs=4 * LOT,
        maintenance="postgres",
    )
    options = [*INCLUDES, "-Werror=uninitialized"]
    found = verify(tmp_path / "all.c", before.encode(), after.encode(), plan, options)
    assert found.alone.difference is None
    assert found.alone.tables == 4
    assert sum(one != other for one, other in texts) > LOT // 4


def both(seed: int, folder: Path) -> tuple[str, str]:
    """A transaction as it is, and reordered."""
    name = f"t{seed}"
    (folder / "schema.sql").write_text(SCHEMA)
    file = folder / f"{name}.c"
    before = transaction(seed, name)
    file.write_text(before)
    (folder / "index.json").write_text(json.dumps(index_of(before)))
    options = ["--index", folder / "index.json", "--schema", folder / "schema.sql", "--apply"]
    done = reorder(file, "--function", name, *options)
    assert done.exit_code == 0, done.exception
    return before, file.read_text()
