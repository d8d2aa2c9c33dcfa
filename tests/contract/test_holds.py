"""Waits with several holders, one after the other: HELD records of runtime/TRACE_FORMAT.md section 2.6."""

from pathlib import Path
from typing import Any

import pytest
from tuples import Load
from writer import Thread, Writer

from vprof.tables.model import SINCE_ALWAYS, Trace
from vprof.trace.reading import load_binary
from vprof.variance.analysis import AnalysisOptions, analyze

WRITER, FIRST, SECOND, THIRD = range(4)
MUTEX, CONDITION, SEMAPHORE, LOCK = 1, 2, 3, 6


def threads(trace: Writer) -> list[Thread]:
    """An interval of the first one, 0 to 200, in which it waits from 20 to 100; the others execute."""
    found = [trace.thread(uid, f"t{uid}", ticks=0) for uid in (1, 2, 3, 4)]
    found[WRITER].begin(7, 1)
    return found


def waits(trace: Writer, all_: list[Thread], peer: int, woke: int, **wait: Any) -> None:
    all_[WRITER].blocked(20, 100, peer=all_[peer].uid, woke=woke, **wait)
    all_[WRITER].end(7, 200)
    for thread in all_[1:]:
        thread.on_behalf(0, 199)


def blamed(trace: Trace) -> list[tuple[str, int, int, int]]:
    """The path's pieces in the wait: (kind, thread, from, to)."""
    [detail] = analyze(trace, AnalysisOptions(intervals=True)).per_interval.values()
    return [
        (kind, int(tid.split("/")[1][:3]) - 100, a, b)
        for kind, tid, a, b in detail.critical_path
        if 20 <= a < 100 and not (kind == "exec" and a == 100)
    ]


def test_each_reader_is_charged_while_it_held_the_lock(load: Load) -> None:
    """A reader lets go the complement of what the writer waits for."""
    trace = Writer()
    all_ = threads(trace)
    all_[FIRST].held(5, 60, ~0xBEEF & (1 << 64) - 1, LOCK)
    all_[SECOND].held(40, 80, ~0xBEEF & (1 << 64) - 1, LOCK)
    all_[THIRD].held(85, 98, ~0xBEEF & (1 << 64) - 1, LOCK)
    waits(trace, all_, THIRD, 98, class_=LOCK)
    assert blamed(load(trace)) == [
        ("exec", 2, 20, 40),
        ("exec", 3, 40, 80),
        ("sched", 1, 80, 85),
        ("exec", 4, 85, 98),
        ("sched", 1, 98, 100),
    ]


def test_of_two_who_held_it_the_one_who_left_last_is_charged(load: Load) -> None:
    trace = Writer()
    all_ = threads(trace)
    all_[FIRST].held(5, 50, class_=LOCK)
    all_[SECOND].held(10, 70, class_=LOCK)
    all_[THIRD].held(60, 98, class_=LOCK)
    waits(trace, all_, THIRD, 98, class_=LOCK)
    assert blamed(load(trace)) == [("exec", 3, 20, 60), ("exec", 4, 60, 98), ("sched", 1, 98, 100)]


def test_a_thread_that_took_a_mutex_before_the_one_that_was_woken(load: Load) -> None:
    """What it did before it had the mutex delayed nobody."""
    trace = Writer()
    all_ = threads(trace)
    all_[FIRST].held(2, 60, class_=MUTEX)
    all_[SECOND].held(61, 98, class_=MUTEX)
    waits(trace, all_, SECOND, 98, class_=MUTEX)
    assert blamed(load(trace)) == [
        ("exec", 2, 20, 60),
        ("sched", 1, 60, 61),
        ("exec", 3, 61, 98),
        ("sched", 1, 98, 100),
    ]


def test_before_a_hold_whose_begin_is_not_known_nobody_else_is_charged(load: Load) -> None:
    trace = Writer()
    all_ = threads(trace)
    all_[FIRST].held(5, 50)
    all_[SECOND].held(0, 98)
    waits(trace, all_, SECOND, 98)
    assert blamed(load(trace)) == [("exec", 3, 20, 98), ("sched", 1, 98, 100)]


def test_before_the_first_hold_that_is_known_the_wait_is_unknown(load: Load) -> None:
    trace = Writer()
    all_ = threads(trace)
    all_[SECOND].held(50, 98)
    waits(trace, all_, SECOND, 98)
    found = blamed(load(trace))
    assert found == [("blocked_unknown", 1, 20, 50), ("exec", 3, 50, 98), ("sched", 1, 98, 100)]


@pytest.mark.parametrize(
    ("hold", "wait"),
    [
        ({"object_": 0xF00D}, {}),
        ({"class_": CONDITION}, {"class_": CONDITION}),
        ({}, {"flags": 2}),
    ],
    ids=["of another lock", "of a class that is not held", "when it was let go is not known"],
)
def test_a_hold_that_does_not_fit_leaves_the_waker_alone(
    load: Load, hold: dict[str, int], wait: dict[str, int]
) -> None:
    """As in a file without HELD: it is charged for all of the wait."""
    trace = Writer()
    all_ = threads(trace)
    all_[SECOND].held(50, 98, **hold)
    waits(trace, all_, SECOND, 98, **wait)
    loaded = load(trace)
    assert loaded.wakeups.since.tolist() == [SINCE_ALWAYS]
    assert blamed(loaded) == [("exec", 3, 20, 98), ("sched", 1, 98, 100)]


def test_extended_records_of_other_kinds_are_counted_and_skipped(load: Load) -> None:
    trace = Writer()
    all_ = threads(trace)
    all_[FIRST].raw(0, 50, 15 << 8 | 1, 5)
    all_[FIRST].raw(0, 60, 1 << 8 | 1, 5)  # HELD without its OBJECT
    waits(trace, all_, SECOND, 98)
    assert "records of unknown kinds skipped: 2" in load(trace).notes


def test_what_a_holder_lost_spoils_the_interval(tmp_path: Path) -> None:
    trace = Writer()
    all_ = threads(trace)
    all_[FIRST].held(5, 60, class_=MUTEX)
    all_[FIRST].lost(30, 61, 9)
    all_[SECOND].held(61, 98, class_=MUTEX)
    waits(trace, all_, SECOND, 98, class_=MUTEX)
    assert load_binary(trace.save(tmp_path / "run.trace")).excluded == {"touches lost records": 1}
