"""What a program says about itself: the units of `.vprof_meta` (instrumenter/UNIT_METADATA.md).

The same bytes come from an ELF file (elf.py) or from a trace. What many units say of the functions in their headers is
one text in the file, and is parsed once.
"""

from __future__ import annotations

import gc
import json
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from vprof.errors import VprofError
from vprof.shapes import FLAG, TEXT, list_of, row_of, table_of, whole

SECTION = ".vprof_meta"
TEXTS = ".vprof_text"
VERSION = 2
_MAGIC = b"VPUM"
_TEXTS_MAGIC = b"VPTX"
_HEADER = struct.Struct("<4sIQII")
_COUNTS = struct.Struct("<II")
_SCHEMA = "vprof-unit/"

_UNIT = table_of(
    {"unit": TEXT, "language": TEXT, "status": TEXT, "reason": TEXT},
    may={
        "taken": list_of(row_of(whole(0, (1 << 31) - 1), TEXT)),
        "through": list_of(row_of(TEXT, TEXT)),
        "matched": list_of(TEXT),
        "ignore_for_height": list_of(TEXT),
    },
)
_SYMBOL = table_of({"id": TEXT, "name": TEXT}, may={"noreturn": FLAG})


class Function(NamedTuple):
    """A function defined in a unit. `site` is the index of its switch byte in the unit, or None: `no_site` says why.

    `calls` are (id of the callee, line), `indirect` are (canonical type of the callee, line), `virtual` are (id of the
    method that a virtual call names, line), `numbered` are (call number, id of the callee, line). These lists are the
    same objects in all copies of a function that units describe alike (`distinct`). `before_body`: its probe is there.
    """

    id: str
    name: str
    file: str
    line: int
    site: int | None
    no_site: str | None
    noreturn: bool
    calls: list[tuple[str, int]]
    indirect: list[tuple[str, int]]
    virtual: Sequence[tuple[str, int]] = ()
    numbered: Sequence[tuple[int, str, int]] = ()
    before_body: bool = False


class Symbol(NamedTuple):
    """A function named by a call or whose address is taken, wherever it is defined."""

    id: str
    name: str
    noreturn: bool


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One translation unit. `switch_addr` is the link-time address of its first switch byte (0: it has none).

    `taken` are (id, canonical type) of functions whose address is taken; `through` are (canonical type, type of the
    pointers through which the library's code calls that is called as the former); `matched` are descriptor entries
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
    through: Sequence[tuple[str, str]] = ()


def distinct(units: Iterable[Unit]) -> Iterator[Function]:
    """The functions of the units; of copies that units describe alike, the first."""
    seen: set[tuple[str, int, bool]] = set()
    for unit in units:
        for function in unit.functions:
            key = function.id, id(function.calls), function.site is None
            if key not in seen:
                seen.add(key)
                yield function


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
def parse_units(content: bytes, source: str, section: bytes = b"") -> list[Unit]:
    """The units in `.vprof_meta` or a trace's copy of it, which has the texts, too; else they are a `section`. `source`
    names the units in errors. Raises VprofError."""
    chunks = list(_chunks(content, source))
    texts = _Texts(next((chunk.payload for chunk in chunks if chunk.magic == _TEXTS_MAGIC), section))
    return [_unit(chunk, texts, source) for chunk in chunks if chunk.magic == _MAGIC]


def trimmed(content: bytes, source: str, is_wanted: Callable[[int, int], bool]) -> bytes:
    """The units that are wanted, by the address and the number of their switch bytes, and the texts that they use: the
    same format. Raises VprofError."""
    chunks = list(_chunks(content, source))
    old = next((chunk.payload for chunk in chunks if chunk.magic == _TEXTS_MAGIC), b"")
    texts, places, found = bytearray(), dict[int, int](), bytearray()
    for chunk in chunks:
        if chunk.magic != _MAGIC or not is_wanted(chunk.addr, chunk.sites):
            continue
        payload = chunk.payload
        if chunk.version > 1:
            functions, symbols, text = _places(payload)
            for place in (*functions, *symbols):
                if place not in places:
                    places[place] = len(texts)
                    texts += old[place : old.find(b"\0", place) + 1]
            moved = [places[place] for place in (*functions, *symbols)]
            head = _COUNTS.pack(len(functions), len(symbols))
            payload = head + struct.pack(f"<{len(moved)}I", *moved) + text
        found += _HEADER.pack(_MAGIC, chunk.version, chunk.addr, chunk.sites, len(payload)) + payload
    if texts:
        found += _HEADER.pack(_TEXTS_MAGIC, VERSION, 0, 0, len(texts)) + texts
    return bytes(found)


class _Chunk(NamedTuple):
    at: int
    magic: bytes
    version: int
    addr: int
    sites: int
    payload: bytes


def _chunks(content: bytes, source: str) -> Iterator[_Chunk]:
    at = 0
    while at < len(content):
        if content[at] == 0:
            at += 1
            continue
        if at + _HEADER.size > len(content):
            raise VprofError(f"{source}: unit metadata is cut off at byte {at}: build the program again")
        magic, version, addr, count, length = _HEADER.unpack_from(content, at)
        if magic not in (_MAGIC, _TEXTS_MAGIC):
            raise VprofError(f"{source}: unit metadata is damaged at byte {at}: build the program again")
        if version > VERSION:
            raise VprofError(f"{source}: built by a newer vprof (unit metadata {version}): upgrade vprof")
        payload = content[at + _HEADER.size : at + _HEADER.size + length]
        if len(payload) < length:
            raise VprofError(f"{source}: unit metadata is cut off at byte {len(content)}: build the program again")
        yield _Chunk(at, magic, version, addr, count, payload)
        at += _HEADER.size + length


class _Texts:
    """The texts that units share, by their place: each is parsed when it is first asked for."""

    def __init__(self, section: bytes) -> None:
        self._section = section
        self._functions: dict[int, Function] = {}
        self._symbols: dict[int, Symbol] = {}
        self._strings: dict[str, str] = {}

    def function(self, place: int) -> Function:
        """Its site is 0 if it has one: which one, the unit knows."""
        if place not in self._functions:
            self._functions[place] = _sound(self._function(self._object(place)))
        return self._functions[place]

    def symbol(self, place: int) -> Symbol:
        if place not in self._symbols:
            raw = self._object(place)
            self._symbols[place] = _symbol({**raw, "id": self._same(raw["id"])})
        return self._symbols[place]

    def _object(self, place: int) -> dict[str, Any]:
        end = self._section.find(b"\0", place)
        if end < 0:
            raise ValueError(f"no text at {place} of {TEXTS}")
        return dict(json.loads(self._section[place:end]))

    def _same(self, text: str) -> str:
        """An id is in many texts and is one string."""
        return self._strings.setdefault(text, text)

    def _function(self, raw: dict[str, Any]) -> Function:
        same = self._same
        return Function(
            id=same(raw["id"]),
            name=raw["name"],
            file=same(raw["file"]),
            line=raw["line"],
            site=None if raw.get("left") else 0,
            no_site=raw.get("left"),
            noreturn=raw.get("noreturn", False),
            calls=[(same(callee), line) for callee, line in raw.get("calls", [])],
            indirect=[(type_, line) for type_, line in raw.get("indirect", [])],
            virtual=[(same(callee), line) for callee, line in raw.get("virtual", [])],
            numbered=[(number, same(callee), line) for number, callee, line in raw.get("numbered", [])],
            before_body=raw.get("before_body") is True,
        )


def _unit(chunk: _Chunk, texts: _Texts, source: str) -> Unit:
    schema = f"{_SCHEMA}{chunk.version}"
    try:
        if chunk.version == 1:
            raw = json.loads(chunk.payload)
            symbols = [_symbol(s) for s in raw["symbols"]]
            functions = [_sound(_whole_function(f, [symbol.id for symbol in symbols])) for f in raw["functions"]]
        else:
            functions_at, symbols_at, text = _places(chunk.payload)
            raw = json.loads(text)
            symbols = [texts.symbol(place) for place in symbols_at]
            functions = _with_sites([texts.function(place) for place in functions_at], chunk.sites)
        if raw["schema"] != schema:
            raise ValueError(raw["schema"])
        if said := _UNIT.wrong(raw):
            raise ValueError(f"a unit{said}")
        ids = [symbol.id for symbol in symbols]
        return Unit(
            unit=raw["unit"],
            language=raw["language"],
            status=raw["status"],
            reason=raw["reason"],
            switch_addr=chunk.addr,
            switch_count=chunk.sites,
            functions=functions,
            symbols=symbols,
            taken=[(ids[index], type_) for index, type_ in raw.get("taken", [])],
            matched=list(raw.get("matched", [])),
            ignore_for_height=list(raw.get("ignore_for_height", [])),
            through=[(type_, to) for type_, to in raw.get("through", [])],
            overrides=[(ids[method], ids[overridden]) for method, overridden in raw.get("overrides", [])],
        )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, struct.error) as error:
        what = f"{type(error).__name__} {error}"
        message = f"{source}: unit metadata at byte {chunk.at} is not {schema} ({what}): build it again"
        raise VprofError(message) from None


def _places(payload: bytes) -> tuple[tuple[int, ...], tuple[int, ...], bytes]:
    """Where the texts of the functions and of the symbols are, and what the unit says itself."""
    functions, symbols = _COUNTS.unpack_from(payload)
    places = struct.unpack_from(f"<{functions + symbols}I", payload, _COUNTS.size)
    return places[:functions], places[functions:], payload[_COUNTS.size + 4 * len(places) :]


def _with_sites(functions: list[Function], count: int) -> list[Function]:
    """Sites are numbered in the order of the functions that have one."""
    site = 0
    for i, function in enumerate(functions):
        if function.site is not None:
            functions[i] = function._replace(site=site)
            site += 1
    if site != count:
        raise ValueError(f"{site} sites, {count} switch bytes")
    return functions


def _symbol(raw: dict[str, Any]) -> Symbol:
    if said := _SYMBOL.wrong(raw):
        raise ValueError(f"a symbol{said}")
    return Symbol(raw["id"], raw["name"], raw.get("noreturn", False))


def _sound(function: Function) -> Function:
    """The function, if its values are of the types that `Function` says. Raises ValueError."""
    fits = (
        all(TEXT.wrong(text) == "" for text in (function.id, function.name, function.file))
        and _is_number(function.line)
        and (function.site is None or _is_number(function.site))
        and (function.no_site is None or TEXT.wrong(function.no_site) == "")
        and isinstance(function.noreturn, bool)
        and all(
            type(name) is str and _is_number(line)
            for rows in (function.calls, function.indirect, function.virtual)
            for name, line in rows
        )
        and all(
            _is_number(number) and type(name) is str and _is_number(line) for number, name, line in function.numbered
        )
    )
    if not fits:
        raise ValueError(f"function {function.name!r:.60} has a value of another type")
    return function


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 31


def _whole_function(raw: dict[str, Any], ids: list[str]) -> Function:
    """Of version 1, which has a program's texts in the chunk itself."""
    return Function(
        id=raw["id"],
        name=raw["name"],
        file=raw["file"],
        line=raw["line"],
        site=raw["site"],
        no_site=raw["left"],
        noreturn=bool(raw["noreturn"]),
        calls=[(ids[index], line) for index, line in raw["calls"]],
        indirect=[(type_, line) for type_, line in raw["indirect"]],
        virtual=[(ids[index], line) for index, line in raw.get("virtual", [])],
        numbered=[(number, ids[index], line) for number, index, line in raw.get("numbered", [])],
    )
