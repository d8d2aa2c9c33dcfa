"""A database made anew from its description, with the rows of another one of the same server.

tables without rows -> all rows, in one transaction -> functions, procedures, triggers -> views
"""

from __future__ import annotations

from collections.abc import Sequence

from vprof.verify.describe import Column, Description
from vprof.verify.statements import RefusedError, Server, execute, quoted

_MODE = "SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO', foreign_key_checks = 0"
"""Rows are taken as they are, also those that a stricter mode would refuse."""
_NO_SUCH_TABLE = 1146


def rebuild(server: Server, found: Description, source: str, copy: str) -> None:
    """Fills the database `copy`, which is there and empty. Raises UsageError if the server refuses something."""
    execute(server, f"USE {quoted(copy)}")
    execute(server, _MODE)
    for text in found.tables:
        execute(server, text)
    _fill(server, found.columns, source, copy)
    for mode, text in found.code:
        execute(server, "SET SESSION sql_mode = %s", mode)
        execute(server, text)
    execute(server, _MODE)
    _make_views(server, found.views)


def _fill(server: Server, tables: dict[str, list[Column]], source: str, copy: str) -> None:
    """All rows as they are at one time: those that were read stay locked until the end."""
    execute(server, "START TRANSACTION")
    for table, columns in tables.items():
        names = ", ".join(quoted(one.name) for one in columns if not one.generated)
        begin, end = (f"{quoted(one)}.{quoted(table)}" for one in (source, copy))
        execute(server, f"INSERT INTO {end} ({names}) SELECT {names} FROM {begin}")
    execute(server, "COMMIT")


def _make_views(server: Server, views: Sequence[str]) -> None:
    """Those of other views after these."""
    while views:
        later: list[str] = []
        for text in views:
            try:
                execute(server, text)
            except RefusedError as e:
                if e.number != _NO_SUCH_TABLE:
                    raise
                later.append(text)
                refused = e
        if len(later) == len(views):
            raise refused
        views = later
