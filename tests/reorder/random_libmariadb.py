"""Random transactions with libmariadb (random_transactions.py): constant queries by the library itself, others by a
function `ask`, which a table of calls describes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

head = """#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

MYSQL_RES *ask(MYSQL *conn, const char *sql, const char *const *values);
"""
schema = """CREATE TABLE a (id int PRIMARY KEY, x int, y int);
CREATE TABLE b (id int PRIMARY KEY, x int, y int);
CREATE TABLE c (id int PRIMARY KEY, x int, y int);
CREATE TABLE d (id int PRIMARY KEY, x int, y int, FOREIGN KEY (y) REFERENCES a (id) ON DELETE SET NULL);
CREATE VIEW v AS SELECT b.id, b.x + c.x AS x FROM b JOIN c ON b.id = c.id;
CREATE TRIGGER followed AFTER UPDATE ON b FOR EACH ROW UPDATE c SET y = y + NEW.x WHERE id = NEW.id;
"""
calls = """dialect = "mysql"
program = "libmariadb"
[[call]]
function = "ask"
arguments = ["connection", "sql", "ins"]
returns = "new"
"""
connection = "MYSQL *conn"
result = "MYSQL_RES *"
goes_on = True
begin = 'mysql_query(conn, "START TRANSACTION");'
commit = "mysql_commit(conn);"
reset = """  const char *const rows[] = {
      "DELETE FROM d", "DELETE FROM c", "DELETE FROM b", "DELETE FROM a",
      "INSERT INTO a VALUES (1, 5, 1), (2, 10, 2), (3, 15, 3), (4, 20, 4)",
      "INSERT INTO b VALUES (1, 7, 1), (2, 14, 2), (3, 21, 3), (4, 28, 4)",
      "INSERT INTO c VALUES (1, 3, 1), (2, 6, 2), (3, 9, 3), (4, 12, 4)",
      "INSERT INTO d VALUES (1, 2, 1), (2, 4, 2), (3, 6, 3)"};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (mysql_query(conn, rows[i]) != 0) abort();"""
behind = """/* `$1` and `$2` of `sql` are numbers. */
MYSQL_RES *ask(MYSQL *conn, const char *sql, const char *const *values) {
  char text[1000], *end = text;
  for (; *sql; sql++) {
    if (*sql == '$')
      end = stpcpy(end, values[*++sql - '1']);
    else
      *end++ = *sql;
  }
  *end = 0;
  return mysql_query(conn, text) == 0 ? mysql_store_result(conn) : NULL;
}
"""


def rollback(choose: random.Random) -> str:
    return choose.choice(["mysql_rollback(conn);", 'mysql_query(conn, "ROLLBACK");'])


def number(value: str) -> str:
    return value


def insert_or_update(table: str) -> str:
    return f"INSERT INTO {table} VALUES ($2, $1, NULL) ON DUPLICATE KEY UPDATE x = x + $1"


def delete_by_others(table: str, other: str) -> str:
    return f"DELETE {table} FROM {table} JOIN {other} o ON {table}.id = o.id WHERE o.id = $2 AND o.x > $1"


def query(target: str, sql: str, values: str, mark: str, choose: random.Random) -> Sequence[str]:
    """With the values of the transaction, or with constants."""
    if choose.random() < 0.5:
        return [f'{target} = ask(conn, "{sql}", {values}); {mark}']
    sql = sql.replace("$1", str(choose.randint(0, 9))).replace("$2", str(choose.randint(1, 4)))
    asked = f'mysql_query(conn, "{sql}")'
    if choose.random() < 0.6:
        lines = [f"{asked}; {mark}"]
    else:
        lines = [f"if ({asked} != 0) {{ {mark}", f"  {rollback(choose)}", "  return 1;", "}"]
    return [*lines, f"{target} = mysql_store_result(conn);"]


def failed(result: str, returns: bool) -> str:
    return f"!{result}" if returns else "mysql_errno(conn) != 0"


def rows(result: str) -> str:
    return f"mysql_num_rows({result})"


def value(result: str) -> str:
    return f"atoi(mysql_fetch_row({result})[0])"


def clear(result: str) -> str:
    return f"mysql_free_result({result});"


def more(variable: Callable[[], str], choose: random.Random) -> Sequence[str]:
    """What the query left in the connection."""
    return [f"{variable()} = (int)mysql_affected_rows(conn);"] if choose.random() < 0.3 else []
