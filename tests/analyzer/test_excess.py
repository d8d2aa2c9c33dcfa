"""Where slow intervals lost their time, on traces whose answer is plain."""

import pytest
from hand import hand_trace

from vprof.report.page import slow
from vprof.variance.analysis import Analysis, analyze
from vprof.variance.excess import excesses


def requests(rows: list[tuple[int, int]], state: str = "exec") -> Analysis:
    """Each a call of serve: `parse` takes 100 us and `render` 200, before it calls `refresh` and after; refresh, and
    what it is in (`state`), takes the first of a row, `log`, outside of it, the second."""
    intervals, segments, calls, now = {}, [], [], 0
    for i, (refresh, log) in enumerate(rows):
        times = [now, now + 100, now + 200, now + 200 + refresh, now + 300 + refresh, now + 300 + refresh + log]
        begin, parsed, called, back, rendered, end = (1000 * t for t in times)
        intervals[f"i{i}"] = (1, begin, 1, end)
        segments += [f"1 i{i} {begin} {called} exec", f"1 i{i} {called} {back} {state}", f"1 i{i} {back} {end} exec"]
        calls += [f"1 serve {begin} {end}", f"1 parse {begin} {parsed}", f"1 render {parsed} {rendered}"]
        calls += [f"1 refresh {called} {back}", f"1 log {rendered} {end}"]
        now = times[-1] + 50
    return analyze(hand_trace(intervals, "\n".join(segments), "\n".join(calls)))


@pytest.mark.parametrize(("state", "said"), [("exec", "refresh"), ("sleep", "refresh, asleep")])
def test_the_excess_is_named_and_not_what_takes_long_in_every_interval(state: str, said: str) -> None:
    """Most of the slow interval's 580 us is render's. Its refresh took 240, 180 more than the mean of 60."""
    analysis = requests([(20, 20), (20, 20), (20, 20), (240, 40), (0, 0)], state)
    found = excesses(analysis, ["i3"])["i3"]
    assert (found.latency_ns, found.of_mean, found.is_slower) == (580_000, pytest.approx(580 / 380), True)
    assert found.share == pytest.approx((240 - 60) / (580 - 380))
    assert slow.sentence(analysis, found) == (
        f"The slowest interval (i3) took 580 µs, 1.5 times the mean: 90.0 % of the excess lies in {said}."
    )


def test_where_no_callee_has_half_the_walk_ends_at_the_caller() -> None:
    intervals, segments, calls, now = {}, [], [], 0
    for i, each in enumerate((10, 10, 40)):
        end = now + 3 * each
        intervals[f"i{i}"] = (1, now, 1, end)
        segments.append(f"1 i{i} {now} {end} exec")
        calls.append(f"1 serve {now} {end}")
        calls += [f"1 {name} {now + n * each} {now + (n + 1) * each}" for n, name in enumerate(("a", "b", "c"))]
        now = end + 10
    analysis = analyze(hand_trace(intervals, "\n".join(segments), "\n".join(calls)))
    found = excesses(analysis, ["i2"])["i2"]
    assert slow.where(analysis, found) == "2.0 times the mean: 100.0 % of the excess lies in serve."


def test_of_an_interval_that_is_no_slower_it_says_where_its_time_went() -> None:
    analysis = requests([(20, 20), (20, 20), (20, 20), (240, 40)])
    found = excesses(analysis, ["i0"])["i0"]
    assert not found.is_slower
    assert slow.sentence(analysis, found) == ""
    assert slow.where(analysis, found) == "0.8 times the mean: 58.8 % of its time lies in render itself."


def test_what_a_waker_did_is_named_with_who_waited_for_it() -> None:
    """The lock is free, held by flush for 10, and for 500."""
    intervals, segments, calls, wakeups, now = {}, ["2 - 0 9999 exec"], ["2 writer 0 9999"], [], 0
    for i, held in enumerate((0, 10, 500)):
        a, b, end = now + 10, now + 10 + held, now + 20 + held
        intervals[f"i{i}"] = (1, now, 1, end)
        segments += [f"1 i{i} {now} {a} exec", f"1 i{i} {b} {end} exec"]
        calls += [f"1 serve {now} {end}"]
        if held:
            segments.append(f"1 i{i} {a} {b} blocked")
            calls += [f"1 lock {a} {b}", f"2 flush {a} {b}"]
            wakeups.append([1, 2, b])
        now = end + 10
    analysis = analyze(hand_trace(intervals, "\n".join(segments), "\n".join(calls), wakeups))
    assert slow.where(analysis, excesses(analysis, ["i2"])["i2"]) == (
        "2.7 times the mean: 100.0 % of the excess lies in flush, which lock waited for."
    )


def test_no_interval_is_slower_where_all_took_the_same() -> None:
    analysis = requests([(20, 20), (20, 20)])
    found = excesses(analysis, ["i0", "i1"])
    assert [slow.sentence(analysis, one) for one in found.values()] == ["", ""]
