#!/usr/bin/env python3
"""Instructions per transaction in the states plain, dormant and off (targets/postgres/states.py).

Counted by callgrind, so a busy machine does not disturb them. Under valgrind no probe records, so there is no state
with probes on.

A single-user backend reads statements from its standard input; two lengths of input are subtracted, so that start and
end do not count. Such a backend is no client's: it has no intervals. Run it where `vprof instrument --target postgres`
was run; it needs Debian's `valgrind`.

    python targets/postgres/instructions.py
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack

from states import State, states

from vprof.errors import VprofError
from vprof.session import Session
from vprof.target import Target

SHORT, LONG = 100, 500
"""Transactions of the two inputs."""


def point_select(number: int) -> str:
    return f"SELECT abalance FROM pgbench_accounts WHERE aid = {_account(number)};\n"


def tpc_b(number: int) -> str:
    """The statements of pgbench's default script."""
    account, teller, branch = _account(number), number % 100 + 1, number % 10 + 1
    return (
        "BEGIN;\n"
        f"UPDATE pgbench_accounts SET abalance = abalance + 7 WHERE aid = {account};\n"
        f"SELECT abalance FROM pgbench_accounts WHERE aid = {account};\n"
        f"UPDATE pgbench_tellers SET tbalance = tbalance + 7 WHERE tid = {teller};\n"
        f"UPDATE pgbench_branches SET bbalance = bbalance + 7 WHERE bid = {branch};\n"
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) "
        f"VALUES ({teller}, {branch}, {account}, 7, CURRENT_TIMESTAMP);\n"
        "END;\n"
    )


def _account(number: int) -> int:
    return number * 7919 % 1_000_000 + 1


def instructions(state: State, script: Callable[[int], str], count: int) -> int:
    """Executed by a backend that runs the script so often."""
    server = state.server
    backend = "valgrind --tool=callgrind --callgrind-out-file={server}/callgrind.out "
    backend += "{install}/bin/postgres --single -D {server}/data -c shared_buffers=256MB postgres"
    command = server.target.filled(backend)
    statements = "".join(map(script, range(count))).encode()
    with ExitStack() as stack:
        session = None
        if state.plan is not None:
            session = stack.enter_context(Session.start(None, server.account.name))
        log = stack.enter_context((server.target.folder / "callgrind.log").open("w+"))
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log, **server.how(session)
        )
        process.communicate(statements)
        log.seek(0)
        said = log.read()
    counted = re.search(r"Collected : (\d+)", said)
    if process.returncode or "ERROR:" in said or counted is None:
        raise VprofError(f"the backend failed: {(said.splitlines() or ['no output'])[-1]} ({log.name})")
    return int(counted[1])


def main() -> int:
    measured = [state for state in states(Target.load("postgres")) if not (state.plan and state.plan.patterns)]
    print(f"{'instructions per transaction':30} {'thousands':>10} {'x plain':>8}")
    for name, script in (("point select", point_select), ("TPC-B", tpc_b)):
        plain = 0.0
        instructions(measured[0], script, LONG)  # sets hint bits and prunes what earlier loads left: nobody's cost
        for state in measured:
            each = (instructions(state, script, LONG) - instructions(state, script, SHORT)) / (LONG - SHORT)
            plain = plain or each
            print(f"{name + ', ' + state.name:30} {each / 1000:10.1f} {each / plain:8.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
