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

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import own_tests
from own_tests import Result

from vprof.session.owned import Limit
from vprof.session.plan import Plan
from vprof.target.target import Target

MODES = ("plain", "dormant", "off", "all")
TESTS = "-DLEVELDB_BUILD_TESTS=ON -DLEVELDB_BUILD_BENCHMARKS=OFF"


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


def said(log: Path, status: int) -> str:
    """The summary line of ctest."""
    lines = re.findall(r"^\d+% tests passed.*", log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return str(lines[-1]) if lines else f"ctest ended with status {status}"


def run(target: Target, mode: str, tests: list[str]) -> Result:
    folder = build(target, mode == "plain", tests)
    log = target.folder / "check" / f"{mode}.log"
    suite, summary = partial(start, folder, tests, log), partial(said, log)
    if mode in ("plain", "dormant"):
        return own_tests.dormant(suite, summary)
    plan = Plan.of(["*"] if mode == "all" else [])
    return own_tests.recorded(suite, summary, plan, log.with_suffix(".trace"), limit=Limit(1 << 30, newest=True))


if __name__ == "__main__":
    sys.exit(own_tests.main(__doc__, MODES, partial(run, Target.load("leveldb"))))
