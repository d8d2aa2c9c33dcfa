"""Summaries, types, blocks and the confidence intervals of shares."""

import numpy as np
import pytest
from hand import hand_trace

from vprof.tables.model import Int64
from vprof.variance import statistics
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze


def test_quantiles_are_latencies_that_occurred() -> None:
    s = statistics.summarize(np.array([10, 20, 30, 40]))
    assert (s.count, s.mean_ns, s.variance_ns2, s.p50_ns, s.p99_ns, s.max_ns) == (4, 25, 125, 20, 40, 40)


def test_variance_splits_into_within_and_between_types() -> None:
    latency = np.array([10, 12, 100, 104])
    split = statistics.split_by_type(latency, np.array([0, 0, 1, 1], np.int32), ["read", "write"])
    assert (split.within_ns2, split.between_ns2) == (2.5, 45.5**2)
    assert split.within_ns2 + split.between_ns2 == latency.var()
    assert [(r.type, r.count, r.mean_ns) for r in split.rows] == [("read", 2, 11), ("write", 2, 102)]


def test_too_few_intervals_give_no_confidence_interval() -> None:
    latency = np.arange(100) % 7
    answer = statistics.cut_blocks(np.arange(100), latency)
    assert isinstance(answer, statistics.NoBlocks)
    assert (answer.reason, answer.effective) == ("too few intervals: 100, about 458 needed", None)
    enough = statistics.cut_blocks(np.arange(550), np.arange(550) % 7)
    assert isinstance(enough, statistics.Blocks)


def test_rare_stalls_are_named_instead_of_an_interval() -> None:
    latency = np.full(5000, 100)
    latency[::2] = 101
    latency[[700, 2900]] = 100_000, 150_000
    answer = statistics.cut_blocks(np.arange(5000) * 200, latency)
    assert isinstance(answer, statistics.NoBlocks)
    assert (answer.reason, list(answer.heaviest)) == ("1 interval holds half of the variance", [2900])


def test_a_handful_of_equal_stalls_is_too_few_too() -> None:
    """Ten stalls, none of which holds a fifth of the variance."""
    latency = np.full(5000, 100)
    latency[::2] = 101
    latency[250::500] = 100_000
    answer = statistics.cut_blocks(np.arange(5000) * 200, latency)
    assert isinstance(answer, statistics.NoBlocks)
    assert (answer.reason, round(answer.effective or 0)) == ("6 intervals hold half of the variance", 10)


def test_few_blocks_that_count_alike_are_too_few_intervals_and_no_stalls() -> None:
    """31 blocks, all of one kind: no event makes them fewer."""
    latency = np.random.default_rng(3).integers(100, 200, 540)
    answer = statistics.cut_blocks(np.arange(len(latency)) * 200, latency)
    assert isinstance(answer, statistics.NoBlocks)
    assert answer.reason.startswith("too few intervals: 540, about")
    assert (len(answer.heaviest), answer.needed > 540) == (0, True)


def test_a_share_s_interval_covers_the_truth() -> None:
    """a and b are independent; a holds 80 % of the variance. Nominal 95 %, 40 runs: at least 34 must cover."""
    covered = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        ranked = two_functions(*(100 + (s * rng.normal(size=1500)).astype(int) for s in (20, 10)))
        interval = next(f.ci95 for f in ranked.factors if f.factor.name == "a")
        assert interval is not None
        covered += interval[0] <= 0.8 <= interval[1]
    assert covered >= 34


def test_how_often_a_factor_is_first_is_said_with_its_interval() -> None:
    """a varies twice as much as b; c as much as b, give or take."""
    rng = np.random.default_rng(3)
    clear = two_functions(*(100 + (s * rng.normal(size=1500)).astype(int) for s in (20, 10)))
    assert {f.factor.name: f.first for f in clear.factors} == {"a": 1.0, "b": 0.0}
    even = two_functions(*(100 + (s * rng.normal(size=1500)).astype(int) for s in (20, 20)))
    first = [f.first for f in even.factors]
    assert None not in first and min(first) > 0.01, "either may be"
    assert sum(first) == pytest.approx(1)
    few = two_functions(rng.integers(1, 90, 50), rng.integers(1, 50, 50))
    assert {(f.ci95, f.first) for f in few.factors} == {(None, None)}


def test_the_report_is_the_same_every_time() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(1, 90, 600), rng.integers(1, 50, 600)
    assert two_functions(a, b).factors[0].ci95 == two_functions(a, b).factors[0].ci95


def test_one_lost_interval_can_hold_much_of_the_variance() -> None:
    lost = statistics.lost(np.tile([90, 110], 500), np.array([1000]))
    assert str(lost) == "1 of 1001 intervals touches lost records and was left out, with 88.9 % of the variance"
    assert lost.share == lost.of_variance


def test_many_lost_intervals_matter_though_they_are_usual_ones() -> None:
    lost = statistics.lost(np.tile([90, 110], 45), np.full(10, 100))
    assert str(lost).startswith("10 of 100 intervals touch lost records and were left out, with 0.0 %")
    assert lost.share == 0.1


def two_functions(a: Int64, b: Int64) -> Analysis:
    """Intervals that call a, then b, for the given times."""
    end = np.cumsum(a + b + 5)
    begin = end - a - b
    intervals = {f"i{k}": (1, int(s), 1, int(e)) for k, (s, e) in enumerate(zip(begin, end, strict=True))}
    segments = "\n".join(f"1 {sid} {v[1]} {v[3]} exec" for sid, v in intervals.items())
    calls = "\n".join(f"1 a {s} {s + x}\n1 b {s + x} {e}" for s, e, x in zip(begin, end, a, strict=True))
    trace = hand_trace(intervals, segments, calls, heights={"a": 0, "b": 0, "main": 1}, root="main")
    return analyze(trace, AnalysisOptions(k=2))
