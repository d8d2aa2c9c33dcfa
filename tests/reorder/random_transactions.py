"""Random transactions in C: some ten statements on four tables, branches, loops, checks, shared buffers.

Every exit but the last undoes the transaction and returns 1, so that it does not matter which check fails first. How
they are written with a client library is up to random_libpq.py and random_libmariadb.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Protocol


class Writing(Protocol):
    """C for a client library. `conn` is the connection; `values[0]`, `values[1]` are texts for `$1` and `$2`; `result`
    is what a query returned."""

    head: str
    """Of a file: what it includes, and declares."""
    schema: str
    """The SQL that makes the tables a, b, c, d and the view v."""
    calls: str
    """A table of calls, if it needs one."""
    connection: str
    """Its declaration."""
    result: str
    """The type of a query's result, with a space or a star at its end."""
    goes_on: bool
    """Whether a transaction goes on after a query that failed."""
    begin: str
    commit: str
    reset: str
    """Statements that put the same few rows into the tables."""
    behind: str
    """What stands behind all transactions of a file."""

    def number(self, value: str) -> str:
        """SQL for a number that is given as a text."""

    def insert_or_update(self, table: str) -> str:
        """SQL for a row with the key `$2`."""

    def delete_by_others(self, table: str, other: str) -> str:
        """SQL that deletes the row `$2` if the other table has such a one with an x above `$1`."""

    def rollback(self, choose: random.Random) -> str: ...

    def query(self, target: str, sql: str, values: str, mark: str, choose: random.Random) -> Sequence[str]:
        """Its lines. `target`: the variable for its result, which may be declared there."""

    def failed(self, result: str, returns: bool) -> str:
        """A condition. `returns`: rows, if it did not fail."""

    def rows(self, result: str) -> str: ...

    def value(self, result: str) -> str:
        """The number in the first column of the first row, if there is one."""

    def clear(self, result: str) -> str: ...

    def more(self, variable: Callable[[], str], choose: random.Random) -> Sequence[str]:
        """Lines behind a query without rows that only this client library has. `variable`: an int."""


class Generator:
    """Of one transaction."""

    def __init__(self, seed: int, writing: Writing) -> None:
        self._random = random.Random(seed)
        self._writing = writing
        self._names = 0
        self._lines: list[str] = []
        self._depth = 1
        self._values = "values"

    def function(self, name: str) -> str:
        """Its text; `/* index N */` marks each query."""
        size = self._random.randint(5, 12)
        own = self._writing
        self._put(f"int {name}({own.connection}, int p, int q) {{", 0)
        self._put("int v0 = p, v1 = q, v2 = p + q, kept[4] = {0};")
        self._put("char text[20], more[20];")
        self._put("const char *values[2];")
        self._put(f"{own.result}result;")
        self._put(own.begin)
        for _ in range(size):
            self._statement()
        self._put(own.commit)
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
            (self._insert_or_update, 1),
            (self._insert_others, 1),
            (self._delete, 1),
            (self._delete_by_others, 1),
            (self._count, 1),
            (self._refer, 1),
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

    def _ask(self, sql: str, returns: bool, may_fail: bool = False) -> str:
        """The variable with the result."""
        result = "result"
        declared = ""
        if self._random.random() < 0.5:
            self._names += 1
            result, declared = f"result{self._names}", self._writing.result
        for line in self._writing.query(f"{declared}{result}", sql, self._values, self._mark(), self._random):
            self._put(line)
        if returns or (may_fail and not self._writing.goes_on) or self._random.random() < 0.6:
            self._leave_if(self._writing.failed(result, returns), result)
        return result

    def _leave_if(self, condition: str, result: str | None = None) -> None:
        self._put(f"if ({condition}) {{")
        if result:
            self._put(f"  {self._writing.clear(result)}")
        self._put(f"  {self._writing.rollback(self._random)}\n  return 1;\n}}")

    def _done(self, result: str) -> None:
        """Of a query without rows."""
        self._put(self._writing.clear(result))
        for line in self._writing.more(self._variable, self._random):
            self._put(line)

    def _update(self) -> None:
        self._fill()
        table, column = self._table(), self._random.choice(["x", "y"])
        column = "x" if table == "d" else column
        result = self._ask(f"UPDATE {table} SET {column} = {column} + $1 WHERE id = $2", False)
        self._done(result)

    def _select(self) -> None:
        self._fill()
        table = self._random.choice(["a", "b", "c", "d", "v"])
        result = self._ask(f"SELECT x FROM {table} WHERE id = $2 AND x > $1 - 1000", True)
        target = self._random.choice([self._variable(), f"kept[{self._random.randint(0, 3)}]"])
        if self._random.random() < 0.5:
            self._leave_if(f"{self._writing.rows(result)} == 0", result)
            self._put(f"{target} = {self._writing.value(result)};")
        else:
            self._put(f"if ({self._writing.rows(result)} > 0) {target} = {self._writing.value(result)};")
        self._put(self._writing.clear(result))

    def _insert(self) -> None:
        self._fill()
        table = self._table()
        one, other = map(self._writing.number, ("$1", "$2"))
        self._done(self._ask(f"INSERT INTO {table} VALUES ({one} + 20, 1, {other})", False, may_fail=True))

    def _insert_or_update(self) -> None:
        self._fill()
        self._done(self._ask(self._writing.insert_or_update(self._table()), False, may_fail=True))

    def _insert_others(self) -> None:
        """Some of another table's rows."""
        self._fill()
        into, source = self._random.sample("abcd", 2)
        sql = f"INSERT INTO {into} SELECT id + 40 + $1, x, NULL FROM {source} WHERE id < $2"
        self._done(self._ask(sql, False, may_fail=True))

    def _delete(self) -> None:
        self._fill()
        result = self._ask(f"DELETE FROM {self._table()} WHERE id = $2 AND x > $1", False)
        self._done(result)

    def _delete_by_others(self) -> None:
        self._fill()
        sql = self._writing.delete_by_others(*self._random.sample("abcd", 2))
        self._done(self._ask(sql, False))

    def _count(self) -> None:
        """Rows of another table."""
        self._fill()
        table, other = self._random.sample("abcd", 2)
        sql = f"UPDATE {table} SET x = x + (SELECT count(*) FROM {other} WHERE x > $1) WHERE id = $2"
        self._done(self._ask(sql, False))

    def _refer(self) -> None:
        """To a row that may not be there."""
        self._fill()
        self._done(self._ask("UPDATE d SET y = $1 WHERE id = $2", False, may_fail=True))

    def _compute(self) -> None:
        self._put(f"{self._variable()} = ({self._value()} * 2 + {self._value()}) % 1000;")

    def _check_value(self) -> None:
        self._leave_if(f"{self._value()} > {self._random.randint(5, 900)}")

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


def transaction(seed: int, name: str, writing: Writing) -> str:
    """A translation unit with the function `name`."""
    declared = f"extern int total;\n\nint {name}({writing.connection}, int p, int q);\n\n"
    return writing.head + declared + Generator(seed, writing).function(name)


def caller(names: Sequence[str], writing: Writing) -> str:
    """A function `pick` that runs one of the transactions, each time on the same rows, and prints what is left."""
    return f"""
{writing.behind}
int total;
static int (*const all[])({writing.connection}, int p, int q) = {{{", ".join(names)}}};

static int pick({writing.connection}, int number, int p, int q) {{
{writing.reset}
  const int code = all[number](conn, p, q);
  printf("total %d\\n", total);
  return code;
}}
"""
