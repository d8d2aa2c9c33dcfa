#!/usr/bin/env python3
"""Compares waits as vprof records them with what the server itself counts of them, in the same run.

Prints, for each kind of wait, how often and how long (in all threads together) the server waited by its own counters
(status variables, performance_schema) and by the calls recorded of the function that waits. Run it where
`vprof instrument --target mysql` was run; options are sysbench's, those before `--` the server's.

    python targets/mysql/waits.py 20
    python targets/mysql/waits.py 20 --innodb-buffer-pool-size=16M -- --threads=4
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import dataclass

import numpy as np

from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.tables.model import Trace
from vprof.target.server import Server
from vprof.target.target import Target
from vprof.trace.loading import load_trace


@dataclass(frozen=True)
class Wait:
    """`count` and `seconds` select what the server counts; "null": it does not."""

    name: str
    count: str
    seconds: str
    function: str


def status(variable: str) -> str:
    return f"(select variable_value from information_schema.global_status where variable_name = '{variable}')"


def pages(column: str) -> str:
    return (
        f"(select {column} from performance_schema.file_summary_by_event_name"
        " where event_name = 'wait/io/file/innodb/innodb_data_file')"
    )


WAITS = [
    Wait("row locks", status("innodb_row_lock_waits"), f"{status('innodb_row_lock_time')} / 1e3", "lock_wait"),
    Wait("reads of pages", pages("count_read"), f"{pages('sum_timer_read')} / 1e12", "pread"),
    Wait("syncs of the log", status("innodb_data_fsyncs"), "null", "fdatasync"),
]
OPTIONS = ["--performance-schema=ON", "--performance-schema-instrument=wait/io/file/innodb/%=ON"]


def counted(server: Server) -> np.ndarray:
    """(wait, how often and how many seconds) as the server has it since its start; nan: it does not count that."""
    client = server.target.filled("{build}/client/mariadb --no-defaults --socket={server}/mysql.sock --user=root -N -B")
    query = "".join(f"select {wait.count}, {wait.seconds};\n" for wait in WAITS)
    done = subprocess.run(client, input=query, text=True, capture_output=True, check=True, **server.account.popen())
    rows = [line.replace("NULL", "nan").split("\t") for line in done.stdout.splitlines()]
    return np.array(rows, dtype=float)


def recorded(trace: Trace, function: str) -> tuple[int, float]:
    """How many calls, and their seconds in all threads."""
    calls, names = trace.invocations, trace.program.functions
    chosen = calls.function == names.index(function)
    return int(chosen.sum()), float((calls.fe - calls.fs)[chosen].sum()) / 1e9


def main() -> int:
    seconds, options = int(sys.argv[1]) if sys.argv[1:] else 20, sys.argv[2:]
    split = options.index("--") if "--" in options else len(options)
    server = Server.of(Target.load("mysql"), shlex.join([*OPTIONS, *options[:split]]))
    file = server.target.folder / "waits.trace"
    plan = Plan.of([wait.function for wait in WAITS])
    with Session.start(None, server.account.name) as session, server.running(session, plan):
        before = counted(server)
        session.rotate(file)
        server.load(seconds, options[split + 1 :]).wait()
        session.rotate(None)
        said = counted(server) - before
    trace = load_trace(file)
    print(f"{'':18} {'server':>9} {'seconds':>9} {'recorded':>9} {'seconds':>9}  in function")
    for wait, (count, time) in zip(WAITS, said, strict=True):
        calls, inside = recorded(trace, wait.function)
        print(f"{wait.name:18} {count:9.0f} {time:9.2f} {calls:9} {inside:9.2f}  {wait.function}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
