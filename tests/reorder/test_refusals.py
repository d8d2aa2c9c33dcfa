"""What `vprof reorder` refuses: one line each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reordered import reorder

from vprof.errors import UsageError

HEAD = "#include <libpq-fe.h>\n"
QUERIES = """  PQclear(PQexec(conn, "UPDATE a SET x = 1"));
  PQclear(PQexec(conn, "UPDATE b SET x = 1"));
"""
GOOD = f"{HEAD}void f(PGconn *conn) {{\n{QUERIES}}}\n"


def refused(
    folder: Path,
    text: str,
    *options: object,
    function: str = "f",
    index: str = '{"3": 2, "4": 1}',
    name: str = "t.c",
) -> str:
    (folder / name).write_text(text)
    (folder / "index.json").write_text(index)
    done = reorder(folder / name, "--function", function, "--index", folder / "index.json", *options)
    assert isinstance(done.exception, UsageError), done.output
    said = str(done.exception)
    assert "\n" not in said
    return said.replace(f"{folder}/", "")


def test_no_such_function(tmp_path: Path) -> None:
    assert refused(tmp_path, GOOD, function="g") == "the file defines no function g: it has f"


def test_two_transactions(tmp_path: Path) -> None:
    begin = '  PQclear(PQexec(conn, "BEGIN"));\n'
    text = f"{HEAD}void f(PGconn *conn) {{\n{begin}{QUERIES}{begin}{QUERIES}}}\n"
    assert refused(tmp_path, text) == "f begins 2 transactions (lines 3, 6): give one function to each"


def test_two_functions_of_one_name(tmp_path: Path) -> None:
    text = f"{GOOD}void f(PGconn *conn, int x) {{}}\n"
    assert refused(tmp_path, text, name="t.cpp") == "the file defines f 2 times: give them names of their own"


def test_all_queries_in_a_try_block(tmp_path: Path) -> None:
    text = f"{HEAD}void f(PGconn *conn) {{\n  try {{\n{QUERIES}  }} catch (...) {{\n  }}\n}}\n"
    said = refused(tmp_path, text, name="t.cpp")
    assert said == "f sends no query that vprof sees: line 3 has a try block: vprof does not follow exceptions"


@pytest.mark.parametrize(
    ("between", "what"),
    [
        ("try {\n  } catch (...) {\n  }", "a try block: vprof does not follow exceptions"),
        ("if (!conn) throw 1;", "a throw: vprof does not follow exceptions"),
        ('for (char one : "ab") {\n  }', "a for over a range"),
        ("auto add = [&] { conn = nullptr; };", "a lambda"),
        ('__asm__("");', "assembly"),
        ("if (int x = 1; x) {\n  }", "C that vprof does not understand (IfStmt)"),
    ],
)
def test_what_nothing_may_pass_in_cxx(tmp_path: Path, between: str, what: str) -> None:
    first, last = QUERIES.splitlines()
    (tmp_path / "t.cpp").write_text(f"{HEAD}void f(PGconn *conn) {{\n{first}\n  {between}\n{last}\n}}\n")
    (tmp_path / "index.json").write_text('{"3": 2}')
    done = reorder(tmp_path / "t.cpp", "--function", "f", "--index", tmp_path / "index.json", "--format", "json")
    assert done.exit_code == 0, done.exception
    assert json.loads(done.output)["patch"] == ""
    assert {unit["line"]: unit["fixed"] for unit in json.loads(done.output)["units"]}[4] == what


@pytest.mark.parametrize(
    ("sql", "level"),
    [
        ("BEGIN ISOLATION LEVEL READ COMMITTED", "READ COMMITTED"),
        ("SET TRANSACTION ISOLATION LEVEL\trepeatable  read", "REPEATABLE READ"),
        ("SET SESSION transaction_isolation = 'READ-UNCOMMITTED'", "READ UNCOMMITTED"),
        ("BEGIN ISOLATION LEVEL SERIALIZABLE", None),
        ("BEGIN", None),
    ],
)
def test_weaker_isolation_is_warned_of(tmp_path: Path, sql: str, level: str | None) -> None:
    """In the report, and in JSON."""
    (tmp_path / "t.c").write_text(f'{HEAD}void f(PGconn *conn) {{\n  PQclear(PQexec(conn, "{sql}"));\n{QUERIES}}}\n')
    (tmp_path / "index.json").write_text('{"4": 2, "5": 1}')
    words = [tmp_path / "t.c", "--function", "f", "--index", tmp_path / "index.json"]
    done = reorder(*words)
    assert done.exit_code == 0, done.exception
    told = f"Line 3 asks for less, {level}: whether the order does the same there is up to you."
    assert (told in done.output) == (level is not None)
    found = json.loads(reorder(*words, "--format", "json").output)
    assert found["order"][1:3] == ["line 5 (UPDATE b)", "line 4 (UPDATE a)"]
    assert found["weaker"] == ([{"line": 3, "level": level}] if level else [])


def test_no_query(tmp_path: Path) -> None:
    said = refused(tmp_path, "void f(void) {}\n")
    assert said == "f sends no query that vprof knows of: annotations/clients has the calls that do"


def test_what_does_not_compile(tmp_path: Path) -> None:
    said = refused(tmp_path, "void f(void) { g }\n")
    assert said == "t.c does not compile: t.c:1: use of undeclared identifier 'g'"


def test_no_such_file(tmp_path: Path) -> None:
    done = reorder(tmp_path / "no.c", "--function", "f", "--index", tmp_path / "index.json")
    assert isinstance(done.exception, UsageError)
    assert "index.json: No such file" in str(done.exception)
    (tmp_path / "index.json").write_text("{}")
    done = reorder(tmp_path / "no.c", "--function", "f", "--index", tmp_path / "index.json")
    assert str(done.exception) == f"cannot read {tmp_path}/no.c: No such file or directory"


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ('{"9": 1}', "the index names line 9, where f has no query: it has some in lines 3, 4"),
        ('{"3": -1}', "index.json: the index of line 3 must be a number of 0 or more"),
        ('{"x": 1}', "index.json: invalid literal for int() with base 10: 'x'"),
        ("[]", "index.json: an index is an object that gives lines of queries their index"),
    ],
)
def test_an_index_that_is_none(tmp_path: Path, index: str, says: str) -> None:
    assert refused(tmp_path, GOOD, index=index) == says


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('[[call]]\nfunction = "g"\narguments = ["give"]', "g: no argument can be give"),
        ('[[call]]\nfunction = "g"\ntransaction = "end"', "g: transaction must be begin, commit or rollback"),
        ('[[call]]\nfunction = "g"\nreturns = "argument"', "g: returns must be value, new, state or argument N"),
        ('dialect = "sqll"\n[[call]]\nfunction = "g"', "dialect: sqlglot knows no sqll"),
        ('program = "libno"\n[[call]]\nfunction = "g"', "program: annotations/clients describes no libno"),
        ('[program]\ndriver = "psycopg"\n[[call]]\nfunction = "g"', "[program] lacks the key `header`"),
    ],
)
def test_a_table_of_calls_that_is_wrong(tmp_path: Path, table: str, says: str) -> None:
    (tmp_path / "calls.toml").write_text(f"{table}\n")
    assert refused(tmp_path, GOOD, "--calls", tmp_path / "calls.toml") == f"calls.toml: {says}"


@pytest.mark.parametrize(
    ("schema", "what"),
    [
        ("CREATE VIEW v AS SELECT FROM WHERE", "view"),
        ("CREATE DEFINER = me TRIGGER t BESIDE UPDATE ON a FOR EACH ROW SELECT 1", "trigger"),
    ],
)
def test_a_schema_that_is_not_understood(tmp_path: Path, schema: str, what: str) -> None:
    (tmp_path / "schema.sql").write_text(f"{schema};\n")
    said = refused(tmp_path, GOOD, "--schema", tmp_path / "schema.sql")
    assert said == f"a {what} of the schema is not understood: {schema[:60]}"


def test_an_older_text_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "t.c.orig").write_text("older")
    said = refused(tmp_path, GOOD, "--apply")
    assert said == "t.c.orig is there already: move it away, it may be the only copy of an older text"
    assert (tmp_path / "t.c").read_text() == GOOD


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "give the FILE with the transaction, or a --problem"),
        (("t.c",), "give --function, the transaction in FILE, and the indices of its queries: --index or --trace"),
        (("--problem", "p.json", "--apply"), "--problem has no source: leave out FILE, --verify and --apply"),
    ],
)
def test_options_that_do_not_go_together(words: tuple[str, ...], says: str) -> None:
    from click.testing import CliRunner

    from vprof.cli import root

    done = CliRunner().invoke(root, ["reorder", *words])
    assert str(done.exception) == says
