"""Which factors lead, of what windows of some traces sum up to: as an analysis ranks them, and no more.

    Part, Part, ...  ->  Leading: sums  ->  Ranked: the tree and its factors

An `Analysis` also says how sure each share is, what waits were for, and what to measure next; of a prediction nobody
asks that, and it is summed once for the trace and once for what that would have been.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.path.parts import Part
from vprof.path.path_tree import calls_of, tree_of
from vprof.path.stacks import T_PARENT, Forest
from vprof.path.view import apart_ns
from vprof.tables.columns import i64
from vprof.tables.model import NONE, Int64, Trace
from vprof.variance.analysis import AnalysisOptions, least_share, no_variance
from vprof.variance.chains import of_others
from vprof.variance.factors import Factor, causes, rank
from vprof.variance.moments import Moments
from vprof.variance.variance_tree import Summed, VarianceTree, of_moments


@dataclass(frozen=True)
class Ranked:
    """`ranking`: all factors by score; `factors`: the chosen ones; `no_ranking`: why there are none, else ""."""

    tree: VarianceTree
    ranking: list[Factor]
    factors: list[Factor]
    no_ranking: str


class Leading:
    """Grows with every `add`; `count`: of the intervals that are analyzed."""

    def __init__(self, forest: Forest, options: AnalysisOptions, count: int) -> None:
        self._forest, self._options = forest, options
        self._moments = Moments()
        self._calls = np.zeros(0, np.int64)
        self._latency, self._left = np.zeros(count, np.int64), np.zeros(count, np.int64)

    def add(self, part: Part) -> None:
        trace, positions = part.trace, part.opened.positions
        calls = calls_of(trace, part.stacks)
        calls[: len(self._calls)] += self._calls
        self._calls = calls
        mine = positions != NONE
        latency = trace.intervals.end - trace.intervals.begin
        at = positions[mine]
        self._latency[at] = self._left[at] = latency[mine]
        view = self._options.view
        if view.labels:
            self._left[at] -= apart_ns(self._forest, view, part.times, len(mine))[mine]
        times = part.times[mine[part.times[:, 0]]]
        times = i64(np.column_stack(((np.cumsum(mine) - 1)[times[:, 0]], times[:, 1:])))
        self._sum(times, i64(latency[mine]))

    def _sum(self, times: Int64, latency: Int64) -> None:
        parent = i64(self._forest.nodes[:, T_PARENT])
        n = len(latency)
        self._moments.add(parent, times, latency, np.zeros(n, np.bool_), np.full(n, NONE))

    def conclude(self, trace: Trace) -> Ranked:
        """`trace`: the concluded bare traces, merged."""
        options, latency = self._options, self._latency
        self._sum(np.zeros((0, 3), np.int64), np.zeros(0, np.int64))  # what grew in the forest since
        calls = np.zeros(len(self._forest.nodes), np.int64)
        calls[: len(self._calls)] = self._calls
        paths, place, own = tree_of(trace, self._forest, self._moments.time[:, 1] > 0, calls)
        tree = of_moments(paths, Summed(self._moments, place, own), latency, None)
        if why := no_variance(tree):
            return Ranked(tree, [], [], why)
        ranking = rank(trace, tree, options.specificity_exp, options.view)
        least = least_share(options, float(self._left.var() / latency.var()))
        chosen = [factor for factor, _ in causes(ranking, options.k, least, of_others(tree))]
        return Ranked(tree, ranking, chosen, "")
