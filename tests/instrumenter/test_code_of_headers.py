"""A header's function has a probe and a description where code is made of it, and one description in a program."""

from __future__ import annotations

import re

import pytest
from workshop import Workshop

HEADER = """\
#ifndef STEP
#define STEP 2
#endif
inline int shared(int n) { while (n > 9) n /= 2; return n; }
inline int by_unit(int n) { while (n > 9) n /= 2;
#if STEP == 3
  extern int puts(int);
#else
  n = shared(n);
#endif
  return n; }
inline int unused(int n) { while (n > 9) n /= 2; return n; }
inline int only_in_unused(int n) { while (n > 9) n /= 2; return n; }
inline int also_unused(int n) { return only_in_unused(n) + unused(n); }
inline int only_in_b(int n) { while (n > 9) n /= 2; return n; }
"""
A_CPP = '#include "h.h"\nint a(int n) { return shared(n) + by_unit(n); }\n'
B_CPP = '#include "h.h"\nint b(int n) { return shared(n) + by_unit(n) + only_in_b(n); }\n'
C_CPP = '#define STEP 3\n#include "h.h"\nint a(int), b(int);\nint main() { return a(shared(1)) + b(by_unit(0)) < 0; }\n'


@pytest.fixture
def three_units(shop: Workshop) -> Workshop:
    shop.write(h_h=HEADER, a_cpp=A_CPP, b_cpp=B_CPP, c_cpp=C_CPP)
    return shop


def descriptions(shop: Workshop, program: str, name: str) -> list[str]:
    """The texts of a function in a file."""
    found = re.findall(rb'\{"id":[^\0]*"name":"%s","file"[^\0]*' % name.encode(), (shop.path / program).read_bytes())
    return [text.decode() for text in found]


LINKERS = [("clang", "bfd"), ("clang", "gold"), ("clang", "lld"), ("gcc", "bfd"), ("gcc", "gold")]


@pytest.mark.parametrize(("family", "linker"), LINKERS, indirect=["family"])
def test_what_units_say_alike_is_there_once(three_units: Workshop, linker: str) -> None:
    """However it was linked: units together or apart, with and without those sections that no code refers to."""
    three_units.cxx("-c", "a.cpp", "b.cpp", "c.cpp")
    three_units.cxx("-nostdlib", "-r", "a.o", "b.o", "-o", "ab.o")
    for objects in (["a.o", "b.o", "c.o"], ["ab.o", "c.o"]):
        three_units.cxx(*objects, f"-fuse-ld={linker}", "-Wl,--gc-sections", "-o", "program")
        assert len(descriptions(three_units, "program", "shared")) == 1
        assert len(descriptions(three_units, "program", "by_unit")) == 2
        functions = [f for unit in three_units.units("program") for f in unit["functions"]]
        assert [f["line"] for f in functions if f["name"] == "shared"] == [4, 4, 4]
        calls = [[id_ for id_, _ in f["calls"]] for f in functions if f["name"] == "by_unit"]
        assert sorted(calls) == [[], ["c:@F@shared#I#"], ["c:@F@shared#I#"]]


def test_what_a_unit_does_not_use_has_neither_probe_nor_description_there(three_units: Workshop) -> None:
    three_units.cxx("-c", "a.cpp", "b.cpp", "c.cpp")
    names = {o: {f["name"] for f in three_units.unit(o)["functions"]} for o in ("a.o", "b.o", "c.o")}
    assert names == {
        "a.o": {"a", "shared", "by_unit"},
        "b.o": {"b", "shared", "by_unit", "only_in_b"},
        "c.o": {"main", "shared", "by_unit"},
    }
    three_units.cxx("-c", "a.cpp", "--emit-tree", "tree")
    header = (three_units.path / f"tree{three_units.path}/h.h").read_text()
    probed = {line.split("(")[0].split()[-1] for line in header.splitlines() if "__VPROF_PROBE" in line}
    assert probed == {"shared", "by_unit"}
    assert three_units.calls("a.o", "b.o", "c.o").count("only_in_b\n") == 1


def test_with_gcc_every_function_of_a_header_has_a_probe(three_units: Workshop) -> None:
    """Clang cannot tell what gcc makes code of."""
    three_units.environment.update(VPROF_REAL_CXX="g++")
    three_units.cxx("-c", "a.cpp")
    assert len(three_units.unit("a.o")["functions"]) == 7


# All that is named live has code, in ways that the text shows or not; nothing that is named dead has.
WAYS_TO_USE = """\
#include <algorithm>
#include <functional>
#include <tuple>
namespace user {
inline int live_direct(int n) { return n; }
inline int live_pointer(int n) { return n; }
inline int live_in_variable() { return 1; }
inline int live_default() { return 1; }
inline int live_with_default(int n = live_default()) { return n; }
inline void live_cleanup(int *) {}
inline int live_in_live() { return 1; }
inline int live_outer() { return live_in_live(); }
inline int dead_in_dead() { return 1; }
inline int dead() { return dead_in_dead(); }
template <typename T> int live_template(T t) { return t; }
template <typename T> int dead_template(T t) { return t + dead(); }
template <typename T> int live_explicit(T t) { return t; }
struct LiveMember { LiveMember() {} ~LiveMember() {} };
struct LiveBase { LiveBase(int) {} ~LiveBase() {} virtual int live_inherited() { return 1; } };
struct LiveDerived : LiveBase { using LiveBase::LiveBase; LiveMember member; int live_init = live_outer(); };
struct LiveAggregatePart { ~LiveAggregatePart() {} };
struct LiveOther { LiveOther(int) {} };
struct LiveAggregate { LiveAggregatePart first; LiveOther second; };
struct LiveVirtual {
  static void *operator new(size_t size) { return ::operator new(size); }
  static void operator delete(void *memory) { ::operator delete(memory); }
  virtual ~LiveVirtual() {}
  virtual int live_slot() { return 1; }
  virtual int live_named() { return 1; }
};
struct LiveFinal final : LiveVirtual { int live_slot() override { return 2; } };
struct DeadVirtual { virtual ~DeadVirtual() {} virtual int dead_slot() { return dead(); } DeadVirtual() {} };
inline DeadVirtual *dead_maker() { return new DeadVirtual(); }
struct LiveKeyed { virtual void live_key(); virtual int live_beside_key() { return 1; } };
struct DeadKeyed { DeadKeyed() {} virtual void dead_key(); virtual int dead_beside_key() { return dead(); } };
struct LiveRange {
  int *live_begin_;
  int *begin() { return live_begin_; }
  int *end() { return live_begin_; }
};
struct LivePair { int first; };
template <size_t I> int get(const LivePair &pair) { return pair.first; }
struct LiveOperator {
  LiveOperator operator+(const LiveOperator &) const { return *this; }
  explicit operator bool() const { return true; }
  friend bool operator<(const LiveOperator &, const LiveOperator &) { return false; }
  bool operator==(const LiveOperator &) const { return true; }
};
struct LiveThrown { LiveThrown() {} LiveThrown(const LiveThrown &) {} ~LiveThrown() {} };
template <typename T> struct LiveClass {
  static int variable;
  static int live_of_variable() { return 1; }
  int live_method() { return variable; }
  int dead_method() { return dead(); }
};
template <typename T> int LiveClass<T>::variable = LiveClass<T>::live_of_variable();
inline auto live_lambda = [](auto value) { return live_template(value); };
inline int live_local_class() {
  struct Local { int live_method() { return live_direct(1); } };
  return Local().live_method();
}
struct LiveDelegating { LiveDelegating() : LiveDelegating(1) {} LiveDelegating(int) {} ~LiveDelegating() {} };
}  // namespace user
template <> struct std::tuple_size<user::LivePair> : std::integral_constant<size_t, 1> {};
template <> struct std::tuple_element<0, user::LivePair> { using type = int; };
"""
WAYS_IN_C = """\
static int live_behind_alias(int n) { return n; }
static int live_alias(int n) { return live_behind_alias(n); }
int alias(int) __attribute__((alias("live_alias")));
static int live_chosen(int n) { return n; }
static void *live_resolve(void) { return live_chosen; }
int chosen(int) __attribute__((ifunc("live_resolve")));
static int __attribute__((used)) live_used(int n) { return n; }
static void __attribute__((constructor)) live_constructor(void) {}
static inline void live_cleanup(int *p) { *p = 0; }
struct operations { int (*one)(int); };
static int live_operation(int n) { return n; }
static const struct operations table = {.one = live_operation};
static int dead_operation(int n) { return n; }
static const struct operations dead_table = {.one = 0};
static int live_generic(int n) { return n; }
static inline int live_inline(int n) { return n; }
int live_external(int n) { return live_inline(n); }
static inline int dead_inline(int n) { return dead_operation(n); }
"""
USES_C = """\
#include "ways.h"
const struct operations *operations(void) { return &table; }
int main(void) {
  __attribute__((cleanup(live_cleanup))) int n = 1;
  return _Generic(n, int: live_generic)(n);
}
"""
USES_CPP = """\
#include "ways.h"
using namespace user;
int (*table[])(int) = {live_pointer};
static int variable = live_in_variable();
template int user::live_explicit<int>(int);
void LiveKeyed::live_key() {}
int sorts(LiveOperator *from, LiveOperator *to) { std::sort(from, to); return std::count(from, to, *from); }
LiveAggregate *aggregate() { return new LiveAggregate{{}, 1}; }
LiveVirtual *makes() { return new LiveFinal(); }
int virtually(LiveVirtual *object) { return object->live_named(); }
int throws() { try { throw LiveThrown(); } catch (LiveThrown copy) { return 1; } }
int in_range(LiveRange range) { int sum = 0; for (int i : range) sum += i; return sum; }
int bound(LivePair pair) { auto [first] = pair; return first; }
DeadKeyed *elsewhere(DeadKeyed *one) { return one; }
bool operators(LiveOperator a) { return a + a ? true : false; }
std::function<int(int)> function() { return [](int n) { return live_lambda(n); }; }
int main() {
  __attribute__((cleanup(live_cleanup))) int cleaned = 0;
  LiveDerived derived(1);
  LiveDelegating delegating;
  LiveClass<int> instance;
  return live_direct(1) + live_with_default() + live_template(2) + instance.live_method() + live_local_class();
}
"""
IMPLIED = {
    "user::LiveDerived::LiveBase",
    "user::LiveDerived::~LiveDerived",
    "user::LiveFinal::LiveFinal",
    "user::LiveFinal::~LiveFinal",
    "user::LiveVirtual::LiveVirtual",
}
"""Members that no text defines."""
VIEWS = {"clang++-19": ["-std=c++17"], "clang++-19 -O2": ["-std=c++17", "-O2", "-fno-inline"]}


@pytest.mark.parametrize("options", VIEWS.values(), ids=VIEWS)
def test_all_functions_that_make_code_are_described(shop: Workshop, options: list[str]) -> None:
    """What the plain compiler puts into its object is there; what is called dead is not."""
    shop.write(ways_h=WAYS_TO_USE, uses_cpp=USES_CPP)
    shop.plain_cxx(*options, "-c", "uses.cpp", "-o", "plain.o")
    shop.cxx(*options, "-c", "uses.cpp")
    listed = shop.run("nm", "-C", "--defined-only", "plain.o").stdout
    emitted = {re.sub(r"<[^()]*>", "", m[1]) for m in re.finditer(r" [tTwW] (?:int |auto )?(user::[^(*{]*)\(", listed)}
    described = {f["name"] for f in shop.unit("uses.o")["functions"] if f["name"].startswith("user::")}
    assert emitted - described == IMPLIED
    assert len(emitted & described) > 35
    assert not [name for name in described if "dead" in name.lower()]


def test_all_functions_of_c_that_make_code_are_described(shop: Workshop) -> None:
    shop.write(ways_h=WAYS_IN_C, uses_c=USES_C)
    shop.plain("-c", "uses.c", "-o", "plain.o")
    shop.cc("-c", "uses.c")
    emitted = set(re.findall(r" [tT] (live\w+)", shop.run("nm", "plain.o").stdout))
    described = {f["name"] for f in shop.unit("uses.o")["functions"]}
    assert len(emitted) == 11
    assert described == emitted | {"operations", "main"}
