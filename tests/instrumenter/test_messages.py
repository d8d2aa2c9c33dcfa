"""Warnings are those of the rewriter's parse if its clang is the real compiler: in the same words, at no cost."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest
from workshop import PLAIN, PREFIX, Workshop

WARNS = """\
#include "missing_prototype.h"
#define UNUSED int unused
int work(n) int n; { UNUSED; char small = n * 1000000000; while (n > 9) n /= 2; return n - n == small; }
"""
OPTIONS = [
    "-Weverything",
    "-Wall -Wno-unused-variable -Wnot-known",
    "-Wall -fno-caret-diagnostics",
    "-Wall -fcolor-diagnostics",
    "-Wall -fdiagnostics-format=vi",
    "-Wall -fdiagnostics-format=sarif -Wno-sarif-format-unstable",
    "-Wall -fno-diagnostics-show-option -fmessage-length=40",
    "-Wall -L/nothing",
    "-Wall -H",
    "-Wall -Werror",
    "-Wall -Werror=unused-variable",
    "-Wall -ferror-limit=1 -Dchar=nothing",
    "-w -H",
]


def counted(shop: Workshop) -> str:
    """The real compiler, which leaves a line in `compiled` for each run that makes an object or a verdict."""
    script = shop.path / "counted"
    script.write_text(f'#!/bin/sh\ncase "$*" in *-dM*) ;; *) echo >>compiled ;; esac\nexec {PLAIN} "$@"\n')
    script.chmod(0o755)
    return str(script)


def write(shop: Workshop) -> None:
    shop.write(work_c=WARNS)
    (shop.path / "missing_prototype.h").write_text("int helper(x) int x; { return x; }\n")


@pytest.mark.parametrize("options", OPTIONS)
def test_messages_are_the_compilers(shop: Workshop, options: str) -> None:
    write(shop)
    plain = shop.plain(*options.split(), "-c", "work.c", check=False)
    ours = shop.cc(*options.split(), "-c", "work.c", check=False)
    said = ours.stderr.replace(f". {PREFIX}/lib/vprof/__vprof_prelude.h\n", "")
    assert (ours.returncode, said) == (plain.returncode, plain.stderr)


def test_a_unit_with_warnings_is_compiled_once(shop: Workshop) -> None:
    write(shop)
    assert "warning" in shop.cc("-Wall", "-c", "work.c", VPROF_REAL_CC=counted(shop)).stderr
    assert (shop.path / "compiled").read_text() == "\n"
    assert shop.unit("work.o")["status"] == "instrumented"


def at_a_terminal(shop: Workshop, compiler: str) -> str:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "60"}
    subprocess.run([compiler, "-Wall", "-c", "work.c"], cwd=shop.path, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 4096):
            said += part
    except OSError:  # the end of a terminal
        pass
    os.close(ours)
    return said.decode()


def test_a_terminal_has_colours(shop: Workshop) -> None:
    write(shop)
    ours, plain = (at_a_terminal(shop, str(compiler)) for compiler in (PREFIX / "bin/vprof-cc", PLAIN))
    assert "\x1b[" in plain
    assert ours == plain
