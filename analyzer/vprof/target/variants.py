"""`[[variant]]` of a descriptor: for other versions of the program, other commands.

    raw descriptor + version of the source  ->  the raw descriptor whose [build], [server], ... are for that version

The schema is annotations/README.md. Mistakes are UsageErrors of one line.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vprof.errors import UsageError
from vprof.target import entries
from vprof.target.versions import parse_range

_TABLES = ("build", "run", "server", "load", "workloads")
_KEYS = ("versions", *_TABLES)


def check(rows: Any, raw: dict[str, Any], file: Path, check_table: Callable[[str, Any], None]) -> None:
    """Raises UsageError for the first mistake. `check_table`: of a table as it is with what the variant changes."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{file}: write [[variant]], with two brackets")
    for number, row in enumerate(rows, 1):
        where = f"{file}: [[variant]] number {number}"
        for key in row:
            if key not in _KEYS:
                raise UsageError(f"{where} has no key '{key}'; known: {', '.join(_KEYS)}")
        if not isinstance(row.get("versions"), str):
            raise UsageError(f"{where}: versions is missing: a range such as '>=8.0,<8.4'")
        parse_range(row["versions"], f"{where}: versions")
        for table in _TABLES:
            if table in row:
                if table not in raw:
                    raise UsageError(f"{where}: there is no [{table}] that it changes")
                if not isinstance(row[table], dict):
                    raise UsageError(f"{where}: write [variant.{table}], with one bracket")
                check_table(table, {**raw[table], **row[table]})


def applied(raw: dict[str, Any], version: str | None, file: Path) -> dict[str, Any]:
    """The descriptor for this version of the source: keys of the first variant that is for it stand for those of the
    same tables. Raises UsageError if that depends on the version, and nobody said it."""
    for row in raw.get("variant", []):
        if entries.applies(row, version, f"{file}: [[variant]]"):
            changed = {table: {**raw[table], **row[table]} for table in _TABLES if table in row}
            return {**raw, **changed}
    return raw
