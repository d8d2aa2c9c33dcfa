"""Probes before bodies beside what else reads and changes code: linkers that fold, debuggers, valgrind, sanitizers.

What was tried by hand besides is in docs/design/entry-probes.md.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_switched_bodies import ENTRY, calls
from workshop import Workshop

from vprof.session.owned import Session
from vprof.session.plan import Plan

NESTED = """\
#include <signal.h>
#include <stdio.h>
#define KEPT __attribute__((noinline))
KEPT int inner(int n) { return raise(SIGUSR1) + n * 3; }
KEPT int outer(int n) { return inner(n) + 1; }
KEPT int top(int n) { return outer(n) + 2; }
__attribute__((no_instrument_function)) int main(int count, char **words) {
  (void)words;
  signal(SIGUSR1, SIG_IGN);
  printf("%d\\n", top(count));
  return 0;
}
"""


def nested(shop: Workshop, *options: str) -> Path:
    shop.write(nested_c=NESTED)
    shop.cc("-O1", "-fno-optimize-sibling-calls", *options, "nested.c", "-o", "program", **ENTRY)
    return shop.path / "program"


def ran(session: Session, *command: str | Path) -> str:
    """What the command prints, all probes on in the programs it starts."""
    process = subprocess.Popen(
        [str(word) for word in command],
        env=session.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    session.attend(process, Plan.of(["*"]))
    return process.communicate()[0]


def in_gdb(session: Session, program: Path, *commands: str) -> str:
    words = [word for command in ("set debuginfod enabled off", *commands) for word in ("-ex", command)]
    return ran(session, "gdb", "-nx", "-batch", *words, "--args", program)


def frames(printed: str) -> list[str]:
    """Functions of a backtrace, innermost first, from `inner` on."""
    names = [line.split(" (")[0].split()[-1] for line in printed.splitlines() if line.startswith("#")]
    return names[names.index("inner") :]


GDB = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
WRAPPED = ["inner", "__vprof_wrapper", "outer", "__vprof_wrapper", "top", "__vprof_wrapper", "main"]


@GDB
@pytest.mark.parametrize("options", [(), ("-fuse-ld=lld", "-no-pie")])
def test_gdb_walks_the_stack_in_shared_code(options: tuple[str, ...], shop: Workshop) -> None:
    program = nested(shop, *options)
    with Session.start(shop.path / "run.trace") as session:
        printed = in_gdb(session, program, "run", "bt", "continue")
        totals = session.stop()
    assert frames(printed) == WRAPPED
    assert "\n6\n" in printed
    assert (totals["own_text"], totals["own_text_why"], totals["not_wrapped"]) == (0, [], 0)
    assert calls(shop.path / "run.trace", session) == {"inner": 1, "outer": 1, "top": 1}


@GDB
@pytest.mark.parametrize("protection", ["none", "full"])
def test_a_breakpoint_on_a_probe_works_and_the_function_is_counted_as_lost(protection: str, shop: Workshop) -> None:
    """gdb keeps the first byte, and would put it back into a jump."""
    program = nested(shop, f"-fcf-protection={protection}")
    place = "*((char *)outer + 4)" if protection == "full" else "*outer"
    with Session.start(shop.path / "run.trace") as session:
        ends = ("handle SIGUSR1 nostop noprint", f"break {place}", "run", "delete", "continue")
        printed = in_gdb(session, program, *ends)
        totals = session.stop()
    assert "Breakpoint 1, " in printed
    assert "\n6\n" in printed
    assert (totals["own_text"], totals["not_wrapped"]) == (1, 1)
    assert "a breakpoint" in totals["own_text_why"][0]
    assert calls(shop.path / "run.trace", session) == {"inner": 1, "top": 1}


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_valgrind_finds_nothing_dormant_or_attached(shop: Workshop) -> None:
    """It knows no rseq, so nothing is recorded (runtime/README.md)."""
    program = nested(shop)
    command = ("valgrind", "-q", "--error-exitcode=9", program)
    assert shop.run(*command).stdout == "6\n"
    with Session.start(shop.path / "run.trace") as session:
        assert ran(session, *command) == "6\n"


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_programs_with_sanitizers_keep_probes_in_bodies(sanitizer: str, shop: Workshop) -> None:
    program = nested(shop, f"-fsanitize={sanitizer}")
    assert not any(function.get("before_body") for function in shop.unit("program")["functions"])
    with Session.start(shop.path / "run.trace") as session:
        assert ran(session, program) == "6\n"
        session.stop()
    assert calls(shop.path / "run.trace", session) == {"inner": 1, "outer": 1, "top": 1}


ALIKE = """\
#define KEPT __attribute__((noinline))
KEPT int one(int n) { return n * 7 + 3; }
KEPT int other(int n) { return n * 7 + 3; }
int main(void) { return one(1) - 10 + other(2) - 17; }
"""


@pytest.mark.parametrize("linker", [("lld", "--icf=all"), ("gold", "--icf=all")])
def test_functions_that_are_alike_are_not_folded(linker: tuple[str, str], shop: Workshop) -> None:
    shop.write(alike_c=ALIKE)
    options = ("-O1", "-ffunction-sections", f"-fuse-ld={linker[0]}", f"-Wl,{linker[1]}")
    shop.cc(*options, "alike.c", "-o", "program", **ENTRY)
    with Session.start(shop.path / "run.trace") as session:
        assert ran(session, shop.path / "program") == ""
        totals: dict[str, Any] = session.stop()
    assert totals["not_wrapped"] == 0
    assert calls(shop.path / "run.trace", session) == {"main": 1, "one": 1, "other": 1}
