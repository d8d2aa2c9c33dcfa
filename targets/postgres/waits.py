#!/usr/bin/env python3
"""Compares waits as vprof records them with PostgreSQL's wait events, sampled from pg_stat_activity in the same run.

Prints, for each kind of wait, how many of the load's backends wait on average: by the time spent inside the function
that waits (every call, recorded), and by samples, one each 10 ms. Run it where `vprof instrument --target postgres` was
run.

    python targets/postgres/waits.py 20
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.tables.model import Trace
from vprof.target.server import Server
from vprof.target.target import Target
from vprof.trace.loading import load_trace

# A wait event (its type, or type:event) and the function in which a backend spends that wait.
WAITS = {
    "Lock": "ProcSleep",
    "LWLock": "PGSemaphoreLock",
    "IO:WALSync": "issue_xlog_fsync",
    "Client:ClientRead": "secure_read",
}
SAMPLER = "pg_sleep"
"""The sampling backend calls it; so it is told from the load's."""

QUERY = """select coalesce(wait_event_type || ':' || wait_event, 'none')
           from pg_stat_activity where application_name = 'pgbench' and backend_type = 'client backend';
           select 'sample', pg_sleep(0.01);"""


def sample(server: Server, seconds: int, output: Path) -> subprocess.Popen[bytes]:
    """Starts psql with the query again and again, for at least so long."""
    psql = server.target.filled("{install}/bin/psql -X -q -A -t")
    feed = server.target.folder / "waits.sql"
    feed.write_text(QUERY * (seconds * 100), encoding="utf-8")
    with feed.open() as queries, output.open("w") as lines:
        return subprocess.Popen(psql, stdin=queries, stdout=lines, **server.how())


def sampled(lines: list[str]) -> tuple[int, Counter[str]]:
    """The number of samples, and how many backends were seen in each wait, over all of them."""
    seen: Counter[str] = Counter()
    for line in lines:
        seen[line] += 1
        seen[line.split(":")[0]] += ":" in line
    return seen["sample|"], seen


def recorded(trace: Trace) -> dict[str, float]:
    """By function: how many of the load's backends were inside it, on average over the time of the load.

    They are those that read from a client, without the sampler: the WAL writer and the checkpointer sync, too.
    """
    calls, names = trace.invocations, trace.program.functions
    chosen = {name: calls.function == names.index(name) for name in [*WAITS.values(), SAMPLER]}
    backends = np.setdiff1d(calls.thread[chosen["secure_read"]], calls.thread[chosen[SAMPLER]])
    load = np.isin(calls.thread, backends)
    reads = chosen["secure_read"] & load
    length = calls.fe[reads].max() - calls.fs[reads].min()
    return {name: (calls.fe - calls.fs)[rows & load].sum() / length for name, rows in chosen.items()}


def main() -> int:
    seconds = int(sys.argv[1]) if sys.argv[1:] else 20
    server = Server.of(Target.load("postgres"))
    plan = Plan.of([*WAITS.values(), SAMPLER])
    trace = server.target.folder / "waits.trace"
    with Session.start(None, server.account.name) as session, server.running(session, plan):
        session.rotate(trace)
        load = server.load(seconds, [])
        time.sleep(1)
        samples_file = server.target.folder / "waits.txt"
        sampler = sample(server, seconds, samples_file)
        load.wait()
        # On a busy machine samples take longer: those after the load's end would count as "nobody waits".
        sampler.terminate()
        sampler.wait()
        session.rotate(None)
    samples, seen = sampled(samples_file.read_text(encoding="utf-8").splitlines())
    inside = recorded(load_trace(trace))
    print(f"{samples} samples; mean number of backends waiting")
    print(f"{'wait event':20} {'sampled':>8} {'recorded':>9}  in function")
    for event, function in sorted(WAITS.items(), key=lambda wait: -inside[wait[1]]):
        print(f"{event:20} {seen[event] / samples:8.2f} {inside[function]:9.2f}  {function}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
