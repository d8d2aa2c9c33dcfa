"""The variance trees of both sides as one tree: what each path contributes before and after.

    analysis of each run -> RunTree -> TreeChange: means over runs by path

Paths are matched as factors are (diff_factors.py): by the names of functions. Places are not compared, and runs are
loaded with calls together (load_runs.py). A path that one side does not have contributes 0 there.
Contributions are additive, Cov(node, latency): siblings add up to their parent, on each side and in the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vprof.compare.diff_factors import switched_off
from vprof.tables.model import NONE, Float
from vprof.tables.naming import without_place
from vprof.variance.analysis import Analysis


@dataclass(frozen=True)
class RunTree:
    """The nodes of one run, parents first; the parent of the root is NONE. Siblings may share a name. `off`: the
    functions whose probes were off."""

    parent: list[int]
    name: list[str]
    contribution_ns2: Float
    mean_ns: Float
    off: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class TreeChange:
    """Columns by node, parents first, means over the runs of a side; siblings have different names, and node 0 is the
    root, which has all the variance. `off_before`, `off_after`: functions whose probes were off in a run of that side:
    there their time counts for their callers."""

    parent: list[int]
    name: list[str]
    before_ns2: Float
    after_ns2: Float
    mean_before_ns: Float
    mean_after_ns: Float
    off_before: frozenset[str]
    off_after: frozenset[str]


def tree_of(analysis: Analysis) -> RunTree:
    """Of a run. Nodes of a run whose latencies do not vary contribute nothing."""
    tree = analysis.tree
    return RunTree(
        tree.paths.parent.tolist(),
        [without_place(name) for name in tree.paths.name],
        np.nan_to_num(tree.share) * tree.total_variance,
        tree.mean_ns,
        switched_off(analysis.trace.program),
    )


def compare_trees(before: Sequence[RunTree], after: Sequence[RunTree]) -> TreeChange:
    """Each side has a run at least."""
    number: dict[tuple[int, str], int] = {}
    placed = [_place(run, number) for run in (*before, *after)]
    old, new = placed[: len(before)], placed[len(before) :]
    return TreeChange(
        parent=[parent for parent, _ in number],
        name=[name for _, name in number],
        before_ns2=_means(old, [r.contribution_ns2 for r in before], len(number)),
        after_ns2=_means(new, [r.contribution_ns2 for r in after], len(number)),
        mean_before_ns=_means(old, [r.mean_ns for r in before], len(number)),
        mean_after_ns=_means(new, [r.mean_ns for r in after], len(number)),
        off_before=frozenset[str]().union(*(run.off for run in before)),
        off_after=frozenset[str]().union(*(run.off for run in after)),
    )


def _place(run: RunTree, number: dict[tuple[int, str], int]) -> list[int]:
    """Where each node of the run is in the tree of all, which grows by what is new."""
    at: list[int] = []
    for parent, name in zip(run.parent, run.name, strict=True):
        above = at[parent] if parent != NONE else NONE
        at.append(number.setdefault((above, name), len(number)))
    return at


def _means(placed: list[list[int]], values: list[Float], nodes: int) -> Float:
    sums = [np.bincount(at, weights=column, minlength=nodes) for at, column in zip(placed, values, strict=True)]
    mean: Float = np.mean(sums, axis=0)
    return mean
