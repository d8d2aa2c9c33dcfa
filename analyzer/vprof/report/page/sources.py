"""Where functions are defined: a link to a place, by a template, and the first lines of the definition if they can be
read here.

    "dir/file.c:17" + template  ->  URL          "dir/file.c:17" + when the run began  ->  lines, or why there are none
"""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from vprof.errors import UsageError

NAMES = {"file", "line", "function"}
SCHEMES = {"http", "https", "vscode", "vscode-insiders", "idea", "file"}
_SOURCES = {".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".tcc"}
"""What a trace names is read only if it is named as sources are: a page goes to others."""
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
    """To the place of a function, "" if that is not known or outside of the program."""
    file, line = _parted(place)
    if not template or not line:
        return ""
    return template.format(file=quote(file), line=line, function=quote(function, safe=""))


def first_lines(place: str, begun_ns: int | None) -> dict[str, Any] | None:
    """`first` (its number), `lines` and `remark` ("" or that the file is newer than the recording) of a definition;
    None if it cannot be read as text here. Relative names are below the current folder."""
    name, line = _parted(place)
    file = Path(name)
    if not line or file.suffix.lower() not in _SOURCES:
        return None
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
