"""Differences between groups of runs: the level is kept where runs are few, skewed, or of unequal number."""

import numpy as np
import pytest
from scipy import stats

from vprof.compare.across_runs import difference
from vprof.variance.holm import holm


def alarms(before: int, after: int, tries: int) -> tuple[int, int]:
    """Alarms of ours and of Welch's test alone, among groups of the same values: a third of them much larger."""
    rng = np.random.default_rng(before * 100 + after)
    ours = welch = 0
    for _ in range(tries):
        a, b = (0.3 * rng.normal(size=n) + 2 * (rng.random(n) < 0.3) for n in (before, after))
        found = difference(a, b)
        assert found is not None
        ours += found.p < 0.05
        welch += stats.ttest_ind(a, b, equal_var=False).pvalue < 0.05
    return ours, welch


@pytest.mark.parametrize("runs", [3, 5])
def test_few_runs_of_each_side_give_no_more_false_alarms_than_stated(runs: int) -> None:
    ours, welch = alarms(runs, runs, 1000)
    assert ours == welch <= 65, "5 in 100, and two standard errors"


def test_unequal_numbers_of_runs_do_neither_though_welch_alone_would() -> None:
    ours, welch = alarms(3, 10, 400)
    assert welch > 31, "the reason for the permutation test"
    assert ours <= 28


def test_a_difference_is_found_with_its_interval() -> None:
    found = difference(np.array([1.0, 1.1, 0.9, 1.0]), np.array([2.0, 2.1, 1.9, 2.0]))
    assert found is not None
    assert found.by == pytest.approx(1)
    assert 0.8 < found.low < 1 < found.high < 1.2
    assert found.p < 0.001


def test_three_against_four_can_be_found_different() -> None:
    """There are 35 ways to deal seven runs, so the smallest p is 0.029."""
    found = difference(np.array([1.0, 1.1, 0.9]), np.array([2.0, 2.1, 1.9, 2.0]))
    assert found is not None
    assert found.p == pytest.approx(1 / 35)


def test_values_that_do_not_vary() -> None:
    same, other = np.full(3, 2.0), np.full(3, 2.5)
    found = [difference(same, x) for x in (same, other)]
    assert [(f.by, f.low, f.high, f.p) for f in found if f] == [(0, 0, 0, 1), (0.5, 0.5, 0.5, 0)]


def test_two_runs_are_too_few() -> None:
    assert difference(np.array([1.0, 2.0]), np.array([5.0, 6.0, 7.0])) is None


def test_holm_by_hand() -> None:
    """0.01 x 3; 0.03 x 2; 0.04 x 1, but never less than the one before."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
