"""Moments, shares and the ranking on intervals whose times are given."""

import numpy as np
import pytest
from hand import EVERYTHING, hand_trace, ranking

from vprof.errors import VprofError
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze
from vprof.variance.factors import select


def sequential(times: list[dict[str, int]], **more: object) -> Analysis:
    """Intervals one after the other on thread 1; each calls the given functions for the given times, and nothing
    else."""
    intervals, segments, calls = {}, [], []
    now = 0
    for i, parts in enumerate(times):
        begin = now
        for name, ns in parts.items():
            calls.append(f"1 {name} {now} {now + ns}")
            now += ns
        intervals[f"i{i}"] = (1, begin, 1, now)
        segments.append(f"1 i{i} {begin} {now} exec")
        now += 10
    heights = {name: 0 for parts in times for name in parts} | {"main": 1}
    return analyze(hand_trace(intervals, "\n".join(segments), "\n".join(calls), heights=heights, root="main"), **more)  # type: ignore[arg-type]


def test_negative_covariance_is_kept() -> None:
    """a and b cancel: Var(a) = Var(b) = 100, Cov = -100 + rest; the latency varies by 1."""
    analysis = sequential([{"a": 10, "b": 30}, {"a": 30, "b": 12}])
    assert analysis.tree.total_variance == 1
    assert ranking(analysis) == {"a": 100.0, "b": 81.0, "(a,b)": -180.0}
    by_name = {f.name: f.share for f in analysis.ranking}
    assert by_name["(a,b)"] == -180
    shares = dict(zip(analysis.tree.paths.name, analysis.tree.share, strict=True))
    assert shares["a"] + shares["b"] == pytest.approx(1)
    assert shares["b"] == pytest.approx(-9)


def test_an_absent_function_counts_as_zero() -> None:
    assert ranking(sequential([{"a": 10, "b": 10}, {"b": 10}])) == {"a": 25.0}


def test_no_variance_gives_no_ranking_and_says_so() -> None:
    analysis = sequential([{"a": 10}, {"a": 10}])
    assert (analysis.ranking, analysis.no_ranking) == ([], "all 2 intervals took the same time: no variance to explain")
    assert sequential([{"a": 10}]).no_ranking == "one interval has no variance"


def test_times_that_cannot_be_summed_are_refused() -> None:
    """Five requests of a century each, in a damaged trace: their sum wrapped, and vprof called that its own fault."""
    long = 1 << 61
    intervals = {f"i{i}": (i, 0, i, long) for i in range(1, 4)}
    segments = "\n".join(f"{i} i{i} 0 {long} exec" for i in range(1, 4))
    with pytest.raises(VprofError, match="took 219 years together: the trace is damaged"):
        analyze(hand_trace(intervals, segments))


def test_small_factors_are_dropped_before_the_best_k_are_taken() -> None:
    analysis = sequential([{"a": 10, "b": 10}, {"a": 90, "b": 11}, {"a": 50, "b": 12}])
    assert [f.name for f in select(analysis.ranking, k=3, min_share=0.5)] == ["a"]
    assert [f.factor.name for f in sequential([{"a": 1}, {"a": 5}], options=AnalysisOptions(k=1)).factors] == ["a"]


def test_equal_scores_are_ordered_by_name() -> None:
    analysis = sequential([{"b": 10, "a": 10}, {"b": 20, "a": 10}, {"b": 10, "a": 20}, {"b": 20, "a": 20}])
    assert list(ranking(analysis)) == ["a", "b"]


def test_tail_shares_are_additive_and_need_enough_intervals() -> None:
    rng = np.random.default_rng(3)
    times = [{"a": int(a), "b": int(b)} for a, b in zip(rng.integers(1, 50, 500), rng.integers(1, 9, 500), strict=True)]
    analysis = sequential(times)
    assert analysis.tail_quantile == 0.75
    tree = analysis.tree
    assert tree.tail_share[tree.children[0]].sum() == pytest.approx(1)
    assert sequential(times[:50]).tail_quantile is None


def test_sums_close_on_large_times() -> None:
    """Times of hours in ns, which vary by single ns: no cancellation in the moments."""
    hour = 3_600_000_000_000
    analysis = sequential([{"a": hour + i % 2, "b": hour + i // 2 % 2} for i in range(4)], options=EVERYTHING)
    assert analysis.tree.total_variance == 0.5
    assert ranking(analysis) == {"a": 0.25, "b": 0.25}


def test_no_interval_is_a_diagnosis() -> None:
    with pytest.raises(VprofError, match="no interval began in this trace: analyze it with --root"):
        analyze(hand_trace({}, ""))


def test_lost_intervals_warn_and_then_refuse() -> None:
    def with_loss(n: int, **options: bool) -> Analysis:
        intervals = {f"i{k}": (1, 100 * k, 1, 100 * k + 10 + k % 7) for k in range(50)}
        segments = "\n".join(f"1 {sid} {v[1]} {v[3]} exec" for sid, v in intervals.items())
        trace = hand_trace(intervals, segments, "1 f 0 5000")
        trace.excluded_latencies = np.full(n, 13, np.int64)
        return analyze(trace, AnalysisOptions(**options))

    assert with_loss(0).warnings == []
    assert with_loss(1).warnings[0].startswith("1 of 51 intervals touches lost records")
    assert with_loss(20).refused and with_loss(20).ranking == []
    assert with_loss(20, force=True).ranking != []
