"""Copies of a database on a server that PyMySQL speaks to: made anew (describe.py, rebuild.py), since it makes none.

`server` of VERIFY.toml is words, `key=value`, of what a client's option file has, or the name of such a file.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from vprof.errors import UsageError
from vprof.transaction.client_program import ClientProgram
from vprof.verify.databases import Copy, Table, name_of_copy
from vprof.verify.describe import columns_of, describe
from vprof.verify.plan import Plan
from vprof.verify.rebuild import rebuild
from vprof.verify.statements import Server, execute, message, quoted

_WORDS = {
    "host": "host",
    "port": "port",
    "user": "user",
    "password": "password",
    "socket": "unix_socket",
    "defaults-file": "read_default_file",
}
"""What PyMySQL calls them."""

_PLACES = {"point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection"}
_BYTES = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bit", "geometry", *_PLACES}
_TEXTS = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"}


@dataclass(frozen=True)
class _Copy:
    connection: Server
    database: str

    @property
    def environment(self) -> dict[str, str]:
        """A name that is not there is a null pointer in C."""
        own = self.connection
        socket = own.unix_socket
        # A client in C takes localhost for a socket that it knows of.
        host = "127.0.0.1" if own.host == "localhost" and not socket else own.host
        found = {"VPROF_HOST": host, "VPROF_PORT": str(own.port), "VPROF_DATABASE": self.database}
        found |= {"VPROF_USER": _text(own.user), "VPROF_PASSWORD": _text(own.password)}
        return {**found, "VPROF_SOCKET": socket} if socket else found

    def tables(self) -> Iterator[Table]:
        for name, columns in columns_of(self.connection, self.database).items():
            yield Table(name, (name,), {one.name: one.kind for one in columns})

    def digest(self, table: Table) -> object:
        """The sum of 64 bits of each row's MD5, made of its columns' MD5."""
        each = ", ".join(f"ifnull(md5({_exact(*column)}), '-')" for column in table.columns.items())
        row = f"conv(left(md5(concat({each})), 16), 16, 10)"
        return execute(self.connection, f"SELECT count(*), sum(CAST({row} AS DECIMAL(20))) FROM {_path(table)}")

    def rows(self, table: Table) -> Counter[str]:
        each = ", ".join(f"ifnull({_shown(*column)}, 'NULL')" for column in table.columns.items())
        found = execute(self.connection, f"SELECT concat('(', concat_ws(',', {each}), ')') FROM {_path(table)}")
        return Counter(str(row) for (row,) in found)


def _text(value: bytes | str | None) -> str:
    return value.decode() if isinstance(value, bytes) else value or ""


def _path(table: Table) -> str:
    return ".".join(map(quoted, table.path))


def _exact(name: str, kind: str) -> str:
    """Without it, a float is the six digits that are shown of it."""
    return f"CAST({quoted(name)} AS DOUBLE)" if kind == "float" else quoted(name)


def _shown(name: str, kind: str) -> str:
    if kind in _BYTES:
        return f"concat('0x', hex({quoted(name)}))"
    text = f"convert({_exact(name, kind)} USING utf8mb4)"
    return f"quote({text})" if kind in _TEXTS else text


@contextmanager
def copies(plan: Plan, client: ClientProgram, names: Sequence[str]) -> Iterator[list[Copy]]:
    """As databases.Copies. The first one is made from the database, the others from the first one."""
    where = _where(plan.server)
    found: list[_Copy] = []
    with closing(_connected(where)) as server, ExitStack() as made:
        described = describe(server, plan.database, client.engines)
        for name in names:
            own = name_of_copy(name)
            execute(server, f"CREATE DATABASE {quoted(own)} {described.options}")
            made.callback(execute, server, f"DROP DATABASE {quoted(own)}")
            rebuild(server, described, found[0].database if found else plan.database, own)
            found.append(_Copy(made.enter_context(closing(_connected({**where, "database": own}))), own))
        yield [*found]


def _where(server: str) -> dict[str, Any]:
    """As PyMySQL takes it. Raises UsageError for a word that is none of those it may have."""
    try:
        words = [word.partition("=") for word in shlex.split(server)]
    except ValueError as e:
        raise UsageError(f"server: {e}") from e
    for key, _, value in words:
        if key not in _WORDS or not value:
            raise UsageError(f"server: {key} is none of its words: {', '.join(f'{one}=...' for one in _WORDS)}")
    found: dict[str, Any] = {_WORDS[key]: value for key, _, value in words}
    file, port = found.get("read_default_file"), found.get("port", "0")
    if file and not Path(file).is_file():
        raise UsageError(f"server: there is no file {file}")
    if not port.isdecimal():
        raise UsageError(f"server: the port {port} is no number")
    return {**found, "port": int(port)}


def _connected(where: dict[str, Any]) -> Server:
    try:
        return pymysql.connect(**where, charset="utf8mb4", autocommit=True)
    except (pymysql.Error, RuntimeError) as e:  # RuntimeError: a way to log in for which a library is missing
        raise UsageError(f"server: {message(e)}") from e
