"""Intervals made of the calls of one function."""

import pytest
from hand import EVERYTHING, hand_trace, path

from vprof.errors import UsageError, VprofError
from vprof.tables.model import Trace
from vprof.trace.root import with_root
from vprof.variance.analysis import analyze

SEGMENTS = "1 - 0 30 exec\n1 - 30 50 blocked\n1 - 50 200 exec\n2 - 0 200 exec"
CALLS = "1 loop 0 200\n1 serve 10 90\n1 lock@serve:1 30 50\n1 serve 120 150\n2 hold 0 60\n2 serve 100 140"


def served() -> Trace:
    return with_root(hand_trace({}, SEGMENTS, CALLS, wakeups=[[1, 2, 48]]), "serve")


def test_each_call_is_an_interval_numbered_by_begin() -> None:
    trace = served()
    assert trace.interval_ids == ["serve#1", "serve#2", "serve#3"]
    assert list(zip(trace.intervals.begin, trace.intervals.end, strict=True)) == [(10, 90), (100, 140), (120, 150)]


def test_waits_inside_a_call_are_followed() -> None:
    expected = [("exec", 1, 10, 30), ("exec", 2, 30, 48), ("sched", 1, 48, 50), ("exec", 1, 50, 90)]
    assert path(served(), "serve#1") == expected


def test_a_wait_that_began_before_the_call_counts_inside_it() -> None:
    trace = with_root(hand_trace({}, SEGMENTS, "1 serve 40 90", wakeups=[[1, 2, 48]]), "serve")
    assert path(trace, "serve#1")[:2] == [("exec", 2, 40, 48), ("sched", 1, 48, 50)]


def test_recursive_calls_are_part_of_the_outermost() -> None:
    trace = with_root(hand_trace({}, "1 - 0 100 exec", "1 f 0 80\n1 f 10 70\n1 f 80 90"), "f")
    assert list(trace.intervals.begin) == [0, 80]


def test_calls_open_at_the_end_or_in_spoiled_times_are_left_out_and_counted() -> None:
    trace = hand_trace({}, "1 - 0 100 exec", "1 f 0 10\n1 f 20 30\n1 f 40 50\n1 f 60 100")
    trace.open_at = 100
    trace.spoiled = [(-1, 25, 26, "flip"), (0, 45, 60, "touches lost records")]
    rooted = with_root(trace, "f")
    assert list(rooted.intervals.begin) == [0]
    assert rooted.excluded == {"flip": 1, "touches lost records": 1, "unfinished": 1}
    assert list(rooted.excluded_latencies) == [10]


def test_own_times_follow_the_new_intervals() -> None:
    detail = analyze(served(), EVERYTHING).per_interval["serve#1"]
    assert detail.own_times == {"serve": 80, "lock": 20}


def test_an_unknown_root_names_near_misses() -> None:
    with pytest.raises(UsageError, match="no function serv in this trace: did you mean serve"):
        with_root(hand_trace({}, SEGMENTS, CALLS), "serv")


def test_a_root_that_never_ran_is_said() -> None:
    trace = hand_trace({}, SEGMENTS, CALLS, heights=dict.fromkeys(["loop", "serve", "lock", "hold", "idle"], 0))
    with pytest.raises(VprofError, match="no call of idle was recorded"):
        with_root(trace, "idle")
