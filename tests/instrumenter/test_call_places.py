"""Probes before bodies tell calls of one function apart by where they return to (analyzer/vprof/program/returns.py)."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from workshop import EVERY_COMPILER, PREFIX, Workshop

from vprof.tables.model import Trace
from vprof.trace.reading import load_binary

RECORD = (PREFIX / "bin/vprof", "record", "--sites", "all", "-o", "run.trace", "--")
LIGHT = {"VPROF_PROBES": "light"}

CALLS = """\
#include <stdlib.h>
#include <unistd.h>
#define KEPT __attribute__((noinline))
KEPT int leaf(int n) { for (int i = 0; i < n; ++i) n ^= n >> (i & 7); return n; }
KEPT int twice(int n) {
  int a = leaf(n);
  int b = leaf(n + 1) + leaf(n + 2);
  usleep(1);
  return a ^ b;
}
__attribute__((no_instrument_function, always_inline)) static inline int expanded(int n) { return leaf(n) + 1; }
KEPT int caller(int n) {
  n += expanded(n);
  n ^= leaf(3);
  usleep(2);
  usleep(3);
  if (getpid() > 0) return leaf(n & 15);
  return n;
}
KEPT int by_pointer(int n, int (*f)(int)) {
  n += f(n & 7);
  n += f(3);
  return n + 1;
}
KEPT int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
KEPT int sorts(int n) {
  int all[4] = {n, 3, 2, 1};
  qsort(all, 4, sizeof *all, compare);
  qsort(all, 4, sizeof *all, compare);
  return all[0];
}
KEPT int outer(int n) {
  n = caller(n | 1) + twice(n & 7);
  n += by_pointer(n, leaf) + sorts(n);
  return n;
}
int main(int count, char **words) {
  (void)words;
  for (int i = 0; i < 8; ++i) count ^= outer(i);
  return count & 0;
}
"""
PLACES = {
    ("main", "outer", ""): 8,
    ("outer", "caller", ""): 8,
    ("outer", "twice", ""): 8,
    ("outer", "by_pointer", ""): 8,
    ("outer", "sorts", ""): 8,
    ("caller", "leaf", "a.c:11"): 8,
    ("caller", "leaf", "a.c:14"): 8,
    ("caller", "leaf", "a.c:17"): 8,
    ("caller", "usleep", "a.c:15"): 8,
    ("caller", "usleep", "a.c:16"): 8,
    ("twice", "leaf", "a.c:6"): 8,
    ("twice", "leaf", "a.c:7 #1"): 8,
    ("twice", "leaf", "a.c:7 #2"): 8,
    ("twice", "usleep", ""): 8,
    ("by_pointer", "leaf", "a.c:21"): 8,
    ("by_pointer", "leaf", "a.c:22"): 8,
}
"""By caller, callee and place: calls in eight rounds. `qsort` calls `compare` from code without probes, as often as it
likes; the last call in `caller` is a jump."""


def called(trace: Trace) -> Counter[tuple[str, str, str]]:
    """Calls by caller, callee and place."""
    calls, found = trace.invocations, Counter[tuple[str, str, str]]()
    open_calls: dict[int, list[str]] = {}
    for thread, function, depth, site in zip(
        calls.thread.tolist(), calls.function.tolist(), calls.depth.tolist(), calls.call_site.tolist(), strict=True
    ):
        stack = open_calls.setdefault(thread, [])
        del stack[depth:]
        name = trace.program.functions[function]
        if stack:
            found[stack[-1], name, trace.call_sites[site]] += 1
        stack.append(name)
    return found


def recorded(shop: Workshop, program: Path | str = "./program") -> Counter[tuple[str, str, str]]:
    shop.run(*RECORD, program)
    return called(load_binary(shop.path / "run.trace"))


@EVERY_COMPILER
@pytest.mark.parametrize(
    "options",
    [
        "-O0",
        "-O2",
        "-O2 -g",
        "-O3 -gdwarf-4 -no-pie",
        "-Os -static",
        "-O2 -fno-plt -fPIC -fcf-protection=full",
        "-O1 -ffunction-sections -fuse-ld=gold -Wl,--gc-sections",
        "-O2 -g -ffunction-sections -Wl,--compress-debug-sections=zlib",
    ],
)
def test_calls_of_one_function_have_their_lines(options: str, shop: Workshop) -> None:
    shop.write(a_c=CALLS)
    shop.cc(*options.split(), "a.c", "-o", "program", **LIGHT)
    found = recorded(shop)
    sorting = [place for place in found if place[1] == "compare"]
    assert sorting == [("sorts", "compare", "")]
    del found["sorts", "compare", ""]
    assert found == PLACES


@pytest.mark.parametrize("family", ["clang"], indirect=True)  # gcc sets both numbers of a sum before both calls
def test_numbers_and_return_addresses_tell_the_same(shop: Workshop) -> None:
    """But that numbers do not tell calls through a pointer apart, nor what is expanded without a probe."""
    shop.write(a_c=CALLS)
    found = []
    for probes in "body", "light":
        shop.cc("-O2", "a.c", "-o", "program", VPROF_PROBES=probes)
        found.append({place: n for place, n in recorded(shop).items() if place[0] in ("main", "outer", "twice")})
    assert found[0] == found[1]


@EVERY_COMPILER
def test_methods_and_what_exceptions_leave(shop: Workshop) -> None:
    shop.write(
        a_cpp="""\
        #define KEPT __attribute__((noinline))
        struct Base { virtual int get(int n) { for (int i = 0; i < n; ++i) n ^= i; return n; } };
        struct Other : Base { KEPT int get(int n) override { if (n > 2) throw n; return n; } };
        KEPT int use(Base &b, int n) {
          int sum = b.get(n);
          try { sum += b.get(n + 1); } catch (int thrown) { sum += thrown; }
          return sum + b.get(n - 1);
        }
        int main(int count, char **) {
          Base base;
          Other other;
          return (use(base, count + 1) + use(other, count + 1)) & 0;
        }
        """
    )
    shop.cxx("-O2", "a.cpp", "-o", "program", **LIGHT)
    wanted = Counter({("use", name, f"a.cpp:{n}"): 1 for name in ("Base::get", "Other::get") for n in (5, 6, 7)})
    assert {place: n for place, n in recorded(shop).items() if place[0] == "use"} == wanted


IN_BODIES = """\
#define KEPT __attribute__((noinline))
struct Big { long all[5]; };
struct Thing {
  int v;
  KEPT Thing(int n) { for (int i = 0; i < n; ++i) n ^= i; v = n; }
  KEPT int operator+(long double n) { for (int i = 0; i < n; ++i) v ^= i; return v; }
};
KEPT static int sum(Big big, int n) { for (int i = 0; i < n; ++i) n ^= big.all[i % 5]; return n; }
KEPT int varied(int n, ...) { for (int i = 0; i < n; ++i) n ^= i; return n; }
static int many(int a, int b, int c, int d, int e, int f, int g) { while (a-- > 0) g ^= b + c - d + e; return f; }
KEPT int user(int n) {
  Big big = {{n, 2, 3, 4, 5}};
  n += sum(big, 3);
  n += sum(big, 4);
  n += varied(3, n);
  n += varied(n & 3, n);
  Thing one(n & 7);
  Thing other(3);
  n += one + 3.0L;
  n += other + 4.0L;
  auto step = [&](int k, long double) __attribute__((noinline)) { for (int i = 0; i < k; ++i) n ^= i; return n; };
  n ^= step(4, 3.0L);
  n ^= step(5, 3.0L);
  return n;
}
KEPT __attribute__((flatten)) int expands(int n) { return many(n & 3, 2, 3, 4, 5, 6, n) ^ many(5, 2, 3, 4, 5, 6, n); }
int main(int count, char **) {
  for (int i = 0; i < 8; ++i) count ^= user(i) + expands(i);
  return count & 0;
}
"""


@EVERY_COMPILER
@pytest.mark.parametrize("options", ["-O1", "-O2 -fPIC", "-Os -no-pie -gdwarf-4", "-O2 -fcf-protection=full -static"])
def test_so_have_calls_of_what_keeps_its_probe_in_the_body(options: str, shop: Workshop) -> None:
    """Its arguments are on the stack, or it is a constructor or a lambda. Copies of it tell where they were called."""
    shop.write(a_cpp=IN_BODIES)
    shop.cxx(*options.split(), "a.cpp", "-o", "program", **LIGHT)
    found = {place: n for place, n in recorded(shop).items() if place[0] in ("user", "expands")}
    assert found == {
        **{("user", "sum", f"a.cpp:{line}"): 8 for line in (13, 14)},
        **{("user", "varied", f"a.cpp:{line}"): 8 for line in (15, 16)},
        **{("user", "Thing::Thing", f"a.cpp:{line}"): 8 for line in (17, 18)},
        **{("user", "Thing::operator+", f"a.cpp:{line}"): 8 for line in (19, 20)},
        **{("user", "user()::lambda@21", f"a.cpp:{line}"): 8 for line in (22, 23)},
        **{("expands", "many", f"a.cpp:26 #{n}"): 8 for n in (1, 2)},
    }


@EVERY_COMPILER
def test_what_another_module_has_is_called_through_a_slot(shop: Workshop) -> None:
    shop.write(
        lib_c="""\
        __attribute__((noinline)) int there(int n) { for (int i = 0; i < n; ++i) n ^= i; return n; }
        int once(int n) { for (int i = 0; i < n; ++i) n ^= i; return n; }
        int inside(int n) { return there(n) + there(n + 1) + 1; }
        """,
        a_c="""\
        int there(int n), once(int n), inside(int n);
        int main(int count, char **words) {
          count += there(3) + once(3);
          count += there(4);
          count += inside(5);
          return (words != 0) + count & 0;
        }
        """,
    )
    shop.cc("-O1", "-fPIC", "-shared", "lib.c", "-o", "libthere.so", **LIGHT)
    shop.cc("-O1", "a.c", "-L.", "-lthere", "-Wl,-rpath,$ORIGIN", "-o", "program", **LIGHT)
    assert recorded(shop) == {
        ("main", "there", "a.c:3"): 1,
        ("main", "there", "a.c:4"): 1,
        ("main", "once", ""): 1,
        ("main", "inside", ""): 1,
        ("inside", "there", "lib.c:3 #1"): 1,
        ("inside", "there", "lib.c:3 #2"): 1,
    }


def test_a_program_without_lines_tells_no_places(shop: Workshop) -> None:
    """Nor one that is gone, another one by now, or no program any more."""
    shop.write(a_c=CALLS)
    shop.cc("-O2", "-g0", "a.c", "-o", "program", **LIGHT)
    assert {place for _, _, place in recorded(shop)} == {""}
    shop.cc("-O2", "a.c", "-o", "program", **LIGHT)
    assert len({place for _, _, place in recorded(shop)}) > 6
    trace, program = shop.path / "run.trace", shop.path / "program"
    shutil.copy(program, shop.path / "kept")
    shop.run("strip", "--strip-debug", "program")
    assert {place for _, _, place in called(load_binary(trace))} == {""}
    program.write_bytes(program.read_bytes()[:5000])
    assert {place for _, _, place in called(load_binary(trace))} == {""}
    program.unlink()
    assert {place for _, _, place in called(load_binary(trace))} == {""}
    shop.write(a_c="\n" + CALLS)
    shop.cc("-O2", "a.c", "-o", "program", **LIGHT)
    assert {place for _, _, place in called(load_binary(trace))} == {""}
    shutil.copy(shop.path / "kept", program)
    assert len({place for _, _, place in called(load_binary(trace))}) > 6


@pytest.mark.parametrize("text", [CALLS, IN_BODIES], ids=["C", "C++"])
def test_a_damaged_program_is_no_error(text: str, shop: Workshop) -> None:
    """Its debug information, relocations and code are read when a trace is analyzed."""
    file, compiler = ("a.c", shop.cc) if text == CALLS else ("a.cpp", shop.cxx)
    (shop.path / file).write_text(text)
    compiler("-O2", "-g", file, "-o", "program", **LIGHT)
    places = recorded(shop)
    program = shop.path / "program"
    content = program.read_bytes()
    with program.open("rb") as file:
        sections = [(s["sh_offset"], s["sh_size"]) for s in ELFFile(file).iter_sections() if is_read(s.name)]
    for seed in range(150):
        chance, damaged = random.Random(seed), bytearray(content)
        begin, size = chance.choice(sections)
        for _ in range(chance.choice((1, 4, 40))):
            damaged[begin + chance.randrange(min(size, chance.choice((16, 200, size))))] = chance.randrange(256)
        program.write_bytes(damaged)
        found = called(load_binary(shop.path / "run.trace"))
        assert sum(found.values()) == sum(places.values()), seed


def is_read(section: str) -> bool:
    """But for the metadata: if these are others, nothing else is read."""
    return section.startswith((".debug", ".rela", ".plt", ".text", ".got", ".sym", ".str", ".dyn", ".eh_", "vprof_pl"))


@pytest.mark.parametrize("family", ["gcc"], indirect=True)  # clang says of no line that it made one call of several
def test_gcc_makes_no_call_of_two(shop: Workshop) -> None:
    shop.write(
        a_c="""\
        volatile int a, b, c, d;
        __attribute__((noinline)) int leaf(int n) { for (int i = 0; i < n; ++i) n ^= n >> (i & 7); return n; }
        __attribute__((noinline)) int alike(int n) {
          if (n > 5) {
            a = 1;
            b = leaf(n); c = 3; d = 4; c = 5; d = 6; c = 7;
          } else {
            a = 2;
            b = leaf(n); c = 3; d = 4; c = 5; d = 6; c = 7;
          }
          return leaf(n) + 1;
        }
        int main(int count, char **words) { (void)words; return (alike(count) + alike(count + 7)) & 0; }
        """
    )
    shop.cc("-O2", "a.c", "-o", "program", **LIGHT)
    found = {place: n for place, n in recorded(shop).items() if place[1] == "leaf"}
    assert found == {("alike", "leaf", "a.c:6"): 1, ("alike", "leaf", "a.c:9"): 1, ("alike", "leaf", "a.c:11"): 2}
