"""The verdict on two groups of runs: better, worse, or nothing of the kind.

    metrics of each run -> ratios with intervals over runs -> the verdict

One declared metric decides. The others are shown with Holm's correction. The papers' rule stands above a better
metric: a fix may not worsen mean latency or throughput, so what only pads latencies does not pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vprof.compare.across_runs import ALPHA, LEAST_RUNS, difference
from vprof.compare.run_metrics import METRICS, Metric
from vprof.variance.holm import holm

BETTER, WORSE, TRADED, NO_DIFFERENCE, NO_VERDICT = "better", "worse", "traded", "no-difference", "no-verdict"
VERDICTS = (BETTER, WORSE, TRADED, NO_DIFFERENCE, NO_VERDICT)
GUARDED = ("mean", "throughput")


@dataclass(frozen=True, kw_only=True)
class Change:
    """A metric before and after: geometric means over the runs, their ratio and its 95 % interval.

    `p` is two-sided; `p_holm` corrects it for the number of metrics shown, None for the one that decides. `found` is
    better, worse, or "" if no difference was found. `reason` says why numbers are missing.
    """

    metric: Metric
    before: float | None
    after: float | None
    ratio: float | None
    ci95: tuple[float, float] | None
    p: float | None
    p_holm: float | None
    found: str
    reason: str

    @property
    def worse_at_worst(self) -> float | None:
        """The end of the interval that nobody wants."""
        return self.ci95[0 if self.metric.more_is_better else 1] if self.ci95 else None


@dataclass(frozen=True)
class Measured:
    """The runs of one side: how many intervals each has, and its metrics by name."""

    counts: list[int]
    metrics: list[dict[str, float | None]]


@dataclass(frozen=True)
class Judgement:
    """`decides`: the change that gave the verdict; `others`: those of the other metrics. `guards`: mean or throughput
    that got worse, each by its own 95 % interval. `runs`: of each side."""

    verdict: str
    decides: Change
    others: list[Change]
    guards: list[Change]
    runs: tuple[int, int]


def judge(before: Measured, after: Measured, metric: str = "variance") -> Judgement:
    """`metric` decides."""
    changes = {m.name: _change(m, before, after) for m in METRICS}
    decides = changes.pop(metric)
    others = _corrected(list(changes.values()))
    guards = [c for c in changes.values() if c.metric.name in GUARDED and c.found == WORSE]
    runs = len(before.counts), len(after.counts)
    return Judgement(_verdict(decides, guards), decides, others, guards, runs)


def among(judged: Sequence[Judgement], more: int = 0) -> list[Judgement]:
    """The same changes, of which each was compared with one baseline, by Holm's correction over all of them and `more`
    that were given up: in at most 5 of 100 families without a difference is one of them better or worse."""
    tested = [j for j in judged if j.decides.p is not None]
    adjusted = iter(holm([*(j.decides.p for j in tested if j.decides.p is not None), *[1.0] * more]))
    return [j if j.decides.p is None else _adjusted(j, next(adjusted)) for j in judged]


def _adjusted(judged: Judgement, p: float) -> Judgement:
    decides = replace(judged.decides, p_holm=p, found=judged.decides.found if p < ALPHA else "")
    return replace(judged, decides=decides, verdict=_verdict(decides, judged.guards))


def _change(metric: Metric, before: Measured, after: Measured) -> Change:
    values = []
    for side in (before, after):
        known = [value for m in side.metrics if (value := m[metric.name]) is not None]
        if len(known) < len(side.metrics):
            return _unknown(metric, _why_unknown(metric, side))
        values.append(np.array(known))
    if min(v.min() for v in values) <= 0:
        return _unknown(metric, f"{metric.name} is 0 in a run: there is no ratio")
    old, new = (float(np.exp(np.log(v).mean())) for v in values)
    change = difference(np.log(values[0]), np.log(values[1]))
    reason = "" if change else f"{_runs(len(values[0]))} against {len(values[1])}, {LEAST_RUNS} of each side needed"
    unjudged = replace(_unknown(metric, reason), before=old, after=new, ratio=new / old)
    if change is None:
        return unjudged
    found = ""
    if change.p < ALPHA:
        found = BETTER if (change.by > 0) == metric.more_is_better else WORSE
    return replace(unjudged, ci95=(float(np.exp(change.low)), float(np.exp(change.high))), p=change.p, found=found)


def _why_unknown(metric: Metric, side: Measured) -> str:
    least = min(side.counts)
    if least < metric.needs:
        return f"{metric.name} needs {metric.needs} intervals in each run, one has {least}"
    return f"{metric.name} is not defined in one of the runs"


def _unknown(metric: Metric, reason: str) -> Change:
    return Change(
        metric=metric, before=None, after=None, ratio=None, ci95=None, p=None, p_holm=None, found="", reason=reason
    )


def _corrected(changes: list[Change]) -> list[Change]:
    """Holm over those that have a p value."""
    tested = [c for c in changes if c.p is not None]
    p_holm = dict(zip((c.metric.name for c in tested), holm([c.p for c in tested if c.p is not None]), strict=True))
    result = []
    for c in changes:
        p = p_holm.get(c.metric.name)
        found = c.found if p is not None and p < ALPHA else ""
        result.append(replace(c, p_holm=p, found=found))
    return result


def _verdict(decides: Change, guards: list[Change]) -> str:
    if decides.p is None:
        return NO_VERDICT
    if decides.found == BETTER:
        return TRADED if guards else BETTER
    return decides.found or NO_DIFFERENCE


def sentence(result: Judgement) -> str:
    """The verdict in one line of plain words."""
    d, name = result.decides, result.decides.metric.name
    n = f"{_runs(result.runs[0])} against {result.runs[1]}"
    if d.ratio is None or d.ci95 is None:
        seen = f"; {name} is {d.ratio:.3g} times what it was in these" if d.ratio is not None else ""
        return f"no verdict across runs: {d.reason}{seen}"
    low, high = d.ci95
    size = f"{name} is {d.ratio:.3g} times what it was (95 % interval {low:.3g} .. {high:.3g}; {n})"
    if result.verdict == TRADED:
        harm = " and ".join(f"{g.metric.name} {g.ratio:.3g} times" for g in result.guards)
        return f"traded, not fixed: {size}, but {harm}: a fix may not worsen mean or throughput"
    if result.verdict == BETTER:
        bounds = [
            f"{c.metric.name} at {'least' if c.metric.more_is_better else 'most'} {c.worse_at_worst:.3g} times"
            for c in (*result.others, d)
            if c.metric.name in GUARDED and c is not d and c.worse_at_worst is not None
        ]
        return f"better: {size}; {', '.join(bounds)}"
    return f"{'worse' if result.verdict == WORSE else 'no difference found'}: {size}"


def _runs(n: int) -> str:
    return f"{n} run{'s' * (n != 1)}"
