"""Options of the compiler: from compile_commands.json above the file, where names are relative to its `directory`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from vprof.cli import root
from vprof.errors import UsageError

SOURCE = """#include "own.h"
#ifndef CHOSEN
#error not chosen
#endif
void f(PGconn *conn) {
  PQclear(PQexec(conn, "UPDATE a SET x = 1"));
  PQclear(PQexec(conn, "UPDATE b SET x = 1"));
}
"""


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """The command line of a transaction below a folder with a database."""
    (tmp_path / "source").mkdir()
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers/own.h").write_text("#include <libpq-fe.h>\n")
    (tmp_path / "source/t.c").write_text(SOURCE)
    (tmp_path / "index.json").write_text('{"6": 2, "7": 1}')
    return ["reorder", str(tmp_path / "source/t.c"), "--function", "f", "--index", str(tmp_path / "index.json")]


@pytest.mark.parametrize("form", ["arguments", "command"])
def test_the_database_has_the_options(form: str, words: list[str], tmp_path: Path) -> None:
    command = "cc -DCHOSEN -Iheaders -I/usr/include/postgresql -c source/t.c -o t.o"
    entry = {"directory": str(tmp_path), "file": "source/t.c", form: command if form == "command" else command.split()}
    (tmp_path / "compile_commands.json").write_text(json.dumps([{**entry, "file": "source/other.c"}, entry]))
    done = CliRunner().invoke(root, [*words, "--format", "json"])
    assert done.exit_code == 0, done.exception
    assert json.loads(done.output)["order"][:2] == ["line 7 (UPDATE b)", "line 6 (UPDATE a)"]


def test_a_database_that_is_none(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "compile_commands.json").write_text("{")
    said = str(CliRunner().invoke(root, words).exception)
    assert said.startswith(f"{tmp_path}/compile_commands.json is no compilation database: ")


def test_options_on_the_command_line_come_first(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "compile_commands.json").write_text("{")
    given = [*words, "--", f"-I{tmp_path}/headers", "-I/usr/include/postgresql"]
    done = CliRunner().invoke(root, given)
    assert isinstance(done.exception, UsageError) and str(done.exception).endswith("t.c:3: not chosen")
    assert CliRunner().invoke(root, [*given, "-DCHOSEN"]).exit_code == 0
