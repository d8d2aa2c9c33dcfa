"""`vprof reorder --verify` with libmariadb on a real MariaDB, where the copies of a database are made by statements."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql
import pytest
from click.testing import Result
from real_servers import RealServer, mariadb
from verify_parts import LIE
from verify_parts import verified as run_verified

from vprof.errors import UsageError, VprofError
from vprof.transaction.clients import known_calls
from vprof.verify.alone import alike
from vprof.verify.by_pymysql import copies
from vprof.verify.databases import Copy, Table, compared
from vprof.verify.plan import Plan

SCHEMA = [
    "CREATE TABLE a (id int PRIMARY KEY, x int, at timestamp(6) NULL, text varchar(20) CHARACTER SET latin1)",
    "CREATE TABLE b (id int AUTO_INCREMENT PRIMARY KEY, x float, twice float AS (x * 2) STORED, bytes varbinary(9),"
    " of_a int, CHECK (x < 1000), FOREIGN KEY (of_a) REFERENCES a (id) ON DELETE CASCADE)",
    "CREATE FUNCTION half(value int) RETURNS int DETERMINISTIC RETURN value / 2",
    "CREATE VIEW below AS SELECT a.id, a.x, b.x AS y FROM a LEFT JOIN b ON b.of_a = a.id",
    "CREATE VIEW above AS SELECT id, x FROM below WHERE x > 0",
    "CREATE TABLE log (what text)",
    "CREATE TRIGGER logged AFTER UPDATE ON b FOR EACH ROW INSERT INTO log VALUES (concat(half(NEW.id), ': ', NEW.x))",
    "INSERT INTO a VALUES (1, 1, now(), 'it''s'), (2, 2, now(), NULL), (3, 3, now(), '`\\\\'), (4, 4, now(), '')",
    "INSERT INTO b (id, x, bytes, of_a) VALUES (7, 0.1, x'00ff', 1), (9, 2, NULL, 2)",
]
HEAD = """#include <mysql.h>
#include <stdio.h>
#include <string.h>
int next(int *value);
int show(int value);
static int ask(MYSQL *conn, const char *sql, int value) {
  char text[200];
  const char *at = strchr(sql, '?');
  snprintf(text, sizeof text, "%.*s%d%s", (int)(at - sql), sql, value, at + 1);
  return mysql_query(conn, text);
}
"""
PAY = """int pay(MYSQL *conn, int value) {
  mysql_query(conn, "START TRANSACTION");
  ask(conn, "UPDATE a SET x = x + ?, at = now(6) WHERE id = 1", %s); /* index 9 */
  ask(conn, "UPDATE b SET x = x + ? WHERE id = 7", %s); /* index 1 */
  mysql_commit(conn);
  return 7;
}
"""
GOOD, WRONG = (HEAD + PAY % values for values in (("value", "value"), ("next(&value)", "next(&value)")))
CALLS = 'dialect = "mysql"\nprogram = "libmariadb"\n' + LIE
ASK = '[[call]]\nfunction = "ask"\narguments = ["connection", "sql"]\n'


def execute(server: RealServer, *statements: str) -> Sequence[tuple[Any, ...]]:
    """The rows of the last one."""
    where = {"unix_socket": str(server.socket), "user": "vprof", "database": "vprof", "autocommit": True}
    with closing(pymysql.connect(**where)) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return list(cursor.fetchall())


@pytest.fixture(scope="module")
def running() -> Iterator[RealServer]:
    with mariadb(["innodb_flush_log_at_trx_commit=0"]) as found:
        execute(found, *SCHEMA)
        yield found


@pytest.fixture
def server(running: RealServer) -> Iterator[RealServer]:
    """Nothing is left there, and the database is as it was."""
    before = set(execute(running, "SHOW DATABASES"))
    rows = execute(running, "SELECT x FROM a ORDER BY id")
    yield running
    assert set(execute(running, "SHOW DATABASES")) == before
    assert execute(running, "SELECT x FROM a ORDER BY id") == rows


def verified(server: RealServer, folder: Path, text: str = GOOD, more: str = "", *options: object) -> Result:
    usual = {"server": f"'socket={server.socket} user=vprof'", "database": "'vprof'"}
    return run_verified(folder, text, usual, more, CALLS + ASK, options)


def test_alike(server: RealServer, tmp_path: Path) -> None:
    done = verified(server, tmp_path, GOOD, "", "--apply")
    assert done.exit_code == 0, done.exception
    assert "alike after 5 runs: the output, and 3 tables\n" in done.output
    assert (tmp_path / "t.c").read_text() != GOOD


def test_the_first_difference(server: RealServer, tmp_path: Path) -> None:
    """Since calls.toml says that `next` changes nothing."""
    done = verified(server, tmp_path, WRONG, "[inputs]\nvalue = [5]", "--apply", "--format", "json")
    assert done.exit_code == 3, done.exception
    found = json.loads(done.output)["verified"]
    assert found["sentence"] == "not alike: table a differs after run 1"
    expected = {"run": 1, "call": "pay(conn, 5)", "where": "table a", "columns": ["id", "x", "text"]}
    assert found["difference"] == {**expected, "original": "(1,6,'it\\'s')", "reordered": "(1,7,'it\\'s')"}
    assert (tmp_path / "t.c").read_text() == WRONG


def test_under_load(server: RealServer, tmp_path: Path) -> None:
    load = "[load]\nclients = 2\nseconds = 0.3\nrounds = 3\n"
    done = verified(server, tmp_path, GOOD, load, "--format", "json")
    assert done.exit_code == 0, done.exception
    found = json.loads(done.output)["verified"]["under_load"]
    assert [change["before"] > 0 for change in found["diff"]["metrics"][:2]] == [True, True]
    assert [list(found["returned"][side]) for side in ("original", "reordered")] == [["7"], ["7"]]


def test_a_difference_in_the_other_table(server: RealServer, tmp_path: Path) -> None:
    done = verified(server, tmp_path, WRONG, "ignore = ['a']\n[inputs]\nvalue = [5]", "--format", "json")
    assert done.exit_code == 3, done.exception
    found = json.loads(done.output)["verified"]["difference"]
    assert found["where"] == "table b"
    assert found["columns"] == ["id", "x", "twice", "bytes", "of_a"]
    assert found["original"].startswith("(7,6.0999") and found["reordered"].startswith("(7,5.0999")


def test_what_is_left_open_is_undone(server: RealServer, tmp_path: Path) -> None:
    """Else a client of the load would wait for itself."""
    text = GOOD.replace("  mysql_commit(conn);\n", "  if (value != 5) mysql_commit(conn);\n")
    done = verified(server, tmp_path, text, "[inputs]\nvalue = [5]\n[load]\nclients = 2\nseconds = 0.3\nrounds = 1\n")
    assert done.exit_code == 0, done.exception
    assert "what reordered transactions returned: 7: " in done.output


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("ignore = ['a.y']", "ignore names a.y: the database has no such table or column (table.column)"),
        ("database = 'no'", "the server has no database no that this user may see"),
        ("server = 'socket=/nowhere user=me'", "server: Can't connect to .*"),
        ("server = 'socket=/nowhere user=\"me'", "server: No closing quotation"),
        ("server = 'sockets=/nowhere'", "server: sockets is none of its words: host=..., port=..., user=..., .*"),
        ("server = 'port=x'", "server: the port x is no number"),
        ("server = 'defaults-file=/no'", "server: there is no file /no"),
    ],
)
def test_what_it_refuses(server: RealServer, tmp_path: Path, more: str, says: str) -> None:
    said = refused(verified(server, tmp_path, GOOD, more))
    assert said == says or re.fullmatch(says, said), said


def refused(done: Result) -> str:
    assert isinstance(done.exception, UsageError), done.output
    assert "\n" not in str(done.exception)
    return str(done.exception)


@pytest.mark.parametrize("sql", ["DELETE FROM vprof.a", "DELETE FROM `vprof` . `a`", "use vprof"])
def test_sql_that_names_the_database(server: RealServer, tmp_path: Path, sql: str) -> None:
    done = verified(server, tmp_path, f'{GOOD}int other(MYSQL *conn) {{ return mysql_query(conn, "{sql}"); }}\n')
    assert refused(done) == "line 19 names the database vprof, and would change it instead of a copy"


@pytest.mark.parametrize(
    ("made", "dropped", "why"),
    [
        ("CREATE SEQUENCE numbers", "DROP SEQUENCE numbers", "numbers is a sequence"),
        (
            "CREATE TABLE old (x int) ENGINE = MyISAM",
            "DROP TABLE old",
            "table old is of the engine MyISAM, not of InnoDB",
        ),
        ("CREATE TABLE kept (x int) WITH SYSTEM VERSIONING", "DROP TABLE kept", "kept is a system versioned"),
        (
            "CREATE TRIGGER reaching AFTER DELETE ON a FOR EACH ROW DELETE FROM vprof.b WHERE of_a = OLD.id",
            "DROP TRIGGER reaching",
            "trigger reaching names the database vprof",
        ),
        (
            "CREATE PROCEDURE reach() DELETE FROM `vprof` . b",
            "DROP PROCEDURE reach",
            "procedure reach names the database vprof",
        ),
        (
            "CREATE VIEW away AS SELECT user FROM mysql.user",
            "DROP VIEW away",
            "view away names the database mysql",
        ),
    ],
)
def test_what_cannot_be_copied(server: RealServer, tmp_path: Path, made: str, dropped: str, why: str) -> None:
    execute(server, made)
    try:
        assert refused(verified(server, tmp_path)) == f"the database cannot be copied: {why}"
    finally:
        execute(server, dropped)


def test_a_file_of_defaults(server: RealServer, tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text(f"[client]\nsocket = {server.socket}\nuser = vprof\n")
    done = verified(server, tmp_path, GOOD, f"server = 'defaults-file={tmp_path}/my.cnf'")
    assert done.exit_code == 0, done.exception


def with_copies(server: RealServer) -> tuple[Plan, Any]:
    client = known_calls()["mysql_query"].program
    return Plan(Path(), f"socket={server.socket} user=vprof", "vprof", "", {}), client


def test_a_copy_is_like_the_database(server: RealServer) -> None:
    """Its rows, and what its tables, its trigger and its views do."""
    with copies(*with_copies(server), ["one", "two"]) as two:
        tables = compared(two[0].tables(), frozenset())
        assert {table.called: list(table.columns) for table in tables} == {
            "a": ["id", "x", "at", "text"],
            "b": ["id", "x", "twice", "bytes", "of_a"],
            "log": ["what"],
        }
        rows = two[1].rows(tables[1])
        assert rows == {
            "(7,0.10000000149011612,0.20000000298023224,0x00FF,1)": 1,
            "(9,2,4,NULL,2)": 1,
        }
        own = f"vprof_{os.getpid()}_two"
        change(server, own, "UPDATE b SET x = 5 WHERE id = 9", "DELETE FROM a WHERE id = 1")
        assert two[1].rows(tables[2]) == {"('5: 5')": 1}  # half of 9
        assert two[1].rows(tables[1]) == {"(9,5,10,NULL,2)": 1}  # the row of the other one has gone with it
        assert two[0].rows(tables[1]) == rows
        assert change(server, own, "SELECT id, x FROM above ORDER BY id") == [(2, 2), (3, 3), (4, 4)]
        with pytest.raises(pymysql.Error, match="CONSTRAINT"):
            change(server, own, "UPDATE b SET x = 2000")
        change(server, own, "INSERT INTO b (x) VALUES (1)")
        assert change(server, own, "SELECT max(id) FROM b") == [(10,)]


def change(server: RealServer, database: str, *statements: str) -> Sequence[tuple[Any, ...]]:
    return execute(server, f"USE {database}", *statements)


def test_copies_that_differ_from_the_start_are_refused(server: RealServer) -> None:
    """As they do if somebody writes while the second one is made."""
    with copies(*with_copies(server), ["one", "two"]) as two:
        change(server, f"vprof_{os.getpid()}_two", "UPDATE a SET x = 9 WHERE id = 1")
        with pytest.raises(VprofError, match="the copies differ in table a before the first call"):
            alike([], [], two, frozenset())


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        ("a", "UPDATE a SET text = NULL WHERE id = 4"),  # it was ''
        ("a", "UPDATE a SET text = 'IT''S' WHERE id = 1"),
        ("a", "UPDATE a SET x = NULL WHERE id = 2"),
        ("b", "UPDATE b SET x = 0.10000001 WHERE id = 7"),
        ("b", "UPDATE b SET bytes = x'00fe' WHERE id = 7"),
        ("log", "INSERT INTO log VALUES (NULL)"),
    ],
)
def test_a_digest_sees_every_change(server: RealServer, table: str, statement: str) -> None:
    with copies(*with_copies(server), ["one"]) as [copy]:
        [found] = [one for one in copy.tables() if one.called == table]
        before = seen(copy, found)
        change(server, f"vprof_{os.getpid()}_one", statement)
        after = seen(copy, found)
        assert before[0] != after[0]
        assert before[1] != after[1]


def seen(copy: Copy, table: Table) -> tuple[object, object]:
    return copy.digest(table), copy.rows(table)
