#!/usr/bin/env python3
"""Plants into a copy of a program's source; a step of its build, so it needs nothing but Python.

    python3 patch.py EDITS.json TREE PLANT_FILE

EDITS.json: `holder` is the C file that gets plant.c; `edits` are {file, insert} and one of
    function    insert at the begin of this function's body; `line`: near which it is defined
    before      insert before these whole lines, which the file has once
    after       or after them
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
_BODY = re.compile(r"\s*(?:const|noexcept|override|\s)*\{")


def body_begin(text: str, function: str, line: int = 0) -> int | None:
    """Where the body of a function begins, behind its brace: of several definitions, the one nearest to `line`, where
    an update of the source may have moved it. None: not found."""
    found = list(_bodies(text, function))
    return min(found, key=lambda one: abs(one[0] - line))[1] if found else None


def _bodies(text: str, function: str) -> Iterator[tuple[int, int]]:
    """The line and the body of each definition."""
    for match in re.finditer(rf"(?<!\w){re.escape(function)}\s*\(", text):
        depth = 1
        at = match.end()
        while depth and at < len(text):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        body = _BODY.match(text, at)
        if body:
            yield text.count("\n", 0, match.start()) + 1, body.end()


def edited(text: str, edit: dict[str, str | int]) -> str:
    insert = str(edit["insert"])
    if "function" in edit:
        at = body_begin(text, str(edit["function"]), int(edit.get("line", 0)))
        if at is None:
            raise SystemExit(f"{edit['file']}: no definition of {edit['function']}")
        return f"{text[:at]} {insert}{text[at:]}"
    lines = f"{edit.get('before', edit.get('after'))}\n"
    if text.count(lines) != 1:
        raise SystemExit(f"{edit['file']}: {text.count(lines)} times '{lines.strip()}'")
    at = text.index(lines) + len(lines) * ("after" in edit)
    return f"{text[:at]}{insert}\n{text[at:]}"


def plant(edits: dict, tree: Path, plant_file: str) -> None:
    for name in {edit["file"] for edit in edits["edits"]}:
        file = tree / name
        text = file.read_text(encoding="utf-8")
        # From the end of the file: the lines of the others stay where they are.
        for edit in sorted((e for e in edits["edits"] if e["file"] == name), key=lambda e: -e.get("line", 0)):
            text = edited(text, edit)
        file.write_text('#include "plant.h"\n' + text, encoding="utf-8")
        shutil.copy(HERE / "plant.h", file.parent)
    holder = tree / edits["holder"]
    shutil.copy(HERE / "plant.h", holder.parent)
    shutil.copy(HERE / "plant.c", holder.parent)
    (holder.parent / "plant_file.h").write_text(f'#define PLANT_FILE "{plant_file}"\n', encoding="utf-8")
    with holder.open("a", encoding="utf-8") as file:
        file.write('\n#include "plant.c"\n')


if __name__ == "__main__":
    plant(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]), sys.argv[3])
