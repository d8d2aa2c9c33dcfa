"""Copies of a database on a server that libpq speaks to: the server makes them, while nobody uses the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import Connection, conninfo, sql

from vprof.errors import UsageError
from vprof.transaction.client_program import ClientProgram
from vprof.verify.databases import Copy, Table, name_of_copy
from vprof.verify.plan import Plan

_TABLES = """SELECT n.nspname, c.relname,
       array(SELECT ARRAY[a.attname::text, format_type(a.atttypid, NULL)] FROM pg_attribute a
             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
ORDER BY 1, 2"""
_DIGEST = "SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) FROM (SELECT {} FROM {}) t"
_ROWS = "SELECT t::text FROM (SELECT {} FROM {}) t"


@dataclass(frozen=True)
class _Copy:
    connection: Connection
    where: str
    """Its connection string."""

    @property
    def environment(self) -> dict[str, str]:
        return {"VPROF_CONNECTION": self.where}

    def tables(self) -> Iterator[Table]:
        for schema, name, columns in self.connection.execute(_TABLES):
            yield Table(name if schema == "public" else f"{schema}.{name}", (schema, name), dict(columns))

    def digest(self, table: Table) -> object:
        return self.connection.execute(_about(table, _DIGEST)).fetchone()

    def rows(self, table: Table) -> Counter[str]:
        return Counter(row for (row,) in self.connection.execute(_about(table, _ROWS)))


def _about(table: Table, text: str) -> sql.Composed:
    columns = sql.SQL(", ").join(map(sql.Identifier, table.columns))
    return sql.SQL(text).format(columns, sql.Identifier(*table.path))


@contextmanager
def copies(plan: Plan, client: ClientProgram, names: Sequence[str]) -> Iterator[list[Copy]]:
    """As databases.Copies."""
    found: list[Copy] = []
    with _connected(plan.server, client.maintenance) as server, ExitStack() as made:
        for name in names:
            own = name_of_copy(name)
            _execute(server, "CREATE DATABASE {} TEMPLATE {}", own, plan.database)
            made.callback(_execute, server, "DROP DATABASE {} WITH (FORCE)", own)
            where = conninfo.make_conninfo(plan.server, dbname=own)
            found.append(_Copy(made.enter_context(closing(_connected(where, own))), where))
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
