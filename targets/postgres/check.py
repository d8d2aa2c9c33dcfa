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

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from vprof.plan import Plan
from vprof.server import Account
from vprof.session import Session
from vprof.target import Target

MODES = ("dormant", "off", "100", "all")


@dataclass
class Result:
    """`said` is the summary line of the tests; records and drops are those of the whole session."""

    mode: str
    passed: bool
    said: str
    seconds: float
    records: int = 0
    dropped: int = 0
    intervals: int = 0


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


def run(target: Target, mode: str, tests: list[str], output: Path) -> Result:
    account = Account.of(target)
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    if account.uid is not None and account.gid is not None:
        os.chown(output, account.uid, account.gid)
    regress = command(target, output, tests)
    begin = time.monotonic()
    if mode == "dormant":
        environment = {key: value for key, value in os.environ.items() if key != "VPROF_SESSION"}
        return judged(mode, start(regress, output, account, environment), output, begin)
    plan = plan_of(target, mode)
    trace = output.with_suffix(".trace")
    with Session.start(trace, account.name) as session:
        process = start(regress, output, account, session.environment())
        while process.poll() is None:
            session.follow(plan)
            time.sleep(0.01)
        result = judged(mode, process, output, begin)
        result.intervals = session.stats()["intervals"]
        totals = session.stop()
    result.records, result.dropped = totals["records"], totals["dropped"]
    trace.unlink()
    return result


def start(regress: list[str], output: Path, account: Account, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    with (output / "output.log").open("wb") as log:
        return subprocess.Popen(
            regress, cwd=output, stdout=log, stderr=subprocess.STDOUT, env=environment, **account.popen()
        )


def judged(mode: str, process: subprocess.Popen[bytes], output: Path, begin: float) -> Result:
    status = process.wait()
    text = (output / "output.log").read_text(encoding="utf-8", errors="replace")
    said = re.findall(r"^ *(.* tests? (?:passed|failed)[^.]*)", text, re.MULTILINE)
    last = said[-1] if said else (text.strip().splitlines() or ["no output"])[-1]
    return Result(mode, status == 0, last.strip(), time.monotonic() - begin)


def mode(name: str) -> str:
    if name not in MODES:
        raise argparse.ArgumentTypeError(f"no mode '{name}': give some of {', '.join(MODES)}")
    return name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modes", nargs="*", metavar="mode", default=MODES, type=mode, help=", ".join(MODES))
    parser.add_argument("--tests", default="", help="only these, with commas between, in this order")
    arguments = parser.parse_args()
    tests = [test for test in arguments.tests.split(",") if test]
    target = Target.load("postgres")
    print(f"{'mode':8} {'seconds':>7} {'intervals':>10} {'records':>12} {'dropped':>12}  tests")
    failed = False
    for name in arguments.modes:
        result = run(target, name, tests, target.folder / "check" / name)
        failed |= not result.passed
        counts = f"{result.intervals:10} {result.records:12} {result.dropped:12}"
        print(f"{name:8} {result.seconds:7.0f} {counts}  {result.said}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
