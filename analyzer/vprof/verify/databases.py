"""Copies of a database on its own server, and what their tables have in them.

Only what was made here is dropped. A copy can be made only while nobody uses the database.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import Connection, conninfo, sql

from vprof.errors import UsageError
from vprof.verify.plan import Plan

_TABLES = """SELECT n.nspname, c.relname,
       array(SELECT a.attname::text FROM pg_attribute a
             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
ORDER BY 1, 2"""
_DIGEST = "SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) FROM (SELECT {} FROM {}) t"
_ROWS = "SELECT t::text FROM (SELECT {} FROM {}) t"


@dataclass(frozen=True)
class Table:
    """`columns`: those that are compared."""

    schema: str
    name: str
    columns: tuple[str, ...]

    @property
    def called(self) -> str:
        return self.name if self.schema == "public" else f"{self.schema}.{self.name}"

    def query(self, text: str) -> sql.Composed:
        columns = sql.SQL(", ").join(map(sql.Identifier, self.columns))
        return sql.SQL(text).format(columns, sql.Identifier(self.schema, self.name))


@dataclass(frozen=True)
class Copy:
    connection: Connection
    where: str
    """Its connection string."""

    def tables(self, ignore: frozenset[str]) -> list[Table]:
        """`ignore`: columns as table.column, or whole tables. Raises UsageError if one is not there."""
        found, left = [], set(ignore)
        for schema, name, columns in self.connection.execute(_TABLES):
            table = Table(schema, name, tuple(one for one in columns))
            names = {f"{table.called}.{one}" for one in columns}
            kept = tuple(one for one in columns if f"{table.called}.{one}" not in ignore)
            left -= names | {table.called}
            if kept and table.called not in ignore:
                found.append(Table(schema, name, kept))
        if left:
            raise UsageError(f"ignore names {min(left)}: the database has no such table or column (table.column)")
        return found

    def digest(self, table: Table) -> object:
        return self.connection.execute(table.query(_DIGEST)).fetchone()

    def rows(self, table: Table) -> Counter[str]:
        return Counter(row for (row,) in self.connection.execute(table.query(_ROWS)))


@contextmanager
def copies(plan: Plan, names: Sequence[str]) -> Iterator[list[Copy]]:
    """One of the database for each name. Raises UsageError if the server refuses."""
    found = []
    with _connected(plan.server, plan.maintenance) as server, ExitStack() as made:
        for name in names:
            own = f"vprof_{os.getpid()}_{name}"
            _execute(server, "CREATE DATABASE {} TEMPLATE {}", own, plan.database)
            made.callback(_execute, server, "DROP DATABASE {} WITH (FORCE)", own)
            where = conninfo.make_conninfo(plan.server, dbname=own)
            found.append(Copy(made.enter_context(closing(_connected(where, own))), where))
        yield found


def _connected(where: str, database: str | None) -> Connection:
    try:
        if database and "dbname" not in conninfo.conninfo_to_dict(where):
            where = conninfo.make_conninfo(where, dbname=database)
        return psycopg.connect(where, autocommit=True)
    except psycopg.Error as e:
        raise UsageError(f"server: {_one_line(e)}") from e


def _execute(server: Connection, text: str, *names: str) -> None:
    try:
        server.execute(sql.SQL(text).format(*map(sql.Identifier, names)))
    except psycopg.Error as e:
        raise UsageError(f"{text.format(*names)}: {_one_line(e)}") from e


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
