"""What the probes themselves take of the times that a tree shows: calls times the calibrated cost of one.

    Trace.probe_ns + calls by node -> ns of probes at and below each node -> share of a factor's time, of the intervals'

An enter and exit cost `pair_ns` (session/calibration.py). Half of it lies inside the call that is measured, half in its
caller: so a node's time holds all of what is below it and half of its own. It is an estimate: caches of a real program
are colder, and what the probes make others wait is not in it. What is measured is variance/distortion.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.tables.model import Float, Trace
from vprof.variance.factors import Factor
from vprof.variance.sums import CallCounts
from vprof.variance.variance_tree import VarianceTree

MOSTLY = 0.5
"""From this share of its time on a factor is mostly the cost of probes."""


@dataclass(frozen=True)
class ProbeCost:
    """`calls` recorded per interval, and the `share` of the intervals' time that their probes take."""

    pair_ns: float
    calls: float
    share: float


class ProbeTimes:
    """By node of a tree, over all intervals: the ns that probes take there, own work of wakers apart."""

    def __init__(self, tree: VarianceTree, pair_ns: float) -> None:
        self._tree = tree
        parent, calls = tree.paths.parent, tree.paths.calls.astype(np.float64)
        below = calls.copy()
        for x in range(len(below) - 1, 0, -1):  # parents come before their children
            below[parent[x]] += below[x]
        entered = np.bincount(parent[1:], calls[1:], len(calls))
        of_frame = pair_ns * (below - calls / 2)
        of_body = pair_ns / 2 * (calls + entered)[parent]
        body = np.array([tree.paths.is_body(x) for x in range(len(parent))])
        self.ns: Float = np.where(body, of_body, of_frame)
        self.total = ProbeCost(
            pair_ns, float(below[0]) / len(tree.latency_ns), _share(float(self.ns[0]), self._time([0]))
        )

    def share(self, factor: Factor) -> float:
        """Of the factor's time, where its calls were counted: from 0 to 1."""
        nodes = sorted({x for pair in factor.instances for x in pair if self.ns[x] > 0})
        return _share(float(self.ns[nodes].sum()), self._time(nodes))

    def _time(self, nodes: list[int]) -> float:
        return float(self._tree.mean_ns[nodes].sum()) * len(self._tree.latency_ns)


def _share(ns: float, of: float) -> float:
    return min(1.0, ns / of) if of > 0 else 0.0


def load_of(trace: Trace, calls: CallCounts) -> dict[int, float]:
    """By function that was called: what its probe takes, as a share of the intervals' time; of calls that worked for
    none, as a share of the time that was recorded. Records that were lost count as those that were not. {} if the cost
    of a probe is not known."""
    kept = 1 - trace.loss.get("dropped", 0) / max(1, trace.loss.get("written", 0))
    if not trace.probe_ns or kept <= 0:
        return {}
    intervals = trace.intervals
    latency = float((intervals.end - intervals.begin)[~intervals.ignore].sum())
    found: dict[int, float] = {}
    for counts, of in ((calls.within, latency), (calls.others, trace.recorded_ns)):
        for function in np.flatnonzero(counts).tolist() if of > 0 else ():
            found[function] = found.get(function, 0.0) + int(counts[function]) / kept * trace.probe_ns / of
    return found
