"""Hosts that are unlike the others: the level is kept where latencies are skewed and depend on each other, and hosts
have unequal numbers of intervals; a planted host is found.

docs/design/tests-of-hosts.md has the figures of many more fleets.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from vprof.tables.model import Int64
from vprof.variance.outliers import ALPHA, Outliers, outliers


def host(rng: np.random.Generator, count: int, memory: float, level: float = 1.0, spread: float = 1.0) -> Int64:
    """Latencies in ns, log-normal; each remembers the one before by so much."""
    noise = lfilter([np.sqrt(1 - memory**2)], [1, -memory], rng.normal(size=count + 200))[200:]
    skewed = np.exp(0.8 * noise) / np.exp(0.32)
    return (1e6 * level * np.maximum(1 + spread * (skewed - 1), 0)).astype(np.int64)


def found(told: Outliers) -> set[int]:
    return {one.host for one in told.tested if one.found}


COUNTS = (4000, 1500, 2500, 9000, 1200)


@pytest.mark.parametrize("of_its_own", [0.0, 0.2], ids=["alike", "each-at-its-own-level"])
def test_fleets_without_an_outlier_have_one_named_no_more_often_than_stated(of_its_own: float) -> None:
    rng = np.random.default_rng(7)
    fleets, alarms, tested = 30, 0, 0
    for _ in range(fleets):
        levels = np.exp(of_its_own * rng.normal(size=len(COUNTS)))
        told = outliers([host(rng, n, 0.7, level) for n, level in zip(COUNTS, levels, strict=True)])
        alarms += bool(found(told))
        tested += len(told.tested)
    assert tested > fleets * len(COUNTS), "the check says something"
    assert alarms <= fleets * ALPHA + 2 * (fleets * ALPHA * (1 - ALPHA)) ** 0.5


@pytest.mark.parametrize(
    ("planted", "metric"), [({"level": 2.0}, "mean"), ({"spread": 3.0}, "variance")], ids=["slower", "more-variable"]
)
def test_a_planted_host_is_found_and_no_other(planted: dict[str, float], metric: str) -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(10):
        told = outliers([host(rng, n, 0.7) for n in (4000, 4000, 3000, 9000)] + [host(rng, 4000, 0.7, **planted)])
        assert found(told) <= {4}
        hits += any(one.found and one.metric == metric and one.ratio > 1.5 for one in told.tested)
    assert hits >= 7


def test_two_hosts_are_too_few_and_so_are_few_intervals() -> None:
    rng = np.random.default_rng(1)
    two = outliers([host(rng, 4000, 0.0, level) for level in (1.0, 5.0)])
    assert two.tested == []
    assert "at least 3" in two.reason
    short = outliers([host(rng, 20, 0.0) for _ in range(5)])
    assert short.tested == []
    assert "intervals are needed" in short.reason


def test_a_host_with_too_few_intervals_is_left_out() -> None:
    rng = np.random.default_rng(1)
    told = outliers([host(rng, n, 0.0) for n in (4000, 4000, 4000, 15)])
    assert {one.host for one in told.tested} == {0, 1, 2}
    assert told.reason.startswith("1 host not compared: about ")


def test_latencies_that_do_not_vary() -> None:
    same = [np.full(500, 7, np.int64)] * 4
    assert found(outliers(same)) == set()
    assert {(one.metric, one.p_holm, one.ratio) for one in outliers(same).tested} == {("mean", 1.0, 1.0)}
    assert outliers([np.zeros(500, np.int64)] * 4).tested == []


def test_one_interval_each() -> None:
    assert outliers([np.array([5], np.int64)] * 4).tested == []
