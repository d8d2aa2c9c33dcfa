"""The product knows no server by name: all that is known of one lies in targets/, what is tried with it in tests/.
And no two files of tests are called alike: pytest imports them by that."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
CODE = {".py", ".cpp", ".h", ".c", ".S", ".def", ".js", ".jinja"}
NAMES = sorted(path.parent.name for path in CHECKOUT.glob("targets/*/target.toml"))
ALSO = ["postgresql", "mariadb", "mariadbd", "innodb", "apache", "voltdb"]
EXAMPLE = re.compile(r"^\s+vprof \w")
"""A command to paste, in the help of a verb."""


def named(text: str) -> list[str]:
    """The lines of a file that name a server, but for examples."""
    server = re.compile(rf"\b({'|'.join([*NAMES, *ALSO])})\b", re.IGNORECASE)
    return [line for line in text.splitlines() if server.search(line) and not EXAMPLE.match(line)]


def test_a_server_is_seen() -> None:
    assert "postgres" in NAMES
    assert named("if target == 'postgres':\n      vprof record --target postgres\n") == ["if target == 'postgres':"]


@pytest.mark.parametrize("folder", ["analyzer", "instrumenter", "runtime"])
def test_no_code_names_a_server(folder: str) -> None:
    files = [path for path in (CHECKOUT / folder).rglob("*") if path.suffix in CODE and "vendor" not in path.parts]
    assert files
    found = {str(path.relative_to(CHECKOUT)): named(path.read_text(encoding="utf-8")) for path in files}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_each_file_of_tests_has_a_name_of_its_own() -> None:
    names = Counter(path.name for path in (CHECKOUT / "tests").rglob("test_*.py"))
    assert len(names) > 100 and [name for name, count in names.items() if count > 1] == []
