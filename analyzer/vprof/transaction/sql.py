"""What SQL does: the tables it reads and writes, or that nobody knows what."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

_BEGINS, _COMMITS, _ROLLS_BACK = ("begin", "start transaction"), ("commit", "end"), ("rollback", "abort")
_LEVEL = re.compile(
    r"isolation(?:\s+level\s+|\s*(?:=|\bto\b)\s*['\"]?)(serializable|repeatable[\s-]+read|read[\s-]+(?:un)?committed)",
    re.IGNORECASE,
)
_HARMLESS = {"now"}
"""Functions that the parser does not know, and that read and change nothing."""


@dataclass(frozen=True)
class Access:
    """Of a table. `write`: rows change. `columns`: only these matter, None: any of them, or rows come and go. `via`:
    why, if the SQL does not name the table itself."""

    table: str
    write: bool
    columns: frozenset[str] | None = None
    event: str = "select"
    via: str = ""


@dataclass(frozen=True)
class Query:
    """A statement of SQL: its accesses, or what it does to the transaction (`control`: begin, commit, rollback), or why
    its effects are `unknown`. `summary`: a few words for reports. `level`: of isolation, that it asks for."""

    summary: str
    accesses: tuple[Access, ...] = ()
    control: str | None = None
    unknown: str | None = None
    level: str | None = None


def parse(text: str, dialect: str) -> Query:
    """Never fails: SQL that nobody understands is unknown."""
    found, level = _parsed(text, dialect), _LEVEL.search(text)
    return replace(found, level=" ".join(re.split(r"[\s-]+", level[1].upper()))) if level else found


def _parsed(text: str, dialect: str) -> Query:
    words = " ".join(text.split()).rstrip("; ").lower()
    for control, starts in (("begin", _BEGINS), ("commit", _COMMITS), ("rollback", _ROLLS_BACK)):
        if words.startswith(starts) and not words.startswith("rollback to") and ";" not in words:
            return Query(control.upper(), control=control)
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        statements = [one for one in sqlglot.parse(text, read=dialect or None) if one is not None]
    except (SqlglotError, RecursionError):
        return Query("SQL", unknown=f"its SQL is not understood: {_short(text)}")
    if len(statements) != 1:
        return Query("SQL", unknown="it has several statements of SQL, or none")
    return _query(statements[0], text)


def _query(tree: exp.Expr, text: str) -> Query:
    if not isinstance(tree, exp.Select | exp.Union | exp.Insert | exp.Update | exp.Delete):
        return Query("SQL", unknown=f"the effects of its SQL are not known: {_short(text)}")
    if tree.args.get("into") is not None or ":=" in text:
        return Query("SQL", unknown=f"the effects of its SQL are not known: {_short(text)}")
    if called := unknown_function(tree):
        return Query("SQL", unknown=f"the effects of the function {called} in its SQL are not known")
    target = tree.this if isinstance(tree, exp.Insert | exp.Update | exp.Delete) else None
    if isinstance(target, exp.Schema):
        target = target.this
    if target is not None and not isinstance(target, exp.Table):
        return Query("SQL", unknown=f"the table that its SQL changes is not understood: {_short(text)}")
    accesses = tuple(_accesses(tree, target))
    tables = list(dict.fromkeys(one.table for one in accesses))
    return Query(f"{tree.key.upper()} {', '.join(tables)}".strip(), accesses)


def unknown_function(tree: exp.Expr) -> str | None:
    """The name of the first function that the parser does not know."""
    return next((one.name for one in tree.find_all(exp.Anonymous) if one.name.lower() not in _HARMLESS), None)


def _accesses(tree: exp.Expr, target: exp.Table | None) -> Iterator[Access]:
    names = {one.alias.lower() for one in tree.find_all(exp.CTE)}
    if target is not None:
        changed = None
        if isinstance(tree, exp.Update):
            changed = frozenset(one.this.name.lower() for one in tree.expressions if isinstance(one, exp.EQ))
        yield Access(table_name(target), True, changed, tree.key)
        if tree.args.get("conflict") is not None:
            yield Access(table_name(target), True, None, "update")
    # Which one of several tables changes is not looked for.
    several = target is not None and (bool(target.args.get("joins")) or bool(tree.args.get("tables")))
    for table in tree.find_all(exp.Table):
        parents = list(_parents(table))
        # Within a WITH, the name may still be that of the table.
        named = table.name.lower() in names and not any(isinstance(one, exp.CTE) for one in parents)
        if table is target or named:
            continue
        inside = next((one for one in parents if isinstance(one, exp.Insert | exp.Update | exp.Delete)), None)
        if inside is not None and (several or inside is not tree):  # a change within a query: WITH
            for event in dict.fromkeys((inside.key, "update")):
                yield Access(table_name(table), True, None, event)
        yield Access(table_name(table), False)


def _parents(node: exp.Expr) -> Iterator[exp.Expr]:
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def table_name(table: exp.Table) -> str:
    """Without its schema: two tables of one name in two schemas count as one."""
    return table.name.lower()


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:57]}..."
