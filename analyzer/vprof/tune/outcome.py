"""What a sweep found: figures and a verdict of each setting, the Pareto front, what to recommend.

    runs of whole rounds -> [compare/judgement.py] each setting against the baseline, corrected for their number
                         -> [compare/diff_factors.py] which factors shrank, where the runs were traced

What was given up or failed has no verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import exp, log, sqrt

import numpy as np
from scipy import stats

from vprof.compare.across_runs import LEAST_RUNS, LEVEL
from vprof.compare.diff_factors import FactorChange, compare_factors
from vprof.compare.judgement import BETTER, NO_VERDICT, TRADED, Judgement, Measured, among, judge
from vprof.compare.run_metrics import METRICS
from vprof.tune.file import Run
from vprof.tune.power import detectable
from vprof.tune.settings import BASELINE, Setting
from vprof.tune.sweep import Sweep

GIVEN_UP, FAILED = "given-up", "failed"
AGAINST = ("p99", "variance")
"""What the mean is drawn against."""
_MIN_SHARE = 0.05
_HARDLY = 0.95
"""A fall that has to be larger than this to be found is no hope."""


@dataclass(frozen=True)
class Figure:
    """A metric over the runs of a setting: geometric mean and its 95 % interval; None where too few runs have it."""

    value: float | None
    ci95: tuple[float, float] | None


@dataclass(frozen=True, kw_only=True)
class Found:
    """Of one setting. `verdict`: one of compare/judgement.py, GIVEN_UP, FAILED, "" of the baseline; `judged`: against
    the baseline, None without a verdict to give. `why`: the last words of what failed, or why it was given up.
    `factors`: of traced runs."""

    setting: Setting
    runs: list[Run]
    figures: dict[str, Figure]
    verdict: str = ""
    judged: Judgement | None = None
    why: str = ""
    factors: list[FactorChange] = field(default_factory=list)
    no_factors: str = ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`found`: the baseline first. `recommended`: the best setting, and the best that trades nothing if that is another
    one; none if nothing helps. `fronts`: by metric of AGAINST, the settings that no other beats in it and in the mean.
    `detectable`: the part that the metric must fall by to be found in 8 of 10 sweeps like this."""

    sweep: Sweep
    found: list[Found]
    recommended: list[Found]
    fronts: dict[str, list[str]]
    runs: int
    detectable: float | None
    remarks: list[str]

    @property
    def baseline(self) -> Found:
        return self.found[0]

    @property
    def tried(self) -> list[Found]:
        return self.found[1:]


def outcome_of(sweep: Sweep, min_share: float = _MIN_SHARE) -> Outcome:
    """Of all that is done, whole rounds alone."""
    rounds = sweep.rounds
    runs = [run for run in sweep.file.runs if run.round < rounds]
    by_setting = {name: [run for run in runs if run.setting == name] for name in sweep.names}
    standing, given_up = sweep.standing(rounds), sweep.given_up(rounds)
    verdicts = _judged(sweep, by_setting, standing)
    base = by_setting[BASELINE]
    found = [Found(setting=sweep.settings[0], runs=base, figures=_figures(base))]
    for setting in sweep.settings[1:]:
        found.append(_found(sweep, setting, by_setting[setting.name], base, verdicts.get(setting.name), min_share))
        if found[-1].verdict == GIVEN_UP:
            found[-1] = replace(found[-1], why=given_up.get(setting.name, ""))
    tried = max(1, len(sweep.settings) - 1)
    noise = sweep.noise(rounds)
    return Outcome(
        sweep=sweep,
        found=found,
        recommended=_recommended(found),
        fronts={metric: _front(found, metric) for metric in AGAINST},
        runs=rounds,
        detectable=None if noise is None else detectable(noise, rounds, tried),
        remarks=_remarks(sweep, found, rounds),
    )


def _judged(sweep: Sweep, by_setting: dict[str, list[Run]], standing: Sequence[str]) -> dict[str, Judgement]:
    """Of the settings that stand. Those that were given up are in the correction, too: they were tried."""
    metric, base = sweep.file.asked.metric, _measured(by_setting[BASELINE])
    names = [name for name in standing if name != BASELINE and by_setting[name]]
    failed = {run.setting for run in sweep.file.runs if run.failed}
    judged = [judge(base, _measured(by_setting[name]), metric) for name in names]
    given_up = len(sweep.names) - 1 - len(failed) - len(names)
    return dict(zip(names, among(judged, given_up), strict=True))


def _found(
    sweep: Sweep, setting: Setting, runs: list[Run], base: list[Run], judged: Judgement | None, min_share: float
) -> Found:
    good = [run for run in runs if not run.failed]
    failed = [run.failed for run in sweep.file.runs if run.setting == setting.name and run.failed]
    if failed:
        return Found(setting=setting, runs=good, figures=_figures(good), verdict=FAILED, why=failed[0])
    if judged is None:
        verdict = GIVEN_UP if good else NO_VERDICT
        rounds = {run.round for run in good}
        beside = _measured([run for run in base if run.round in rounds])
        judged = judge(beside, _measured(good), sweep.file.asked.metric) if good else None
        return Found(setting=setting, runs=good, figures=_figures(good), verdict=verdict, judged=judged)
    factors, no_factors = _factors(base, good, min_share)
    return Found(
        setting=setting,
        runs=good,
        figures=_figures(good),
        verdict=judged.verdict,
        judged=judged,
        factors=factors,
        no_factors=no_factors,
    )


def _measured(runs: Sequence[Run]) -> Measured:
    return Measured([run.count for run in runs], [run.metrics for run in runs])


def _factors(base: Sequence[Run], runs: Sequence[Run], min_share: float) -> tuple[list[FactorChange], str]:
    before, after = ([run.contributions for run in side if run.contributions] for side in (base, runs))
    if (len(before), len(after)) != (len(base), len(runs)) or not runs:
        return [], "the runs were not traced"
    factors, no_factors, _ = compare_factors(before, after, min_share)
    return factors, no_factors


def _figures(runs: Sequence[Run]) -> dict[str, Figure]:
    return {metric.name: _figure([run.metrics.get(metric.name) for run in runs]) for metric in METRICS}


def _figure(values: Sequence[float | None]) -> Figure:
    known = [log(value) for value in values if value is not None and value > 0]
    if not known or len(known) < len(values):
        return Figure(None, None)
    mean = float(np.mean(known))
    if len(known) < LEAST_RUNS:
        return Figure(exp(mean), None)
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(known) - 1)) * float(np.std(known, ddof=1)) / sqrt(len(known))
    return Figure(exp(mean), (exp(mean - reach), exp(mean + reach)))


def _front(found: Sequence[Found], metric: str) -> list[str]:
    """By the mean, the lowest first."""
    points = [
        (mean, other, one.setting.name)
        for one in found
        if one.verdict != FAILED
        and (mean := one.figures["mean"].value) is not None
        and (other := one.figures[metric].value) is not None
    ]
    front: list[tuple[float, float, str]] = []
    for point in sorted(points):
        if not front or point[1] < front[-1][1]:
            front.append(point)
    return [name for *_, name in front]


def _recommended(found: Sequence[Found]) -> list[Found]:
    def gained(one: Found) -> float:
        assert one.judged and one.judged.decides.ratio is not None
        change = one.judged.decides
        ratio = one.judged.decides.ratio
        return 1 / ratio if change.metric.more_is_better else ratio

    better = sorted((one for one in found if one.verdict == BETTER), key=gained)
    free = [one for one in better if not one.setting.trades]
    return [*better[:1], *(one for one in free[:1] if one is not better[0])]


def _remarks(sweep: Sweep, found: Sequence[Found], rounds: int) -> list[str]:
    said = []
    wanted = sweep.wanted(rounds)
    if rounds < LEAST_RUNS:
        said.append(f"only {rounds} whole rounds of runs: {LEAST_RUNS} are needed for a verdict (--budget, --session)")
    elif rounds < wanted and len(sweep.standing(rounds)) > 1:
        said.append(
            f"{rounds} runs of each setting, where the noise of the first asks for {wanted}: give more --budget"
        )
    for one in found:
        behind = [run.said for run in one.runs if run.said]
        if behind:
            said.append(f"{one.setting.name}: {len(behind)} of {len(one.runs)} runs {behind[0]}")
    if any(one.verdict == TRADED for one in found):
        said.append("traded: the metric is better, but mean or throughput got worse: that is no cure")
    return said


def sentence(outcome: Outcome) -> str:
    """The answer in one line of plain words. Whoever reads no further learns what a crash would cost."""
    metric = outcome.sweep.file.asked.metric
    tried = [one for one in outcome.tried if one.verdict != FAILED]
    count = f"{len(tried)} setting{'s' * (len(tried) != 1)}"
    if outcome.recommended:
        best = outcome.recommended[0]
        assert best.judged and best.judged.decides.ratio and best.judged.decides.ci95
        low, high = best.judged.decides.ci95
        price = ", at the price of durability" if best.setting.trades_durability else ""
        return (
            f"better{price}: with {best.setting.name} {metric} is {best.judged.decides.ratio:.3g} times what it was "
            f"(95 % interval {low:.3g} .. {high:.3g}; {len(best.runs)} runs against {best.judged.runs[0]}; "
            f"{count} tried)"
        )
    if not tried:
        return "nothing was measured: all settings failed"
    if outcome.runs < LEAST_RUNS:
        made = f"{outcome.runs} whole round{'s' * (outcome.runs != 1)}"
        return f"no verdict: it needs {LEAST_RUNS} runs of a setting, and the time was enough for {made} (of {count})"
    sure = ""
    if outcome.detectable is not None and outcome.detectable > _HARDLY:
        sure = "; they differ so much by themselves that hardly any change would be found"
    elif outcome.detectable is not None:
        sure = f"; a change of {outcome.detectable:.0%} would be found in 8 of 10 such sweeps"
    return f"nothing helps: of {count} none is better than the target's own ({outcome.runs} rounds of runs{sure})"
