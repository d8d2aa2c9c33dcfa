"""Random transactions with libpq (random_transactions.py)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

head = "#include <libpq-fe.h>\n#include <stdio.h>\n#include <stdlib.h>\n\n"
schema = """CREATE TABLE a (id int PRIMARY KEY, x int, y int);
CREATE TABLE b (id int PRIMARY KEY, x int, y int);
CREATE TABLE c (id int PRIMARY KEY, x int, y int);
CREATE TABLE d (id int PRIMARY KEY, x int, y int REFERENCES a (id) ON DELETE SET NULL);
CREATE VIEW v AS SELECT b.id, b.x + c.x AS x FROM b JOIN c ON b.id = c.id;
CREATE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE c SET y = y + NEW.x WHERE id = NEW.id;
  RETURN NEW;
END
$$;
CREATE TRIGGER followed AFTER UPDATE ON b FOR EACH ROW EXECUTE FUNCTION follow();
"""
calls = ""
connection = "PGconn *conn"
result = "PGresult *"
goes_on = False
begin = 'PQclear(PQexec(conn, "BEGIN"));'
commit = 'PQclear(PQexec(conn, "COMMIT"));'
reset = """  PQclear(PQexec(conn, "SET synchronous_commit = off; SET client_min_messages = error;"
                       "DELETE FROM d; DELETE FROM c; DELETE FROM b; DELETE FROM a;"
                       "INSERT INTO a SELECT i, i * 5, i FROM generate_series(1, 4) i;"
                       "INSERT INTO b SELECT i, i * 7, i FROM generate_series(1, 4) i;"
                       "INSERT INTO c SELECT i, i * 3, i FROM generate_series(1, 4) i;"
                       "INSERT INTO d SELECT i, i * 2, i FROM generate_series(1, 3) i"));"""
behind = ""


def rollback(choose: random.Random) -> str:
    return 'PQclear(PQexec(conn, "ROLLBACK"));'


def number(value: str) -> str:
    return f"{value}::int"


def insert_or_update(table: str) -> str:
    row = "($2::int, $1::int, NULL)"
    return f"INSERT INTO {table} VALUES {row} ON CONFLICT (id) DO UPDATE SET x = {table}.x + $1::int"


def delete_by_others(table: str, other: str) -> str:
    return f"DELETE FROM {table} USING {other} o WHERE {table}.id = o.id AND o.id = $2 AND o.x > $1"


def query(target: str, sql: str, values: str, mark: str, choose: random.Random) -> Sequence[str]:
    return [f'{target} = PQexecParams(conn, "{sql}", 2, NULL, {values}, NULL, NULL, 0); {mark}']


def failed(result: str, returns: bool) -> str:
    return f"PQresultStatus({result}) != {'PGRES_TUPLES_OK' if returns else 'PGRES_COMMAND_OK'}"


def rows(result: str) -> str:
    return f"PQntuples({result})"


def value(result: str) -> str:
    return f"atoi(PQgetvalue({result}, 0, 0))"


def clear(result: str) -> str:
    return f"PQclear({result});"


def more(variable: Callable[[], str], choose: random.Random) -> Sequence[str]:
    return []
