"""What verifying asks of a server: copies of a database, their tables, and what these have in them.

by_psycopg.py and by_pymysql.py answer, each for the servers that its library speaks to. Only what was made here is
dropped.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from vprof.errors import UsageError


@dataclass(frozen=True)
class Table:
    """`called`: in reports. `path`: what it is called in SQL, name by name, in any copy. `columns`: those that are
    compared, with their types."""

    called: str
    path: tuple[str, ...]
    columns: Mapping[str, str]


class Copy(Protocol):
    """Of a database, with a connection that sees at once what others commit."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Of a program that is to connect to it: the variables that its client's `open` and `connected` read."""

    def tables(self) -> Iterable[Table]:
        """All, with all columns."""

    def digest(self, table: Table) -> object:
        """The same for two tables that have the same rows, in whatever order, and hardly ever for others."""

    def rows(self, table: Table) -> Counter[str]:
        """As text."""


Copies = Callable[[Sequence[str]], AbstractContextManager[list[Copy]]]
"""One copy of the database for each name, until the context ends. Raises UsageError if the server refuses."""


def compared(tables: Iterable[Table], ignore: frozenset[str]) -> list[Table]:
    """`ignore`: columns as table.column, or whole tables. Raises UsageError if one is not there."""
    found, left = [], set(ignore)
    for table in tables:
        kept = {name: kind for name, kind in table.columns.items() if f"{table.called}.{name}" not in ignore}
        left -= {table.called, *(f"{table.called}.{name}" for name in table.columns)}
        if kept and table.called not in ignore:
            found.append(replace(table, columns=kept))
    if left:
        raise UsageError(f"ignore names {min(left)}: the database has no such table or column (table.column)")
    return found


def name_of_copy(name: str) -> str:
    """Of this process."""
    return f"vprof_{os.getpid()}_{name}"
