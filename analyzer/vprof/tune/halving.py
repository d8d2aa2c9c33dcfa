"""Which settings go on: after 3, 6, 12 ... rounds, of the worse half of them, the hopeless are given up.

A setting is hopeless if it cannot be what is looked for: the better end of its 95 % interval, from the noise of all
settings together, is less of a gain than the effect asked for. What may still win goes on, and what was given up is
never called better, so the level of the verdicts stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def standing(settings: Sequence[str], runs: Sequence[Run], metric: str, effect: float, rounds: int) -> list[str]:
    """The settings that go on after so many whole rounds, the baseline always: neither failed nor given up."""
    left = list(settings)
    for rung in filter(is_rung, range(1, rounds + 1)):
        given_up = _hopeless(left, logarithms(runs, metric, rung), effect)
        left = [name for name in left if name not in given_up]
    failed = {run.setting for run in runs if run.failed}
    return [name for name in left if name not in failed]


def _hopeless(names: Sequence[str], values: Mapping[str, Float], effect: float) -> set[str]:
    base = values.get(BASELINE)
    tried = [name for name in names if name != BASELINE and name in values]
    if base is None or not tried:
        return set()
    sd, freedom = pooled_sd([base, *(values[name] for name in tried)])
    reach = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * sd if freedom else np.inf
    by = {name: float(values[name].mean() - base.mean()) for name in tried}
    worse = sorted(tried, key=lambda name: by[name], reverse=True)[: ceil(len(tried) / 2)]
    best = {name: by[name] - reach * sqrt(1 / len(values[name]) + 1 / len(base)) for name in worse}
    return {name for name in worse if best[name] > log(1 - effect)}
