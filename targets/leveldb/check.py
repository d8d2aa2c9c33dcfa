#!/usr/bin/env python3
"""LevelDB's own tests, in a plain build and in an instrumented one.

    plain     built without vprof
    dormant   instrumented, no session
    off       a session attached, no function probe on; intervals and waits are recorded
    all       every site on (of the trace the newest 1 GB is kept until it is counted)

Run it where `vprof instrument --target leveldb` was run; both builds of the tests and what the tests print are kept
in .vprof/leveldb/check/. Needs the packages libgmock-dev and libbenchmark-dev. Exit code 1 if a test failed.

    python targets/leveldb/check.py
    python targets/leveldb/check.py plain off
    python targets/leveldb/check.py all --tests log_test,table_test
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
from vprof.session import Limit, Session
from vprof.target import Target

MODES = ("plain", "dormant", "off", "all")
TESTS = "-DLEVELDB_BUILD_TESTS=ON -DLEVELDB_BUILD_BENCHMARKS=OFF"


@dataclass
class Result:
    """`said` is the summary line of ctest; records, drops and intervals are those of the whole session."""

    passed: bool
    said: str
    seconds: float
    records: int = 0
    dropped: int = 0
    intervals: int = 0


def build(target: Target, plain: bool, tests: list[str]) -> Path:
    """These tests (none: all), configured as the target's first build step says otherwise. Returns their folder."""
    folder = target.folder / "check" / ("build-plain" if plain else "build-instrumented")
    folder.mkdir(parents=True, exist_ok=True)
    compilers = {"cc": "clang-19", "cxx": "clang++-19"} if plain else {}
    configure = target.filled(f"{target.descriptor.build['steps'][0]} {TESTS}", **compilers)
    make = target.filled("cmake --build . -j{jobs}") + (["--target", *tests] if tests else [])
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(target.folder / "descriptor.json")}
    log = folder.with_suffix(".log")
    with log.open("wb") as output:
        for command in (configure, make):
            subprocess.run(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT, check=True)
    return folder


def start(folder: Path, tests: list[str], log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """They run one after another in a folder of their own, where they leave nothing of the run before."""
    which = f"^({'|'.join(tests)})$" if tests else "."
    databases = log.with_suffix("")
    shutil.rmtree(databases, ignore_errors=True)
    databases.mkdir()
    with log.open("wb") as output:
        return subprocess.Popen(
            ["ctest", "--test-dir", str(folder), "-R", which, "--output-on-failure", "--timeout", "1800"],
            env={**environment, "TEST_TMPDIR": str(databases)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def judged(process: subprocess.Popen[bytes], log: Path, begin: float) -> Result:
    status = process.wait()
    said = re.findall(r"^\d+% tests passed.*", log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return Result(status == 0, said[-1] if said else f"ctest ended with status {status}", time.monotonic() - begin)


def run(target: Target, mode: str, tests: list[str]) -> Result:
    folder = build(target, mode == "plain", tests)
    log = target.folder / "check" / f"{mode}.log"
    begin = time.monotonic()
    if mode in ("plain", "dormant"):
        environment = {key: value for key, value in os.environ.items() if key != "VPROF_SESSION"}
        return judged(start(folder, tests, log, environment), log, begin)
    plan = Plan.of(["*"] if mode == "all" else [])
    trace = log.with_suffix(".trace")
    with Session.start(trace, limit=Limit(1 << 30, newest=True)) as session:
        process = start(folder, tests, log, session.environment())
        while process.poll() is None:
            session.follow(plan)
            time.sleep(0.01)
        result = judged(process, log, begin)
        result.intervals = session.stats()["intervals"]
        totals = session.stop()
    result.records, result.dropped = totals["records"], totals["dropped"]
    for file in trace.parent.glob(f"{trace.name}.*"):
        file.unlink()
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modes", nargs="*", metavar="mode", help=f"some of {', '.join(MODES)} (default: all four)")
    parser.add_argument("--tests", default="", help="only these programs, with commas between (default: all)")
    arguments = parser.parse_args()
    modes = arguments.modes or MODES
    tests = [test for test in arguments.tests.split(",") if test]
    if unknown := set(modes) - set(MODES):
        parser.error(f"no mode '{min(unknown)}': give some of {', '.join(MODES)}")
    target = Target.load("leveldb")
    print(f"{'mode':8} {'seconds':>7} {'intervals':>10} {'records':>12} {'dropped':>12}  tests")
    failed = False
    for mode in modes:
        result = run(target, mode, tests)
        failed |= not result.passed
        counts = f"{result.intervals:10} {result.records:12} {result.dropped:12}"
        print(f"{mode:8} {result.seconds:7.0f} {counts}  {result.said}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
