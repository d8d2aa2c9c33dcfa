"""gcc as the real compiler: it reads one text in which the headers are in place."""

from __future__ import annotations

import os

import pytest
from workshop import EVERY_COMPILER, IN_BODIES, PREFIX, Workshop

from vprof.trace.reading import load_binary

WITH_GCC = pytest.mark.parametrize("family", ["gcc"], indirect=True)


@IN_BODIES
@EVERY_COMPILER
def test_headers_keep_what_they_know_of_themselves(shop: Workshop) -> None:
    (shop.path / "first/deep").mkdir(parents=True)
    (shop.path / "second").mkdir()
    files = {
        "list.def": "ITEM(one, 1)\nITEM(two, 2)\n",
        "first/next.h": "#pragma once\n#include_next <next.h>\n#include <deep/beside.h>\n",
        "second/next.h": "static int second(int n) { puts(__FILE__); while (n > 9) n /= 2; return n + __LINE__; }\n",
        "first/deep/beside.h": '#ifndef BESIDE\n#define BESIDE\n#include "quoted.h"\n#endif\n',
        "first/deep/quoted.h": "static int quoted(void) { return puts(__FILE__) + __INCLUDE_LEVEL__ + __LINE__; }\n",
    }
    for name, text in files.items():
        (shop.path / name).write_text(text)
    shop.write(
        a_c="""\
#include <stdio.h>
#define NEXT <next.h>
#include NEXT
#include NEXT
#if __has_include(<deep/beside.h>) && !__has_include("missing.h")
#include <deep/beside.h>
#endif
#define ITEM(name, n) static int name(void) { return puts(#name) + n; }
#include "list.def"
#undef ITEM
#define ITEM(name, n) + name()
#line 70 "grammar.y"
int parsed(int n) { printf("%s %d\\n", __FILE__, __LINE__); return n; }
#line 15 "a.c"
int main(void) {
  int sum = 0
#include "list.def"
  ;
  puts(__BASE_FILE__);
  printf("%d %d %d\\n", sum + second(100) + quoted() + parsed(1), __LINE__, __COUNTER__);
  return 0;
}
"""
    )
    options = ["-Ifirst", "-Isecond", "-Wall"]
    shop.plain(*options, "a.c", "-o", "plain")
    assert shop.cc(*options, "-c", "a.c").stderr == ""
    calls = shop.calls("a.o")
    assert {"second", "quoted", "parsed"} <= set(calls.split())
    assert shop.run("./traced").stdout == shop.run("./plain").stdout


@WITH_GCC
def test_headers_behind_the_standard_library_are_seen(shop: Workshop) -> None:
    """Where gcc does not say that it enters a header of libstdc++, the files around it still have their lines."""
    shop.write(
        own_h="#include <iomanip>\n#include <locale>\n"
        "template <typename T> T halved(T n) { while (n > 9) n /= 2; return n; }\n",
        a_cpp='#include "own.h"\nint main() { return halved(40) == 5 ? 0 : 1; }\n',
    )
    shop.cxx("-c", "a.cpp")
    assert {f["name"]: f["left"] for f in shop.unit("a.o")["functions"]} == {"halved": None, "main": None}


@WITH_GCC
def test_what_follows_many_skipped_lines_is_seen(shop: Workshop) -> None:
    """gcc prints a line marker for them where the `#endif` was, behind its indentation."""
    skipped = "  n = 1;\n" * 12
    shop.write(
        s_c="int main(int n, char **v) {\n"
        f"  #if 0\n{skipped}  #endif\n"
        "  while (n > 9) n /= 2;\n  return n - 1;\n}\n"
        "int after(int n) { while (n > 9) n /= 2; return n; }\n"
    )
    shop.cc("-c", "s.c")
    assert {f["name"]: f["left"] for f in shop.unit("s.o")["functions"]} == {"main": None, "after": None}


@WITH_GCC
def test_the_timestamp_is_the_sources(shop: Workshop) -> None:
    shop.write(t_c="#include <stdio.h>\nint main(void) { puts(__TIMESTAMP__); return 0; }\n")
    os.utime(shop.path / "t.c", (1e9, 1e9))
    shop.cc("t.c", "-o", "t")
    assert "2001" in shop.run("./t").stdout
    assert shop.unit("t")["status"] == "instrumented"


@IN_BODIES
@WITH_GCC
def test_what_gcc_reads_otherwise_has_no_probe(shop: Workshop) -> None:
    """Clang finds the places, gcc compiles: a function that gcc does not read has none, the others have."""
    shop.write(
        d_c="""\
#include <stdio.h>
#ifdef __clang__
static int differs(int n) { return printf("clang %d\\n", n); }
#else
static int differs(int n) { return printf("gcc %d\\n", n); }
#endif
static __attribute__((target("avx2"))) int wide(int n) { return printf("wide %d\\n", n); }
int main(void) { return differs(1) + wide(2) < 0; }
"""
    )
    shop.cc("-O2", "-c", "d.c")
    assert shop.calls("d.o") == "main\n"
    assert shop.run("./traced").stdout == "gcc 1\nwide 2\n"
    reasons = {function["name"]: function["left"] for function in shop.unit("d.o")["functions"]}
    assert reasons == {"differs": "unseen", "wide": "target", "main": None}


@WITH_GCC
def test_a_unit_that_changes_the_instruction_set_is_compiled_unchanged(shop: Workshop) -> None:
    shop.write(t_c='#pragma GCC target("avx512f")\nint main(void) { return __builtin_puts("x") < 0; }\n')
    shop.cc("-O2", "-c", "t.c")
    assert shop.unit("t.o")["reason"] == "#pragma GCC target"


@WITH_GCC
def test_options_that_clang_does_not_know(shop: Workshop) -> None:
    shop.write(o_c="int work(int n) { while (n > 9) n /= 2; return implicit(n); }\nint implicit(int n) { return n; }\n")
    options = "-O2 -w -fno-tree-vectorize -fipa-pta -fsanitize=bounds-strict -Wno-stringop-truncation -fvar-tracking"
    more = ["--param", "max-inline-insns-single=10", "--param=ggc-min-expand=50", "-dumpbase", "other"]
    shop.cc(*options.split(), *more, "-c", "o.c")
    assert shop.unit("o.o")["status"] == "instrumented"


@IN_BODIES
def test_objects_of_both_compilers_in_one_program(shop: Workshop) -> None:
    shop.write(
        a_c="int work(int n);\nint main(void) { return work(9); }\n",
        b_c="__attribute__((noinline)) int leaf(int n) { while (n > 0) n -= 2; return n + 1; }\n"
        "int work(int n) { return leaf(n); }\n",
    )
    shop.cc("-O2", "-c", "a.c")
    shop.cc("-O2", "-c", "b.c", VPROF_REAL_CC="gcc")
    assert shop.calls("a.o", "b.o", options=["-O2"]) == "main\n  work\n    leaf\n"


@IN_BODIES
@WITH_GCC
def test_operands_keep_their_numbers(shop: Workshop) -> None:
    """gcc sets the numbers of all operands before it makes the calls, so each has a statement of its own there, unless
    that would destroy an argument too early."""
    shop.write(
        a_cpp="""\
        #include <string>
        #define KEPT __attribute__((noinline))
        KEPT long f(int n) { for (int i = 0; i < n; ++i) n ^= i; return n; }
        KEPT const char *g(const std::string &text) { return text.c_str(); }
        int sum(int n) { return f(n + 1)
          + -(int)f(n + 2) == f(n + 3); }
        int lasting(int n) { return (g(std::string(20, 'a')) == g(std::string(20, 'b'))) + n; }
        template <typename T> int made(T n) { return f(3) + f(4) ? (int)n : 0; }
        int main(int count, char **) { return sum(count) + lasting(count - 1) + made(count - 2) ? 1 : 0; }
        """
    )
    shop.cxx("-O2", "a.cpp", "-o", "program")
    numbered = {f["name"]: [n[2] for n in f.get("numbered", [])] for f in shop.unit("program")["functions"]}
    own = {name: lines for name, lines in numbered.items() if name in ("sum", "lasting", "made", "main")}
    assert own == {"sum": [5, 6, 6], "lasting": [], "made": [8, 8], "main": []}
    shop.run(PREFIX / "bin/vprof", "record", "--sites", "f,sum", "-o", "run.trace", "--", "./program", check=False)
    trace = load_binary(shop.path / "run.trace")
    calls = trace.invocations
    assert [trace.call_sites[site] for site in calls.call_site[calls.depth == 1]] == [
        "a.cpp:5",
        "a.cpp:6 #1",
        "a.cpp:6 #2",
    ]
