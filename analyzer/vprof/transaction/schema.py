"""What a schema adds: views read their tables, foreign keys look at or change other tables, triggers do anything.

In: the SQL that made the tables, as `pg_dump -s` or `mysqldump -d` write it. Of what is not understood (a function of a
trigger in another language) it is assumed that it changes all tables.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from vprof.errors import UsageError
from vprof.transaction.sql import Access, Query, parse, table_name

_ANY = "*"
"""Stands for all tables."""

_BODY = re.compile(r"\$(\w*)\$(.*?)\$\1\$", re.DOTALL)
_FUNCTION = re.compile(r"create\s+(?:or\s+replace\s+)?(?:function|procedure)\s+([\w.\"`]+)\s*\(", re.IGNORECASE)
_TRIGGER = re.compile(
    r"create\s+(?:or\s+replace\s+)?(?:constraint\s+)?trigger\s+[\w.\"`]+\s+(?:before|after|instead\s+of)\s+(.+?)\s+on\s+"
    r"([\w.\"`]+)\s+(.*)",
    re.IGNORECASE | re.DOTALL,
)
_EXECUTES = re.compile(r"execute\s+(?:function|procedure)\s+([\w.\"`]+)", re.IGNORECASE)
_EVENT = re.compile(r"insert|update|delete", re.IGNORECASE)
_QUERY = re.compile(r"\s*(select|insert|update|delete|with)\b", re.IGNORECASE)
_HARMLESS = re.compile(r"\s*(return\b.*|begin|end|null)?\s*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class ForeignKey:
    """`columns` of `table` name rows of `parent` by its `keys`. `changes`: the parent's changes change it."""

    table: str
    columns: frozenset[str]
    parent: str
    keys: frozenset[str] | None
    changes: bool


@dataclass
class Schema:
    """`triggers`: by table and event."""

    views: dict[str, tuple[Access, ...]] = field(default_factory=dict)
    keys: list[ForeignKey] = field(default_factory=list)
    triggers: dict[tuple[str, str], tuple[Access, ...]] = field(default_factory=dict)

    def conflicts(self, one: Query, other: Query) -> Iterator[str]:
        """Why two queries must keep their order."""
        for a in self.accesses(one):
            for b in self.accesses(other):
                if _conflict(a, b):
                    yield "; ".join(dict.fromkeys(filter(None, (_table(a, b), a.via, b.via))))

    def accesses(self, query: Query) -> list[Access]:
        """With all that follows from them."""
        found = list(query.accesses)
        for one in found:  # grows
            more = [*self._of_view(one), *self._of_keys(one), *self._of_triggers(one)]
            found += [access for access in more if access not in found]
        return found

    def _of_view(self, one: Access) -> Iterator[Access]:
        for inner in self.views.get(one.table, ()):
            yield Access(inner.table, one.write, None, one.event, f"{one.table} is a view of {inner.table}")

    def _of_keys(self, one: Access) -> Iterator[Access]:
        if not one.write:
            return
        for key in self.keys:
            why = f"a foreign key of {key.table} names rows of {key.parent}"
            if key.table == one.table and one.event != "delete" and _meet(one.columns, key.columns):
                yield Access(key.parent, False, key.keys or frozenset({_ANY}), "key", why)
            if key.parent == one.table and one.event != "insert" and _meet(one.columns, key.keys):
                yield Access(key.table, key.changes, key.columns, "update" if key.changes else "key", why)

    def _of_triggers(self, one: Access) -> Iterator[Access]:
        if one.write:
            for inner in self.triggers.get((one.table, one.event), ()):
                why = f"a trigger of {one.table}"
                yield Access(inner.table, inner.write, inner.columns, inner.event, why)


def _meet(one: frozenset[str] | None, other: frozenset[str] | None) -> bool:
    return one is None or other is None or _ANY in one | other or bool(one & other)


def _conflict(one: Access, other: Access) -> bool:
    if not (one.write or other.write) or (one.table != other.table and _ANY not in (one.table, other.table)):
        return False
    # A foreign key looks at its columns only; queries count whole, whatever columns they name.
    return _meet(one.columns, other.columns) if "key" in (one.event, other.event) else True


def _table(one: Access, other: Access) -> str:
    table = other.table if one.table == _ANY else one.table
    if table == _ANY:
        return "each may change any table"
    return f"both change {table}" if one.write and other.write else f"one changes {table}, which the other one reads"


def load(path: Path, dialect: str) -> Schema:
    """Raises UsageError if there is no such file."""
    try:
        return parse_schema(path.read_text(encoding="utf-8"), dialect)
    except (OSError, UnicodeDecodeError) as e:
        raise UsageError(f"cannot read {path}: {e}") from e


def parse_schema(text: str, dialect: str) -> Schema:
    """Statements that are not understood are passed over, unless they make a trigger or a view."""
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    schema, functions = Schema(), {}
    for statement in _statements(text):
        function = _FUNCTION.match(statement)
        trigger = _TRIGGER.match(statement)
        if function:
            functions[_name(function[1])] = _BODY.search(statement)
        elif trigger:
            body = _EXECUTES.search(trigger[3])
            inner = functions.get(_name(body[1])) if body else None
            code = (inner[2] if inner else None) if body else re.sub(r"^for\s+each\s+row", "", trigger[3], flags=re.I)
            does = _effects(code, dialect)
            for event in _EVENT.findall(trigger[1]):
                key = (_name(trigger[2]), event.lower())
                schema.triggers[key] = (*schema.triggers.get(key, ()), *does)
        else:
            _add(schema, statement, dialect)
    return schema


def _name(text: str) -> str:
    return re.sub(r"[\"`]", "", text).split(".")[-1].lower()


def _statements(text: str) -> Iterator[str]:
    """Ends of statements are semicolons outside of quotes, bodies of functions and `BEGIN ... END`."""
    text = re.sub(r"--[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"^\s*delimiter\s+\S+\s*$", "", text, flags=re.IGNORECASE | re.MULTILINE)
    held = ""
    for part in re.split(r"(\$\w*\$.*?\$\w*\$|'(?:[^']|'')*'|;)", text, flags=re.DOTALL):
        if part == ";" and not _is_open(held):
            yield held.strip()
            held = ""
        else:
            held += part
    if held.strip():
        yield held.strip()


def _is_open(statement: str) -> bool:
    """Whether it is a trigger whose BEGIN has no END yet."""
    if not _TRIGGER.match(statement.strip()):
        return False
    words = re.findall(r"\b(?:begin|case|if|loop|end)\b", statement, re.IGNORECASE)
    return bool(words) and words[0].lower() == "begin" and words[-1].lower() != "end"


def _effects(code: str | None, dialect: str) -> tuple[Access, ...]:
    """Of the code of a trigger."""
    unknown = (Access(_ANY, True, None, "update"),)
    if code is None:
        return unknown
    found: list[Access] = []
    code = re.sub(r"^\s*(declare\b.*?)?begin\b|\bend\s*;?\s*$", "", code.strip(), flags=re.IGNORECASE | re.DOTALL)
    for one in code.split(";"):
        if _HARMLESS.fullmatch(one):
            continue
        query = parse(one, dialect) if _QUERY.match(one) else None
        if query is None or query.unknown or query.control:
            return unknown
        found += query.accesses
    return tuple(found)


def _add(schema: Schema, statement: str, dialect: str) -> None:
    try:
        tree = sqlglot.parse_one(statement, read=dialect or None)
    except (SqlglotError, RecursionError):
        tree = None
    kind = str(tree.args.get("kind", "")).upper() if isinstance(tree, exp.Create | exp.Alter) else ""
    if re.match(r"create\s+.*?\bview\b", statement, re.IGNORECASE) and kind != "VIEW":
        raise UsageError(f"a view of the schema is not understood: {' '.join(statement.split())[:60]}")
    if tree is None:
        return
    if kind == "VIEW":
        view = tree.find(exp.Table)
        inner = tree.expression
        if view is not None and inner is not None:
            tables = {table_name(one) for one in inner.find_all(exp.Table)}
            schema.views[table_name(view)] = tuple(Access(one, False) for one in sorted(tables))
    elif kind == "TABLE":
        table = tree.find(exp.Table)
        if table is not None:
            schema.keys += _keys(tree, table_name(table))


def _keys(tree: exp.Expr, table: str) -> Iterator[ForeignKey]:
    for reference in tree.find_all(exp.Reference):
        target = reference.this
        parent = target.find(exp.Table) if target is not None else None
        if parent is None:
            continue
        keys = frozenset(one.name.lower() for one in getattr(target, "expressions", ()))
        outer = reference.parent
        while outer is not None and not isinstance(outer, exp.ForeignKey | exp.ColumnDef):
            outer = outer.parent
        if isinstance(outer, exp.ForeignKey):
            columns = frozenset(one.name.lower() for one in outer.expressions)
        else:
            columns = frozenset({outer.name.lower()}) if outer is not None else frozenset()
        words = tree.sql().upper()
        changes = any(f"ON {event} {does}" in words for event in ("DELETE", "UPDATE") for does in ("CASCADE", "SET"))
        yield ForeignKey(table, columns, table_name(parent), keys or None, changes)
