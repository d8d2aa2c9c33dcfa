"""Statements for a server that PyMySQL speaks to, whose errors are one line."""

from __future__ import annotations

from typing import Any, TypeAlias

import pymysql
from pymysql.connections import Connection

from vprof.errors import UsageError

Server: TypeAlias = Connection


class RefusedError(UsageError):
    """`number`: of the server's error."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(text)
        self.number = number


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def message(error: Exception) -> str:
    """In one line."""
    return " ".join(str(error.args[-1] if error.args else error).split())


def execute(server: Server, text: str, *values: str) -> list[tuple[Any, ...]]:
    """Its rows. Raises RefusedError with the statement's first words if the server refuses it."""
    try:
        with server.cursor() as cursor:
            cursor.execute(text, values or None)
            return list(cursor.fetchall())
    except pymysql.Error as e:
        number = e.args[0] if e.args and isinstance(e.args[0], int) else 0
        raise RefusedError(f"{' '.join(text.split())[:60]}: {message(e)}", number) from e
