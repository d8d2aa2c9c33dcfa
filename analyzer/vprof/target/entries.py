"""Entries of a descriptor, the tables that rewrite code: what each may say, for which versions, and what it names.

The schema is annotations/README.md. Mistakes are UsageErrors of one line that begins with the caller's place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from packaging.version import InvalidVersion

from vprof.errors import UsageError
from vprof.target import repeats
from vprof.target.versions import parse_range, upstream

Entry = dict[str, Any]
"""Keys as in the descriptor: strings; for `function` and `call` also lists of strings; `retry` and its bound."""

# Table -> key of what happens, its values, key of the expression.
TABLES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "interval": ("event", ("begin", "end", "abort", "on_behalf"), "id"),
    "sync": ("role", ("acquire", "release", "wait"), "object"),
    "queue": ("role", ("enqueue", "dequeue"), "task"),
    "lock": ("event", ("request", "grant", "release", "release_all"), "object"),
}
_OPTIONAL = ("file", "call", "versions")
_OPTIONAL_OF: dict[str, tuple[str, ...]] = {
    "interval": ("at", "kind", "type", "created_at", "clock", *repeats.KEYS),
    "sync": ("name",),
    "queue": ("at",),
    "lock": ("at", "mode", "object", "owner"),
}
_NAMES_A_WAIT = ("call", "name")
_NAMES = ("function", "call")
_AT_FUNCTION = ("entry", "exit")
_AT_CALL = ("before call", "after call")
_TYPED_EVENTS = ("begin", "end")
_NEAR = 3
_NAMELESS = re.compile(r"\(anonymous(?: namespace)?\)::|\(\)::")
"""Scopes without a name, and the end of a function's name that is a scope."""
CLOCKS = ("CLOCK_REALTIME", "CLOCK_MONOTONIC")
"""What `created_at` may be measured by."""


def check(table: str, rows: Any, file: str) -> None:
    """Raises UsageError for the first mistake in the entries of one table."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{file}: write [[{table}]], with two brackets")
    for position, entry in enumerate(rows):
        where = f"{file}: [[{table}]] number {position + 1}"
        _check_keys(table, entry, where)
        _check_place(entry, where)
        _check_name(entry, where)
        if "type" in entry and entry["event"] not in _TYPED_EVENTS:
            raise UsageError(f"{where}: type is only for event = {' and '.join(_TYPED_EVENTS)}")
        _check_creation(entry, where)
        repeats.check(entry, where)
        if "versions" in entry:
            parse_range(entry["versions"], f"{where}: versions")


def names(entry: Entry, key: str) -> list[str]:
    """The alternatives of `function` or `call`; none if the key is not there."""
    value = entry.get(key, [])
    return [value] if isinstance(value, str) else list(value)


def applies(entry: Entry, version: str | None, where: str) -> bool:
    """Whether the entry is for this version of the program (None: nobody said which it is). Raises UsageError."""
    if "versions" not in entry:
        return True
    if version is None:
        raise UsageError(f"{where}: versions needs the program's version: [source] version, or --source-version")
    try:
        return parse_range(entry["versions"], f"{where}: versions").contains(upstream(version), prereleases=True)
    except InvalidVersion:
        raise UsageError(f"{where}: versions cannot be compared with [source] version = '{version}'") from None


def of_kind(table: str, entry: Entry, interval: str | None) -> bool:
    """Whether the entry is used when intervals of this kind are chosen (None: the usual one)."""
    return table != "interval" or entry.get("kind") == interval


def title(table: str, entry: Entry) -> str:
    """What happens: "interval begin"."""
    return f"{table} {entry[TABLES[table][0]]}"


def complaint(entry: Entry, callees: Mapping[str, set[str]]) -> str:
    """Why an entry applies nowhere, with near misses; `callees` are the program's functions and what each calls."""
    functions = [name for wanted in names(entry, "function") for name in callees if is_name(wanted, name)]
    if not functions:
        return _missing("no function {} is defined", names(entry, "function"), callees)
    called = {name for function in functions for name in callees[function]}
    return _missing(f"no call of {{}} is written in {_either(functions)}", names(entry, "call"), called)


def is_name(wanted: str, name: str) -> bool:
    """Whether an entry's `wanted` may be about the function `name`: parameters in `wanted` choose among overloads."""
    return wanted == name or (wanted.startswith(f"{name}(") and wanted.endswith(")"))


def near_misses(wanted: list[str], known: Mapping[str, object] | set[str]) -> str:
    """ "; near misses: a, b" or "", for names that are not known: first those that differ in their scopes alone, as
    `db::(anonymous namespace)::take` does from `db::take`."""
    near: dict[str, None] = {}
    for name in wanted:
        same = sorted(other for other in known if "::" in other and last_name(other) == last_name(name))
        near |= dict.fromkeys([*same[:_NEAR], *get_close_matches(name, known, n=_NEAR)][:_NEAR])
    return f"; near misses: {', '.join(near)}" if near else ""


def last_name(name: str) -> str:
    """The name without scopes and parameters: `ns::(anonymous namespace)::Class::method(int)` is `method`."""
    return _NAMELESS.sub("", name).partition("(")[0].rpartition("::")[2]


def _missing(what: str, wanted: list[str], known: Mapping[str, object] | set[str]) -> str:
    return what.format(_either(wanted)) + near_misses(wanted, known)


def _either(alternatives: list[str]) -> str:
    return " or ".join(f"'{name}'" for name in alternatives)


def _check_keys(table: str, entry: Entry, where: str) -> None:
    action, values, _ = TABLES[table]
    required = _required(table, entry)
    optional = (*_OPTIONAL, *_OPTIONAL_OF[table])
    for key in required:
        if key not in entry:
            raise UsageError(f"{where}: '{key}' is missing")
    for key, value in entry.items():
        if key not in required and key not in optional:
            raise UsageError(f"{where}: unknown key '{key}'")
        if key in repeats.KEYS:
            continue
        if key in _NAMES and isinstance(value, list) and value and all(isinstance(v, str) and v for v in value):
            continue
        if not isinstance(value, str) or not value:
            or_list = " or a list of them" if key in _NAMES else ""
            raise UsageError(f"{where}: {key} must be a non-empty string{or_list}")
    _check_value(action, entry[action], values, where)
    if table == "lock" and entry["event"].startswith("release") and "mode" in entry:
        raise UsageError(f"{where}: mode is only for event = request and grant")


def _required(table: str, entry: Entry) -> tuple[str, ...]:
    action, _, expression = TABLES[table]
    if _only_names(entry):
        return action, "function", *_NAMES_A_WAIT
    if table != "lock":
        return action, "function", expression
    event = entry.get("event")
    more = {"release_all": (), "request": (expression, "mode")}.get(str(event), (expression,))
    return action, "function", *more


def _check_place(entry: Entry, where: str) -> None:
    if "at" not in entry:
        return
    allowed = _AT_CALL if "call" in entry else _AT_FUNCTION
    if entry["at"] in _AT_CALL and "call" not in entry:
        raise UsageError(f"{where}: at = '{entry['at']}' needs 'call', the function that is called")
    _check_value("at", entry["at"], allowed, where)


def _only_names(entry: Entry) -> bool:
    """Whether it says what waits are for that leave a record anyway."""
    return entry.get("role") == "wait"


def _check_name(entry: Entry, where: str) -> None:
    if "name" not in entry:
        return
    if entry["role"] == "release":
        raise UsageError(f"{where}: name is only for role = acquire and wait")
    if "call" not in entry:
        raise UsageError(f"{where}: name needs 'call', the call that waits")


def _check_creation(entry: Entry, where: str) -> None:
    """When a request was created, and by which clock: both or none."""
    if "created_at" not in entry and "clock" not in entry:
        return
    if entry["event"] != "begin":
        raise UsageError(f"{where}: created_at is only for event = begin")
    for key, other in (("created_at", "clock"), ("clock", "created_at")):
        if key not in entry:
            raise UsageError(f"{where}: {other} needs '{key}'")
    _check_value("clock", entry["clock"], CLOCKS, where)


def _check_value(key: str, value: str, allowed: tuple[str, ...], where: str) -> None:
    if value not in allowed:
        raise UsageError(f"{where}: {key} = '{value}' must be one of {', '.join(allowed)}")
