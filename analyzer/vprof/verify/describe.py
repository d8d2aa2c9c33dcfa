"""How a database was made, in its server's own words for it (SHOW CREATE), none of which name the database.

What cannot be the same beside it is refused: sequences, tables that keep their history, tables of other engines, and
what names any database, since it would reach out of the copy. Events are left out: they would run by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vprof.errors import UsageError
from vprof.verify.statements import Server, execute, quoted

_COLUMNS = """SELECT table_name, column_name, data_type, coalesce(generation_expression, '') <> ''
FROM information_schema.tables JOIN information_schema.columns USING (table_schema, table_name)
WHERE table_schema = %s AND table_type = 'BASE TABLE' ORDER BY table_name, ordinal_position"""
_CHARSET = """SELECT default_character_set_name, default_collation_name FROM information_schema.schemata
WHERE schema_name = %s"""
_KINDS = "SELECT table_name, table_type, engine FROM information_schema.tables WHERE table_schema = %s ORDER BY 1"
_ROUTINES = "SELECT routine_type, routine_name FROM information_schema.routines WHERE routine_schema = %s ORDER BY 1, 2"
_TRIGGERS = """SELECT sql_mode, trigger_name, action_timing, event_manipulation, event_object_table, action_statement
FROM information_schema.triggers WHERE trigger_schema = %s ORDER BY event_object_table, action_order"""
_VIEWS = "SELECT table_name FROM information_schema.views WHERE table_schema = %s ORDER BY 1"

_QUOTED = re.compile(r"'(?:[^'\\]|\\.|'')*'", re.DOTALL)
_DEFINER = re.compile(r" DEFINER=`(?:[^`]|``)*`@`(?:[^`]|``)*`")
"""Who runs it: in the copy, who makes it."""


@dataclass(frozen=True)
class Column:
    name: str
    kind: str
    generated: bool


@dataclass(frozen=True)
class Description:
    """`options`: of the database. `tables`, `views`: the statements that make them. `code`: of functions, procedures
    and triggers, each with its mode of SQL. `columns`: by table."""

    options: str
    columns: dict[str, list[Column]]
    tables: list[str]
    code: list[tuple[str, str]]
    views: list[str]


def columns_of(server: Server, database: str) -> dict[str, list[Column]]:
    """Of its tables, by name."""
    found: dict[str, list[Column]] = {}
    for table, name, kind, generated in execute(server, _COLUMNS, database):
        found.setdefault(table, []).append(Column(name, kind, bool(generated)))
    return found


def describe(server: Server, database: str, engines: Sequence[str]) -> Description:
    """Raises UsageError if it cannot be copied. `engines`: those whose tables can."""
    charset = execute(server, _CHARSET, database)
    if not charset:
        raise UsageError(f"the server has no database {database} that this user may see")
    for name, kind, engine in execute(server, _KINDS, database):
        if kind not in ("BASE TABLE", "VIEW"):
            raise _cannot(f"{name} is a {kind.lower()}")
        if kind == "BASE TABLE" and engine not in engines:
            raise _cannot(f"table {name} is of the engine {engine}, not of {' or '.join(engines)}")
    columns, texts = columns_of(server, database), _Texts(server, database)
    return Description(
        "CHARACTER SET {} COLLATE {}".format(*charset[0]),
        columns,
        [texts.of("TABLE", name)[1] for name in columns],
        [*texts.routines(), *texts.triggers()],
        list(texts.views()),
    )


class _Texts:
    """Of statements. With tables and views, the server leaves out the name of the database that is in use."""

    def __init__(self, server: Server, database: str) -> None:
        self._server, self._database = server, database
        self._all = [name for (name,) in execute(server, "SHOW DATABASES")]
        self._others = [name for name in self._all if name != database]
        execute(server, f"USE {quoted(database)}")

    def of(self, kind: str, name: str) -> Sequence[str]:
        """What SHOW CREATE says."""
        [found] = execute(self._server, f"SHOW CREATE {kind} {quoted(name)}")
        if any(one is None for one in found[1:3]):
            raise _cannot(f"this user may not see the text of {kind.lower()} {name}")
        names = self._others if kind in ("TABLE", "VIEW") else self._all
        for text in found[1:3]:
            _check(f"{kind.lower()} {name}", text, names)
        return found

    def routines(self) -> Iterator[tuple[str, str]]:
        for kind, name in execute(self._server, _ROUTINES, self._database):
            if kind not in ("FUNCTION", "PROCEDURE"):
                raise _cannot(f"{name} is a {kind.lower()}")
            _, mode, text, *_ = self.of(kind, name)
            yield mode, _DEFINER.sub("", text, count=1)

    def triggers(self) -> Iterator[tuple[str, str]]:
        for mode, name, when, event, table, does in execute(self._server, _TRIGGERS, self._database):
            _check(f"trigger {name}", does, self._all)
            yield mode, f"CREATE TRIGGER {quoted(name)} {when} {event} ON {quoted(table)} FOR EACH ROW {does}"

    def views(self) -> Iterator[str]:
        for (name,) in execute(self._server, _VIEWS, self._database):
            yield _DEFINER.sub("", self.of("VIEW", name)[1], count=1)


def _check(what: str, text: str, names: Sequence[str]) -> None:
    any_name = "|".join(f"`{name}`|{name}" for name in map(re.escape, names))
    found = re.search(rf"(?<![\w$.`])({any_name})\s*\.\s*[`\w]", _QUOTED.sub("''", text), re.IGNORECASE)
    if found:
        raise _cannot(f"{what} names the database {found[1].strip('`')}")


def _cannot(why: str) -> UsageError:
    return UsageError(f"the database cannot be copied: {why}")
