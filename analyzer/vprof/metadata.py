"""What a program says about itself: the units of `.vprof_meta` (instrumenter/UNIT_METADATA.md).

The same bytes come from an ELF file (`read_program`) or from a trace (`parse_units`).
"""

from __future__ import annotations

import gc
import json
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from vprof.errors import VprofError

SECTION = ".vprof_meta"
SWITCHES = "vprof_switch"
_PAGE = 4096
VERSION = 1
_MAGIC = b"VPUM"
_HEADER = struct.Struct("<4sIQII")
_SCHEMA = "vprof-unit/1"


class Function(NamedTuple):
    """A function defined in a unit. `site` is the index of its switch byte in the unit, or None: then `left` says why.

    `calls` are (id of the callee, line), `indirect` are (canonical type of the callee, line), `virtual` are (id of the
    method that a virtual call names, line), `numbered` are (call number, id of the callee, line).
    """

    id: str
    name: str
    file: str
    line: int
    site: int | None
    left: str | None
    noreturn: bool
    calls: list[tuple[str, int]]
    indirect: list[tuple[str, int]]
    virtual: Sequence[tuple[str, int]] = ()
    numbered: Sequence[tuple[int, str, int]] = ()


class Symbol(NamedTuple):
    """A function named by a call or whose address is taken, wherever it is defined."""

    id: str
    name: str
    noreturn: bool


@dataclass(frozen=True)
class Unit:
    """One translation unit. `switch_addr` is the link-time address of its first switch byte (0: it has none).

    `taken` are (id, canonical type) of functions whose address is taken; `matched` are descriptor entries
    ("table/position"); `overrides` are (id of the overriding method, id of the overridden one).
    """

    unit: str
    language: str
    status: str
    reason: str
    switch_addr: int
    switch_count: int
    functions: list[Function]
    symbols: list[Symbol]
    taken: list[tuple[str, str]]
    matched: list[str]
    ignore_for_height: list[str]
    overrides: Sequence[tuple[str, str]] = ()


def read_program(path: Path) -> list[Unit]:
    """The units of an executable or shared library. Raises VprofError when it has none or they are damaged."""
    try:
        with Path(path).open("rb") as file:
            section = ELFFile(file).get_section_by_name(SECTION)
            content = bytes(section.data()) if section is not None else b""
    except OSError as error:
        raise VprofError(f"{path}: {error.strerror or error}") from None
    except ELFError:
        raise VprofError(f"{path}: not a program (ELF file)") from None
    units = parse_units(content, str(path))
    if not units:
        raise VprofError(f"{path}: no vprof metadata: build it with CC=vprof-cc (and link it with vprof-cc)")
    return units


def linked_by_wrapper(path: Path) -> bool:
    """Whether a program's probes can be switched: `vprof-cc`, when it links, gives their bytes pages of their own."""
    with path.open("rb") as file:
        section = ELFFile(file).get_section_by_name(SWITCHES)
        return section is None or bool(section["sh_addralign"] >= _PAGE)


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection meanwhile: what makes many objects and no garbage spends half its time on the search."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@uncollected()
def parse_units(content: bytes, source: str) -> list[Unit]:
    """The units in the bytes of a `.vprof_meta` section; `source` names them in errors. Raises VprofError."""
    units = []
    at = 0
    while at < len(content):
        if content[at] == 0:
            at += 1
            continue
        if at + _HEADER.size > len(content):
            raise VprofError(f"{source}: unit metadata is cut off at byte {at}: build the program again")
        magic, version, addr, count, length = _HEADER.unpack_from(content, at)
        if magic != _MAGIC:
            raise VprofError(f"{source}: unit metadata is damaged at byte {at}: build the program again")
        if version > VERSION:
            raise VprofError(f"{source}: built by a newer vprof (unit metadata {version}): upgrade vprof")
        payload = content[at + _HEADER.size : at + _HEADER.size + length]
        if len(payload) < length:
            raise VprofError(f"{source}: unit metadata is cut off at byte {len(content)}: build the program again")
        units.append(_unit(payload, addr, count, source, at))
        at += _HEADER.size + length
    return units


def _unit(payload: bytes, addr: int, count: int, source: str, at: int) -> Unit:
    try:
        raw = json.loads(payload)
        if raw["schema"] != _SCHEMA:
            raise ValueError(raw["schema"])
        symbols = [Symbol(s["id"], s["name"], bool(s["noreturn"])) for s in raw["symbols"]]
        ids = [symbol.id for symbol in symbols]
        return Unit(
            unit=raw["unit"],
            language=raw["language"],
            status=raw["status"],
            reason=raw["reason"],
            switch_addr=addr,
            switch_count=count,
            functions=[_function(f, ids) for f in raw["functions"]],
            symbols=symbols,
            taken=[(ids[index], type_) for index, type_ in raw["taken"]],
            matched=list(raw["matched"]),
            ignore_for_height=list(raw.get("ignore_for_height", [])),
            overrides=[(ids[method], ids[overridden]) for method, overridden in raw.get("overrides", [])],
        )
    except (ValueError, KeyError, TypeError, IndexError) as error:
        what = f"{type(error).__name__} {error}"
        raise VprofError(f"{source}: unit metadata at byte {at} is not {_SCHEMA} ({what}): build it again") from None


def _function(raw: dict[str, Any], ids: list[str]) -> Function:
    return Function(
        id=raw["id"],
        name=raw["name"],
        file=raw["file"],
        line=raw["line"],
        site=raw["site"],
        left=raw["left"],
        noreturn=bool(raw["noreturn"]),
        calls=[(ids[index], line) for index, line in raw["calls"]],
        indirect=[(type_, line) for type_, line in raw["indirect"]],
        virtual=[(ids[index], line) for index, line in raw.get("virtual", [])],
        numbered=[(number, ids[index], line) for number, index, line in raw.get("numbered", [])],
    )
