"""Where functions are defined: a link to a place, by a template, and the first lines of the definition if they can be
read here.

    "dir/file.c:17" + template  ->  URL
    "dir/file.c:17" + when the run began + where to look  ->  lines, or None
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from vprof.errors import UsageError
from vprof.report.page.plain import MOST_CHARACTERS

NAMES = {"file", "line", "function"}
SCHEMES = {"http", "https", "vscode", "vscode-insiders", "idea", "file"}
_SOURCES = {".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".tcc"}
"""What a trace names is read only if it is named as sources are: a page goes to others."""
_SLASH_BEFORE = re.compile(r"(?<!:/)/\{file\}")
"""Not the second one of file://."""
_SHOWN = 12
_MOST_BYTES = 4 << 20
_WIDEST = 200


def check_template(template: str) -> str:
    """The template itself. Raises UsageError unless it makes links that a browser may follow."""
    try:
        fields = [field[1:] for field in string.Formatter().parse(template) if field[1] is not None]
    except ValueError:
        fields = [("?", None, None)]
    if not {"".join(part for part in field if part) for field in fields} <= NAMES:
        raise UsageError(f"'{template}' is no template: it may have {{file}}, {{line}} and {{function}} in it")
    scheme = urlsplit(template.format(**dict.fromkeys(NAMES, "1"))).scheme.lower()
    if scheme not in SCHEMES or template.partition(":")[0].lower() != scheme:
        known = ", ".join(sorted(SCHEMES))
        raise UsageError(f"'{template}' is no link: it has to begin with one of {known} and a colon")
    return template


def link(template: str, place: str, function: str) -> str:
    """To the place of a function, "" if that is not known or outside of the program. An absolute name takes the place
    of a slash before {file}, so that it makes no second one."""
    file, line = _parted(place)
    if not template or not line:
        return ""
    if file.startswith("/"):
        template = _SLASH_BEFORE.sub("{file}", template)
    made = template.format(file=quote(file), line=line, function=quote(function, safe=""))
    return made if len(made) <= MOST_CHARACTERS else ""  # a page shortens longer texts


def first_lines(place: str, begun_ns: int | None, folders: Iterable[Path] = ()) -> dict[str, Any] | None:
    """`first` (its number), `lines` and `remark` ("" or that the file is newer than the recording) of a definition;
    None if it cannot be read as text here. Relative names are below the current folder, or one of these."""
    name, line = _parted(place)
    if not line or Path(name).suffix.lower() not in _SOURCES:
        return None
    for folder in (Path(), *folders):
        if found := _read(folder / name, line, begun_ns):
            return found
    return None


def built_in(modules: Iterable[str], places: Iterable[str]) -> list[Path]:
    """The folders in which a program was built, as far as a trace knows: those of its executables and libraries, those
    around these, and the one that has all sources of absolute names."""
    folders = [folder for module in modules for folder in list(Path(module).parents)[:2]]
    absolute = [str(Path(place).parent) for place in places if place.startswith("/")]
    around = [Path(os.path.commonpath(absolute))] if absolute else []
    return [folder for folder in dict.fromkeys((*around, *folders)) if folder.is_absolute() and folder != Path("/")]


def _read(file: Path, line: int, begun_ns: int | None) -> dict[str, Any] | None:
    try:
        known = file.stat()
        if not file.is_file() or known.st_size > _MOST_BYTES:
            return None
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    shown = [text.expandtabs(4)[:_WIDEST] for text in lines[line - 1 : line - 1 + _SHOWN]]
    if not shown or "\0" in "".join(shown):
        return None
    newer = begun_ns is not None and known.st_mtime_ns > begun_ns
    return {"first": line, "lines": _up_to_its_end(shown), "remark": "newer than the recording" if newer else ""}


def _parted(place: str) -> tuple[str, int]:
    """Line 0: not known."""
    file, _, line = place.rpartition(":")
    return (file, int(line)) if file and line.isdecimal() else (place, 0)


def _up_to_its_end(lines: list[str]) -> list[str]:
    """Without what follows the function: its end is a brace in the first column."""
    end = next((i for i, text in enumerate(lines) if text.startswith("}")), len(lines) - 1)
    return lines[: end + 1]
