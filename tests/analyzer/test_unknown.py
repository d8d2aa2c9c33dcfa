"""Where time is lost to the unknown."""

from dataclasses import replace

import numpy as np
import pytest
from hand import hand_trace

from vprof.report import text
from vprof.tables.kinds import BLOCKED
from vprof.tables.model import Trace
from vprof.variance.analysis import analyze
from vprof.variance.blocked import UnknownWait


def waiting(wakeups: list[list[int]] | None = None) -> Trace:
    """20 of 100 ns in a wait of `lock`, 10 in one outside any function."""
    segments = "1 A 0 30 exec\n1 A 30 50 blocked\n1 A 50 80 exec\n1 A 80 90 blocked\n1 A 90 100 exec"
    return hand_trace({"A": (1, 0, 1, 100)}, f"{segments}\n2 - 45 100 exec", "1 f 0 70\n1 lock 25 55", wakeups)


def test_the_innermost_function_that_waited_is_named_most_time_first() -> None:
    assert analyze(waiting()).unknown == [
        UnknownWait(function="lock", waker_known=False, count=1, total_ns=20, share=0.2),
        UnknownWait(function="", waker_known=False, count=1, total_ns=10, share=0.1),
    ]


def test_a_function_that_waits_at_two_lines_is_two_sites() -> None:
    segments = "1 A 0 10 exec\n1 A 10 20 blocked\n1 A 20 30 exec\n1 A 30 70 blocked\n1 A 70 100 exec"
    trace = hand_trace({"A": (1, 0, 1, 100)}, segments, "1 f 0 100\n1 lock@f.c:3 5 25\n1 lock@f.c:8 25 75")
    analysis = analyze(trace)
    assert [(wait.function, wait.site, wait.total_ns) for wait in analysis.unknown] == [
        ("lock", "f.c:8", 40),
        ("lock", "f.c:3", 10),
    ]
    assert "lock@f.c:8" in text.render(analysis).partition("Waits that nobody")[2]


def test_a_waker_of_which_nothing_is_recorded_is_said() -> None:
    """Thread 2 ended the wait at 48, and nothing is known of it before 45."""
    assert analyze(waiting([[1, 2, 48]])).unknown[0] == UnknownWait(
        function="lock", waker_known=True, count=1, total_ns=15, share=0.15, thread="2"
    )


def test_blocked_time_is_told_by_its_cause() -> None:
    """30 for what nobody knows, 7 for storage, 6 in a function that sleeps; of the wait that thread 2 ended at 48 it
    slept 4 itself."""
    segments = (
        "1 A 0 30 exec\n1 A 30 50 blocked\n1 A 50 60 exec\n1 A 60 67 disk\n1 A 67 70 exec\n1 A 70 76 blocked\n"
        "1 A 76 80 exec\n1 A 80 90 blocked\n1 A 90 100 exec\n2 - 20 40 exec\n2 - 40 44 blocked\n2 - 44 100 exec"
    )
    trace = hand_trace({"A": (1, 0, 1, 100)}, segments, "1 f 0 78\n1 nanosleep 69 77", [[1, 2, 48]])
    assert analyze(trace).blocked_ns == {"ended by a known thread": 16, "unknown": 14, "storage": 7, "time": 6}
    report = " ".join(text.render(analyze(trace)).split())
    assert "What was waited for" in report
    assert "storage 16.3 % 7 ns" in report


def test_a_descriptor_without_a_waker_has_its_other_end_elsewhere() -> None:
    trace = waiting()
    classes = np.where(trace.segments.state == BLOCKED, 11, 0).astype(np.int8)
    analysis = analyze(replace(trace, segments=replace(trace.segments, object_class=classes)))
    [cause] = analysis.blocked_ns
    assert cause == "a pipe, socket or eventfd whose other end is not in the profile"
    assert all(wait.advice.startswith(cause) for wait in analysis.unknown)


def test_the_report_lists_them_only_when_they_matter() -> None:
    heading = "Waits that nobody is known to have ended"
    report = text.render(analyze(waiting()))
    assert heading in report
    assert "outside probed functions" in report
    short = hand_trace({"A": (1, 0, 1, 9000)}, "1 A 0 30 exec\n1 A 30 50 blocked\n1 A 50 9000 exec")
    assert heading not in text.render(analyze(short))


@pytest.mark.parametrize(
    ("callee", "advice"),
    [
        ("fdatasync", "fdatasync waits for storage"),
        (
            "syscall",
            "a futex through syscall waits for a thread: "
            "describe lock as [[sync]] acquire, and what wakes it as release",
        ),
        (
            "recv",
            "recv waits for sockets: if a thread of the server provides it, describe the hand-over as [[queue]]",
        ),
    ],
)
def test_what_a_function_calls_tells_what_it_waits_for(callee: str, advice: str) -> None:
    trace = waiting()
    program = trace.program
    functions = [*program.functions, "strlen", callee]
    calls = [list(row) for row in program.calls] + [[], []]
    calls[functions.index("lock")] = [len(functions) - 2, len(functions) - 1]
    more = replace(
        program,
        functions=functions,
        definitions=[*program.definitions, "", ""],
        calls=calls,
        height=np.r_[program.height, 0, 0].astype(np.int32),
        on=np.r_[program.on, False, False],
        complete=np.r_[program.complete, False, False],
    )
    analysis = analyze(replace(trace, program=more))
    assert [wait.advice for wait in analysis.unknown] == [advice, ""]
    assert advice in " ".join(text.render(analysis).split())


def test_the_function_itself_may_be_what_waits() -> None:
    segments = "1 A 0 30 exec\n1 A 30 50 blocked\n1 A 50 80 exec"
    [wait] = analyze(hand_trace({"A": (1, 0, 1, 80)}, segments, "1 f 0 70\n1 nanosleep 25 55")).unknown
    assert wait.advice == "nanosleep waits for time"
