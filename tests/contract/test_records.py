"""Every kind of record, times and their conversion (runtime/TRACE_FORMAT.md sections 2, 5, 6, 8)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tuples import Load, Tuples
from writer import LONG, Thread, Writer, header

from vprof.tables.kinds import EXEC
from vprof.trace.invocations import Calls
from vprof.trace.reading import open_windows
from vprof.trace.window import WHOLE

SITES = 1 << 22


def test_worked_bytes_of_section_8() -> None:
    thread = Thread(1)
    thread.invocation(7, 0x1000, 0x1400, depth=2, call=3)
    thread.end(5, 0x1500)
    expected = "00 14 00 00 00 00 02 10 00 04 00 00 07 00 c0 00 00 15 00 00 00 00 00 40 05 00 00 00 00 00 00 00"
    assert b"".join(thread.records) == bytes.fromhex(expected)


def test_worked_bytes_are_read_as_they_are_explained(load: Load) -> None:
    writer = Writer()
    writer.thread(1).records += [
        bytes.fromhex("0014000000000210000400000700c000"),
        bytes.fromhex("00150000000000400500000000000000"),
    ]
    writer.threads[0].times += [0x1400, 0x1500]
    trace = load(writer)
    assert Tuples(trace).calls() == [(0, None, "site 7", 0x1000, 0x1400, 2)]
    assert trace.excluded == {"begun before the recording": 1}


def test_calls_come_back_outer_first(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1, ticks=0)
    thread.begin(1, 5)
    thread.invocation(2, 20, 30, depth=1)
    thread.invocation(3, 45, 50, depth=2)
    thread.invocation(2, 40, 60, depth=1)
    thread.invocation(1, 10, 70, depth=0)
    thread.end(1, 80)
    assert Tuples(load(writer)).calls() == [
        (0, "1", "site 1", 10, 70, 0),
        (0, "1", "site 2", 20, 30, 1),
        (0, "1", "site 2", 40, 60, 1),
        (0, "1", "site 3", 45, 50, 2),
    ]


def test_depth_orders_frames_entered_at_the_same_time(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.invocation(2, 10, 30, depth=1)
    thread.invocation(1, 10, 40, depth=0)
    assert [call[2] for call in Tuples(load(writer)).calls()] == ["site 1", "site 2"]


def test_a_call_is_labelled_with_the_interval_of_its_entry(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.begin(9, 20)
    thread.invocation(2, 30, 35, depth=1)
    thread.end(9, 40)
    thread.invocation(1, 10, 50)
    assert [call[1:3] for call in Tuples(load(writer)).calls()] == [(None, "site 1"), ("9", "site 2")]


def test_a_long_call_has_its_start_in_a_record_of_its_own(load: Load) -> None:
    writer = Writer(anchors=[(0, 0), (1 << 45, 1 << 45)])
    enter, leave = 1000, 1000 + (1 << 33)
    thread = writer.thread(1)
    thread.invocation(1, enter, leave)
    thread.invocation(2, leave + 10, leave + 10 + 0xFFFFFFFE)
    thread.abandoned(3, leave + 10, leave + (1 << 34))
    calls = Tuples(load(writer)).calls()
    assert [(name, fs, fe) for _, _, name, fs, fe, _ in calls] == [
        ("site 1", enter, leave),
        ("site 2", leave + 10, leave + 10 + 0xFFFFFFFE),
        ("site 3", leave + 10 + 0xFFFFFFFE, leave + (1 << 34)),
    ]


def test_times_go_on_when_48_bits_are_full(load: Load) -> None:
    full = 1 << 48
    writer = Writer(anchors=[(full - 10_000, 0), (full + 10_000, 20_000)], end=full + 500)
    thread = writer.thread(1, ticks=full - 200)
    thread.begin(1, full - 100)
    thread.invocation(1, full - 50, full + 50)
    thread.blocked(full - 40, full + 60)
    thread.end(1, full + 100)
    tuples = Tuples(load(writer))
    assert tuples.intervals() == [("1", "", (0, 9_900), (0, 10_100))]
    assert [call[3:5] for call in tuples.calls()] == [(9_950, 10_050)]


def test_times_before_the_base_of_a_chunk_are_read_too(load: Load) -> None:
    base = 3 << 48
    writer = Writer(anchors=[(base - 10_000, 0), (base + 10_000, 20_000)])
    thread = writer.thread(1)
    thread.begin(1, base)
    thread.blocked(base + 10, base + 20, peer=1, woke=base - 5)
    trace = load(writer)
    assert Tuples(trace).wakeups() == [(0, 0, 10_010, (10_010, 10_020))]


def test_two_anchors_give_the_speed_and_a_third_changes_it(load: Load) -> None:
    writer = Writer(anchors=[(1000, 0), (2000, 500), (3000, 2500)], end=4000)
    thread = writer.thread(1)
    for site, (enter, leave) in enumerate([(500, 1000), (1200, 1400), (1900, 2100), (2500, 2600), (3100, 3200)]):
        thread.invocation(site, enter, leave)
    assert [call[3:5] for call in Tuples(load(writer)).calls()] == [
        (-250, 0),
        (100, 200),
        (450, 700),
        (1500, 1700),
        (2700, 2900),
    ]


def test_one_anchor_is_not_enough_for_a_tsc_and_says_so(load: Load) -> None:
    writer = Writer(anchors=[(1000, 77)])
    writer.thread(1).invocation(1, 1100, 1200)
    trace = load(writer)
    assert any("times are ticks" in note for note in trace.notes)
    assert [call[3:5] for call in Tuples(trace).calls()] == [(177, 277)]


def test_a_monotonic_clock_needs_no_second_anchor(load: Load) -> None:
    writer = Writer(anchors=[(1000, 1000)], clock="monotonic")
    writer.thread(1).invocation(1, 1100, 1200)
    assert not any("ticks" in note for note in load(writer).notes)


def test_times_that_go_back_are_moved_up_and_counted(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.begin(1, 100)
    thread.on_behalf(1, 90)
    thread.end(1, 95)
    trace = load(writer)
    assert Tuples(trace).segments()[:2] == [(0, "1", 100, 101, "exec"), (0, "1", 101, 102, "exec")]
    assert any(note == "times adjusted where clocks of CPUs disagreed: 2" for note in trace.notes)


def test_an_abandoned_call_counts_up_to_when_that_was_noticed(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.abandoned(2, 20, 50, depth=1)
    thread.invocation(1, 10, 60)
    trace = load(writer)
    assert [call[2:5] for call in Tuples(trace).calls()] == [("site 1", 10, 60), ("site 2", 20, 50)]
    assert any("upper bounds: 1" in note for note in trace.notes)


def test_open_frames_are_calls_to_the_end_of_the_file(load: Load) -> None:
    writer = Writer(anchors=[(0, 0), (400, 400)], end=450)
    thread = writer.thread(1, ticks=0)
    thread.invocation(3, 100, 120, depth=2)
    writer.event("open", uid=1, ticks=440, frames=[[1, 50], [2, 90]])
    trace = load(writer)
    assert trace.open_at == 450
    assert [call[2:] for call in Tuples(trace).calls()] == [
        ("site 1", 50, 450, 0),
        ("site 2", 90, 450, 1),
        ("site 3", 100, 120, 2),
    ]


def calls_of(path: Path) -> Calls:
    return open_windows(path, 0).content(WHOLE).calls


def test_calls_carry_the_number_of_their_place_in_the_caller(tmp_path: Path) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.invocation(SITES - 1, 20, 30, depth=1, call=1)
    thread.abandoned(SITES - 1, 40, 50, depth=1, call=1023)
    thread.invocation(SITES - 2, 60, 60 + LONG, depth=1, call=2)
    thread.invocation(5, 10, 100 + LONG, depth=0)
    writer.event("open", uid=1, ticks=400 + LONG, frames=[[6, 200 + LONG, 0], [7, 300 + LONG, 9]])
    calls = calls_of(writer.save(tmp_path / "run.trace"))
    assert calls.call.dtype == np.uint16
    assert list(zip(calls.number, calls.call, strict=True)) == [
        (5, 0),
        (SITES - 1, 1),
        (SITES - 1, 1023),
        (SITES - 2, 2),
        (6, 0),
        (7, 9),
    ]


def test_a_trace_of_version_1_has_no_call_numbers(tmp_path: Path) -> None:
    writer = Writer(header=header(version=1))
    writer.thread(1).invocation(3, 20, 30)
    writer.event("open", uid=1, ticks=440, frames=[[6, 50]])
    calls = calls_of(writer.save(tmp_path / "run.trace"))
    assert list(zip(calls.number, calls.call, strict=True)) == [(3, 0), (6, 0)]


def test_a_lost_parent_does_not_move_its_children(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.invocation(3, 10, 20, depth=2)
    thread.invocation(2, 40, 50, depth=1)
    thread.invocation(1, 5, 60, depth=0)
    assert [call[2:5] for call in Tuples(load(writer)).calls()] == [
        ("site 1", 5, 60),
        ("site 3", 10, 20),
        ("site 2", 40, 50),
    ]


def test_frames_deeper_than_depth_can_say_nest_by_time(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.invocation(3, 30, 40, depth=4095)
    thread.invocation(2, 20, 50, depth=4095)
    thread.invocation(4, 55, 58, depth=4095)
    thread.invocation(1, 10, 60, depth=4094)
    assert [call[2:5] for call in Tuples(load(writer)).calls()] == [
        ("site 1", 10, 60),
        ("site 2", 20, 50),
        ("site 3", 30, 40),
        ("site 4", 55, 58),
    ]


def test_a_thread_lives_from_its_first_to_its_last_moment(load: Load) -> None:
    writer = Writer(anchors=[(0, 0), (900, 900)], end=1000)
    writer.thread(1, ticks=10).on_behalf(0, 50)
    writer.thread(2, ticks=20).on_behalf(0, 60)
    writer.event("thread", uid=3, pid=100, tid=103, name="idle", ticks=30)
    writer.event("thread_end", uid=2, ticks=70, written=1, stored=1, dropped=0)
    trace = load(writer)
    assert all(trace.segments.state == EXEC)
    assert [(thread, ts, te) for thread, _, ts, te, _ in Tuples(trace).segments()] == [
        (0, 10, 50),
        (0, 50, 1000),
        (1, 20, 60),
        (1, 60, 70),
        (2, 30, 1000),
    ]
    assert trace.threads == ["100/101 worker", "100/102 worker", "100/103 idle"]
