"""Two groups of runs: do they differ, by how much, and how sure is that. The unit of replication is the run.

What varies inside a run, its autocorrelation and its number of intervals are in the spread between runs; nothing is
assumed of them. Welch's t test keeps its level here with equal numbers of runs from three on, however skewed their
values; with 3 runs against 10 it raises 4 to 11 false alarms in 100 instead of 5 (docs/design/tests-of-diff.md).
So with unequal numbers the permutation test of the same statistic has to agree.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import stats

from vprof.tables.model import Float

LEAST_RUNS = 3
"""Of each side. Fewer have no verdict: two leave one degree of freedom."""
LEVEL = 0.95
ALPHA = 1 - LEVEL
_PERMUTATIONS = 9999


@dataclass(frozen=True)
class Difference:
    """After less before; `low`, `high`: the 95 % interval of `by`."""

    by: float
    low: float
    high: float
    p: float


def difference(before: Float, after: Float) -> Difference | None:
    """None if one side has fewer than LEAST_RUNS values."""
    if min(len(before), len(after)) < LEAST_RUNS:
        return None
    by = float(after.mean() - before.mean())
    if np.ptp(before) == 0 and np.ptp(after) == 0:
        return Difference(by, by, by, 1.0 if by == 0 else 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of values that hardly vary
        test = stats.ttest_ind(after, before, equal_var=False)
    low, high = test.confidence_interval(LEVEL)
    p = float(test.pvalue)
    if len(before) != len(after):
        p = max(p, _permutation_p(before, after))
    return Difference(by, float(low), float(high), p)


def _permutation_p(before: Float, after: Float) -> float:
    """Of |t|, over all ways to deal the values to the sides, or a fixed random sample of them."""

    def statistic(a: Float, b: Float, axis: int) -> Float:
        with np.errstate(divide="ignore", invalid="ignore"):
            t = stats.ttest_ind(a, b, equal_var=False, axis=axis).statistic
        size: Float = np.abs(np.nan_to_num(t, nan=0.0))
        return size

    done = stats.permutation_test(
        (after, before), statistic, n_resamples=_PERMUTATIONS, alternative="greater", vectorized=True, rng=1
    )
    return float(done.pvalue)
