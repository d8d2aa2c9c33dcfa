"""Programs of aarch64, recorded by a collector of aarch64, all under qemu, and analyzed here: the trace is the same
kind of file. What is counted is what the same programs count on x86-64.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from cross import QEMU, CrossWorkshop
from workshop import EVERY_COMPILER

from vprof.tables.model import Trace
from vprof.trace.loading import load_trace

PROGRAMS = Path(__file__).parent / "programs"
WAYS = {
    "descend": 600,
    "hold_lock": 60,
    "main": 1,
    "many": 60,
    "other_flow": 1,
    "step": 10,
    "switch_flows": 1,
    "try_once": 100,
    "work": 3,
}
EXTERNAL = {"usleep": 60, "waitpid": 1}
THROWS = {
    "(anonymous namespace)::Guard::Guard": 200,
    "(anonymous namespace)::Guard::~Guard": 200,
    "Mailbox::put": 10,
    "Mailbox::take": 10,
    "catch_it": 50,
    "fail": 200,
    "main": 1,
}


def vprof(shop: CrossWorkshop, *arguments: str | Path) -> str:
    command = [str(Path(sys.executable).with_name("vprof")), *map(str, arguments)]
    done = subprocess.run(command, cwd=shop.path, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def recorded(shop: CrossWorkshop, program: str) -> Trace:
    vprof(shop, "record", "--sites", "all", "-o", "run.trace", "--", *QEMU, f"./{program}")
    return load_trace(shop.path / "run.trace", None)


def calls(trace: Trace) -> Counter[str]:
    return Counter(trace.program.functions[function] for function in trace.invocations.function)


def wakers(trace: Trace) -> Counter[str]:
    """Of waits for another thread: whether it is known."""
    return Counter("known" if waker >= 0 else "unknown" for waker in trace.wakeups.waker)


@EVERY_COMPILER
@pytest.mark.parametrize("linked", ["", "-static"])
def test_calls_end_by_return_and_longjmp_and_switches(linked: str, shop: CrossWorkshop) -> None:
    shop.cc("-O2", "-g", *linked.split(), PROGRAMS / "ways.c", "-o", "ways", "-pthread")
    trace = recorded(shop, "ways")
    assert calls(trace) == WAYS | EXTERNAL
    assert wakers(trace)["known"] > 10
    assert trace.loss["dropped"] == 0


@EVERY_COMPILER
def test_exceptions_leave_calls(shop: CrossWorkshop) -> None:
    shop.cxx("-O2", "-g", PROGRAMS / "throws.cpp", "-o", "throws", "-pthread")
    trace = recorded(shop, "throws")
    counted = calls(trace)
    assert {name: counted[name] for name in THROWS} == THROWS
    assert wakers(trace)["known"] >= 10


def test_a_report_names_what_was_waited_for(shop: CrossWorkshop) -> None:
    shop.cxx("-O2", "-g", PROGRAMS / "throws.cpp", "-o", "throws", "-pthread")
    recorded(shop, "throws")
    report = vprof(shop, "analyze", "run.trace", "--root", "catch_it")
    assert "50 intervals" in report
    assert "off the CPU is not known of 2 of 2" in report
