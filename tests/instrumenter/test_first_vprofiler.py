"""How the first VProfiler failed: each test is one of its failures, those that C can have first."""

from __future__ import annotations

import pytest
from workshop import IN_BODIES, Workshop

pytestmark = IN_BODIES

PROGRAM = """\
#include <stdarg.h>
#include <stdio.h>
#define CALL(x) callee(x)
#define RETURN_IT(x) return (x)
struct big { int a[8]; };
static int callee(int x) { if (x) return x; RETURN_IT(7); }
static int sum(int count, ...) {
  va_list list;
  va_start(list, count);
  int total = 0;
  while (count--) total += va_arg(list, int);
  va_end(list);
  return total;
}
static struct big fill(int x) { struct big b = {{x}}; b.a[1] = callee(x); return b; }
static int recurse(int n) { return n ? recurse(n - 1) + 1 : callee(1); }
int main(void) {
  int y = callee(2);
  int z = CALL(0);
  printf("%d %d %d %d %d\\n", y, z, sum(3, 1, 2, 3), fill(4).a[1], recurse(2));
  return 0;
}
"""


@pytest.fixture
def program(shop: Workshop) -> Workshop:
    shop.write(p_c=PROGRAM)
    shop.cc("-Wall", "-Wextra", "-Werror", "-c", "p.c")
    return shop


def test_values_of_calls_are_kept(program: Workshop) -> None:
    """`int y = B(x)` became uncompilable, varargs were lost."""
    program.cc("p.o", "-o", "p")
    assert program.run("./p").stdout == "2 7 6 4 3\n"


def test_calls_and_returns_in_macros_are_seen(shop: Workshop) -> None:
    """Macro-hidden calls and returns were missed."""
    shop.write(p_c=PROGRAM.replace("static int callee(int x) {", 'static int callee(int x) { puts("callee");'))
    shop.cc("-c", "p.c")
    main = shop.function("p.o", "main")
    assert [id_.split("@")[-2] for id_, _ in main["calls"]].count("callee") == 2
    calls = shop.calls("p.o")
    assert calls.splitlines()[:3] == ["main", "  callee", "  callee"]
    assert "unpaired" not in calls


def test_recursion_keeps_one_frame_per_call(program: Workshop) -> None:
    """Recursion overwrote a single start time."""
    assert "\n  recurse\n    recurse\n      recurse\n" in program.calls("p.o")


def test_a_failing_rewrite_leaves_the_source(shop: Workshop) -> None:
    """A 43 KB file was truncated to 0 bytes on an error, its backup too."""
    text = PROGRAM + "this is not C\n"
    shop.write(p_c=text)
    assert shop.cc("-c", "p.c", check=False).returncode == 1
    assert (shop.path / "p.c").read_text() == text


def test_targets_in_headers_are_probed_where_they_stand(shop: Workshop) -> None:
    """Targets in headers were not written."""
    shop.write(h_h="static int in_header(int n) { while (n > 5) n--; return n; }\n")
    shop.write(a_c='#include "h.h"\nint main(void) { return in_header(9) - 5; }\n')
    shop.cc("-c", "a.c")
    assert shop.calls("a.o") == "main\n  in_header\n"


def test_one_annotation_in_one_place_needs_no_manual_step(program: Workshop) -> None:
    """Nine manual steps before the first result: here a compiler's name is all."""
    program.cc("p.c", "-o", "p")
    program.run("./p")
    assert program.unit("p")["status"] == "instrumented"


CXX_PROGRAM = """\
#include <cstdio>
#include <memory>
#include <mutex>
#include <stdexcept>
static int B(int x) { return std::puts("B"), x; }
static int overloaded(int x) { return std::puts("int"), x; }
static int overloaded(double x) { return std::puts("double"), static_cast<int>(x); }
template <typename T> T generic(T x = T(1)) { return std::puts("generic"), x; }
struct Value {
  int x;
  Value() : x(1) { std::puts("Value"); }
  Value operator+(const Value &other) const { std::puts("+"); Value sum; sum.x = x + other.x; return sum; }
};
static int defaulted(int x = B(3)) { std::puts("defaulted"); return x; }
static int with_lambda(int x) {
  const auto f = [x]() { std::puts("lambda"); return x; };
  return f() + 1;
}
static std::unique_ptr<int> moves(std::unique_ptr<int> &&p) { std::puts("moves"); return std::move(p); }
static std::mutex mutex;
static void throws(int x) { std::lock_guard<std::mutex> lock(mutex); if (x) throw std::runtime_error("x"); }
int main() {
  int y = B(2);
  for (int i = 0; i < 2; ++i) try { throws(1); } catch (const std::runtime_error &) {}
  mutex.lock();
  mutex.unlock();
  std::printf("%d %d %d %d %d %d %d\\n", y, overloaded(1) + overloaded(2.5), generic<int>(), (Value() + Value()).x,
              defaulted(), with_lambda(4), *moves(std::make_unique<int>(6)));
  return 0;
}
"""


@pytest.fixture
def cxx_program(shop: Workshop) -> Workshop:
    shop.write(p_cpp=CXX_PROGRAM)
    shop.cxx("-std=c++17", "-Wall", "-Wextra", "-Werror", "-c", "p.cpp")
    return shop


def test_cxx_constructs_compile_and_keep_their_values(cxx_program: Workshop) -> None:
    """Templates, operators, lambdas, default arguments, constructors, move-only and && parameters did not compile, and
    `std::mutex::lock` crashed the tool."""
    assert cxx_program.unit("p.o")["status"] == "instrumented"
    cxx_program.cxx("p.o", "-o", "p")
    assert cxx_program.run("./p").stdout.splitlines()[-1] == "2 3 1 2 3 5 6"


def test_a_return_of_a_lambda_is_not_its_functions(cxx_program: Workshop) -> None:
    """A `return` of a lambda counted as the function's."""
    calls = cxx_program.calls("p.o").splitlines()
    at = calls.index("  with_lambda")
    assert calls[at : at + 3] == ["  with_lambda", "    with_lambda()::lambda@16", "  moves"]


def test_overloads_do_not_clash(cxx_program: Workshop) -> None:
    """Wrappers were extern "C", so overloads clashed."""
    functions = cxx_program.unit("p.o")["functions"]
    assert len({f["id"] for f in functions if f["name"] == "overloaded"}) == 2
    assert cxx_program.calls("p.o").count("  overloaded\n") == 2


def test_exceptions_leave_nothing_open(cxx_program: Workshop) -> None:
    """Exceptions left a counter stuck."""
    calls = cxx_program.calls("p.o")
    assert "unpaired" not in calls
    assert calls.splitlines()[2:5] == ["  throws", "  throws", "  overloaded"]
