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
from vprof.transaction.schema_text import statements
from vprof.transaction.sql import Access, Query, parse, table_name, unknown_function

_ANY = "*"
"""Stands for all tables."""

_PART_OF_NAME = r"(?:`[^`]*`|\"[^\"]*\"|[\w$]+)"
_NAME = rf"({_PART_OF_NAME}(?:\.{_PART_OF_NAME})*)"


def _like(words: str) -> re.Pattern[str]:
    """As statements are written: blanks stand for any space, NAME is a name."""
    text = words.replace("NAME", _NAME).replace("[or replace] ", r"(?:or\s+replace\s+)?").replace(" ", r"\s+")
    return re.compile(text, re.IGNORECASE | re.DOTALL)


_BODY = re.compile(r"\$(\w*)\$(.*?)\$\1\$", re.DOTALL)
_FUNCTION = _like(r"create [or replace] (?:function|procedure) NAME\s*\(")
_TRIGGER = _like(
    r"create [or replace] (?:definer\s*=\s*\S+ )?(?:constraint )?trigger (?:if not exists )?NAME "
    r"(?:before|after|instead of) (.+?) on NAME (.*)"
)
_EXECUTES = _like(r"execute (?:function|procedure) NAME")
_RULE = _like(r"create [or replace] rule NAME as on (\w+) to NAME")
_MAKES = _like(
    r"create [or replace] (?:(?:algorithm|definer)\s*=\s*\S+ |sql security \w+ |constraint |materialized |"
    r"temp(?:orary)? |recursive )*(view|trigger|rule)\b"
)
_TABLE = _like(r"(?:create (?:\w+ )?|alter )table (?:if (?:not )?exists )?(?:only )?NAME")
_REFERENCES = _like(r"\breferences NAME")
_PART_OF = _like(r" partition of NAME")
_PART = _like(r" attach partition NAME")
_INHERITS = re.compile(r"\binherits\s*\(([^)]*)\)", re.IGNORECASE)
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
    """`triggers`: by table and event. `parts`: tables whose rows are rows of another one, in both directions."""

    views: dict[str, tuple[Access, ...]] = field(default_factory=dict)
    keys: list[ForeignKey] = field(default_factory=list)
    triggers: dict[tuple[str, str], tuple[Access, ...]] = field(default_factory=dict)
    parts: list[tuple[str, str]] = field(default_factory=list)

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
            more = [*self._of_view(one), *self._of_parts(one), *self._of_keys(one), *self._of_triggers(one)]
            found += [access for access in more if access not in found]
        return found

    def _of_view(self, one: Access) -> Iterator[Access]:
        for inner in self.views.get(one.table, ()):
            why = f"{one.table} is a view of {inner.table}" if inner.table != _ANY else f"{one.table} calls functions"
            yield Access(inner.table, one.write or inner.write, None, one.event, why)

    def _of_parts(self, one: Access) -> Iterator[Access]:
        for part, whole in self.parts:
            if one.table in (part, whole):
                other = whole if one.table == part else part
                yield Access(other, one.write, one.columns, one.event, f"{part} is a part of {whole}")

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
    """Statements that are not understood are passed over, unless they make a table, a trigger or a view."""
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    schema, functions = Schema(), {}
    for statement in statements(text, dialect, _is_open):
        if function := _FUNCTION.match(statement):
            functions[_name(function[1])] = _BODY.search(statement)
        elif trigger := _TRIGGER.match(statement):
            body = _EXECUTES.search(trigger[4])
            inner = functions.get(_name(body[1])) if body else None
            code = (inner[2] if inner else None) if body else re.sub(r"^for\s+each\s+row", "", trigger[4], flags=re.I)
            for event in _EVENT.findall(trigger[2]):
                _add_trigger(schema, _name(trigger[3]), event, _effects(code, dialect))
        elif rule := _RULE.match(statement):
            _add_trigger(schema, _name(rule[3]), rule[2], _effects(None, dialect))
        else:
            _add(schema, statement, dialect)
    return schema


def _add_trigger(schema: Schema, table: str, event: str, does: tuple[Access, ...]) -> None:
    key = (table, event.lower())
    schema.triggers[key] = (*schema.triggers.get(key, ()), *does)


def _name(text: str) -> str:
    return re.sub(r"[\"`]", "", text).split(".")[-1].lower()


def _is_open(statement: str) -> bool:
    """Whether it is a trigger whose BEGIN has no END yet."""
    if not _TRIGGER.match(statement):
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
    made = _MAKES.match(statement)
    if made and kind != "VIEW":
        raise UsageError(f"a {made[1].lower()} of the schema is not understood: {' '.join(statement.split())[:60]}")
    if kind == "VIEW" and tree is not None:
        _add_view(schema, tree)
    table = _TABLE.match(statement)
    if table:
        name = _name(table[1])
        schema.keys += _keys(tree, name) if tree is not None and kind == "TABLE" else _unclear_keys(statement, name)
        schema.parts += _parts(statement, name, table.end())


def _add_view(schema: Schema, tree: exp.Expr) -> None:
    view, inner = tree.find(exp.Table), tree.expression
    if view is None or inner is None:
        return
    tables = {table_name(one) for one in inner.find_all(exp.Table)}
    found = [Access(one, False) for one in sorted(tables)]
    if unknown_function(inner):
        found.append(Access(_ANY, True))
    schema.views[table_name(view)] = tuple(found)


def _parts(statement: str, name: str, at: int) -> Iterator[tuple[str, str]]:
    """Of a statement that makes or changes a table, whose name ends `at`."""
    if part_of := _PART_OF.match(statement, at):
        yield name, _name(part_of[1])
    if part := _PART.match(statement, at):
        yield _name(part[1]), name
    for inherits in _INHERITS.findall(statement):
        yield from ((name, _name(one.strip())) for one in inherits.split(","))


def _unclear_keys(statement: str, table: str) -> Iterator[ForeignKey]:
    """Of a table that the parser does not understand, they may be about any columns."""
    changes = bool(re.search(r"\bon\s+(?:delete|update)\s+(?:cascade|set)\b", statement, re.IGNORECASE))
    for parent in _REFERENCES.findall(statement):
        yield ForeignKey(table, frozenset({_ANY}), _name(parent), None, changes)


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
