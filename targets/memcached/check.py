#!/usr/bin/env python3
"""memcached's own tests, in a plain build and in the target's.

    plain     built without vprof
    dormant   the target's build, no session
    off       a session attached, no function probe on; intervals and waits are recorded
    all       every site on (of the trace the newest 1 GB is kept until it is counted)

Run it where `vprof instrument --target memcached` was run; the plain build is kept in .vprof/memcached/plain, what
the tests print in .vprof/memcached/check. The tests mostly sleep: six at a time. Exit code 1 if one failed.

    python targets/memcached/check.py
    python targets/memcached/check.py plain off
    python targets/memcached/check.py all --tests basic,cas
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import own_tests
from own_tests import Result
from plain_build import built_plain

from vprof.session.owned import Limit
from vprof.session.plan import Plan
from vprof.target.server import Account
from vprof.target.target import Target

MODES = ("plain", "dormant", "off", "all")


def command(build: Path, tests: list[str]) -> list[str]:
    """Without names, all; those that sleep for minutes run beside the others."""
    names = tests or sorted(file.stem for file in (build / "t").glob("*.t"))
    return ["prove", "-j", "6", *(f"t/{name}.t" for name in names)]


def start(
    build: Path, tests: list[str], log: Path, account: Account, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            command(build, tests),
            cwd=build,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**environment, "HOME": "/tmp", "TERM": "dumb"},
            **account.popen(),
        )


def said(log: Path, status: int) -> str:
    """The last lines of prove, and the tests that failed."""
    text = log.read_text(encoding="utf-8", errors="replace")
    summary = re.findall(r"^Files=\d+, Tests=\d+", text, re.MULTILINE)
    failed = re.findall(r"^(t/\S+\.t) +\(Wstat", text, re.MULTILINE)
    return " ".join([*summary, f"status {status}", *failed])


def run(target: Target, mode: str, tests: list[str]) -> Result:
    build = (built_plain(target) if mode == "plain" else target).build_dir
    log = target.folder / "check" / f"{mode}.log"
    log.parent.mkdir(exist_ok=True)
    account = Account.of(target)
    suite, summary = partial(start, build, tests, log, account), partial(said, log)
    if mode in ("plain", "dormant"):
        return own_tests.dormant(suite, summary)
    plan = Plan.of(["*"] if mode == "all" else [])
    return own_tests.recorded(
        suite, summary, plan, log.with_suffix(".trace"), account.name, Limit(1 << 30, newest=True)
    )


if __name__ == "__main__":
    sys.exit(own_tests.main(__doc__, MODES, partial(run, Target.load("memcached"))))
