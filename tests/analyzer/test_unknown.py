"""Where time is lost to the unknown."""

from hand import hand_trace

from vprof.analysis import analyze
from vprof.model import Trace
from vprof.report import text
from vprof.unknown import UnknownWait


def waiting(wakeups: list[list[int]] | None = None) -> Trace:
    """20 of 100 ns in a wait of `lock`, 10 in one outside any function."""
    segments = "1 A 0 30 exec\n1 A 30 50 blocked\n1 A 50 80 exec\n1 A 80 90 blocked\n1 A 90 100 exec"
    return hand_trace({"A": (1, 0, 1, 100)}, f"{segments}\n2 - 45 100 exec", "1 f 0 70\n1 lock 25 55", wakeups)


def test_the_innermost_function_that_waited_is_named_most_time_first() -> None:
    assert analyze(waiting()).unknown == [
        UnknownWait("lock", False, 1, 20, 0.2),
        UnknownWait("", False, 1, 10, 0.1),
    ]


def test_a_waker_of_which_nothing_is_recorded_is_said() -> None:
    """Thread 2 ended the wait at 48, and nothing is known of it before 45."""
    assert analyze(waiting([[1, 2, 48]])).unknown[0] == UnknownWait("lock", True, 1, 15, 0.15)


def test_the_report_lists_them_only_when_they_matter() -> None:
    heading = "Waits that nobody is known to have ended"
    report = text.render(analyze(waiting()))
    assert heading in report
    assert "outside probed functions" in report
    short = hand_trace({"A": (1, 0, 1, 9000)}, "1 A 0 30 exec\n1 A 30 50 blocked\n1 A 50 9000 exec")
    assert heading not in text.render(analyze(short))
