#!/usr/bin/env python3
"""The engine's own unit tests (tests/ee), in a plain build of yours and in an instrumented one.

    plain     built without vprof
    dormant   instrumented, no session
    off       a session attached, no function probe on; intervals and waits are recorded
    all       every site on (of the trace the newest 1 GB is kept until it is counted)

Runs the test programs that both folders have, wherever in them, under the same names. What they print stays in
check/MODE/PROGRAM.log. Exit code 1 if a test that passes in the first mode does not in another.

    python targets/voltdb-ee/check.py obj/release obj/vprof
    python targets/voltdb-ee/check.py obj/release obj/vprof --modes plain,all --programs engine_test,FragmentManagerTest
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import own_tests
from own_tests import Result, Totals

from vprof.session.owned import Limit
from vprof.session.plan import Plan

MODES = ("plain", "dormant", "off", "all")
SECONDS = 900
TEST = re.compile(r"^\t(\w+): ")


def programs(folder: Path) -> dict[str, Path]:
    """Test programs by name."""
    found = (path for path in folder.rglob("*") if path.name.lower().endswith(("test", "tester", "add_drop_table")))
    return {path.name: path for path in sorted(found) if path.is_file() and os.access(path, os.X_OK)}


def start(test: Path, logs: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """With a log that ends in its status."""
    script = 'timeout "$1" "$2"; status=$?; echo; echo status $status; exit $status'
    with (logs / f"{test.name}.log").open("wb") as log:
        command = ["sh", "-c", script, "sh", str(SECONDS), str(test)]
        return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)


def results(log: Path) -> dict[str, bool]:
    """Whether each test of a program passed. A program is a test as well: it passed if it says so and ends with 0."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    suite, test, found = "", "", {}
    for line in lines:
        if re.match(r"^\w+:$", line):
            suite = line
        elif match := TEST.match(line):
            test = f"{log.stem} {suite}{match[1]}"
            found[test] = False
        if test and line.endswith(("PASSED.", "FAILED.")):
            found[test] = line.endswith("PASSED.")  # a test may print before
    return found | {log.stem: lines[-1] == "status 0"}


def run(mode: str, tests: list[Path], folder: Path) -> tuple[Result, dict[str, bool]]:
    """A session for each program: the metadata of two would leave no room in a file of the trace."""
    logs = folder / mode
    logs.mkdir(parents=True, exist_ok=True)
    plan = Plan.of(["*"] if mode == "all" else [])
    seconds, totals = 0.0, Totals()
    found: dict[str, bool] = {}
    for test in tests:
        suite = partial(start, test, logs)
        if mode in ("plain", "dormant"):
            result = own_tests.dormant(suite, str)
        else:
            result = own_tests.recorded(suite, str, plan, folder / f"{mode}.trace", limit=Limit(1 << 30, newest=True))
        seconds += result.seconds
        totals.intervals += result.totals.intervals
        totals.records += result.totals.records
        totals.dropped += result.totals.dropped
        found |= results(logs / f"{test.name}.log")
    return Result(all(found.values()), "", seconds, totals), found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plain", type=Path, help="folder of a build without vprof")
    parser.add_argument("instrumented", type=Path, help="folder of a build with it")
    parser.add_argument("--modes", default=",".join(MODES), help=f"some of {', '.join(MODES)} (default: all)")
    parser.add_argument("--programs", default="", help="only these, with commas between (default: all)")
    arguments = parser.parse_args()
    modes = arguments.modes.split(",")
    if unknown := set(modes) - set(MODES):
        parser.error(f"no mode '{min(unknown)}': give some of {', '.join(MODES)}")
    builds = {mode: programs(arguments.plain if mode == "plain" else arguments.instrumented) for mode in MODES}
    wanted = arguments.programs.split(",") if arguments.programs else sorted(builds["plain"])
    names = [name for name in wanted if name in builds["plain"] and name in builds["all"]]
    if not names:
        parser.error("no test program is in both folders")
    expected: dict[str, bool] = {}
    worse: list[str] = []
    print(f"{'mode':8} {'seconds':>7} {'programs':>9} {'tests':>11} {'intervals':>10} {'records':>12} {'dropped':>12}")
    for mode in modes:
        result, found = run(mode, [builds[mode][name] for name in names], Path("check").resolve())
        whole = [found[name] for name in names]
        single = [passed for name, passed in found.items() if " " in name]
        count = f"{sum(whole)} of {len(whole)}", f"{sum(single)} of {len(single)}"
        totals = f"{result.totals.intervals:10} {result.totals.records:12} {result.totals.dropped:12}"
        print(f"{mode:8} {result.seconds:7.0f} {count[0]:>9} {count[1]:>11} {totals}", flush=True)
        expected = expected or found
        worse += [f"{mode}: {name}" for name, passed in expected.items() if passed and not found.get(name)]
    for name in worse:
        print(f"passes {modes[0]}, fails {name}")
    for name in (name for name, passed in expected.items() if not passed):
        print(f"fails {modes[0]}: {name}")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
