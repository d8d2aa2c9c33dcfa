"""Which functions are worth a probe that nobody asked for (instrumenter/README.md "What gets a probe")."""

from __future__ import annotations

from workshop import Workshop


def small(shop: Workshop, name: str, text: str) -> set[str]:
    """Functions of a source that are left alone as small; `name` says its language, no descriptor is given."""
    (shop.path / name).write_text(text)
    (shop.cxx if name.endswith(".cpp") else shop.cc)("-c", name, "-o", "unit.o", VPROF_DESCRIPTOR="")
    return {function["name"] for function in shop.unit("unit.o")["functions"] if function["left"] == "small"}


def test_short_work_is_left_to_the_caller(shop: Workshop) -> None:
    text = """\
struct list { struct list *next; int key; };
int key_of(const struct list *l) { return l->key; }
int first(const struct list *l) { return l ? key_of(l) : -1; }
void link_in(struct list *l, struct list *before) { before->next = l->next; l->next = before; }
int sum(const struct list *l) { int s = 0; while (l) { s += l->key; l = l->next; } return s; }
void four(struct list *l) { link_in(l, l); link_in(l, l); link_in(l, l); link_in(l, l); }
int main(void) { return 0; }
"""
    assert small(shop, "a.c", text) == {"key_of", "first", "link_in"}


def test_what_compilers_expand_must_do_more_unless_it_loops(shop: Workshop) -> None:
    body = "{ return a * b + b * c + c * a + (a ^ b ^ c) + (a & b & c); }"
    text = f"""\
int seen_by_others(int a, int b, int c) {body}
static int of_the_unit(int a, int b, int c) {body}
static int called_by_pointer(int a, int b, int c) {body}
static int loops(int a) {{ int s = 0; for (int i = 0; i < a; i++) s += i; return s; }}
int (*pointer)(int, int, int) = called_by_pointer;
int main(void) {{ return of_the_unit(1, 2, 3) + loops(4); }}
"""
    assert small(shop, "a.c", text) == {"of_the_unit"}


def test_what_may_wait_has_a_probe_however_short(shop: Workshop) -> None:
    text = """\
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int waits(int file, char *text) { return (int)read(file, text, 1); }
static void copies(char *text) { memcpy(text, "x", 2); }
static int looks_up(const char *text) { return getenv(text) != NULL; }
static _Noreturn void fails(void) { exit(1); }
int main(void) { char c[2]; copies(c); return waits(0, c) ? looks_up(c) : (fails(), 1); }
"""
    assert small(shop, "a.c", text) == {"copies", "fails"}


def test_errors_are_not_expected(shop: Workshop) -> None:
    text = """\
_Noreturn void panic(const char *, ...);
void log_it(const char *, int, int, int);
int checked(int x) { if (x < 0) { log_it("negative", x, x + 1, x + 2); log_it("", x, x, x); panic("x", x); } return x; }
int unlikely(int x) { if (__builtin_expect(x < 0, 0)) { log_it("negative", x, x, x); log_it("", x, x, x); } return x; }
int either(int x) { if (x < 0) { log_it("negative", x, x, x); log_it("", x, x, x); } return x; }
"""
    assert small(shop, "a.c", text) == {"checked", "unlikely"}


def test_a_macro_that_is_a_loop_only_in_form_is_none(shop: Workshop) -> None:
    text = """\
#define SET(a, b) do { (a)->x = (b); } while (0)
struct s { int x; };
void set(struct s *s) { SET(s, 1); }
void set_until(struct s *s) { do { s->x = s->x * 2 + 1; } while (s->x < 100); }
"""
    assert small(shop, "a.c", text) == {"set"}


def test_the_cases_of_a_switch_count_as_one(shop: Workshop) -> None:
    cases = "".join(f"case {i}: return {i} * x;\n" for i in range(40))
    assert small(shop, "a.c", f"int f(int i, int x) {{ switch (i) {{ {cases} default: return 0; }} }}\n") == {"f"}


def test_cxx_helpers_and_virtual_steps_are_their_callers_work(shop: Workshop) -> None:
    text = """\
#include <string>
#include <vector>
struct Shape {
  virtual ~Shape() = default;
  virtual int area(int scale) const { return (side * side + scale) * (side + 1) * scale + side; }
  virtual int reach(int n) const { while (n--) n -= side; return n; }
  int grown(int scale) const { return (side * side + scale) * (side + 1) * scale + side; }
  void add(int n) { sides.push_back(n); }
  bool empty() const { return sides.empty(); }
  int side = 1;
  std::vector<int> sides;
};
template <typename T> T larger(T a, T b) { return a < b ? b : a; }
int use(const Shape &shape) { return larger(shape.grown(2), 3) + shape.area(2); }
"""
    assert small(shop, "a.cpp", text) == {"Shape::grown", "Shape::area", "Shape::empty", "larger"}


def test_recursion_ends(shop: Workshop) -> None:
    text = """\
static int even(int n);
static int odd(int n) { return n && even(n - 1); }
static int even(int n) { return !n || odd(n - 1); }
int main(void) { return even(2); }
"""
    assert small(shop, "a.c", text) == {"odd", "even"}


def test_a_condition_may_be_missing(shop: Workshop) -> None:
    text = """\
int f(int x) { if consteval { return x; } else { return x * x; } }
int g(int x) { do { if !consteval { x++; } } while (x < 9); return x; }
"""
    (shop.path / "a.cpp").write_text(text)
    shop.cxx("-std=c++23", "-c", "a.cpp", "-o", "unit.o")
    assert shop.unit("unit.o")["status"] == "instrumented"


WORK = "static int work(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * n; return s; }\n"


def test_a_decision_that_leads_to_a_probe_has_one(shop: Workshop) -> None:
    text = (
        WORK
        + """\
static int elsewhere(void);
int abroad(int);
static int branch(void) { return work(1); }
static int choice(void) { return work(2); }
static int right(void) { return work(3); }
static int behind(void) { return work(4); }
static int always(void) { return work(5); }
static int looped(void) { return work(6); }
static int far(void) { return abroad(1); }
static int chain(void) { return always(); }
static int error(void) { return work(7); }
_Noreturn void fail(int);
static int behind_return(int x) { if (x) return 1; return behind(); }
int main(int argc, char **argv) {
  int s = always() + behind_return(argc);
  if (argc > 3) s += branch();
  s += argv ? choice() : 0;
  s += argc && right();
  for (int i = 0; i < argc; i++) s += looped();
  if (argc > 4) s += far() + chain();
  if (argc > 5) { error(); fail(1); }
  return s;
}
"""
    )
    assert small(shop, "a.c", text) == {"always", "looped", "behind_return"}


def test_a_decision_about_a_leaf_or_a_fast_way_has_none(shop: Workshop) -> None:
    text = (
        WORK
        + """\
static int leaf(int x) { return x + 1; }
static int of_leaves(int x) { return leaf(x) + 1; }
static int fast(int x) { return x ? x : work(x); }
static int nested(int x) { if (x > 1) { x--; if (x) return 1; } return work(x); }
int main(int argc, char **argv) { return argc > 2 ? leaf(1) + of_leaves(2) + fast(argc) + nested(argc) : !argv; }
"""
    )
    assert small(shop, "a.c", text) == {"leaf", "of_leaves", "fast", "nested"}


def test_unseen_callers_decide_nothing(shop: Workshop) -> None:
    text = (
        WORK
        + """\
int wrapper(void) { return work(1); }
static int entry(void) { return work(2); }
int (*pointer)(void) = entry;
int main(void) { return 0; }
"""
    )
    assert small(shop, "a.c", text) == {"wrapper", "entry"}


def test_what_always_leads_to_a_wait_has_a_probe(shop: Workshop) -> None:
    text = """\
#include <unistd.h>
static void nap(unsigned us) { usleep(us); }
static void maybe(unsigned us) { if (us) usleep(us); }
void compact(void) { nap(4000); }
void compact_twice(void) { compact(); }
void compact_if(int x) { if (x > 1) nap(x); }
void compact_maybe(void) { maybe(1); }
int main(void) { compact_twice(); return 0; }
"""
    assert small(shop, "a.c", text) == {"compact_if", "compact_maybe"}


def test_a_function_of_a_header_is_judged_by_its_header(shop: Workshop) -> None:
    """So all units that include it say the same."""
    header = """\
int work(int n);
static inline int decided_by_the_header(void) { return work(1); }
static inline int decided_by_a_unit(void) { return work(2); }
static inline int use(int x) { return x ? decided_by_the_header() : 0; }
"""
    text = '#include "a.h"\nint f(int x) { return (x ? decided_by_a_unit() : 0) + use(x); }\n'
    defines = "int work(int n) { return n; }\n"
    (shop.path / "a.h").write_text(header)
    for unit in (text, text + defines):
        assert small(shop, "a.c", unit) - {"f", "work"} == {"decided_by_a_unit", "use"}


def test_what_is_never_expanded_is_no_part_of_its_callers(shop: Workshop) -> None:
    body = "{ return a * b + b * c + c * a + (a ^ b ^ c) + (a & b & c); }"
    text = f"""\
static int expanded(int a, int b, int c) {body}
__attribute__((noinline)) static int kept(int a, int b, int c) {body}
int main(void) {{ return expanded(1, 2, 3) + kept(4, 5, 6); }}
"""
    assert small(shop, "a.c", text) == {"expanded"}


def test_cxx_decisions(shop: Workshop) -> None:
    text = """\
int work(int n);
struct Guard { ~Guard(); };
Guard::~Guard() { work(1); }
struct Shape {
  virtual int area() { return work(2); }
  int slow() { return work(3); }
  int both(bool rare) { return rare ? slow() : 0; }
};
template <typename T> T generic(T x) { return work(4) + x; }
int use(Shape &shape, int n) {
  try {
    if (n) Guard guard;
    n += n ? generic(1) + shape.area() : shape.both(true);
  } catch (int) {
    n += work(5);
  }
  return n;
}
"""
    assert small(shop, "a.cpp", text) == {"Guard::~Guard", "Shape::area", "Shape::both"}
