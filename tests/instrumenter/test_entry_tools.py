"""Probes before bodies beside what else reads and changes code: linkers that fold, debuggers, valgrind, sanitizers.

What was tried by hand besides is in docs/design/entry-probes.md.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from test_switched_bodies import ENTRY, calls
from workshop import PREFIX, Workshop

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


WRAPPED = ["inner", "__vprof_wrapper", "outer", "__vprof_wrapper", "top", "__vprof_wrapper", "main"]


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


def test_breakpoints_are_set_in_shared_code(shop: Workshop) -> None:
    """`run` ends at the signal in `inner`, and `finish` is a breakpoint where that returns to."""
    program = nested(shop)
    with Session.start(shop.path / "run.trace") as session:
        printed = in_gdb(session, program, "run", "finish", "finish", "finish", "continue")
        totals = session.stop()
    assert " in inner (" in printed and " in __vprof_wrapper (" in printed
    assert "\n6\n" in printed
    assert (totals["own_text"], totals["not_wrapped"]) == (0, 0)
    assert calls(shop.path / "run.trace", session) == {"inner": 1, "outer": 1, "top": 1}


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


SPINS = """\
#include <stdio.h>
#define KEPT __attribute__((noinline))
KEPT long inner(long n) {
  volatile long sum = 0;
  for (long i = 0; i < n; i++) sum += i;
  return sum;
}
KEPT long outer(long n) { return inner(n) + 1; }
KEPT long top(long n) { return outer(n) + 2; }
__attribute__((no_instrument_function)) int main(void) {
  while (getchar() == '+') putchar(top(10000000) > 0 ? '+' : '-'), fflush(stdout);
  return 0;
}
"""


@contextmanager
def spinning(shop: Workshop, *options: str) -> Iterator[tuple[Session, subprocess.Popen[str]]]:
    """A program that runs `inner` for a while for each plus sign; all its probes are on."""
    shop.write(spins_c=SPINS)
    given = ("-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", *options)
    shop.cc(*given, "spins.c", "-o", "program", **ENTRY)
    with Session.start(None) as session:
        process = subprocess.Popen(
            [shop.path / "program"],
            env=session.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        while not session.programs:
            session.follow(Plan.of(["*"]))
        try:
            yield session, process
        finally:
            process.communicate()
        assert process.returncode == 0


@pytest.mark.parametrize("options", [(), ("-fuse-ld=lld",), ("-static-pie",), ("-no-pie", "-Wl,-s")])
def test_shared_code_can_have_the_names_of_its_functions(options: tuple[str, ...], shop: Workshop) -> None:
    """For perf. What the file `text` says to be a function is that function's code; a stripped program has no names."""
    with spinning(shop, *options) as (session, _):
        said = shop.run(PREFIX / "bin/vprof", "ctl", "symbols", "--session", session.directory, check=False)
        if "-Wl,-s" in options:
            assert said.stderr.startswith("vprof: no program shares its code here, or none has symbols")
            return
        assert said.returncode == 0
        functions = code_of(session.directory / "text")
    original = code_of(shop.path / "program")
    assert {"inner", "outer", "top", "main"} <= functions.keys()
    assert functions.keys() <= original.keys()
    no_op = bytes.fromhex("0f1f440008")
    for name in ("inner", "outer", "top", "main", "__vprof_wrapper"):
        body = len(no_op) if original[name].startswith(no_op) else 0
        assert functions[name][body:] == original[name][body:]
        assert functions[name][:body][:1] in (b"", b"\xe9")


def test_shared_code_that_was_spoilt_is_one_line(shop: Workshop) -> None:
    with spinning(shop) as (session, _):
        with (session.directory / "text").open("r+b") as text:
            text.seek(152)
            text.write(b"\xff" * 8)  # bytes used
        said = shop.run(PREFIX / "bin/vprof", "ctl", "symbols", "--session", session.directory, check=False)
        assert (said.returncode, said.stderr) == (1, "vprof: a program has spoilt the session's shared code\n")


def code_of(file: Path) -> dict[str, bytes]:
    """The functions' bytes, by the ELF file's own tables."""
    with file.open("rb") as opened:
        elf = ELFFile(opened)
        found = {}
        for symbol in elf.get_section_by_name(".symtab").iter_symbols():
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"]:
                [offset] = elf.address_offsets(symbol["st_value"], symbol["st_size"])
                opened.seek(offset)
                found[symbol.name] = opened.read(symbol["st_size"])
        return found


def perf_works() -> bool:
    """Installed, and allowed by the kernel."""
    command = ["perf", "record", "-o", "/dev/null", "-e", "cpu-clock", "true"]
    return shutil.which("perf") is not None and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.skipif(not perf_works(), reason="perf is not installed, or not allowed")
def test_perf_finds_functions_and_their_callers_by_frame_pointers(shop: Workshop) -> None:
    with spinning(shop) as (session, process):
        shop.run(PREFIX / "bin/vprof", "ctl", "symbols", "--session", session.directory)
        options = ("-o", "perf.data", "--call-graph", "fp", "-e", "cpu-clock", "-F", "99", "-p", str(process.pid))
        perf = subprocess.Popen(["perf", "record", *options, "sleep", "1"], cwd=shop.path, stderr=subprocess.PIPE)
        assert process.stdin and process.stdout
        while perf.poll() is None:
            print("+", end="", file=process.stdin, flush=True)
            assert process.stdout.read(1) == "+"
        told = shop.run("perf", "script", "-i", "perf.data", "-F", "ip,sym").stdout
    stacks = [[line.split()[-1] for line in sample.splitlines() if line.strip()] for sample in told.split("\n\n")]
    assert WRAPPED in [stack[: len(WRAPPED)] for stack in stacks]
