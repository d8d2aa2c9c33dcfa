"""`vprof reorder --verify` on a real PostgreSQL: what is alike, what is not, and what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import Result
from real_servers import RealServer, postgres
from verify_parts import LIE
from verify_parts import verified as run_verified

from vprof.errors import UsageError

SCHEMA = """CREATE TABLE a (id int PRIMARY KEY, x int, at timestamptz);
CREATE TABLE b (id int PRIMARY KEY, x int);
INSERT INTO a SELECT i, i, now() FROM generate_series(1, 4) i;
INSERT INTO b SELECT i, i FROM generate_series(1, 4) i;"""
HEAD = """#include <libpq-fe.h>
#include <stdio.h>
int next(int *value);
int show(int value);
static void ask(PGconn *conn, const char *sql, int value) {
  char text[20];
  const char *values[] = {text};
  snprintf(text, sizeof text, "%d", value);
  PQclear(PQexecParams(conn, sql, 1, NULL, values, NULL, NULL, 0));
}
"""
PAY = """int pay(PGconn *conn, int value) {
  PQclear(PQexec(conn, "BEGIN"));
  ask(conn, "UPDATE a SET x = x + $1, at = CURRENT_TIMESTAMP WHERE id = 1", %s); /* index 9 */
  ask(conn, "UPDATE b SET x = x + $1 WHERE id = 2", %s); /* index 1 */
  PQclear(PQexec(conn, "COMMIT"));
  return 7;
}
"""
GOOD, WRONG = (HEAD + PAY % values for values in (("value", "value"), ("next(&value)", "next(&value)")))


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with postgres(["fsync=off"]) as running:
        with psycopg.connect(f"host={running.socket} user=vprof dbname=vprof") as connection:
            connection.execute(SCHEMA)
        yield running


def databases(server: RealServer) -> set[str]:
    with psycopg.connect(f"host={server.socket} user=vprof dbname=vprof") as connection:
        return {name for (name,) in connection.execute("SELECT datname FROM pg_database")}


def verified(server: RealServer, folder: Path, text: str = GOOD, more: str = "", *options: object) -> Result:
    usual = {"server": f"'host={server.socket} user=vprof'", "database": "'vprof'"}
    return run_verified(folder, text, usual, more, options=options)


def test_alike(server: RealServer, tmp_path: Path) -> None:
    done = verified(server, tmp_path, GOOD, "", "--apply")
    assert done.exit_code == 0, done.exception
    assert "alike after 5 runs: the output, and 2 tables\n" in done.output
    assert (tmp_path / "t.c").read_text() != GOOD
    assert databases(server) == {"postgres", "template0", "template1", "vprof"}
    with psycopg.connect(f"host={server.socket} user=vprof dbname=vprof") as connection:
        assert connection.execute("SELECT x FROM a ORDER BY id").fetchall() == [(1,), (2,), (3,), (4,)]


def test_the_first_difference(server: RealServer, tmp_path: Path) -> None:
    """Since calls.toml says that `next` changes nothing."""
    done = verified(server, tmp_path, WRONG, "[inputs]\nvalue = [5]", "--apply", "--format", "json")
    assert done.exit_code == 3
    found = json.loads(done.output)["verified"]
    assert found["sentence"] == "not alike: table a differs after run 1"
    expected = {"run": 1, "call": "pay(conn, 5)", "where": "table a", "columns": ["id", "x"]}
    assert found["difference"] == {**expected, "original": "(1,6)", "reordered": "(1,7)"}
    assert (tmp_path / "t.c").read_text() == WRONG
    assert databases(server) == {"postgres", "template0", "template1", "vprof"}


def test_another_output(server: RealServer, tmp_path: Path) -> None:
    """Since calls.toml says that nobody sees `show`."""
    text = HEAD + PAY % ("show(value)", "show(value + 1)")
    done = verified(server, tmp_path, text, "[inputs]\nvalue = [5]", "--format", "json")
    assert done.exit_code == 3, done.exception
    found = json.loads(done.output)["verified"]["difference"]
    assert (found["where"], found["columns"]) == ("the output", [])
    assert (found["original"], found["reordered"]) == ("5", "6")


def test_under_load(server: RealServer, tmp_path: Path) -> None:
    load = "[load]\nclients = 2\nseconds = 0.5\nrounds = 3\n"
    done = verified(server, tmp_path, GOOD, load, "--format", "json")
    assert done.exit_code == 0, done.exception
    found = json.loads(done.output)["verified"]["under_load"]
    assert found["diff"]["schema"] == "vprof-diff/1"
    assert [change["before"] > 0 for change in found["diff"]["metrics"][:2]] == [True, True]
    assert [list(found["returned"][side]) for side in ("original", "reordered")] == [["7"], ["7"]]
    done = verified(server, tmp_path, GOOD, load)
    assert "Under load: the original before, the reordered one after" in done.output
    assert "what reordered transactions returned: 7: " in done.output


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("runs = 0", "verify.toml: `runs` is not a whole number from 1 to 100000"),
        (
            "run = 1",
            "verify.toml: nobody knows the key run: it may have call, database, .*",
        ),
        ("[inputs]\nvalue = {from = 2, to = 1}", "verify.toml: the input value ends before it begins"),
        ("call = 'pay(conn, 1)'", "verify.toml: the call has no {value}, which is one of its inputs"),
        ("ignore = ['a.y']", "ignore names a.y: the database has no such table or column (table.column)"),
        ("database = 'no'", 'CREATE DATABASE .* TEMPLATE no: template database "no" does not exist'),
        ("server = 'host=/nowhere'", "server: connection is bad: .*"),
        ("call = 'pay(con, {value})'", "the program with the original t.c does not build: vprof_main.c:.*con.*"),
    ],
)
def test_what_it_refuses(server: RealServer, tmp_path: Path, more: str, says: str) -> None:
    done = verified(server, tmp_path, GOOD, more)
    assert isinstance(done.exception, UsageError), done.output
    said = str(done.exception).replace(f"{tmp_path}/", "")
    assert "\n" not in said
    assert said == says or re.fullmatch(says, said), said
    assert databases(server) == {"postgres", "template0", "template1", "vprof"}


def test_another_client(server: RealServer, tmp_path: Path) -> None:
    text = """short SQLExecDirect(void *statement, const char *text, int length);
int pay(void *statement) {
  SQLExecDirect(statement, "UPDATE a SET x = 1", -3); /* index 2 */
  SQLExecDirect(statement, "UPDATE b SET x = 1", -3); /* index 1 */
  return 0;
}
"""
    done = verified(server, tmp_path, text)
    assert str(done.exception) == "--verify cannot copy databases of the client library that pay uses"


def test_another_driver(tmp_path: Path) -> None:
    """Which a table of calls names."""
    texts = ("header", "type", "open", "connected", "error", "undo", "close")
    program = "".join(f'{key} = ""\n' for key in texts)
    ask = '[[call]]\nfunction = ["ask", "PQexec"]\narguments = ["connection", "sql"]\nreturns = "new"\n'
    calls = f'dialect = "postgres"\n[program]\ndriver = "none"\nlink = []\n{program}{ask}{LIE}'
    done = run_verified(tmp_path, GOOD, {"server": "''", "database": "'vprof'"}, "", calls)
    assert str(done.exception) == "--verify copies databases by psycopg or pymysql, not by none"
