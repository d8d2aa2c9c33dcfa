"""Which settings go on: after 3, 6, 12 ... rounds, of the worse half of them, the hopeless are given up.

A setting is hopeless if it cannot be what is looked for: the better end of its 95 % interval, from the noise of all
settings together, is less of a gain than the effect asked for. Where the time is too short for all to have the runs
that they need, each round gives up the whole worse half, so that the others get them; what they need is known from the
third on, and is taken for three (no verdict without) after the first, for six after the second. Before the third, so
many more are given up that those left have three. What was given up is never called better, and counts in the
correction for their number: so the level of the verdicts stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, log, sqrt

import numpy as np
from scipy import stats

from vprof.compare.across_runs import LEAST_RUNS, LEVEL
from vprof.compare.run_metrics import METRICS
from vprof.tables.model import Float
from vprof.tune.file import Run
from vprof.tune.power import pooled_sd
from vprof.tune.settings import BASELINE

_SIGN = {metric.name: -1 if metric.more_is_better else 1 for metric in METRICS}


def is_rung(rounds: int) -> bool:
    """Whether settings are given up after so many rounds."""
    while rounds > LEAST_RUNS and rounds % 2 == 0:
        rounds //= 2
    return rounds == LEAST_RUNS


def logarithms(runs: Sequence[Run], metric: str, rounds: int) -> dict[str, Float]:
    """Of the metric in the first rounds, lower is better, by setting; without settings that have no ratio."""
    found: dict[str, list[float]] = {}
    for run in runs:
        if run.round < rounds and not run.failed and (value := run.metrics.get(metric)):
            found.setdefault(run.setting, []).append(_SIGN[metric] * log(value))
    return {name: np.array(values) for name, values in found.items()}


IsScarce = Callable[[int, int, bool], bool]
"""Whether after so many rounds the time is too short for so many settings to have all the runs that they need; or, if
true, those without which they have no verdict."""


def standing(
    settings: Sequence[str], runs: Sequence[Run], metric: str, effect: float, rounds: int, is_scarce: IsScarce
) -> list[str]:
    """The settings that go on after so many whole rounds, the baseline always: neither failed nor given up."""
    out = given_up(settings, runs, metric, effect, rounds, is_scarce)
    failed = {run.setting for run in runs if run.failed}
    return [name for name in settings if name not in out and name not in failed]


def given_up(
    settings: Sequence[str], runs: Sequence[Run], metric: str, effect: float, rounds: int, is_scarce: IsScarce
) -> dict[str, str]:
    """By setting that was given up after so many whole rounds: why."""
    found: dict[str, str] = {}
    for done in range(1, rounds + 1):
        left = [name for name in settings if name not in found]
        values = logarithms(runs, metric, done)
        if is_rung(done):
            found |= dict.fromkeys(_hopeless(left, values, effect), f"it cannot be better by {effect:.0%}")
        going = [name for name in left if name not in found]
        most = len(going) - 2  # the baseline stays, and one at least beside it
        if most > 0 and is_scarce(done, len(going), False):
            worse = [name for name in _worst_first(left, values) if name not in found]
            count = min(most, len([name for name in _worse_half(left, values) if name not in found]))
            while done < LEAST_RUNS and count < most and is_scarce(done, len(going) - count, True):
                count += 1
            found |= dict.fromkeys(worse[:count], "others looked better, and the time was too short for all (--budget)")
    return found


def _worst_first(names: Sequence[str], values: Mapping[str, Float]) -> list[str]:
    if BASELINE not in values:
        return []
    tried = [name for name in names if name != BASELINE and name in values]
    return sorted(tried, key=lambda name: float(values[name].mean()), reverse=True)


def _worse_half(names: Sequence[str], values: Mapping[str, Float]) -> list[str]:
    worst = _worst_first(names, values)
    return worst[: ceil(len(worst) / 2)]


def _hopeless(names: Sequence[str], values: Mapping[str, Float], effect: float) -> set[str]:
    base = values.get(BASELINE)
    tried = [name for name in names if name != BASELINE and name in values]
    if base is None or not tried:
        return set()
    sd, freedom = pooled_sd([base, *(values[name] for name in tried)])
    reach = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * sd if freedom else np.inf
    found = set()
    for name in _worse_half(names, values):
        by, error = float(values[name].mean() - base.mean()), sqrt(1 / len(values[name]) + 1 / len(base))
        if by - reach * error > log(1 - effect):
            found.add(name)
    return found
