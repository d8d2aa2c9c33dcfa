"""Two groups of runs, before and after a change: better, worse, or nothing of the kind.

    Runs -> metrics of each run -> ratios with intervals over runs -> the verdict

One declared metric decides. The others are shown with Holm's correction. The papers' rule stands above a better
metric: a fix may not worsen mean latency or throughput, so what only pads latencies does not pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from vprof.compare.across_runs import ALPHA, LEAST_RUNS, difference, holm
from vprof.compare.diff_factors import FactorChange, compare_factors
from vprof.compare.diff_trees import TreeChange, compare_trees
from vprof.compare.run_metrics import METRICS, MeasuredRun, Metric, measure, of_equal_length
from vprof.tables.model import Int64, Recorded

BETTER, WORSE, TRADED, NO_DIFFERENCE, NO_VERDICT = "better", "worse", "traded", "no-difference", "no-verdict"
VERDICTS = (BETTER, WORSE, TRADED, NO_DIFFERENCE, NO_VERDICT)
NOT_ASKED = "not asked for"
GUARDED = ("mean", "throughput")
_MUCH_LOST = 0.01


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
class Side:
    """The runs of one side, and what each was: its metrics are those of its `latencies_ns`."""

    paths: list[Path]
    counts: list[int]
    excluded: list[dict[str, int]]
    metrics: list[dict[str, float | None]]
    latencies_ns: list[Int64]
    recorded: list[list[Recorded]]
    built_from: list[list[str]]


@dataclass(frozen=True)
class Diff:
    """`decides`: the change that gave the verdict; `others`: those of the other metrics. `guards`: mean or throughput
    that got worse, each by its own 95 % interval. `no_factors`: why there are no factors. `tree`: None if it was not
    asked for."""

    verdict: str
    decides: Change
    others: list[Change]
    guards: list[Change]
    before: Side
    after: Side
    factors: list[FactorChange]
    no_factors: str
    tree: TreeChange | None
    remarks: list[str]


def diff(
    before: Sequence[MeasuredRun], after: Sequence[MeasuredRun], metric: str = "variance", min_share: float = 0.05
) -> Diff:
    """`metric` decides. Factors are compared if all runs have their contributions: those of at least `min_share`."""
    runs, cut = of_equal_length([*before, *after])
    sides = _side(runs[: len(before)]), _side(runs[len(before) :])
    changes = {m.name: _change(m, *sides) for m in METRICS}
    decides = changes.pop(metric)
    others = _corrected(list(changes.values()))
    guards = [c for c in changes.values() if c.metric.name in GUARDED and c.found == WORSE]
    circumstances = [cut, _order(before, after), _machines(before, after), *_losses(runs)]
    contributions = [[r.contributions for r in side if r.contributions] for side in (before, after)]
    if [len(c) for c in contributions] == [len(before), len(after)]:
        factors, no_factors, remarks = compare_factors(contributions[0], contributions[1], min_share)
    else:
        factors, no_factors, remarks = [], NOT_ASKED, []
    return Diff(
        _verdict(decides, guards),
        decides,
        others,
        guards,
        *sides,
        factors,
        no_factors,
        _tree_change(before, after),
        [remark for remark in (*circumstances, *remarks) if remark],
    )


def _side(runs: Sequence[MeasuredRun]) -> Side:
    return Side(
        [r.path for r in runs],
        [r.count for r in runs],
        [r.excluded for r in runs],
        [measure(r) for r in runs],
        [r.all_ns for r in runs],
        [r.recorded for r in runs],
        [r.built_from for r in runs],
    )


def _tree_change(before: Sequence[MeasuredRun], after: Sequence[MeasuredRun]) -> TreeChange | None:
    trees = [[r.tree for r in side if r.tree] for side in (before, after)]
    return compare_trees(*trees) if [len(t) for t in trees] == [len(before), len(after)] else None


def _change(metric: Metric, before: Side, after: Side) -> Change:
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


def _why_unknown(metric: Metric, side: Side) -> str:
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


def sentence(result: Diff) -> str:
    """The verdict in one line of plain words."""
    d, name = result.decides, result.decides.metric.name
    n = f"{_runs(len(result.before.paths))} against {len(result.after.paths)}"
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


def _order(before: Sequence[MeasuredRun], after: Sequence[MeasuredRun]) -> str:
    """Traces of one boot share a clock. Where runs overlap by it, it says nothing of their order."""
    runs = sorted((*before, *after), key=lambda r: r.begin_ns[0])
    if len(runs) < 4 or any(a.end_ns > b.begin_ns[0] for a, b in pairwise(runs)):
        return ""
    sides = [any(r is one for one in before) for r in runs]
    if sum(a != b for a, b in pairwise(sides)) > 1:
        return ""
    return (
        "all runs of one side were made before those of the other: a drift of the machine would look like a change; "
        "alternate them"
    )


def _machines(before: Sequence[MeasuredRun], after: Sequence[MeasuredRun]) -> str:
    """Of the runs that say what they ran on. Names of hosts do not count: each container may have its own."""
    sides = [
        {(one.cpu, one.cpus, one.kernel) for run in side for one in run.recorded if one.kernel}
        for side in (before, after)
    ]
    if not all(sides) or sides[0] == sides[1]:
        return ""
    return "the CPUs or kernels of the two sides differ: that alone may change latencies"


def _losses(runs: Sequence[MeasuredRun]) -> list[str]:
    return [
        f"{r.path}: {len(r.lost_ns)} of {r.count} intervals touch lost records: their latencies count, "
        "their factors are unknown"
        for r in runs
        if len(r.lost_ns) > _MUCH_LOST * r.count
    ]
