"""Target descriptors: TOML -> a checked `Descriptor`, and the JSON that the rewriter reads.

The schema is annotations/README.md. Every mistake is a one-line UsageError that names the file, the table and the mend.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from vprof.errors import UsageError
from vprof.paths import annotation_file

# Tables whose entries rewrite code: key -> (required keys, optional keys, allowed values).
_AT = ("entry", "exit")
_TYPED_EVENTS = ("begin", "end")
_ENTRIES: dict[str, dict[str, Any]] = {
    "interval": {
        "required": ("event", "function", "id"),
        "optional": ("at", "type", "file"),
        "values": {"event": ("begin", "end", "abort", "on_behalf"), "at": _AT},
    },
    "sync": {
        "required": ("role", "function", "object"),
        "optional": ("file",),
        "values": {"role": ("acquire", "release")},
    },
    "queue": {
        "required": ("role", "function", "task"),
        "optional": ("at", "file"),
        "values": {"role": ("enqueue", "dequeue"), "at": _AT},
    },
}
_LISTS = ("roots", "include", "exclude", "ignore_for_height")
_TABLES: dict[str, dict[str, type]] = {
    "source": {"kind": str, "path": str, "package": str, "version": str},
    "build": {"steps": list, "programs": list},
    "run": {"command": str},
    "server": {"user": str, "environment": dict, "setup": list, "start": str, "ready": str, "stop": str},
    "load": {"setup": list, "command": str, "clients": int},
}
_REQUIRED = {
    "build": ("steps", "programs"),
    "run": ("command",),
    "server": ("start", "ready", "stop"),
    "load": ("command",),
}
_SOURCES = {"tree": ("path",), "debian": ("package", "version")}
"""Kinds of source, each with its keys, all of them required."""
_FREE = ("demo",)
"""Tables for other readers (the demo and its tests); kept as they are."""


@dataclass(frozen=True)
class Descriptor:
    """A checked descriptor. `entries[table]` are the rewriting entries, shared annotations first."""

    name: str
    file: Path
    summary: str
    roots: list[str]
    exclude: list[str]
    ignore_for_height: list[str]
    source: dict[str, Any]
    build: dict[str, Any]
    run: dict[str, Any]
    server: dict[str, Any]
    load: dict[str, Any]
    entries: dict[str, list[dict[str, str]]]
    free: dict[str, Any] = field(default_factory=dict)

    def rewriter_json(self) -> str:
        """The text of VPROF_DESCRIPTOR: entries and name lists, no expressions touched."""
        lists = {"exclude": self.exclude, "ignore_for_height": self.ignore_for_height}
        return json.dumps({**self.entries, **lists}, indent=1)


def load(file: Path) -> Descriptor:
    """Reads and checks a descriptor with its includes. Raises UsageError."""
    raw = _read(file)
    _check_tables(raw, file)
    name = raw.get("name")
    if name != file.resolve().parent.name:
        raise UsageError(f"{file}: name = {name!r} is not the folder's name '{file.resolve().parent.name}'")
    parts = [_included(include, file) for include in raw.get("include", [])] + [raw]
    entries = {table: [entry for part in parts for entry in part.get(table, [])] for table in _ENTRIES}
    lists = {key: [item for part in parts for item in part.get(key, [])] for key in _LISTS}
    return Descriptor(
        name=str(name),
        file=file,
        summary=str(raw.get("summary", "")),
        roots=lists["roots"],
        exclude=lists["exclude"],
        ignore_for_height=lists["ignore_for_height"],
        source=raw.get("source", {}),
        build=raw.get("build", {}),
        run=raw.get("run", {}),
        server=raw.get("server", {}),
        load=raw.get("load", {}),
        entries=entries,
        free={key: raw[key] for key in _FREE if key in raw},
    )


def unmatched(descriptor: Descriptor, matched: set[str], functions: set[str]) -> list[str]:
    """One line for each entry that no unit of the program applied, with near misses among its functions.

    `matched` holds "table/position" as in the unit metadata.
    """
    lines = []
    for table, rows in descriptor.entries.items():
        for position, entry in enumerate(rows):
            if f"{table}/{position}" not in matched:
                near = get_close_matches(entry["function"], functions, n=3)
                hint = f"; near misses: {', '.join(near)}" if near else ""
                lines.append(f"{descriptor.file}: [[{table}]] no function '{entry['function']}' is defined{hint}")
    missing_roots = [root for root in descriptor.roots if root not in functions]
    for root in missing_roots:
        near = get_close_matches(root, functions, n=3)
        hint = f"; near misses: {', '.join(near)}" if near else ""
        lines.append(f"{descriptor.file}: roots: no function '{root}' is defined{hint}")
    return lines


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: not valid TOML: {error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file}: not UTF-8 text") from None


def _included(name: str, user: Path) -> dict[str, Any]:
    file = annotation_file(name)
    if not file.is_file():
        raise UsageError(f"{user}: include = ['{name}']: there is no {file.name} in annotations/")
    raw = _read(file)
    _check_tables(raw, file)
    return raw


def _check_tables(raw: dict[str, Any], file: Path) -> None:
    known = [*_ENTRIES, *_LISTS, *_TABLES, *_FREE, "name", "summary", "primitive", "external"]
    for key, value in raw.items():
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f", did you mean '{near[0]}'?" if near else ""
            raise UsageError(f"{file}: unknown key '{key}'{hint}")
        if key in _LISTS and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            raise UsageError(f"{file}: {key} must be a list of strings")
        if key in _ENTRIES:
            _check_entries(key, value, file)
        if key in _TABLES:
            _check_table(key, value, file)
    if ("server" in raw) != ("load" in raw) or ("server" in raw and "run" in raw):
        raise UsageError(f"{file}: give either [run], or [server] and [load]")


def _check_entries(table: str, rows: Any, file: Path) -> None:
    rule = _ENTRIES[table]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{file}: write [[{table}]], with two brackets")
    for position, entry in enumerate(rows):
        where = f"{file}: [[{table}]] number {position + 1}"
        for key in rule["required"]:
            if key not in entry:
                raise UsageError(f"{where}: '{key}' is missing")
        for key, value in entry.items():
            if key not in rule["required"] and key not in rule["optional"]:
                raise UsageError(f"{where}: unknown key '{key}'")
            if not isinstance(value, str) or not value:
                raise UsageError(f"{where}: {key} must be a non-empty string")
            allowed = rule["values"].get(key)
            if allowed and value not in allowed:
                raise UsageError(f"{where}: {key} = '{value}' must be one of {', '.join(allowed)}")
        if "type" in entry and entry["event"] not in _TYPED_EVENTS:
            raise UsageError(f"{where}: type is only for event = {' and '.join(_TYPED_EVENTS)}")


def _check_table(table: str, value: Any, file: Path) -> None:
    if not isinstance(value, dict):
        raise UsageError(f"{file}: write [{table}], with one bracket")
    for key, item in value.items():
        kind = _TABLES[table].get(key)
        if kind is None:
            raise UsageError(f"{file}: [{table}] has no key '{key}'; known: {', '.join(_TABLES[table])}")
        _check_value(f"{file}: [{table}] {key}", item, kind)
    for key in _required(table, value, file):
        if key not in value:
            raise UsageError(f"{file}: [{table}] '{key}' is missing")


def _required(table: str, value: dict[str, Any], file: Path) -> tuple[str, ...]:
    if table != "source":
        return _REQUIRED[table]
    kind = value.get("kind")
    if kind not in _SOURCES:
        raise UsageError(f"{file}: [source] kind = {kind!r} must be one of {', '.join(_SOURCES)}")
    for key in value.keys() - {"kind", *_SOURCES[kind]}:
        raise UsageError(f"{file}: [source] {key} is not for kind = '{kind}'")
    return _SOURCES[kind]


def _check_value(where: str, item: Any, kind: type) -> None:
    """Lists and tables hold strings."""
    inside = item if isinstance(item, list) else item.values() if isinstance(item, dict) else ()
    if not isinstance(item, kind) or not all(isinstance(part, str) for part in inside):
        names = {str: "a string", int: "a number", list: "a list of strings", dict: "a table of strings"}
        raise UsageError(f"{where} must be {names[kind]}")
