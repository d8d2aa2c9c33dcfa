"""What an object says about itself: functions, reasons, calls, addresses taken (instrumenter/UNIT_METADATA.md)."""

from __future__ import annotations

from typing import Any

import pytest
from workshop import HERE, IN_BODIES, Workshop

PROGRAM = """\
#include <stdlib.h>
typedef int (*operation)(int);
int outside(int);
_Noreturn void fatal(void);
static int add(int x) { return outside(x) + 1; }
static int sub(int x) { return outside(x) - 1; }
static operation table[] = {add, sub};
int apply(int i, int x) {
  if (i > 1)
    fatal();
  return table[i](add(x)) + __builtin_abs(x);
}
void fatal(void) { exit(1); }
"""


def test_calls_lines_and_addresses_taken(shop: Workshop) -> None:
    shop.write(p_c=PROGRAM)
    shop.cc("-c", "p.c")
    unit = shop.unit("p.o")
    apply = shop.function("p.o", "apply")
    assert [(called(unit, id_), line) for id_, line in apply["calls"]] == [("fatal", 10), ("add", 11)]
    assert apply["indirect"] == [["int (int)", 11]]
    assert (apply["file"], apply["line"], apply["effort"]) == (str(shop.path / "p.c"), 8, 19)
    taken = [(unit["symbols"][index]["name"], kind) for index, kind in unit["taken"]]
    assert taken == [("add", "int (int)"), ("sub", "int (int)")]
    assert shop.function("p.o", "fatal")["noreturn"]
    assert {s["name"] for s in unit["symbols"] if s["noreturn"]} == {"fatal", "exit"}


def test_identity_of_internal_functions_names_their_file(shop: Workshop) -> None:
    shop.write(p_c=PROGRAM)
    shop.cc("-c", "p.c")
    assert shop.function("p.o", "apply")["id"] == "c:@F@apply"
    assert shop.function("p.o", "add")["id"] == f"c:p.c@F@add@{shop.path}/p.c"


def test_a_header_function_is_one_function_in_all_units(shop: Workshop) -> None:
    shop.write(h_h="static inline int h(int n) { while (n > 9) n /= 2; return n; }\n")
    shop.write(
        a_c='#include "h.h"\nint a(int n) { return h(n); }\n', b_c='#include "h.h"\nint main(void) { return h(0); }\n'
    )
    shop.cc("a.c", "b.c", "-o", "program")
    ids = [f["id"] for unit in shop.units("program") for f in unit["functions"] if f["name"] == "h"]
    assert len(ids) == 2 and len(set(ids)) == 1


def test_reasons_for_having_no_site(shop: Workshop) -> None:
    folder = HERE / "rewrites/left_alone"
    shop.cc("-std=gnu11", "-c", folder / "input.c", "-o", "input.o")
    reasons = {f["name"]: f["left"] for f in shop.unit("input.o")["functions"]}
    assert reasons == {
        "from_macro": "macro",
        "naked": "naked",
        "target": None,
        "tail": "musttail",
        "fast": None,
        "resolve": "ifunc",
        "hands_off": "no_instrument_function",
        "main": None,
    }


def test_sites_are_numbered_without_gaps(shop: Workshop) -> None:
    shop.write(p_c=PROGRAM)
    shop.cc("-c", "p.c")
    unit = shop.unit("p.o")
    sites = [f["site"] for f in unit["functions"] if f["site"] is not None]
    assert sites == list(range(unit["count"]))
    assert all((f["site"] is None) != (f["left"] is None) for f in unit["functions"])


def test_text_included_twice_is_left_alone(shop: Workshop) -> None:
    shop.write(t_inc="static int NAME(int n) { while (n > 9) n /= 2; return n; }\n")
    shop.write(
        a_c='#define NAME one\n#include "t.inc"\n#undef NAME\n#define NAME two\n#include "t.inc"\n'
        "int main(void) { return one(1) - two(1); }\n"
    )
    shop.cc("-c", "a.c")
    reasons = {f["name"]: f["left"] for f in shop.unit("a.o")["functions"]}
    assert reasons == {"one": "included-twice", "two": "included-twice", "main": None}


@IN_BODIES
def test_forced_includes_come_before_the_prelude(shop: Workshop) -> None:
    shop.write(
        f_h="static inline int f(int n) { while (n > 9) n /= 2; return n; }\n", a_c="int main(void) { return f(0); }\n"
    )
    shop.cc("-include", "f.h", "-c", "a.c")
    assert shop.function("a.o", "f")["left"] == "before-prelude"
    assert shop.calls("a.o") == "main\n"


def test_excluded_by_glob(shop: Workshop) -> None:
    shop.write(p_c=PROGRAM, descriptor_json='{"probe": ["*"], "exclude": ["a*", "fat?l"]}')
    shop.cc("-c", "p.c", VPROF_DESCRIPTOR="descriptor.json")
    reasons = {f["name"]: f["left"] for f in shop.unit("p.o")["functions"]}
    assert reasons == {"add": "excluded", "sub": None, "apply": "excluded", "fatal": "excluded"}


def test_small_functions_get_a_site_if_a_glob_names_them(shop: Workshop) -> None:
    shop.write(
        s_c="int get_one(void) { return 1; }\nint get_two(void) { return 2; }\nint add(int a) { return a + 1; }\n",
        descriptor_json='{"probe": ["get_*"], "exclude": ["*_two"]}',
    )
    shop.cc("-c", "s.c", VPROF_DESCRIPTOR="descriptor.json")
    reasons = {f["name"]: f["left"] for f in shop.unit("s.o")["functions"]}
    assert reasons == {"get_one": None, "get_two": "excluded", "add": "small"}


def test_matched_entries_of_the_descriptor(shop: Workshop) -> None:
    shop.write(
        p_c=PROGRAM,
        descriptor_json='{"interval": [{"event": "end", "function": "nowhere", "id": "1"}],'
        ' "sync": [{"role": "acquire", "function": "apply", "object": "i"}]}',
    )
    shop.cc("-c", "p.c", VPROF_DESCRIPTOR="descriptor.json")
    assert shop.unit("p.o")["matched"] == ["sync/0"]


def test_lines_of_generated_code_are_those_of_its_source(shop: Workshop) -> None:
    shop.write(g_c='#line 70 "grammar.y"\nint puts(const char *);\nint action(void) { return puts("x"); }\n')
    shop.cc("-c", "g.c")
    function = shop.function("g.o", "action")
    assert (function["file"], function["line"]) == (str(shop.path / "grammar.y"), 71)


def test_headers_of_the_system_and_of_installed_packages_are_no_part_of_the_program(shop: Workshop) -> None:
    shop.write(s_h="static inline int of_system(int n) { while (n > 9) n /= 2; return n; }\n")
    shop.write(a_c="#include <s.h>\n#include <byteswap.h>\nint main(void) { return of_system(0); }\n")
    shop.cc("-isystem", ".", "-I/usr/include/x86_64-linux-gnu", "-c", "a.c")
    assert [f["name"] for f in shop.unit("a.o")["functions"]] == ["main"]


def test_stripped_programs_still_describe_themselves(shop: Workshop) -> None:
    shop.write(p_c='int puts(const char *);\nint main(void) { return puts("x") < 0; }\n')
    shop.cc("-g", "p.c", "-o", "p")
    shop.run("strip", "p")
    assert shop.function("p", "main")["site"] == 0


CXX_PROGRAM = """\
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>
int outside(int);
namespace ns {
struct Base {
  virtual ~Base() { outside(0); }
  virtual int run(int x) = 0;
  int size() const { return static_cast<int>(values.size()); }
  std::vector<int> values;
};
struct Derived : Base {
  Derived() : cached(outside(1)) {}
  int run(int x) override { return outside(x); }
  int cached;
};
struct Member { Derived derived; };
}  // namespace ns
template <typename T> int dependent(T x) { return outside(x) + x.method(); }
struct Argument {
  operator int() const { return outside(5); }
  int method() { return outside(6); }
};
static int callback(int x) noexcept { return outside(x); }
int virtual_calls(ns::Base *base) {
  int sum = base->run(1) + base->ns::Base::size();
  delete base;
  return sum;
}
int implicit() {
  ns::Member member;
  return member.derived.run(2);
}
int sorts(std::vector<int> &values) {
  std::sort(values.begin(), values.end(), [](int a, int b) { return outside(a) < b; });
  return dependent(Argument());
}
int through_function(const std::function<int(int)> &f) { return f(1); }
int gives_function() {
  return through_function([](int x) { return outside(x); });
}
int through_pointer(int (*f)(int)) { return f(2); }
int through_member(ns::Derived &derived) { return (derived.*&ns::Derived::run)(1); }
int gives_pointer() { return through_pointer(callback) + through_pointer([](int x) { return outside(x); }); }
"""


@pytest.fixture
def cxx_unit(shop: Workshop) -> dict[str, Any]:
    shop.write(p_cpp=CXX_PROGRAM)
    shop.cxx("-std=c++17", "-c", "p.cpp")
    return shop.unit("p.o")


def of(unit: dict[str, Any], name: str) -> dict[str, Any]:
    [found] = [f for f in unit["functions"] if f["name"] == name]
    return found


def called(unit: dict[str, Any], id_: str) -> str:
    [name] = [symbol["name"] for symbol in unit["symbols"] if symbol["id"] == id_]
    return str(name)


def names(unit: dict[str, Any], pairs: list[tuple[str, int]]) -> list[str]:
    return [called(unit, id_) for id_, _ in pairs]


def test_virtual_calls_and_overrides(cxx_unit: dict[str, Any]) -> None:
    calls = of(cxx_unit, "virtual_calls")
    assert names(cxx_unit, calls["virtual"]) == ["ns::Base::run", "ns::Base::~Base"]
    assert names(cxx_unit, calls["calls"]) == ["ns::Base::size", "operator delete"]
    symbols = cxx_unit["symbols"]
    overrides = {(symbols[method]["name"], symbols[base]["name"]) for method, base in cxx_unit["overrides"]}
    assert ("ns::Derived::run", "ns::Base::run") in overrides


def test_implicit_members_stand_for_what_they_call(cxx_unit: dict[str, Any]) -> None:
    calls = names(cxx_unit, of(cxx_unit, "implicit")["calls"])
    assert {"ns::Derived::Derived", "ns::Base::~Base", "ns::Derived::run"} <= set(calls)
    assert "ns::Member::Member" not in calls


def test_library_code_stands_for_what_it_calls(cxx_unit: dict[str, Any]) -> None:
    assert "sorts()::lambda@37" in names(cxx_unit, of(cxx_unit, "sorts")["calls"])


def test_dependent_calls_come_from_the_instantiations(cxx_unit: dict[str, Any]) -> None:
    calls = names(cxx_unit, of(cxx_unit, "dependent")["calls"])
    assert set(calls) == {"outside", "Argument::operator int", "Argument::method"}


def test_callbacks_meet_their_callers_by_type(cxx_unit: dict[str, Any]) -> None:
    taken = {kind: set() for _, kind in cxx_unit["taken"]}
    for index, kind in cxx_unit["taken"]:
        taken[kind].add(cxx_unit["symbols"][index]["name"])
    [[kind, _]] = of(cxx_unit, "through_pointer")["indirect"]
    assert taken[kind] == {"callback", "gives_pointer()::lambda@46", "ns::Derived::run"}
    reached = set().union(*(taken.get(kind, set()) for kind, _ in of(cxx_unit, "through_function")["indirect"]))
    assert reached == {"gives_function()::lambda@42"}


def test_a_method_named_by_a_pointer_to_member_is_called(cxx_unit: dict[str, Any]) -> None:
    assert names(cxx_unit, of(cxx_unit, "through_member")["virtual"]) == ["ns::Derived::run"]


def test_reasons_for_having_no_site_in_cxx(shop: Workshop) -> None:
    folder = HERE / "rewrites/cxx_left_alone"
    shop.cxx("-std=c++17", "-c", folder / "input.cpp", "-o", "input.o")
    reasons = {f["name"]: f["left"] for f in shop.unit("input.o")["functions"]}
    assert reasons == {
        "power": "constexpr",
        "Made::by_macro": "macro",
        "Made::Made": "constexpr",
        "Made::braces": "macro",
        "target": None,
        "tail": "musttail",
        "naked": "naked",
        "hands_off": "no_instrument_function",
        "deep::fast": None,
        "deep::resolve": "ifunc",
        "main": None,
        "main()::lambda@38": "constexpr",
        "main()::lambda@46": "macro",
    }
    coroutine = HERE / "rewrites/cxx_coroutine/input.cpp"
    shop.cxx("-std=c++20", "-c", coroutine, "-o", "coroutine.o")
    assert shop.function("coroutine.o", "count")["left"] == "coroutine"


@IN_BODIES
def test_numbered_calls(shop: Workshop) -> None:
    """Those of one callee at two places; of the C library's functions those that the runtime records."""
    shop.write(
        p_c="""\
#include <stdio.h>
#include <unistd.h>
int outside(int);
int f(int file, char *data) {
  puts("a"), puts("b");
  read(file, data, 1);
  read(file, data, 1);
  write(file, data, 1);
  return outside(1) + outside(outside(2));
}
"""
    )
    shop.cc("-c", "p.c")
    numbered = shop.function("p.o", "f")["numbered"]
    assert [(number, called(shop.unit("p.o"), id_), line) for number, id_, line in numbered] == [
        (1, "read", 6),
        (2, "read", 7),
        (3, "outside", 9),
        (4, "outside", 9),
    ]
