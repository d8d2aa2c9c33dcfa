"""The switch bytes on pages of their own and the metadata of every unit, whichever linker, with and without -flto."""

from __future__ import annotations

import pytest
from elftools.elf.elffile import ELFFile
from workshop import PREFIX, Workshop

PAGE = 4096
MAIN = """\
#include <stdio.h>
int work(int n);
int main(void) { printf("%d\\n", work(3)); return 0; }
"""
WORK = """\
static int before __attribute__((section("vprof_a"), used)) = 1;
static int behind __attribute__((section("vprof_switch_a"), used)) = 2;
static int other __attribute__((section("aaa"), used)) = 3;
int work(int n) { int sum = before + behind + other - 6; for (int i = 0; i <= n; i++) sum += i; return sum; }
"""
LLVM_PROGRAMS = "/usr/lib/llvm-19/bin"
LINKERS = ["-fuse-ld=bfd", "-fuse-ld=gold", "-fuse-ld=lld"]


@pytest.fixture
def pair(shop: Workshop) -> Workshop:
    shop.write(main_c=MAIN, work_c=WORK)
    return shop


def foreign_on_switch_pages(shop: Workshop, binary: str) -> list[str]:
    """Sections in memory that share a page with the switch bytes, which begin on one."""
    with (shop.path / binary).open("rb") as file:
        elf = ELFFile(file)
        switches = elf.get_section_by_name("vprof_switch")
        first = switches["sh_addr"]
        assert first % PAGE == 0
        last = (first + switches["sh_size"] - 1) // PAGE * PAGE + PAGE
        others = (section for section in elf.iter_sections() if section["sh_flags"] & 2 and section != switches)
        return [s.name for s in others if s["sh_addr"] < last and s["sh_addr"] + s["sh_size"] > first]


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize(
    "options", ["", "-flto", "-flto=thin", "-shared -fPIC -flto -O2", "-static", "-Wl,--gc-sections"]
)
def test_no_other_data_on_pages_of_switch_bytes(pair: Workshop, options: str, linker: str) -> None:
    pair.cc(*options.split(), linker, "main.c", "work.c", "-o", "program")
    assert set(pair.site_names("program").values()) >= {"main", "work"}  # static: those of the C library, too
    assert foreign_on_switch_pages(pair, "program") == []


@pytest.mark.parametrize("family", ["gcc"], indirect=True)
@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("options", ["", "-shared -fPIC -O2", "-static", "-Wl,--gc-sections"])
def test_nor_where_gcc_calls_the_linker(pair: Workshop, options: str, linker: str) -> None:
    found = [f"-B{LLVM_PROGRAMS}"] if linker.endswith("lld") else []  # by gcc, under the name ld.lld
    pair.cc(*found, *options.split(), linker, "main.c", "work.c", "-o", "program")
    assert set(pair.site_names("program").values()) >= {"main", "work"}  # static: those of the C library, too
    assert foreign_on_switch_pages(pair, "program") == []
    if "-shared" not in options:
        assert pair.run("./program").stdout == "6\n"


@pytest.mark.parametrize("lto", ["-flto", "-flto=thin"])
@pytest.mark.parametrize("linker", LINKERS)
def test_units_compiled_at_link_time_are_recorded(pair: Workshop, linker: str, lto: str) -> None:
    pair.cc("-O1", lto, linker, "main.c", "work.c", "-o", "program")
    vprof = PREFIX / "bin/vprof"
    pair.run(vprof, "record", "--sites", "all", "-o", "run.trace", "--", "./program")
    analysis = pair.run(vprof, "analyze", "run.trace", "--root", "main", "--format", "json").stdout
    assert '"work"' in analysis


@pytest.mark.parametrize("linker", LINKERS)
def test_unchanged_units_are_counted_under_gc_sections(pair: Workshop, linker: str) -> None:
    """Also one of which nothing else is kept, as an instrumented one is."""
    pair.write(data_c="int nobody_needs_this = 1;\n")
    pair.cc("-c", "work.c", "data.c", VPROF_REAL_CC=pair.unknown_compiler())
    pair.cc("-c", "main.c")
    pair.cc(linker, "-Wl,--gc-sections", "main.o", "work.o", "data.o", "-o", "program")
    assert sorted(unit["status"] for unit in pair.units("program")) == ["instrumented", "unchanged", "unchanged"]
    assert pair.run("./program").stdout == "6\n"


# The end of a probe of an older vprof: other names, jumped to.
OLDER = """\
#define PROBE(prepare, target) \\
  __asm__ __volatile__(".weak " target "\\n\\t.hidden " target "\\n\\t" prepare \\
                       "lea 1f(%%rip), %%r11\\n\\tjmp " target "\\n1:" \\
    : "=&a"(call) : "r"(frame) : "cc", "memory", "r10", "r11")
int work(int n) {
  char *frame = (char *)&n, *call;
  PROBE("mov %1, %%r10\\n\\t", "__vprof_entered");
  const int same = call == frame;
  PROBE("mov %1, %%r10\\n\\t", "__vprof_left");
  return same ? 2 * n : 0;
}
"""


@pytest.mark.parametrize("linker", LINKERS)
def test_an_object_of_an_older_vprof_runs_unrecorded_and_is_told(pair: Workshop, linker: str) -> None:
    pair.write(work_c=OLDER)
    pair.plain("-O1", "-c", "work.c")
    linked = pair.cc(linker, "main.c", "work.o", "-o", "program")
    assert pair.run("./program").stdout == "6\n"
    if linker.endswith("bfd"):  # the others know no such warnings
        assert "work.o" in linked.stderr
        assert "compiled by an older vprof" in linked.stderr
