"""Conflict indices from a trace: by the line of a call, or by the function if it is called at one place only."""

from __future__ import annotations

import json
from pathlib import Path

from reordered import reorder

SOURCE = """#include <libpq-fe.h>
int ask(PGconn *conn, const char *sql);
int pay(PGconn *conn) {
  PQclear(PQexec(conn, "UPDATE a SET x = 1"));
  PQclear(PQexec(conn, "UPDATE b SET x = 1"));
  ask(conn, "UPDATE c SET x = 1");
  return 0;
}
"""
CALLS = 'dialect = ""\n[[call]]\nfunction = "ask"\narguments = ["connection", "sql"]\n'


def trace() -> dict[str, object]:
    """Three payments: line 4 takes 10, 40, 70; line 5 takes 10, 10, 10; ask takes 5, 5, 8."""
    intervals, segments, functions = [], [], []
    now = 0
    for number, (one, other, last) in enumerate([(10, 10, 5), (40, 10, 5), (70, 10, 8)]):
        sid, begin = f"t{number}", now
        for name, site, length in (("PQexec", "pay.c:4", one), ("PQexec", "pay.c:5", other), ("ask", None, last)):
            functions.append([1, sid, name, site, now, now + length])
            now += length
        functions.append([1, sid, "pay", None, begin, now])
        segments.append([1, sid, begin, now, "exec"])
        intervals.append({"sid": sid, "begin": {"tid": 1, "t": begin}, "end": {"tid": 1, "t": now}})
        now += 100
    return {"root": "pay", "intervals": intervals, "segments": segments, "functions": functions}


def test_the_index_is_the_standard_deviation(tmp_path: Path) -> None:
    (tmp_path / "pay.c").write_text(SOURCE)
    (tmp_path / "calls.toml").write_text(CALLS)
    (tmp_path / "run.json").write_text(json.dumps(trace()))
    options = ["--trace", tmp_path / "run.json", "--calls", tmp_path / "calls.toml", "--format", "json"]
    done = reorder(tmp_path / "pay.c", "--function", "pay", *options)
    assert done.exit_code == 0, done.exception
    found = json.loads(done.output)
    index = {unit["line"]: round(unit["index"], 3) for unit in found["units"]}
    assert index == {4: 24.495, 5: 0.0, 6: 1.414, 7: 0.0}
    assert found["order"][:3] == ["line 5 (UPDATE b)", "line 6 (UPDATE c)", "line 4 (UPDATE a)"]
