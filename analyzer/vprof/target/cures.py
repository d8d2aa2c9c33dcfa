"""`[[cure]]` of a descriptor: a change of the program's own source against a cause of variance, off by default.

    [[cure]] + its file of edits -> Cure -> edited(source, cures): {file: changed text} -> target/cured_tree.py
                                    Cure.switch: a Knob, where the change is switched while the program runs

An edit has lines of our own and, of the program's, only the anchor: whole lines that the file has exactly once.
The schema is annotations/README.md. Mistakes are UsageErrors of one line.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from vprof.errors import UsageError
from vprof.target import knobs
from vprof.target.knobs import Knob
from vprof.target.named import named
from vprof.target.versions import parse_range

_TEXTS = ("name", "summary", "trades", "license", "edits")
_SWITCH = ("name", "server_option", "load_option", "environment", "line", "values", "restart")
_KEYS = (*_TEXTS, "governs", "versions", "switch")
_BEFORE, _AFTER = "before", "after"
_ANCHORED = ("file", "insert")
ENCODING = ("utf-8", "surrogateescape")
"""Of sources, and what becomes of bytes that are not that: they stay as they are."""


@dataclass(frozen=True)
class Edit:
    """`insert` goes before or after (`where`) the lines `anchor` of `file`, a path in the source."""

    file: str
    where: str
    anchor: str
    insert: str

    def place(self, text: str) -> tuple[int, int]:
        """Where the anchor begins and ends in a text, behind its last line end. Raises UsageError: not there once."""
        lines = f"\n{self.anchor}\n"
        whole = f"\n{text}"
        found = whole.count(lines)
        shown = self.anchor.strip().splitlines()[0]
        if not found:
            raise UsageError(f"{self.file} has no line '{shown}', {self.where} which it inserts")
        if found > 1:
            raise UsageError(f"{self.file} has {found} lines '{shown}', {self.where} one of which it inserts")
        begin = whole.index(lines)
        return begin, begin + len(lines) - 1

    def applied(self, text: str) -> str:
        """Raises UsageError as `place`."""
        begin, end = self.place(text)
        at = begin if self.where == _BEFORE else end
        return f"{text[:at]}{self.insert}\n{text[at:]}"


@dataclass(frozen=True)
class Cure:
    """`trades`: what is lost for what it gains. `license`: that of the changed work. `governs`: as a knob's. `file`:
    that of its edits. `versions` of the program that it is for, "" all. `switch`: None if the change is always on in a
    build that has it."""

    name: str
    summary: str
    trades: str
    license: str
    governs: tuple[str, ...]
    file: Path
    edits: tuple[Edit, ...]
    versions: str = ""
    switch: Knob | None = None

    @property
    def off_until(self) -> str:
        """What switches it on, as `--server-options=--lazy=ON`; "" if it is on."""
        if self.switch is None:
            return ""
        option = self.switch.assigned(self.switch.values[-1]).option
        return {knobs.SERVER: f"--server-options='{option}'", knobs.LOAD: f"-- {option}"}.get(self.switch.how, option)

    def edited(self, text: str, file: str) -> str:
        """The text of `file` with the edits for it. Raises UsageError that names cure, file and anchor."""
        for edit in self.edits:
            if edit.file == file:
                try:
                    text = edit.applied(text)
                except UsageError as error:
                    raise UsageError(f"cure {self.name}: {error}") from None
        return text


def edited(source: Path, cures: Sequence[Cure]) -> dict[str, str]:
    """The texts of the files that the cures change, by their paths in the source, which stays as it is.

    Raises UsageError: a file or an anchor is missing, or an anchor is there more than once."""
    texts: dict[str, str] = {}
    for cure in cures:
        for file in dict.fromkeys(edit.file for edit in cure.edits):
            text = texts[file] if file in texts else _text(source, file, cure.name)
            texts[file] = cure.edited(text, file)
    return texts


def places(source: Path, cure: Cure) -> list[tuple[Edit, int, str]]:
    """For each edit the line of its anchor and "", or 0 and why there is none. Edits before it are taken as applied:
    none may make another's anchor ambiguous."""
    rows: list[tuple[Edit, int, str]] = []
    texts: dict[str, str] = {}
    for edit in cure.edits:
        try:
            text = _text(source, edit.file, cure.name)
            line = text.count("\n", 0, edit.place(text)[0]) + 1
            texts[edit.file] = edit.applied(texts.get(edit.file, text))
            rows.append((edit, line, ""))
        except UsageError as error:
            said = str(error)
            rows.append((edit, 0, said if said.startswith("cure ") else f"cure {cure.name}: {said}"))
    return rows


def _text(source: Path, file: str, cure: str) -> str:
    try:
        return (source / file).read_bytes().decode(*ENCODING)
    except OSError as error:
        raise UsageError(f"cure {cure}: {file}: {error.strerror}: the source is not as the cure knows it") from None


def chosen(names: Iterable[str], cures: Mapping[str, Cure], file: object) -> list[Cure]:
    """In the order of the descriptor, whatever order they are asked for in. Raises UsageError as `named`."""
    wanted = {named("cure", name, cures, file).name for name in names}
    return [cure for cure in cures.values() if cure.name in wanted]


def load(rows: Any, file: Path, has_server: bool) -> dict[str, Cure]:
    """By name. Raises UsageError for the first mistake in a descriptor's rows or their files of edits."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{file}: write [[cure]], with two brackets")
    cures: dict[str, Cure] = {}
    for number, row in enumerate(rows, 1):
        where = f"{file}: [[cure]] number {number}"
        _check(row, where)
        if row["name"] in cures:
            raise UsageError(f"{where}: there is another cure '{row['name']}'")
        cures[row["name"]] = Cure(
            **{key: row[key] for key in ("name", "summary", "trades", "license")},
            governs=tuple(row["governs"]),
            file=file.parent / row["edits"],
            edits=_edits(file.parent / row["edits"], where),
            versions=row.get("versions", ""),
            switch=_switch(row, f"{where}: switch", has_server),
        )
    return cures


def _check(row: Mapping[str, Any], where: str) -> None:
    for key in row:
        if key not in _KEYS:
            raise UsageError(f"{where} has no key '{key}'; known: {', '.join(_KEYS)}")
    for key in (*_TEXTS, "governs"):
        if key not in row:
            raise UsageError(f"{where}: '{key}' is missing")
    for key in (*_TEXTS, "versions"):
        if key in row and not (isinstance(row[key], str) and row[key].strip()):
            raise UsageError(f"{where}: {key} must be a text")
    knobs.check_list(row, "governs", (str,), "texts", where)
    if "versions" in row:
        parse_range(row["versions"], f"{where}: versions")


def _switch(row: Mapping[str, Any], where: str, has_server: bool) -> Knob | None:
    """A knob of two values, off and on, that trades and governs what its cure does; off by itself."""
    if "switch" not in row:
        return None
    switch = row["switch"]
    if not isinstance(switch, dict):
        raise UsageError(f"{where} must be a table")
    for key in switch:
        if key not in _SWITCH:
            raise UsageError(f"{where} has no key '{key}'; known: {', '.join(_SWITCH)}")
    knob = knobs.checked(
        {**switch, "kind": "choice", "trades": row["trades"], "governs": row["governs"]}, where, has_server
    )
    if len(knob.values) != 2:
        raise UsageError(f"{where}: values must be two: off, on")
    return replace(knob, default=knob.values[0])


def _edits(file: Path, where: str) -> tuple[Edit, ...]:
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{where}: edits: {file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not valid TOML: {error}") from None
    rows = raw.get("edit")
    if set(raw) != {"edit"} or not isinstance(rows, list) or not rows or not all(isinstance(r, dict) for r in rows):
        raise UsageError(f"{file}: write [[edit]], with two brackets, and nothing else")
    return tuple(_edit(row, f"{file}: [[edit]] number {number}") for number, row in enumerate(rows, 1))


def _edit(row: Mapping[str, Any], where: str) -> Edit:
    anchors = [key for key in (_BEFORE, _AFTER) if key in row]
    if len(anchors) != 1:
        raise UsageError(f"{where}: give one of {_BEFORE}, {_AFTER}: the line that it inserts before or after")
    for key in (*_ANCHORED, *row):
        if key not in (*_ANCHORED, *anchors):
            raise UsageError(f"{where} has no key '{key}'; known: file, {_BEFORE}, {_AFTER}, insert")
        if not isinstance(row.get(key), str) or not row[key].strip():
            raise UsageError(f"{where}: {key} must be a text")
    path = PurePosixPath(row["file"])
    if path.is_absolute() or ".." in path.parts:
        raise UsageError(f"{where}: file must be a path in the source")
    anchor, insert = (row[key].removesuffix("\n") for key in (anchors[0], "insert"))
    return Edit(path.as_posix(), anchors[0], anchor, insert)
