"""What the program and its developer see is the original: text, lines, names, warnings, dependencies, errors."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from workshop import EVERY_COMPILER, IN_BODIES, PREFIX, Workshop

pytestmark = EVERY_COMPILER

MESSY = """\
#include <assert.h>
#include <stdio.h>
#include "mess.h"
int global = 1;
static int unused_function(int x) { return helper(x); }
int shadow(int global) { int unused; char c = global * 2; return helper(c); }
int compare(unsigned a, int b) { if (a < b) return puts("less"); }
void old_style() { puts("old"); switch (global) { case 1: puts("1"); case 2: puts("2"); } }
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-variable"
int quiet(void) { int ignored; return helper(1); }
#pragma clang diagnostic pop
int main(void) { int loud; return printf("%s", 1) + helper(2); }
"""
MESS_H = """\
static int helper(int x) { int nothing; int i; for (i = 0; i < x; i++) x += i; return x; }
"""

POSITIONS = """\
#include <assert.h>
#include <stdio.h>
#include "sub/where.h"
int main(void) {
  printf("%s %d %s\\n", __FILE__, __LINE__, __func__);
  where(); printf("%d\\n", __COUNTER__);
  assert(!"this line");
}
"""
WHERE_H = 'static void where(void) { printf("%s %d %d\\n", __FILE__, __LINE__, __INCLUDE_LEVEL__); }\n'


@pytest.mark.parametrize(
    "options",
    [
        ["-Wall", "-Wextra", "-pedantic", "-std=c99"],
        ["-pedantic", "-std=c11", "every"],
        ["-pedantic", "-std=c89", "every"],
        ["-w"],
    ],
    ids=" ".join,
)
def test_warnings_are_those_of_the_original(shop: Workshop, options: list[str]) -> None:
    shop.write(mess_c=MESSY, mess_h=MESS_H)
    if options[-1] == "every":
        options = options[:-1] + shop.every_warning
    plain = shop.plain(*options, "-c", "mess.c", "-o", "plain.o")
    instrumented = shop.cc(*options, "-c", "mess.c", "-o", "mess.o")
    assert instrumented.stderr == plain.stderr
    assert shop.unit("mess.o")["status"] == "instrumented"


def test_a_clean_file_stays_clean_under_every_warning(shop: Workshop) -> None:
    clean = (
        'extern int puts(const char *);\nextern int f(int a);\nint f(int a) { int b; b = puts("f"); return a + b; }\n'
    )
    shop.write(clean_c=clean)
    options = [*shop.every_warning, "-Werror", "-pedantic", "-std=c89"]
    assert shop.plain(*options, "-c", "clean.c").stderr == ""
    assert shop.cc(*options, "-c", "clean.c").stderr == ""
    assert shop.unit("clean.o")["status"] == "instrumented"


def test_werror_fails_as_it_does_without_vprof(shop: Workshop) -> None:
    shop.write(mess_c=MESSY, mess_h=MESS_H)
    plain = shop.plain("-Wall", "-Werror", "-c", "mess.c", check=False)
    failed = shop.cc("-Wall", "-Werror", "-c", "mess.c", check=False)
    assert (failed.returncode, failed.stderr) == (plain.returncode, plain.stderr)
    assert not (shop.path / "mess.o").exists()


def test_an_error_is_told_once_and_by_the_compiler(shop: Workshop) -> None:
    shop.write(bad_c="int f(void) { return undeclared; }\n")
    plain = shop.plain("-c", "bad.c", check=False)
    failed = shop.cc("-c", "bad.c", check=False)
    assert (failed.returncode, failed.stderr) == (plain.returncode, plain.stderr)


def test_file_line_counter_and_assert_are_unchanged(shop: Workshop) -> None:
    shop.write(pos_c=POSITIONS)
    (shop.path / "sub").mkdir()
    (shop.path / "sub/where.h").write_text(WHERE_H)
    shop.plain("pos.c", "-o", "plain")
    shop.cc("pos.c", "-o", "pos")
    plain = shop.run("./plain", check=False)
    instrumented = shop.run("./pos", check=False)
    assert instrumented.stdout == plain.stdout
    assert instrumented.stderr.replace("pos:", "plain:", 1) == plain.stderr
    assert instrumented.returncode == plain.returncode


def debug_lines(shop: Workshop, binary: str) -> set[str]:
    """File and line of every row of the line table; line 0 is code of the compiler's own."""
    dump = shop.run("objdump", "--dwarf=decodedline", binary).stdout
    return {" ".join(match) for match in re.findall(r"^(\S+\.[ch])\s+([1-9]\d*)\s", dump, re.MULTILINE)}


def test_the_debug_line_table_names_the_same_lines(shop: Workshop) -> None:
    shop.write(mess_c=MESSY, mess_h=MESS_H)
    shop.plain("-g", "-w", "-c", "mess.c", "-o", "plain.o")
    shop.cc("-g", "-w", "-c", "mess.c", "-o", "mess.o")
    assert debug_lines(shop, "plain.o")
    assert debug_lines(shop, "mess.o") == debug_lines(shop, "plain.o")
    assert "vprof" not in shop.run("objdump", "--dwarf=info", "mess.o").stdout.replace("__vprof", "")


def test_sources_are_never_touched(shop: Workshop) -> None:
    shop.write(mess_c=MESSY, mess_h=MESS_H, bad_c="int f(void) { return undeclared; }\n")

    def digests() -> dict[Path, bytes]:
        return {path: hashlib.sha256(path.read_bytes()).digest() for path in shop.path.glob("*.[ch]")}

    before = digests()
    shop.cc("-w", "mess.c", "-o", "mess", check=False)
    shop.cc("-c", "bad.c", check=False)
    assert digests() == before
    assert {path.name for path in shop.path.iterdir()} <= {"mess.c", "mess.h", "bad.c", "mess"}


@pytest.mark.parametrize("option", ["-MMD", "-MD"])
@pytest.mark.parametrize("warnings", ["-w", "-Wall"])
def test_dependencies_are_the_same(shop: Workshop, option: str, warnings: str) -> None:
    shop.write(mess_c=MESSY, mess_h=MESS_H)
    shop.plain(warnings, option, "-c", "mess.c", "-o", "x.o")
    plain = (shop.path / "x.d").read_text().split()
    shop.cc(warnings, option, "-c", "mess.c", "-o", "x.o")
    dependencies = (shop.path / "x.d").read_text().split()
    ours = str(PREFIX / "lib/vprof/__vprof_prelude.h")
    assert [d for d in dependencies if d not in (ours, "\\")] == [d for d in plain if d != "\\"]
    assert option == "-MD" or ours not in dependencies, "only what follows system headers may follow ours"


def test_a_missing_newline_at_the_end_stays_missing(shop: Workshop) -> None:
    shop.write(end_c='extern int puts(const char *);\nint main(void) { return puts("x"); }')
    if shop.family == "gcc":
        pytest.skip("gcc has no such warning")
    plain = shop.plain("-Wnewline-eof", "-c", "end.c")
    assert "newline" in plain.stderr
    assert shop.cc("-Wnewline-eof", "-c", "end.c").stderr == plain.stderr


@IN_BODIES
def test_the_program_may_use_vprof_h_itself(shop: Workshop) -> None:
    shop.write(
        own_c="#include <vprof/vprof.h>\n"
        'int main(void) { vprof_interval_begin(1, "x"); vprof_interval_end(1); return 0; }\n'
    )
    assert shop.cc(*shop.every_warning, "-std=c11", "-c", "own.c").stderr == ""
    assert shop.calls("own.o") == "main\n  begin 1 x\n  interval_end 1\n"


@IN_BODIES
def test_macros_of_the_command_line_cannot_break_the_prelude(shop: Workshop) -> None:
    shop.write(odd_c='extern int puts(const char *);\nint main(void) { return puts("x") < 0; }\n')
    shop.cc("-Dstatic=", "-Dinline=", "-Dconst=", "-Dvolatile=", "-Dweak=1", "-Dcold=2", "-c", "odd.c")
    assert shop.calls("odd.o") == "main\n"


@IN_BODIES
def test_a_header_of_the_program_cannot_hide_the_prelude(shop: Workshop) -> None:
    (shop.path / "include").mkdir()
    (shop.path / "include/vprof_prelude.h").write_text("#define MINE 1\n")
    text = (
        '#include "vprof_prelude.h"\nextern int puts(const char *);\nint main(void) { return puts("x") < 0 * MINE; }\n'
    )
    shop.write(own_c=text)
    assert shop.cc("-Iinclude", "-c", "own.c").stderr == ""
    assert shop.calls("own.o") == "main\n"
