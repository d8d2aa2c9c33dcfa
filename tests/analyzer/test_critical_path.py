"""One small trace per rule of docs/algorithms.md section 2 that tests/cases does not show."""

import numpy as np
import pytest
from hand import hand_trace, path

from vprof.path.critical_path import critical_paths
from vprof.variance.analysis import analyze

ONE = {"A": (1, 0, 1, 100)}


def test_an_unlabelled_wait_counts_where_the_walk_falls_into_it() -> None:
    trace = hand_trace(ONE, "1 A 0 30 exec\n1 - 30 60 blocked\n1 A 60 100 exec\n2 - 0 100 exec", wakeups=[[1, 2, 55]])
    assert path(trace) == [("exec", 1, 0, 30), ("exec", 2, 30, 55), ("sched", 1, 55, 60), ("exec", 1, 60, 100)]


def test_other_work_on_the_home_thread_counts_as_what_it_was() -> None:
    trace = hand_trace(ONE, "1 A 0 30 exec\n1 B 30 60 exec\n1 - 60 70 exec\n1 A 70 100 exec\n2 - 0 1 blocked")
    assert path(trace) == [("exec", 1, 0, 30), ("exec", 1, 30, 60), ("exec", 1, 60, 70), ("exec", 1, 70, 100)]


def test_while_the_home_thread_waits_for_nobody_it_is_the_clients_time() -> None:
    """Between two events of its loop, and where nothing is recorded of it; what it waits for while it works for another
    interval counts as that."""
    trace = hand_trace(
        ONE, "1 A 0 20 exec\n1 - 20 40 idle\n1 B 40 50 exec\n1 B 50 60 blocked\n1 A 70 100 exec\n2 - 0 1 blocked"
    )
    between = [("gap", 1, 20, 40), ("exec", 1, 40, 50), ("blocked_unknown", 1, 50, 60), ("gap", 1, 60, 70)]
    assert path(trace) == [("exec", 1, 0, 20), *between, ("exec", 1, 70, 100)]


def test_what_a_waker_waits_for_from_outside_is_idle() -> None:
    segments = "1 A 0 30 exec\n1 A 30 60 blocked\n1 A 60 100 exec\n2 - 0 40 exec\n2 - 40 50 idle\n2 - 50 99 exec"
    trace = hand_trace(ONE, segments, wakeups=[[1, 2, 60]])
    assert path(trace)[1:4] == [("exec", 2, 30, 40), ("idle", 2, 40, 50), ("exec", 2, 50, 60)]


def test_a_jump_over_other_work_does_not_stop_at_an_unlabelled_wait() -> None:
    trace = hand_trace(ONE, "1 A 0 30 exec\n1 - 30 40 blocked\n1 B 40 70 exec\n1 A 70 100 exec")
    assert path(trace) == [("exec", 1, 0, 30), ("gap", 1, 30, 40), ("exec", 1, 40, 70), ("exec", 1, 70, 100)]


def test_a_wait_without_wakeup_is_blocked_unknown() -> None:
    """A wait that timed out, or whose primitive the descriptor misses."""
    trace = hand_trace(ONE, "1 A 0 30 exec\n1 A 30 60 blocked\n1 A 60 100 exec")
    assert path(trace) == [("exec", 1, 0, 30), ("blocked_unknown", 1, 30, 60), ("exec", 1, 60, 100)]


def test_a_self_wake_explains_nothing() -> None:
    trace = hand_trace(ONE, "1 A 0 30 exec\n1 A 30 60 blocked\n1 A 60 100 exec", wakeups=[[1, 1, 60]])
    assert path(trace)[1] == ("blocked_unknown", 1, 30, 60)


def test_the_last_of_several_wakeups_counts() -> None:
    """A condition variable: the signaller first, then who released the mutex."""
    segments = "1 A 0 30 exec\n1 A 30 60 blocked\n1 A 60 100 exec\n2 - 0 99 exec\n3 - 0 99 exec"
    trace = hand_trace(ONE, segments, wakeups=[[1, 2, 45], [1, 3, 58]])
    assert path(trace)[1:3] == [("exec", 3, 30, 58), ("sched", 1, 58, 60)]


def test_a_waker_that_itself_waits_for_us_is_skipped() -> None:
    """1 waits for 2, 2 for 1: the second wake-up would expand the first wait again."""
    segments = "1 A 0 10 exec\n1 A 10 60 blocked\n1 A 60 100 exec\n2 - 0 20 exec\n2 - 20 50 blocked\n2 - 50 99 exec"
    trace = hand_trace(ONE, segments, wakeups=[[1, 2, 60], [2, 1, 50]])
    assert path(trace)[1:4] == [("exec", 2, 10, 20), ("blocked_unknown", 2, 20, 50), ("exec", 2, 50, 60)]


def test_an_older_wakeup_serves_where_the_latest_is_unusable() -> None:
    segments = "1 A 0 10 exec\n1 A 10 60 blocked\n1 A 60 100 exec\n2 - 0 99 exec"
    trace = hand_trace(ONE, segments, wakeups=[[1, 2, 40], [1, 1, 60]])
    assert path(trace)[1:3] == [("exec", 2, 10, 40), ("sched", 1, 40, 60)]


@pytest.mark.parametrize("state", ["exec", "blocked"])
def test_a_task_beats_the_predecessor_on_the_same_thread(state: str) -> None:
    """After exec and blocked alike: the worker served A before, too, but this segment came from thread 2."""
    segments = f"2 A 0 40 exec\n1 A 20 50 exec\n1 A 50 60 {state}\n1 A 60 100 exec"
    trace = hand_trace({"A": (2, 0, 1, 100)}, segments, created=[[2, 30, 1, 50]])
    first = ("exec", 1, 50, 60) if state == "exec" else ("blocked_unknown", 1, 50, 60)
    assert path(trace) == [("exec", 2, 0, 30), ("queue", 1, 30, 50), first, ("exec", 1, 60, 100)]


def test_of_several_tasks_the_latest_creation_wins() -> None:
    segments = "2 A 0 40 exec\n3 A 0 45 exec\n1 A 60 100 exec"
    trace = hand_trace({"A": (2, 0, 1, 100)}, segments, created=[[3, 42, 1, 60], [2, 30, 1, 60]])
    assert path(trace) == [("exec", 3, 0, 42), ("queue", 1, 42, 60), ("exec", 1, 60, 100)]


def test_a_creator_working_for_somebody_else_is_walked_as_a_waker() -> None:
    """Home stays on thread 1; thread 2 counts only down to where home worked last."""
    trace = hand_trace(ONE, "1 A 0 20 exec\n2 B 0 70 exec\n1 A 80 100 exec", created=[[2, 60, 1, 80]])
    assert path(trace) == [("exec", 1, 0, 20), ("exec", 2, 20, 60), ("queue", 1, 60, 80), ("exec", 1, 80, 100)]


def test_a_waker_s_own_tasks_are_not_followed() -> None:
    segments = "1 A 0 10 exec\n1 A 10 60 blocked\n1 A 60 100 exec\n2 - 5 30 exec\n2 - 30 99 exec\n3 - 0 99 exec"
    trace = hand_trace(ONE, segments, wakeups=[[1, 2, 60]], created=[[3, 20, 2, 30]])
    assert path(trace)[1] == ("exec", 2, 10, 30)


def test_a_waker_waiting_for_tasks_is_followed_to_who_made_them() -> None:
    segments = "1 A 0 10 exec\n1 A 10 60 blocked\n1 A 60 100 exec\n2 - 0 40 queue\n2 - 40 99 exec\n3 - 0 99 exec"
    trace = hand_trace(ONE, segments, wakeups=[[1, 2, 60]], created=[[3, 35, 2, 40]])
    assert path(trace)[1:4] == [("exec", 3, 10, 35), ("sched", 2, 35, 40), ("exec", 2, 40, 60)]


def test_time_before_a_waker_s_first_segment_is_unknown() -> None:
    trace = hand_trace(ONE, "1 A 0 10 exec\n1 A 10 60 blocked\n1 A 60 100 exec\n2 - 40 99 exec", wakeups=[[1, 2, 60]])
    assert path(trace)[1:3] == [("unknown", 2, 10, 40), ("exec", 2, 40, 60)]


def test_an_interval_may_end_inside_a_wait() -> None:
    """The wake-up comes after the end; the waker counts up to the end only."""
    trace = hand_trace(ONE, "1 A 0 50 exec\n1 A 50 120 blocked\n2 - 0 200 exec", wakeups=[[1, 2, 110]])
    assert path(trace) == [("exec", 1, 0, 50), ("exec", 2, 50, 100)]


def test_without_any_sync_record_segments_are_concatenated() -> None:
    trace = hand_trace({"A": (1, 0, 2, 100)}, "1 A 0 30 exec\n2 A 20 50 exec\n2 A 60 90 exec\n2 B 90 95 exec")
    assert not trace.has_sync
    expected = [("exec", 1, 0, 30), ("exec", 2, 30, 50), ("gap", 2, 50, 60), ("exec", 2, 60, 90), ("gap", 2, 90, 100)]
    assert path(trace) == expected


def test_an_interval_on_an_unlabelled_thread_is_unknown() -> None:
    assert path(hand_trace(ONE, "1 - 0 100 exec\n2 - 0 1 blocked")) == [("unknown", 1, 0, 100)]


def test_an_interval_of_no_length_has_no_pieces() -> None:
    trace = hand_trace({"A": (1, 5, 1, 5), "B": (1, 5, 1, 9)}, "1 B 5 9 exec")
    assert path(trace, "A") == []
    assert analyze(trace).summary.count == 2


def test_long_chains_of_wakeups_need_no_recursion() -> None:
    """Thread k waits until k+1 wakes it: 3000 waits inside each other."""
    n = 3000
    segments = (
        "1 A 0 1 exec\n" + "\n".join(f"{k} - {k} {10 * n - k} blocked" for k in range(2, n)) + f"\n{n} - 0 {9 * n} exec"
    )
    segments += f"\n1 A 1 {10 * n} blocked"
    wakeups = [[k, k + 1, 10 * n - k - 1] for k in range(1, n)]
    trace = hand_trace({"A": (1, 0, 1, 10 * n)}, segments, wakeups=wakeups)
    paths = critical_paths(trace)
    assert np.sum(paths.pieces.stop - paths.pieces.start) == 10 * n
