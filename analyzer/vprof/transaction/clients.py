"""What calls do: the tables of annotations/clients (its README.md has the words), and those a user gives."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot.dialects.dialect import Dialect

from vprof.errors import UsageError
from vprof.installed import annotations_folder
from vprof.transaction.client_program import ClientProgram, client_program
from vprof.transaction.sql import Query

ROLES = {"value", "in", "out", "inout", "ins", "outs", "null", "end", "connection", "sql", "state", "take"}
"""What an argument is for."""
_ENDS = {"begin", "commit", "rollback"}
_RETURNS = re.compile(r"value|new|state|argument \d+")


@dataclass(frozen=True)
class Call:
    """`arguments`: the role of each, `rest` that of all others. `returns`: `value`, `new`, `state` or `argument N`.
    `transaction`: what it does to one, without SQL. `visible`: others than the program see that it was called.
    `leaves`: it does not return.
    `dialect`: of the SQL text, None for functions that are no client's. `queries`: what it always sends. `program`: its
    client's, None if nobody knows it."""

    name: str
    arguments: tuple[str, ...]
    rest: str
    returns: str
    transaction: str | None
    visible: bool
    leaves: bool
    dialect: str | None
    queries: tuple[Query, ...] = ()
    program: ClientProgram | None = None

    def role(self, position: int) -> str:
        return self.arguments[position] if position < len(self.arguments) else self.rest

    @property
    def asks(self) -> bool:
        """It sends SQL."""
        return "sql" in self.arguments or bool(self.queries)

    @property
    def returned_argument(self) -> int | None:
        """The argument whose memory it returns a pointer into."""
        return int(self.returns.removeprefix("argument ")) if self.returns.startswith("argument ") else None


Calls = dict[str, Call]


def known_calls(more: Iterable[Path] = ()) -> Calls:
    """By the function's name; later files change what earlier ones say. Raises UsageError if a file is wrong."""
    found: Calls = {}
    for path in [*sorted((annotations_folder() / "clients").glob("*.toml")), *more]:
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            found.update({call.name: call for call in _calls(table)})
        except OSError as e:
            raise UsageError(f"cannot read {path}: {e.strerror}") from e
        except (tomllib.TOMLDecodeError, ValueError, KeyError, TypeError, AttributeError) as e:
            raise UsageError(f"{path}: {e}") from e
    return found


def _program(table: dict[str, Any]) -> ClientProgram | None:
    """Its own, or that of a description in annotations/clients, by name."""
    own = table.get("program")
    if isinstance(own, str):
        path = annotations_folder() / "clients" / f"{own}.toml"
        if not path.is_file():
            raise ValueError(f"program: annotations/clients describes no {own}")
        own = tomllib.loads(path.read_text(encoding="utf-8")).get("program")
    return None if own is None else client_program(own)


def _calls(table: dict[str, Any]) -> Iterable[Call]:
    program, dialect = _program(table), table.get("dialect")
    if dialect and Dialect.get(dialect) is None:
        raise ValueError(f"dialect: sqlglot knows no {dialect}")
    for entry in table.get("call", ()):
        names, arguments, rest = entry["function"], tuple(entry.get("arguments", ())), entry.get("rest", "value")
        strange = {*arguments, rest} - ROLES
        if strange:
            raise ValueError(f"{names}: no argument can be {', '.join(sorted(strange))}")
        if entry.get("transaction", "begin") not in _ENDS:
            raise ValueError(f"{names}: transaction must be begin, commit or rollback")
        returns = entry.get("returns", "value")
        if not _RETURNS.fullmatch(returns):
            raise ValueError(f"{names}: returns must be value, new, state or argument N")
        for name in [names] if isinstance(names, str) else names:
            yield Call(
                name,
                arguments,
                rest,
                returns,
                entry.get("transaction"),
                entry.get("visible", False),
                entry.get("leaves", False),
                dialect,
                program=program,
            )
