"""Random transactions in C with libpq: some ten statements on four tables, branches, loops, checks, shared buffers.

Every exit but the last undoes the transaction and returns 1, so that it does not matter which check fails first.
"""

from __future__ import annotations

import random
from collections.abc import Callable

SCHEMA = """CREATE TABLE a (id int PRIMARY KEY, x int, y int);
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

_CHECK = """if (PQresultStatus({result}) != {status}) {{
  PQclear({result});
  PQclear(PQexec(conn, "ROLLBACK"));
  return 1;
}}"""
_SOME_ROWS = """if (PQntuples({result}) == 0) {{
  PQclear({result});
  PQclear(PQexec(conn, "ROLLBACK"));
  return 1;
}}"""


class Generator:
    """Of one transaction."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._names = 0
        self._lines: list[str] = []
        self._depth = 1
        self._values = "values"

    def function(self, name: str) -> str:
        """Its text; `/* index N */` marks each query."""
        size = self._random.randint(5, 12)
        self._put(f"int {name}(PGconn *conn, int p, int q) {{", 0)
        self._put("int v0 = p, v1 = q, v2 = p + q, kept[4] = {0};")
        self._put("char text[20], more[20];")
        self._put("const char *values[2];")
        self._put("PGresult *result;")
        self._put('PQclear(PQexec(conn, "BEGIN"));')
        for _ in range(size):
            self._statement()
        self._put('PQclear(PQexec(conn, "COMMIT"));')
        self._put("total += v0 + 3 * v1 + 7 * v2 + kept[0] + kept[1] + kept[2] + kept[3];")
        self._put("return 0;")
        self._put("}", 0)
        return "\n".join(self._lines) + "\n"

    def _put(self, text: str, depth: int | None = None) -> None:
        indent = "  " * (self._depth if depth is None else depth)
        self._lines += [indent + line for line in text.split("\n")]

    def _statement(self) -> None:
        ways: list[tuple[Callable[[], None], int]] = [
            (self._update, 5),
            (self._select, 5),
            (self._insert, 1),
            (self._delete, 1),
            (self._compute, 2),
            (self._check_value, 1),
            (self._show, 1),
            (self._branch, 2 if self._depth < 3 else 0),
            (self._loop, 2 if self._depth < 3 else 0),
        ]
        self._random.choices([way for way, _ in ways], [weight for _, weight in ways])[0]()

    def _variable(self) -> str:
        return self._random.choice(["v0", "v1", "v2"])

    def _value(self) -> str:
        return self._random.choice(["p", "q", "v0", "v1", "v2", f"kept[{self._random.randint(0, 3)}]", "3"])

    def _table(self) -> str:
        return self._random.choice("abcd")

    def _mark(self) -> str:
        return f"/* index {self._random.randint(1, 99)} */"

    def _fill(self) -> None:
        """`values[0]` is a small number, `values[1]` a key."""
        own = self._random.random() < 0.4
        text, more, values = ("text", "more", "values")
        if own:
            self._names += 1
            text, more, values = (f"{name}{self._names}" for name in ("text", "more", "values"))
            self._put(f"char {text}[20], {more}[20];\nconst char *{values}[2];")
        self._put(f'snprintf({text}, sizeof {text}, "%d", {self._value()} % 10);')
        self._put(f'snprintf({more}, sizeof {more}, "%d", 1 + abs({self._value()}) % 4);')
        self._put(f"{values}[0] = {text};\n{values}[1] = {more};")
        self._values = values

    def _ask(self, sql: str, returns: bool) -> str:
        """The variable with the result."""
        result = "result"
        declared = ""
        if self._random.random() < 0.5:
            self._names += 1
            result, declared = f"result{self._names}", "PGresult *"
        rest = f"2, NULL, {self._values}, NULL, NULL, 0); {self._mark()}"
        self._put(f'{declared}{result} = PQexecParams(conn, "{sql}", {rest}')
        status = "PGRES_TUPLES_OK" if returns else "PGRES_COMMAND_OK"
        if returns or "INSERT" in sql or self._random.random() < 0.6:
            self._put(_CHECK.format(result=result, status=status))
        return result

    def _update(self) -> None:
        self._fill()
        table, column = self._table(), self._random.choice(["x", "y"])
        column = "x" if table == "d" else column
        result = self._ask(f"UPDATE {table} SET {column} = {column} + $1 WHERE id = $2", False)
        self._put(f"PQclear({result});")

    def _select(self) -> None:
        self._fill()
        table = self._random.choice(["a", "b", "c", "d", "v"])
        result = self._ask(f"SELECT x FROM {table} WHERE id = $2 AND x > $1 - 1000", True)
        target = self._random.choice([self._variable(), f"kept[{self._random.randint(0, 3)}]"])
        if self._random.random() < 0.5:
            self._put(_SOME_ROWS.format(result=result))
            self._put(f"{target} = atoi(PQgetvalue({result}, 0, 0));")
        else:
            self._put(f"if (PQntuples({result}) > 0) {target} = atoi(PQgetvalue({result}, 0, 0));")
        self._put(f"PQclear({result});")

    def _insert(self) -> None:
        self._fill()
        table = self._table()
        result = self._ask(f"INSERT INTO {table} VALUES ($1::int + 20, 1, $2::int)", False)
        self._put(f"PQclear({result});")

    def _delete(self) -> None:
        self._fill()
        result = self._ask(f"DELETE FROM {self._table()} WHERE id = $2 AND x > $1", False)
        self._put(f"PQclear({result});")

    def _compute(self) -> None:
        self._put(f"{self._variable()} = ({self._value()} * 2 + {self._value()}) % 1000;")

    def _check_value(self) -> None:
        self._put(f"if ({self._value()} > {self._random.randint(5, 900)}) {{")
        self._put('  PQclear(PQexec(conn, "ROLLBACK"));\n  return 1;\n}')

    def _show(self) -> None:
        self._put(f"total = total * 3 + {self._value()};")

    def _block(self) -> None:
        self._depth += 1
        for _ in range(self._random.randint(1, 3)):
            self._statement()
        self._depth -= 1

    def _branch(self) -> None:
        self._put(f"if ({self._value()} % {self._random.randint(2, 3)} == 0) {{")
        self._block()
        if self._random.random() < 0.5:
            self._put("} else {")
            self._block()
        self._put("}")

    def _loop(self) -> None:
        self._names += 1
        i = f"i{self._names}"
        self._put(f"for (int {i} = 0; {i} < {self._random.randint(2, 3)}; {i}++) {{")
        if self._random.random() < 0.3:
            self._put(f"  kept[{i}] = {self._value()} + {i};")
        self._block()
        self._put("}")


def transaction(seed: int, name: str) -> str:
    """A translation unit with the function `name`."""
    head = "#include <libpq-fe.h>\n#include <stdio.h>\n#include <stdlib.h>\n\nextern int total;\n\n"
    return head + f"int {name}(PGconn *conn, int p, int q);\n\n" + Generator(seed).function(name)


def caller(names: list[str]) -> str:
    """A function `pick` that runs one of the transactions, each time on the same rows, and prints what is left."""
    return f"""
int total;
static int (*const all[])(PGconn *conn, int p, int q) = {{{", ".join(names)}}};

static int pick(PGconn *conn, int number, int p, int q) {{
  PQclear(PQexec(conn, "SET synchronous_commit = off; SET client_min_messages = error;"
                       "DELETE FROM d; DELETE FROM c; DELETE FROM b; DELETE FROM a;"
                       "INSERT INTO a SELECT i, i * 5, i FROM generate_series(1, 4) i;"
                       "INSERT INTO b SELECT i, i * 7, i FROM generate_series(1, 4) i;"
                       "INSERT INTO c SELECT i, i * 3, i FROM generate_series(1, 4) i;"
                       "INSERT INTO d SELECT i, i * 2, i FROM generate_series(1, 3) i"));
  const int code = all[number](conn, p, q);
  printf("total %d\\n", total);
  return code;
}}
"""
