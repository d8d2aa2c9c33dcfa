"""The rooms of analyzer/vprof import each other in one direction only: the one that their docstrings state."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "analyzer/vprof"
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
LIGHT = {
    "blas",
    "errors",
    "extras",
    "installed",
    "json_file",
    "lock_options",
    "options",
    "shapes",
    "terminal",
}
"""Files beside the rooms that any room may import: they import no room."""


def imports(source: str) -> Iterator[str]:
    """The first part below `vprof` of all that a file imports, at its top or later."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "vprof":
            below = node.module.split(".")[1:]
            yield from [below[0]] if below else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("vprof."))


def stated(room: str) -> set[str]:
    docstring = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))) or ""
    found = re.search(r"^Imports: ([a-z,\s]+)\.$", docstring, re.MULTILINE)
    assert found, f"{room}/__init__.py does not state what it imports"
    return set(re.split(r",\s+", found[1])) - {"nothing"}


def imported(room: str) -> set[str]:
    files = (PACKAGE / room).rglob("*.py")
    return {name for file in files for name in imports(file.read_text(encoding="utf-8"))} - {room}


def test_each_way_to_import_is_seen() -> None:
    source = "from vprof.path.parts import Parts\nfrom vprof import drill\nif x:\n    import vprof.target.server\n"
    assert list(imports(source)) == ["path", "drill", "target"]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_what_it_states(room: str) -> None:
    assert imported(room) & set(ROOMS) == stated(room)


@pytest.mark.parametrize("room", sorted({*ROOMS} - {"commands"}))
def test_a_room_below_the_commands_imports_no_file_that_imports_rooms(room: str) -> None:
    assert imported(room) - set(ROOMS) <= LIGHT | {"__version__"}


@pytest.mark.parametrize("name", sorted(LIGHT))
def test_a_light_file_imports_no_room(name: str) -> None:
    assert not set(imports((PACKAGE / f"{name}.py").read_text(encoding="utf-8"))) & set(ROOMS)


def test_no_room_imports_itself_through_others() -> None:
    assert len(list(TopologicalSorter({room: stated(room) for room in ROOMS}).static_order())) == len(ROOMS)
