"""Two groups of runs, before and after a change: the verdict, the factors and the tree that changed, remarks.

runs, cut to one length -> metrics of each run -> [judgement.py] the verdict; [diff_factors.py], [diff_trees.py]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from vprof.compare.diff_factors import FactorChange, compare_factors
from vprof.compare.diff_trees import TreeChange, compare_trees
from vprof.compare.judgement import Judgement, Measured, judge
from vprof.compare.run_metrics import MeasuredRun, measure, of_equal_length
from vprof.tables.model import Int64, Recorded

NOT_ASKED = "not asked for"
_MUCH_LOST = 0.01


@dataclass(frozen=True)
class Side(Measured):
    """The runs of one side, and what each was: its metrics are those of its `latencies_ns`."""

    paths: list[Path]
    excluded: list[dict[str, int]]
    latencies_ns: list[Int64]
    recorded: list[list[Recorded]]
    built_from: list[list[str]]


@dataclass(frozen=True)
class Diff(Judgement):
    """`no_factors`: why there are no factors. `tree`: None if it was not asked for."""

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
    judged = judge(*sides, metric)
    circumstances = [cut, _order(before, after), _machines(before, after), *_losses(runs)]
    contributions = [[r.contributions for r in side if r.contributions] for side in (before, after)]
    if [len(c) for c in contributions] == [len(before), len(after)]:
        factors, no_factors, remarks = compare_factors(contributions[0], contributions[1], min_share)
    else:
        factors, no_factors, remarks = [], NOT_ASKED, []
    return Diff(
        judged.verdict,
        judged.decides,
        judged.others,
        judged.guards,
        judged.runs,
        *sides,
        factors,
        no_factors,
        _tree_change(before, after),
        [remark for remark in (*circumstances, *remarks) if remark],
    )


def _side(runs: Sequence[MeasuredRun]) -> Side:
    return Side(
        [r.count for r in runs],
        [measure(r) for r in runs],
        [r.path for r in runs],
        [r.excluded for r in runs],
        [r.all_ns for r in runs],
        [r.recorded for r in runs],
        [r.built_from for r in runs],
    )


def _tree_change(before: Sequence[MeasuredRun], after: Sequence[MeasuredRun]) -> TreeChange | None:
    trees = [[r.tree for r in side if r.tree] for side in (before, after)]
    return compare_trees(*trees) if [len(t) for t in trees] == [len(before), len(after)] else None


def _order(before: Sequence[MeasuredRun], after: Sequence[MeasuredRun]) -> str:
    """Traces of one boot share a clock, those of two hosts do not. Where runs overlap by it, it says nothing of their
    order."""
    if len({host for run in (*before, *after) for host in run.hosts}) > 1:
        return ""
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
