"""Descriptor entries at calls: what cannot carry one is named with its place; every dialect can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from workshop import EVERY_COMPILER, HERE, Workshop

EVENTS = {
    "begin",
    "interval_end",
    "interval_abort",
    "on_behalf",
    "enqueue",
    "dequeue",
    "wait_begin",
    "wait_end",
    "wake",
    "wake_done",
}
POP = {"role": "dequeue", "function": "work", "call": "pop", "task": "return"}


def refused(shop: Workshop, source: str, table: str, entry: dict[str, str], suffix: str = "c") -> str:
    """What is said of a unit whose descriptor has the entry."""
    shop.write(**{f"q_{suffix}": source + "\n", "descriptor_json": json.dumps({table: [entry]})})
    compile_ = shop.cxx if suffix == "cpp" else shop.cc
    done = compile_("-c", f"q.{suffix}", check=False, VPROF_DESCRIPTOR="descriptor.json")
    assert done.returncode == 1
    assert not (shop.path / "q.o").exists()
    [line] = done.stderr.splitlines()
    return line.removeprefix("vprof-cc: descriptor: ")


@pytest.mark.parametrize(
    ("source", "change", "complaint"),
    [
        (
            "int pop(void);\n#define POP() pop()\nint work(void) {\n  return POP(); }",
            {},
            "queue/0: a call of pop in work is written by a macro (q.c:4)",
        ),
        (
            "int pop(void);\n#define SAME(x) x\nint work(void) { return pop() +\n SAME(pop()); }",
            {},
            "queue/0: a call of pop in work is written by a macro (q.c:4)",
        ),
        (
            "struct s { int a; } pop(void);\nint work(void) { return pop().a; }",
            {},
            "queue/0: a call of pop in work returns neither a pointer nor a number (q.c:2)",
        ),
        (
            "void pop(void);\nvoid work(void) { pop(); }",
            {},
            "queue/0: a call of pop in work returns nothing (q.c:2)",
        ),
        (
            "int pop(void);\nint work(void) { return pop(); }",
            {"at": "before call"},
            "queue/0: a call of pop in work has not returned yet: 'return' is for at = \"after call\" (q.c:2)",
        ),
        (
            "int pop(void);\nint work(void) { int r = pop(); { int job = 1; r += job; } return r; }",
            {"task": "job"},
            "queue/0: use of undeclared identifier 'job' (q.c:2)",
        ),
        (
            "int pop(void);\nint work(void) { return pop(); }",
            {"task": "return->id"},
            "queue/0: member reference type ",
        ),
        (
            "struct { int a; } *pop(void);\nint work(void) { return pop()->a; }",
            {},
            "queue/0: ",
        ),
        (
            "int pop(void);\n#define B {\nint work(void) B return pop(); }",
            {},
            "queue/0: work cannot be rewritten (macro)",
        ),
        (
            "int pop(void);\nint work(void) { return pop(); }",
            {"at": "exit"},
            "queue/0: 'at' must be entry or exit, or before call or after call with 'call', not 'exit'",
        ),
    ],
    ids=["macro", "argument of a macro", "struct", "nothing", "before", "scope", "type", "nameless", "brace", "at"],
)
def test_a_call_that_cannot_carry_its_entry_is_named(
    shop: Workshop, source: str, change: dict[str, str], complaint: str
) -> None:
    assert refused(shop, source, "queue", {**POP, **change}).startswith(complaint)


def test_a_sync_entry_takes_no_side_of_a_call(shop: Workshop) -> None:
    entry = {"role": "acquire", "function": "work", "call": "pop", "object": "1", "at": "before call"}
    said = refused(shop, "int pop(void);\nint work(void) { return pop(); }", "sync", entry)
    assert said == "sync/0: a sync entry reaches around its call: leave 'at' out"


LATCH = {"role": "wait", "function": "work", "call": "pop", "name": '"row"'}


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({"name": ""}, "'name' is missing"),
        ({"object": "1"}, "'object' is not for role = wait"),
        ({"call": ""}, "'name' needs 'call', the call that waits"),
        ({"role": "acquire", "object": "1", "call": ""}, "'name' needs 'call', the call that waits"),
        ({"role": "release", "object": "1"}, "'name' is only for sync entries with role = acquire or wait"),
        ({"name": "nobody->row"}, "use of undeclared identifier 'nobody' (q.c:2)"),
        ({"name": "return.row"}, "member reference base type 'typeof(int)'"),
    ],
)
def test_a_name_belongs_to_a_call_that_waits(shop: Workshop, entry: dict[str, str], complaint: str) -> None:
    source = "int pop(void);\nint work(void) { return pop(); }"
    assert refused(shop, source, "sync", {**LATCH, **entry}).startswith(f"sync/0: {complaint}")


@EVERY_COMPILER
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_a_name_is_made_only_where_the_call_has_waited(shop: Workshop, language: str) -> None:
    """Behind a null pointer there is none; no wait is counted there."""
    text = """
struct row { unsigned number; };
EXTERN unsigned long vprof_test_waits;
static int lock(const struct row *row) { vprof_test_waits += row ? row->number : 0; return row ? 7 : 0; }
static void work(const struct row *row) { while (lock(row) < 7 && vprof_test_waits > 9) vprof_test_waits = 0; }
int main(void) { struct row free = {0}, busy = {2}; work(0); work(&free); work(&busy); work(&busy); return 0; }
""".replace("EXTERN", "extern" if language == "c" else 'extern "C"')
    name = {"function": "work", "call": "lock", "name": 'vprof_text("row %u, %d", row->number, return)'}
    entries = {"sync": [{"role": "wait", **name}, {"role": "acquire", "object": "row", **name}]}
    shop.write(**{f"q_{language}": text, "descriptor_json": json.dumps(entries)})
    compile_, dialects = (shop.cc, ["c89", "c17"]) if language == "c" else (shop.cxx, ["c++98", "c++23"])
    for dialect in dialects:
        options = [f"-std={dialect}", "-pedantic-errors", "-Wall", "-Wextra", "-Werror"]
        compile_(*options, "-c", f"q.{language}", "-o", "q.o", VPROF_DESCRIPTOR="descriptor.json")
        assert shop.unit("q.o")["status"] == "instrumented"
        happened = [line.split(maxsplit=1) for line in shop.calls("q.o").splitlines()]
        told = [words for words in happened if words[0] in ("wait_begin", "wait_end", "name")]
        waited = ["wait_begin", "wait_end", "name", "name"]
        assert [words[0] for words in told] == [*waited[:2], *waited[:2], *waited, *waited]
        names = [words[1] for words in told if words[0] == "name"]
        assert names == 2 * ["0 row 2, 7"] + 2 * ["2 row 2, 7"]


@pytest.mark.parametrize(
    "returned", ["std::unique_ptr<int>", "int &", "T"], ids=["class", "reference", "depends on the instance"]
)
def test_what_no_variable_can_keep_is_refused_in_cxx(shop: Workshop, returned: str) -> None:
    source = f"""#include <memory>
template <typename T> struct Queue {{
  static {returned} pop();
  static void work() {{ Queue<T>::pop(); }}
}};
template struct Queue<int>;"""
    entry = {**POP, "function": "Queue::work", "call": "Queue::pop"}
    said = refused(shop, source, "queue", entry, "cpp")
    assert said == "queue/0: a call of Queue::pop in Queue::work returns neither a pointer nor a number (q.cpp:4)"


def test_an_entry_without_such_a_call_is_not_matched(shop: Workshop) -> None:
    shop.write(
        q_c="int pop(void);\nint work(int (*p)(void)) { return p() + (int)sizeof(pop()); }\n",
        descriptor_json=json.dumps({"queue": [POP]}),
    )
    shop.cc("-c", "q.c", VPROF_DESCRIPTOR="descriptor.json")
    assert shop.unit("q.o")["matched"] == []


def events(calls: str) -> list[str]:
    """The descriptor's, without the functions they happen in: the tests' runtime cannot pair those that are inlined."""
    return [line.strip() for line in calls.splitlines() if line.split()[0] in EVENTS]


@EVERY_COMPILER
@pytest.mark.parametrize(
    ("folder", "dialects"),
    [
        ("hooks_at_calls", ["-std=c99 -pedantic-errors", "-std=gnu89", "-std=c17 -O2", "-std=c2x -O2"]),
        ("cxx_hooks_at_calls", ["-std=c++11 -pedantic-errors", "-std=gnu++14 -O2", "-std=c++20", "-std=c++23 -O2"]),
    ],
)
def test_events_are_the_same_in_every_dialect(folder: str, dialects: list[str], shop: Workshop) -> None:
    place: Path = HERE / "rewrites" / folder
    source = next(place.glob("input.*"))
    compile_ = shop.cxx if source.suffix == ".cpp" else shop.cc
    for dialect in dialects:
        options = [*dialect.split(), "-Werror", "-Wall"]
        compile_(*options, "-c", source, "-o", "input.o", VPROF_DESCRIPTOR=str(place / "descriptor.json"))
        assert shop.unit("input.o")["status"] == "instrumented"
        assert events(shop.calls("input.o")) == events((place / "expected/calls").read_text()), dialect


def test_cxx98_and_c89_keep_what_a_call_returned(shop: Workshop) -> None:
    text = """
int printf(const char *, ...);
static int pop(int n) { return printf("%d\\n", n) + n; }
static int work(int n) {
  int job = n;
  while (pop(job) > 3) job = job + 1 - pop(job - 1);
  return job;
}
int main(void) { return work(9) > 9; }
"""
    text_cxx = text.replace("int printf", 'extern "C" int printf')
    entries = {"queue": [POP], "interval": [{**POP, "event": "begin", "id": "job", "at": "before call"}]}
    shop.write(q_c=text, q_cpp=text_cxx, descriptor_json=json.dumps(entries))
    env = {"VPROF_DESCRIPTOR": "descriptor.json"}
    shop.cc("-std=c89", "-pedantic-errors", "-Wall", "-Werror", "-c", "q.c", "-o", "c.o", **env)
    shop.cxx("-std=c++98", "-pedantic-errors", "-Wall", "-Werror", "-c", "q.cpp", "-o", "cxx.o", **env)
    expected = ["begin 9 -", "dequeue 11", "begin 9 -", "dequeue 10", "begin 0 -", "dequeue 2"]
    assert [events(shop.calls(file)) for file in ("c.o", "cxx.o")] == [expected, expected]


def test_a_call_may_return_a_type_of_another_class(shop: Workshop) -> None:
    """A method names it without the class, which its caller cannot."""
    text = """
namespace queues {
template <typename T> struct Queue {
  enum State { EMPTY, FULL };
  typedef T *Item;
  State state(int n) { return n > 0 ? FULL : EMPTY; }
  Item item(int n) { items[0] = n; return items; }
  T items[1];
};
namespace { enum Unseen { SEEN = 3 }; Unseen unseen() { return SEEN; } }
}
static int work(queues::Queue<long> &queue) {
  return queue.state(4) + int(*queue.item(5)) + queues::unseen();
}
int main() { queues::Queue<long> queue; return work(queue) == 9 ? 0 : 1; }
"""
    task = {"role": "dequeue", "function": "work"}
    calls = {"Queue::state": "return + 1", "Queue::item": "*return", "(anonymous namespace)::unseen": "return"}
    entries = [{**task, "call": f"queues::{name}", "task": value} for name, value in calls.items()]
    shop.write(q_cpp=text, descriptor_json=json.dumps({"queue": entries}))
    for options in ("-std=c++98", "-std=c++20"):
        shop.cxx(*options.split(), "-Wall", "-Werror", "-c", "q.cpp", "-o", "q.o", VPROF_DESCRIPTOR="descriptor.json")
        assert events(shop.calls("q.o")) == ["dequeue 2", "dequeue 5", "dequeue 3"], options


@pytest.mark.parametrize("options", ["-std=c++98", "-std=c++20 -O2", "-O2 -fno-inline -fsanitize=undefined"])
def test_what_a_call_began_ends_when_it_throws(shop: Workshop, options: str) -> None:
    """Before the handler runs, and once: also if the call returned and something else throws later."""
    text = """
extern "C" int puts(const char *);
static long post(int n) { if (puts("post") >= 0 && n == 1) throw n; return n; }
static int later(int n) { if (puts("later") >= 0 && n == 2) throw n; return n; }
static int work(int n) {
  try {
    return post(n) + later(n);
  } catch (int) {
    later(0);
    return 0;
  }
}
int main() { return work(1) + work(2); }
"""
    entries = {
        "sync": [{"role": "release", "function": "work", "call": "post", "object": "n"}],
        "interval": [{"event": "abort", "function": "later", "id": "n"}],
        "queue": [{"role": "enqueue", "function": "work", "call": "post", "task": "return", "at": "after call"}],
    }
    shop.write(q_cpp=text, descriptor_json=json.dumps(entries))
    shop.cxx(*options.split(), "-c", "q.cpp", VPROF_DESCRIPTOR="descriptor.json")
    expected = ["wake 1", "wake_done 1", "interval_abort 0"]
    expected += ["wake 2", "enqueue 2", "wake_done 2", "interval_abort 2", "interval_abort 0"]
    ubsan = [option for option in options.split() if option.startswith("-fsanitize")]
    assert events(shop.calls("q.o", options=ubsan)) == expected


def test_without_exceptions_a_call_is_left_by_return_only(shop: Workshop) -> None:
    shop.write(
        q_cpp='extern "C" int puts(const char *);\nstatic int post(int n) { return puts("post") - n; }\n'
        "int main() { return post(1) < 0; }\n",
        descriptor_json=json.dumps({"sync": [{"role": "release", "function": "main", "call": "post", "object": "7"}]}),
    )
    shop.cxx("-fno-exceptions", "-Weverything", "-Wno-c++98-compat", "-c", "q.cpp", VPROF_DESCRIPTOR="descriptor.json")
    assert events(shop.calls("q.o")) == ["wake 7", "wake_done 7"]


def begins(place: dict[str, str], **more: str) -> dict[str, str]:
    return {"event": "begin", "function": "work", "id": "t ? t->id : 0", "type": "t->name", **more, **place}


@EVERY_COMPILER
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_with_an_id_of_0_nothing_else_is_evaluated(shop: Workshop, language: str) -> None:
    """The type and the time of what does not begin or end may be behind a null pointer."""
    text = """
struct task { unsigned long id; const char *name; unsigned long made; };
void inner(const struct task *t) { (void)t; }
void work(const struct task *t) { inner(t); }
int main(void) { struct task one = {7, "new", 5}; work(&one); work(0); return 0; }
"""
    at_entry, at_exit, at_call = {}, {"at": "exit"}, {"call": "inner"}
    created = {"created_at": "t->made", "clock": "CLOCK_REALTIME"}
    kinds: list[dict[str, str]] = [{}, created, {"event": "end"}]
    entries = [begins(place, **kind) for place in (at_entry, at_call, at_exit) for kind in kinds]
    shop.write(**{f"q_{language}": text, "descriptor_json": json.dumps({"interval": entries})})
    compile_, dialects = (
        (shop.cc, ["c89", "gnu89", "c17"]) if language == "c" else (shop.cxx, ["c++98", "c++11", "c++23"])
    )
    task = ["begin 7 new", "begin 7 new created at 5 of clock 0", "end 7 new"]
    nothing = ["begin 0 -", "begin 0 - created at 0 of clock 0", "end 0 -"]
    for dialect in dialects:
        options = [f"-std={dialect}", "-pedantic-errors", "-Wall", "-Wextra", "-Werror"]
        compile_(*options, "-c", f"q.{language}", "-o", "q.o", VPROF_DESCRIPTOR="descriptor.json")
        assert shop.unit("q.o")["status"] == "instrumented"
        happened = [line.strip() for line in shop.calls("q.o").splitlines() if line.split()[0] in ("begin", "end")]
        assert happened == 2 * task + task[::-1] + 2 * nothing + nothing[::-1], dialect  # entry, call, exit
