"""Inline functions and templates in several units: one identity, one copy kept by the linker, no broken links."""

from __future__ import annotations

from collections import Counter

import pytest
from workshop import EVERY_COMPILER, IN_BODIES, Workshop

SHARED_H = """\
#include <cstdio>
inline int plain(int n) { std::puts("plain"); return n; }
template <typename T> T generic(T x) { std::puts("generic"); return x; }
struct Widget {
  virtual ~Widget() { std::puts("~Widget"); }
  int method() { static int made = [] { std::puts("static"); return 3; }(); return plain(made); }
};
"""
A_CPP = """\
#include "shared.h"
inline int only_here(int n) { while (n > 9) n /= 2; return n; }
int in_a() { Widget w; return w.method() + generic(1) + only_here(100); }
"""
B_CPP = """\
#include "shared.h"
int in_a();
int in_b() { Widget w; return w.method() + generic(2); }
int main() { std::printf("%d\\n", in_a() + in_b()); return 0; }
"""
CALLS = Counter(
    {"main": 1, "in_a": 1, "in_b": 1, "Widget::method": 2, "Widget::method()::lambda@6": 1, "plain": 2}
    | {"generic": 2, "Widget::~Widget": 2, "only_here": 1}
)


@pytest.fixture
def units(shop: Workshop) -> Workshop:
    shop.write(shared_h=SHARED_H, a_cpp=A_CPP, b_cpp=B_CPP)
    return shop


SMALL = "-O1 -fno-inline -ffunction-sections -fdata-sections -Wl,--gc-sections"
WAYS = ["-O0", "-O2", "-O2 -fPIC -g", SMALL, "-O2 -fno-exceptions -fno-rtti -fno-threadsafe-statics"]
WAYS_OF_CLANG = [*WAYS, SMALL + " -fuse-ld=lld", "-O2 -flto -fuse-ld=lld", "-O2 -flto=thin -fuse-ld=lld"]
WAYS_OF_GCC = [*WAYS, "-O2 -flto"]


@IN_BODIES
@pytest.mark.parametrize(
    ("family", "options"),
    [("clang", way) for way in WAYS_OF_CLANG] + [("gcc", way) for way in WAYS_OF_GCC],
    indirect=["family"],
)
def test_the_probe_of_the_kept_copy_works(units: Workshop, options: str) -> None:
    """The fake runtime switches on the bytes of all units: no call from either unit is missed, none is seen twice."""
    words = options.split()
    units.cxx("-std=c++17", *words, "-c", "a.cpp", "b.cpp")
    calls = units.calls("a.o", "b.o", options=words)
    seen = (line.strip() for line in calls.splitlines())
    # The fake runtime takes frames that were inlined into one physical frame for abandoned ones.
    assert Counter(line for line in seen if line != "unpaired leave") == CALLS
    assert units.run("./traced").stdout.splitlines()[-1] == "15"


@IN_BODIES
def test_a_unit_compiled_without_probes_may_keep_its_copy(units: Workshop) -> None:
    """The linker keeps the first copy: then the function has no probe, and the program still links and runs."""
    units.plain_cxx("-std=c++17", "-c", "a.cpp")
    units.cxx("-std=c++17", "-c", "b.cpp")
    lines = {line.strip() for line in units.calls("a.o", "b.o").splitlines()}
    assert lines == {"main", "in_b"}
    assert units.run("./traced").stdout.splitlines()[-1] == "15"


def test_shared_code_has_one_identity(units: Workshop) -> None:
    units.cxx("-std=c++17", "a.cpp", "b.cpp", "-o", "program")
    found = [(f["name"], f["id"]) for unit in units.units("program") for f in unit["functions"]]
    shared = {"plain", "generic", "Widget::method", "Widget::method()::lambda@6", "Widget::~Widget"}
    assert Counter(name for name, _ in found if name in shared) == dict.fromkeys(shared, 2)
    assert len({id_ for name, id_ in found if name in shared}) == len(shared)
    assert all(f["site"] is not None for unit in units.units("program") for f in unit["functions"])


@EVERY_COMPILER
def test_shared_code_across_a_shared_library(units: Workshop) -> None:
    units.cxx("-std=c++17", "-fPIC", "-shared", "a.cpp", "-o", "liba.so")
    units.cxx("-std=c++17", "b.cpp", "-L.", "-la", "-Wl,-rpath,.", "-o", "program")
    assert units.run("./program").stdout.splitlines()[-1] == "15"
