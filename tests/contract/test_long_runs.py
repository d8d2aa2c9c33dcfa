"""A week of recording: the 48 bits of a record's time wrap, calls last for days, anchors are sparse."""

from __future__ import annotations

from tuples import Load, Tuples
from writer import Writer

HOUR = 3600 * 10**9
WEEK = 7 * 24 * HOUR
TICKS = 3
"""Per nanosecond: at 3 GHz the 48 bits wrap every 26 hours."""
WRAP = 1 << 48


def week() -> Writer:
    """A session on a machine that has been up for 100 days, one anchor a minute."""
    start = 100 * 24 * HOUR
    minutes = range(start, start + WEEK + 1, 60 * 10**9)
    return Writer(anchors=[(TICKS * ns, ns) for ns in minutes], on=[[7, 1]])


def test_intervals_of_a_week_keep_their_times_over_every_wrap(load: Load) -> None:
    writer = week()
    first = writer.anchors[0][0]
    thread = writer.thread(1, ticks=first)
    expected = []
    wraps = range(first // WRAP + 1, (first + TICKS * WEEK) // WRAP + 1)
    for number, wrap in enumerate(wraps, 1):
        begin, end = wrap * WRAP - 3000, wrap * WRAP + 3000
        thread.begin(number, begin)
        thread.invocation(7, begin + 300, end - 300)
        thread.end(number, end)
        thread.cut()
        expected.append(2000)
    trace = load(writer)
    assert len(expected) == 6
    assert (trace.intervals.end - trace.intervals.begin).tolist() == expected
    assert [call[4] - call[3] for call in Tuples(trace).calls()] == [1800] * 6


def test_a_call_may_last_for_days(load: Load) -> None:
    writer = week()
    first = writer.anchors[0][0]
    thread = writer.thread(1, ticks=first)
    enter, leave = first + TICKS * HOUR, first + TICKS * (WEEK - HOUR)
    thread.invocation(7, enter, leave)
    [call] = Tuples(load(writer)).calls()
    assert call[4] - call[3] == WEEK - 2 * HOUR
