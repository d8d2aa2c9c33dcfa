#!/usr/bin/env python3
"""PostgreSQL's own regression tests (`make check`) on the instrumented build, in four modes.

    dormant   no session
    off       a session attached, no function probe on; intervals and waits are recorded
    100       100 functions of the backend on
    all       every site on (the trace takes some 20 GB meanwhile)

Run it where `vprof instrument --target postgres` was run; what the tests print is kept in .vprof/postgres/check/MODE.
Exit code 1 if a test failed.

    python targets/postgres/check.py
    python targets/postgres/check.py dormant off
    python targets/postgres/check.py 100 --tests test_setup,plpgsql,transactions
"""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import own_tests
from own_tests import Result

from vprof.session.plan import Plan
from vprof.target.server import Account
from vprof.target.target import Target

MODES = ("dormant", "off", "100", "all")


def plan_of(target: Target, mode: str) -> Plan:
    """100 functions: evenly spaced among the backend's names, so that every part of it has some."""
    if mode != "100":
        return Plan.of(["*"] if mode == "all" else [])
    functions = [function for unit in target.units() for function in unit.functions]
    names = sorted({f.name for f in functions if f.site is not None and "/src/backend/" in f.file})
    return Plan.of(names[:: len(names) // 100][:100])


def command(target: Target, output: Path, tests: list[str]) -> list[str]:
    """That of PostgreSQL's `make check`, or of some tests in this order, on a temporary instance of its own."""
    regress = "{build}/src/test/regress"
    source = "{source}/src/test/regress"
    which = " ".join(tests) or f"--max-concurrent-tests=20 --schedule={source}/parallel_schedule"
    return target.filled(
        f"{regress}/pg_regress --temp-instance={output}/instance --inputdir={source} --outputdir={output} "
        f"--bindir={{install}}/bin --dlpath={regress} {which}"
    )


def run(target: Target, mode: str, tests: list[str]) -> Result:
    account = Account.of(target)
    output = own_tests.folder_for(target, mode, account)
    suite, summary = partial(own_tests.start, command(target, output, tests), output, account), partial(said, output)
    if mode == "dormant":
        return own_tests.dormant(suite, summary)
    return own_tests.recorded(suite, summary, plan_of(target, mode), output.with_suffix(".trace"), account.name)


def said(output: Path, status: int) -> str:
    """The summary line of the tests."""
    text = (output / "output.log").read_text(encoding="utf-8", errors="replace")
    lines = re.findall(r"^ *(.* tests? (?:passed|failed)[^.]*)", text, re.MULTILINE)
    last = lines[-1] if lines else (text.strip().splitlines() or [f"no output, status {status}"])[-1]
    return str(last).strip()


if __name__ == "__main__":
    sys.exit(own_tests.main(__doc__, MODES, partial(run, Target.load("postgres"))))
