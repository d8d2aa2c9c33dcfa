"""Whole projects under autoconf with libtool, Meson, ccache: configured as without vprof, built, run, all sites there.

CMake is in test_builds.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from workshop import PLAIN, PLAIN_CXX, PREFIX, Workshop

VPROF_CC, VPROF_CXX = PREFIX / "bin/vprof-cc", PREFIX / "bin/vprof-c++"

PROJECT = {
    "part.h": """\
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
int in_c(int n);
int in_cxx(int n);
#ifdef __cplusplus
}
#endif
""",
    "part.c": """\
#include "config.h"
#include "part.h"
#include <stdio.h>
static int local(int n) { while (n > 9) n /= 2; return n; }
int in_c(int n) { printf("%s\\n", SAID); return local(n); }
""",
    "other.cc": """\
#include "part.h"
#include <stdexcept>
#include <string>
int in_cxx(int n) {
  try {
    throw std::runtime_error(std::string(static_cast<unsigned>(n), 'x'));
  } catch (const std::exception &e) {
    return static_cast<int>(std::string(e.what()).size()) + in_c(n);
  }
}
""",
    "main.c": """\
#include "part.h"
#include <stdio.h>
int main(void) { printf("%d\\n", in_cxx(3)); return 0; }
""",
}
AUTOTOOLS = {
    "configure.ac": """\
AC_INIT([parts], [1.0])
AC_CONFIG_AUX_DIR([build-aux])
AM_INIT_AUTOMAKE([foreign])
AC_CONFIG_HEADERS([config.h])
AC_PROG_CC
AC_PROG_CXX
LT_INIT([disable-static])
AC_USE_SYSTEM_EXTENSIONS
AC_C_BIGENDIAN
AC_C_RESTRICT
AC_CHECK_SIZEOF([long])
AC_CHECK_HEADERS([sys/epoll.h nowhere.h])
AC_CHECK_FUNCS([fork mmap pthread_create strlcpy])
AC_CHECK_LIB([m], [cos])
AC_FUNC_ALLOCA
AC_DEFINE([SAID], ["configured"], [What is printed])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
""",
    "Makefile.am": """\
lib_LTLIBRARIES = libpart.la
libpart_la_SOURCES = part.c other.cc part.h
bin_PROGRAMS = program
program_SOURCES = main.c
program_LDADD = libpart.la
""",
}
MESON = {
    "meson.build": """\
project('parts', 'c', 'cpp', default_options: ['cpp_std=c++17', 'warning_level=3', 'werror=true'])
cc = meson.get_compiler('c')
conf = configuration_data()
conf.set_quoted('SAID', 'configured')
conf.set('SIZEOF_LONG', cc.sizeof('long'))
conf.set('HAVE_FORK', cc.has_function('fork'))
conf.set('HAVE_STRLCPY', cc.has_function('strlcpy'))
conf.set('HAVE_NOWHERE_H', cc.has_header('nowhere.h'))
conf.set('HAVE_EPOLL_CTL', cc.has_header_symbol('sys/epoll.h', 'EPOLL_CTL_ADD'))
conf.set('HAVE_MUSTTAIL', cc.compiles('int f(void); int g(void) { __attribute__((musttail)) return f(); }'))
conf.set('RUNS', cc.run('int main(void) { return 3; }').returncode())
conf.set('HAVE_WARNING', cc.has_argument('-Wshadow'))
conf.set('HAVE_NO_WARNING', cc.has_argument('-Wsuch-a-warning'))
conf.set('HAVE_LINK_OPTION', cc.has_link_argument('-Wl,--as-needed'))
conf.set('HAVE_NO_LINK_OPTION', cc.has_link_argument('-Wl,--such-an-option'))
configure_file(output: 'config.h', configuration: conf)
part = shared_library('part', 'part.c', 'other.cc', c_pch: 'pch/part_pch.h')
executable('program', 'main.c', link_with: part)
""",
    "pch/part_pch.h": "#include <stdio.h>\n",
}


def lay_out(shop: Workshop, *projects: Mapping[str, str]) -> Workshop:
    """The files below source/, beside which the builds are."""
    for name, text in (item for project in projects for item in project.items()):
        path = shop.path / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return shop


def instrumented(shop: Workshop, *binaries: str) -> set[str]:
    """Names of the functions with a site; every unit is instrumented."""
    units = [unit for binary in binaries for unit in shop.units(binary)]
    assert {unit["status"] for unit in units} == {"instrumented"}
    return {name for binary in binaries for name in shop.site_names(binary).values()}


def in_build(shop: Workshop, folder: str) -> Workshop:
    (shop.path / folder).mkdir(exist_ok=True)
    return Workshop(shop.path / folder, shop.family)


SITES = {"local", "in_c", "in_cxx", "main"}


def test_autoconf_and_libtool(shop: Workshop) -> None:
    lay_out(shop, PROJECT, AUTOTOOLS)
    in_build(shop, "source").run("autoreconf", "--install")
    plain, ours = in_build(shop, "plain"), in_build(shop, "ours")
    plain.run("../source/configure", f"CC={PLAIN}", f"CXX={PLAIN_CXX}")
    ours.run("../source/configure", f"CC={VPROF_CC}", f"CXX={VPROF_CXX}")
    assert (ours.path / "config.h").read_text() == (plain.path / "config.h").read_text()
    ours.run("make", "-j2")
    assert ours.run("./program").stdout == "configured\n6\n"
    assert instrumented(ours, ".libs/libpart.so", ".libs/program") == SITES
    # A program that knows nothing of vprof can use the library, which libtool links with -nostdlib.
    ours.plain("../source/main.c", ".libs/libpart.so", f"-Wl,-rpath,{ours.path}/.libs", "-o", "stranger")
    assert ours.run("./stranger").stdout == "configured\n6\n"


def test_meson(shop: Workshop) -> None:
    lay_out(shop, PROJECT, MESON)
    shop.run("meson", "setup", "plain", "source", env={"CC": PLAIN, "CXX": PLAIN_CXX})
    shop.run("meson", "setup", "ours", "source", env={"CC": str(VPROF_CC), "CXX": str(VPROF_CXX)})
    assert (shop.path / "ours/config.h").read_text() == (shop.path / "plain/config.h").read_text()
    shop.run("ninja", "-C", "ours", "-j2")
    assert shop.run("ours/program").stdout == "configured\n6\n"
    assert instrumented(shop, "ours/libpart.so", "ours/program") == SITES
    assert "no work to do" in shop.run("ninja", "-C", "ours").stdout


BEGIN = '{"event": "begin", "function": "txn", "id": "n"}'
END = '{"event": "end", "function": "txn", "id": "n"}'


class Cached:
    """vprof-cc behind ccache, as instrumenter/README.md says."""

    def __init__(self, shop: Workshop) -> None:
        self.shop = shop
        library = PREFIX / "lib/vprof"
        extra = [shop.path / "descriptor.json", library / "vprof-rewrite", library / "__vprof_prelude.h"]
        settings = {"DIR": str(shop.path / "cache"), "EXTRAFILES": ":".join(map(str, extra)), "COMPILERCHECK": "mtime"}
        self.env = {f"CCACHE_{name}": value for name, value in settings.items()}
        self.env["VPROF_DESCRIPTOR"] = "descriptor.json"

    def compile(self, compiler: Path, *arguments: str) -> int:
        """How many compilations the cache has answered since the last one."""
        before = self.hits()
        self.shop.run("ccache", compiler, *arguments, env=self.env)
        return self.hits() - before

    def hits(self) -> int:
        stats = self.shop.run("ccache", "--print-stats", env=self.env).stdout
        return sum(int(n) for n in re.findall(r"^(?:direct|preprocessed)_cache_hit\t(\d+)$", stats, re.MULTILINE))

    def describe(self, *entries: str) -> None:
        (self.shop.path / "descriptor.json").write_text(f'{{"interval": [{", ".join(entries)}]}}')


@pytest.fixture
def cached(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Cached:
    for name in ("NOHASHDIR", "BASEDIR", "DISABLE"):
        monkeypatch.delenv(f"CCACHE_{name}", raising=False)
    cached = Cached(shop)
    cached.describe(BEGIN)
    return cached


def test_ccache_hits_and_notices_a_changed_descriptor(cached: Cached) -> None:
    shop = cached.shop
    shop.write(a_c='#include "a.h"\nint txn(int n) { return g(n); }\n', a_h="int g(int n);\n")
    command = (VPROF_CC, "-MD", "-c", "a.c", "-o", "a.o")
    assert cached.compile(*command) == 0
    made = (shop.path / "a.o").read_bytes()
    (shop.path / "a.o").unlink()
    assert cached.compile(*command) == 1
    assert (shop.path / "a.o").read_bytes() == made
    cached.describe(BEGIN, END)
    assert cached.compile(*command) == 0
    assert shop.unit("a.o")["matched"] == ["interval/0", "interval/1"]
    cached.describe(BEGIN)
    assert cached.compile(*command) == 1
    assert shop.unit("a.o")["matched"] == ["interval/0"]


def test_two_objects_of_one_program_may_be_one_of_the_cache(cached: Cached) -> None:
    shop = cached.shop
    shop.write(
        a_cc='extern "C" int puts(const char *);\nstatic int made = puts("made");\n'
        "static int again(int n) { while (n > 9) n = n / 2 + n % 3; return n; }\nstatic int used = again(made);\n",
        main_cc="int main() {}\n",
    )
    assert cached.compile(VPROF_CXX, "-c", "a.cc", "-o", "one.o") == 0
    assert cached.compile(VPROF_CXX, "-c", "a.cc", "-o", "two.o") == 1
    shop.cxx("main.cc", "one.o", "two.o", "-o", "program")
    assert shop.run("./program").stdout == "made\nmade\n"
    assert set(shop.site_names("program").values()) == {"again", "main"}
