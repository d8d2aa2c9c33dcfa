"""What a program needs around a transaction that uses a client library: the table [program] of its description.

annotations/clients/README.md has the words; `vprof reorder --verify` writes the program (verify/main_text.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vprof.shapes import FLAG, TEXT, list_of, table_of


@dataclass(frozen=True)
class ClientProgram:
    """Texts of C, in which `conn` is the connection, of the type `type`. `open` is its first value; `connected` says
    whether it came about, `error` why not; `undo` ends a transaction that was left open; `close` closes it.

    `driver`: who copies databases, by the name of a library of Python's. `maintenance`: the database to connect to for
    that, unless the user names one. `engines`: tables of these can be copied. `names_databases`: SQL can name tables of
    other databases than that of its connection."""

    driver: str
    header: str
    type: str
    open: str
    connected: str
    error: str
    undo: str
    close: str
    link: tuple[str, ...]
    maintenance: str | None = None
    engines: tuple[str, ...] = ()
    names_databases: bool = False


_TEXTS = ("driver", "header", "type", "open", "connected", "error", "undo", "close")
_MUST = {**dict.fromkeys(_TEXTS, TEXT), "link": list_of(TEXT)}
_MAY = {"maintenance": TEXT, "engines": list_of(TEXT), "names_databases": FLAG}


def client_program(raw: Mapping[str, Any]) -> ClientProgram:
    """Raises ValueError if something is missing or wrong."""
    if wrong := table_of(_MUST, _MAY).wrong(raw):
        raise ValueError(f"[program]{wrong}")
    if strange := set(raw) - set(_MUST) - set(_MAY):
        raise ValueError(f"[program]: nobody knows the key {min(strange)}")
    return ClientProgram(
        **{key: raw[key] for key in _TEXTS},
        link=tuple(raw["link"]),
        maintenance=raw.get("maintenance"),
        engines=tuple(raw.get("engines", ())),
        names_databases=raw.get("names_databases", False),
    )
