"""How many runs a sweep needs: of two-sided t tests on logarithms, corrected for the number of settings.

noise of the first runs -> sd of the logarithm -> runs of each setting that find an effect in 8 of 10 sweeps
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import numpy as np
from scipy import stats

from vprof.compare.across_runs import ALPHA, LEAST_RUNS
from vprof.tables.model import Float

POWER = 0.8
_STEPS = 40


def pooled_sd(groups: Sequence[Float]) -> tuple[float, int]:
    """Of values within their groups, and its degrees of freedom."""
    freedom = sum(len(group) - 1 for group in groups)
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    return (sqrt(squares / freedom) if freedom else 0.0), freedom


def power(sd: float, by: float, runs: int, settings: int) -> float:
    """The probability to find a difference `by` of logarithms with so many runs of either side, by the strictest step
    of Holm's correction for so many settings."""
    if sd == 0:
        return 1.0 if by else 0.0
    freedom = 2 * (runs - 1)
    bound = float(stats.t.ppf(1 - ALPHA / (2 * settings), freedom))
    found = float(stats.nct.sf(bound, freedom, abs(by) / (sd * sqrt(2 / runs))))
    return 1.0 if np.isnan(found) else found  # scipy gives nan for effects that are far beyond any doubt


def runs_needed(sd: float, effect: float, settings: int, most: int) -> int:
    """Of each setting, for a metric that falls by the part `effect`; `most` if that is not enough."""
    by = -log(1 - effect)
    return next((n for n in range(LEAST_RUNS, most) if power(sd, by, n, settings) >= POWER), most)


def detectable(sd: float, runs: int, settings: int) -> float | None:
    """The least part that a metric must fall by to be found in 8 of 10 sweeps; None: too few runs for any verdict."""
    if runs < LEAST_RUNS:
        return None
    low, high = 0.0, 1.0 - 1e-9
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if power(sd, -log(1 - middle), runs, settings) >= POWER else (middle, high)
    return high
