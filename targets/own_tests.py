"""A program's own tests, recorded: what the targets' check.py and tests/corpus share.

with recording(Path("check.trace")) as (session, totals):
    process = subprocess.Popen(tests, env=session.environment())
    session.attend(process, plan)
print(totals.records)
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vprof.session.owned import Limit, Session
from vprof.session.plan import Plan
from vprof.target.server import Account
from vprof.target.target import Target

Tests = Callable[[dict[str, str]], subprocess.Popen[bytes]]
"""Starts a test suite in this environment."""


@dataclass
class Totals:
    """Of a whole session, known at its end; `modules` joined it."""

    records: int = 0
    dropped: int = 0
    intervals: int = 0
    modules: int = 0


@dataclass(frozen=True)
class Result:
    """`said` is the summary line of the tests."""

    passed: bool
    said: str
    seconds: float
    totals: Totals = field(default_factory=Totals)


@contextmanager
def recording(trace: Path, user: str | None = None, limit: Limit | None = None) -> Iterator[tuple[Session, Totals]]:
    """A session for programs of this account. It counts, and keeps no trace. Raises VprofError if it cannot start."""
    totals = Totals()
    try:
        with Session.start(trace, user, limit) as session:
            yield session, totals
            totals.modules = len(session.programs)
            totals.intervals = session.stats()["intervals"]
            ended = session.stop()
            totals.records, totals.dropped = ended["records"], ended["dropped"]
    finally:
        for file in (trace, *trace.parent.glob(f"{trace.name}.*")):
            file.unlink(missing_ok=True)


def folder_for(target: Target, mode: str, account: Account) -> Path:
    """Where the account's tests work in this mode: `check/MODE` of the work folder, empty."""
    folder = target.folder / "check" / mode
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if account.uid is not None and account.gid is not None:
        os.chown(folder, account.uid, account.gid)
    return folder


def start(command: list[str], folder: Path, account: Account, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Tests that work in this folder; what they print goes to its `output.log`."""
    with (folder / "output.log").open("wb") as log:
        return subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, env=environment, **account.popen()
        )


def dormant(tests: Tests, said: Callable[[int], str]) -> Result:
    """Without a session; `said` gets the exit status."""
    begin = time.monotonic()
    status = tests({key: value for key, value in os.environ.items() if key != "VPROF_SESSION"}).wait()
    return Result(status == 0, said(status), time.monotonic() - begin)


def recorded(
    tests: Tests,
    said: Callable[[int], str],
    plan: Plan,
    trace: Path,
    user: str | None = None,
    limit: Limit | None = None,
) -> Result:
    """With a session and the plan on in all that joins it."""
    with recording(trace, user, limit) as (session, totals):
        begin = time.monotonic()
        process = tests(session.environment())
        session.attend(process, plan)
        status, seconds = process.wait(), time.monotonic() - begin
    return Result(status == 0, said(status), seconds, totals)


def main(
    description: str | None,
    modes: tuple[str, ...],
    run: Callable[[str, list[str]], Result],
    by_name: tuple[str, ...] = (),
) -> int:
    """The command line of a check.py: runs the modes, prints a row for each. Returns 1 if a test failed in one.

    `by_name`: modes that run only if they are asked for."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    known, default = (*modes, *by_name), f"default: all but {', '.join(by_name)}" if by_name else "default: all"
    parser.add_argument("modes", nargs="*", metavar="mode", help=f"some of {', '.join(known)} ({default})")
    parser.add_argument("--tests", default="", help="only these, with commas between (default: all)")
    arguments = parser.parse_args()
    if unknown := set(arguments.modes) - set(known):
        parser.error(f"no mode '{min(unknown)}': give some of {', '.join(known)}")
    tests = [test for test in arguments.tests.split(",") if test]
    print(f"{'mode':8} {'seconds':>7} {'intervals':>10} {'records':>12} {'dropped':>12}  tests")
    failed = False
    for mode in arguments.modes or modes:
        result = run(mode, tests)
        failed |= not result.passed
        counts = f"{result.totals.intervals:10} {result.totals.records:12} {result.totals.dropped:12}"
        print(f"{mode:8} {result.seconds:7.0f} {counts}  {result.said}", flush=True)
    return int(failed)
