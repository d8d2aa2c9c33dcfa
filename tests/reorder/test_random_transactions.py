"""Random transactions leave the same database, reordered or not: as `vprof reorder --verify` runs them.

VPROF_EXAMPLES=6 python -m pytest tests/reorder/test_random_transactions.py    300 with each client library (minutes)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pymysql
import pytest
import random_libmariadb
import random_libpq
from properties import named, seeds
from random_transactions import Writing, caller, transaction
from real_servers import mariadb, postgres
from reordered import INCLUDES, index_of, reorder

from vprof.transaction.clients import known_calls
from vprof.verify.plan import Plan
from vprof.verify.verifying import verify

LOT = 25
"""So many are compiled into one program, for one seed of the test."""


@dataclass(frozen=True)
class Side:
    """`query`: a function of the client library. `server`: what VERIFY.toml says of it."""

    writing: Writing
    query: str
    server: str


@contextmanager
def with_libpq() -> Iterator[Side]:
    with postgres(["fsync=off"]) as running:
        where = f"host={running.socket} user=vprof"
        with psycopg.connect(f"{where} dbname=vprof") as connection:
            connection.execute(random_libpq.schema)
        yield Side(random_libpq, "PQexec", where)


@contextmanager
def with_libmariadb() -> Iterator[Side]:
    with mariadb(["innodb_flush_log_at_trx_commit=0"]) as running:
        where = {"unix_socket": str(running.socket), "user": "vprof", "database": "vprof"}
        with closing(pymysql.connect(**where)) as connection, connection.cursor() as cursor:
            for statement in random_libmariadb.schema.splitlines():
                cursor.execute(statement)
        yield Side(random_libmariadb, "mysql_query", f"socket={running.socket} user=vprof")


@pytest.fixture(scope="module", params=[with_libpq, with_libmariadb], ids=["libpq", "libmariadb"])
def side(request: pytest.FixtureRequest) -> Iterator[Side]:
    with request.param() as found:
        yield found


@seeds(2)
def test_random_transactions_do_the_same(
    seed: int, side: Side, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "clang-19")
    own = range(seed * LOT, (seed + 1) * LOT)
    texts = []
    for number in own:
        with named(number):
            texts.append(both(number, side.writing, tmp_path))
    names = [f"t{number}" for number in own]
    before, after = ("".join(text) + caller(names, side.writing) for text in zip(*texts, strict=True))
    plan = Plan(
        folder=tmp_path,
        server=side.server,
        database="vprof",
        call="pick(conn, {number}, {p}, {q})",
        inputs={"number": (0, LOT - 1), "p": (1, 9), "q": (1, 9)},
        runs=4 * LOT,
    )
    client = known_calls()[side.query].program
    assert client
    options = [*INCLUDES, "-Werror=uninitialized"]
    found = verify(tmp_path / "all.c", before.encode(), after.encode(), plan, client, options)
    assert found.alone.difference is None
    assert found.alone.tables == 4
    assert sum(one != other for one, other in texts) > LOT // 4


def both(seed: int, writing: Writing, folder: Path) -> tuple[str, str]:
    """A transaction as it is, and reordered."""
    name = f"t{seed}"
    (folder / "schema.sql").write_text(writing.schema)
    (folder / "calls.toml").write_text(writing.calls)
    file = folder / f"{name}.c"
    before = transaction(seed, name, writing)
    file.write_text(before)
    (folder / "index.json").write_text(json.dumps(index_of(before)))
    options = ["--index", folder / "index.json", "--schema", folder / "schema.sql", "--calls", folder / "calls.toml"]
    done = reorder(file, "--function", name, *options, "--apply")
    assert done.exit_code == 0, done.exception
    return before, file.read_text()
