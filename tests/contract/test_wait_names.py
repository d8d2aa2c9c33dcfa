"""What a program calls that for which it waits: NAMED records of runtime/TRACE_FORMAT.md section 2.9."""

from __future__ import annotations

from tuples import Load
from writer import Thread, Writer

from vprof.tables.kinds import BLOCKED
from vprof.tables.model import Trace
from vprof.tables.objects import described, key_of, title
from vprof.variance.analysis import analyze
from vprof.variance.explain import explain

MUTEX, SEMAPHORE = 1, 3


def waiting(*names: str) -> tuple[Writer, Thread, Thread]:
    """Of the first one's interval, 0 to 1000, the records are to come; the second executes."""
    trace = Writer()
    for number, text in enumerate(names, 1):
        trace.event("name", number=number, text=text)
    thread, other = trace.thread(1, ticks=0), trace.thread(2, ticks=0)
    other.on_behalf(0, 1)
    thread.begin(7, 1)
    return trace, thread, other


def called(trace: Trace) -> list[tuple[int, str]]:
    """(end, title) of each wait."""
    s = trace.segments
    return [
        (int(s.te[row]), title(*described(key_of(trace, int(s.object[row])))))
        for row in range(len(s.ts))
        if s.state[row] == BLOCKED
    ]


def test_a_name_is_that_of_the_waits_since_then(load: Load) -> None:
    trace, thread, _ = waiting("row 0", "row 1")
    thread.blocked(10, 20, peer=2, woke=15)
    thread.blocked(30, 40, peer=2, woke=35)
    thread.named(1, 25, 41)
    thread.blocked(50, 60, peer=2, woke=55, class_=SEMAPHORE)
    thread.blocked(60, 70, peer=2, woke=65, object_=0xF00D)
    thread.named(2, 50, 71)
    thread.end(7, 1000)
    assert called(load(trace)) == [
        (20, "mutex 0xbeef"),
        (40, "row 0 (mutex)"),
        (60, "row 1 (semaphore)"),
        (70, "row 1 (mutex)"),
    ]


def test_a_wait_has_the_name_of_the_innermost_call_that_gave_one(load: Load) -> None:
    trace, thread, _ = waiting("inner", "outer")
    thread.blocked(10, 20, peer=2, woke=15)
    thread.blocked(30, 40, peer=2, woke=35)
    thread.named(1, 25, 41)
    thread.named(2, 5, 42)
    thread.end(7, 1000)
    assert called(load(trace)) == [(20, "outer (mutex)"), (40, "inner (mutex)")]


def test_one_name_is_one_object_whatever_was_slept_on(load: Load) -> None:
    """A semaphore that belongs to its waiter stands for another lock each time."""
    trace, thread, other = waiting("log", "index")
    for k, (number, object_) in enumerate([(1, 0xA), (2, 0xA), (1, 0xB)]):
        at = 100 * (k + 1)
        thread.blocked(at, at + 50, peer=2, woke=at + 40, object_=object_, class_=SEMAPHORE)
        thread.named(number, at, at + 51)
    thread.invocation(1, 2, 999)
    thread.end(7, 1000)
    other.on_behalf(0, 1000)
    found = analyze(load(trace)).waited_for
    assert [(one.name, one.id, one.waits, one.total_ns) for one in found.objects] == [
        ("log", "", 2, 100),
        ("index", "", 1, 50),
    ]


def test_a_name_that_the_file_does_not_give_leaves_the_wait_to_its_object(load: Load) -> None:
    trace, thread, _ = waiting()
    thread.blocked(10, 20, peer=2, woke=15)
    thread.named(3, 5, 21)
    thread.end(7, 1000)
    assert called(load(trace)) == [(20, "mutex 0xbeef")]


def test_names_without_room_are_counted(load: Load) -> None:
    trace, thread, _ = waiting()
    thread.end(7, 1000)
    trace.event("end", ticks=1000, records=9, unnamed=12)
    assert "names of what was waited for that found no room in the table of names: 12" in load(trace).notes


def hold_of_log(load: Load, class_: int = MUTEX, second: str = "") -> float | None:
    """Mean hold of what is called log; the other thread had it from 5 to 40. A second wait for it has another name, or
    none."""
    trace, thread, other = waiting("log", "index")
    thread.blocked(10, 50, peer=2, woke=40, class_=class_)
    thread.named(1, 10, 51)
    if second:
        thread.blocked(60, 90, peer=2, woke=80, class_=class_)
    if second == "index":
        thread.named(2, 60, 91)
    thread.end(7, 1000)
    other.held(5, 40, class_=class_)
    other.on_behalf(0, 1000)
    return {one.name: one.hold_mean_ns for one in analyze(load(trace)).waited_for.objects}["log"]


def test_holds_of_a_lock_are_of_what_all_its_waits_call_it(load: Load) -> None:
    assert hold_of_log(load) == 35
    assert hold_of_log(load, second="index") is None
    assert hold_of_log(load, second="unnamed") is None
    assert hold_of_log(load, SEMAPHORE) is None, "who slept on it need not be who has it"


def test_a_factor_lists_what_its_waits_were_for(load: Load) -> None:
    trace = Writer()
    trace.event("name", number=1, text="row 0")
    thread, other = trace.thread(1, ticks=0), trace.thread(2, ticks=0)
    other.on_behalf(0, 1)
    for i, length in enumerate((10, 40, 70, 100)):
        at = 1000 * i
        thread.begin(i + 1, at + 1)
        thread.blocked(at + 100, at + 100 + length, peer=2, woke=at + 99 + length)
        thread.named(1, at + 100, at + 101 + length)
        thread.invocation(5, at + 50, at + 300, depth=1)
        thread.blocked(at + 400, at + 400 + 2 * length, peer=2, woke=at + 399 + 2 * length, object_=0xF00D)
        thread.invocation(6, at + 350, at + 700, depth=1)
        thread.invocation(4, at + 10, at + 800 + length)
        thread.end(i + 1, at + 910 + length)
    other.on_behalf(0, 4000)
    analysis = analyze(load(trace))
    sides = {name: explain(analysis, name).sides[0].objects for name in ("site 4", "[blocked]")}
    both = [("mutex 0xf00d", 4, 110.0), ("row 0 (mutex)", 4, 55.0)]
    for objects in sides.values():
        assert [(one.title, one.intervals, one.mean_ns) for one in objects] == both
