"""Latencies for two charts: how they are distributed, and when they occurred."""

from __future__ import annotations

from typing import Any

import numpy as np

from vprof.tables.model import Int64, Trace
from vprof.trace.origins import since_first_begin
from vprof.variance.statistics import type_name

MOST_BARS = 80
MOST_POINTS = 4000
SLOWEST = 1000
"""Of MOST_POINTS; the rest is every so-manyth of the others, in order of time."""


def histogram(latency_ns: Int64) -> dict[str, Any]:
    """`edges_ns` on a log scale, one more than `counts`. Latencies below 1 ns count in the first bar."""
    edges, (counts,) = _counted(latency_ns)
    return {"edges_ns": edges, "counts": counts}


def overlaid(before_ns: Int64, after_ns: Int64) -> dict[str, Any]:
    """Two histograms with the same `edges_ns`: `before`, `after` are their counts."""
    edges, (before, after) = _counted(before_ns, after_ns)
    return {"edges_ns": edges, "before": before, "after": after}


def _counted(*groups_ns: Int64) -> tuple[list[float], list[list[int]]]:
    """Edges that fit all groups, and the counts of each; as many bars as the smallest group can fill."""
    groups = [np.maximum(latency_ns, 1) for latency_ns in groups_ns]
    low, high = (float(end) for end in (min(g.min() for g in groups), max(g.max() for g in groups)))
    if low == high:
        return [low * 0.9, high * 1.1], [[len(g)] for g in groups]
    bars = int(np.clip(np.ceil(3 * min(map(len, groups)) ** (1 / 3)), 8, MOST_BARS))
    edges = np.geomspace(low, high, bars + 1)
    edges[0], edges[-1] = low, high
    return edges.tolist(), [np.histogram(g, edges)[0].tolist() for g in groups]


def points(trace: Trace) -> dict[str, Any]:
    """When each interval began, in seconds since the first one of its host, and its latency; all of them if they are
    few.

    `slowest`: how many of the slowest are among the points; `every`: the others are each so-manyth. `types` are names,
    `type` an index into them.
    """
    iv = trace.intervals
    rows = np.flatnonzero(~iv.ignore)
    latency = iv.end[rows] - iv.begin[rows]
    slowest, every = len(rows), 1
    chosen = np.arange(len(rows))
    if len(rows) > MOST_POINTS:
        slowest = SLOWEST
        by_latency = np.argsort(latency, kind="stable")
        others = np.sort(by_latency[:-slowest])
        every = int(np.ceil(len(others) / (MOST_POINTS - slowest)))
        chosen = np.sort(np.r_[others[::every], by_latency[-slowest:]])
    kinds, type_ = np.unique(iv.type[rows[chosen]], return_inverse=True)
    return {
        "count": len(rows),
        "slowest": slowest,
        "every": every,
        "start_s": (since_first_begin(trace, rows)[chosen] / 1e9).round(6).tolist(),
        "latency_ns": latency[chosen].tolist(),
        "type": type_.tolist(),
        "types": [type_name(trace.types[kind]) for kind in kinds],
        "intervals": [trace.interval_ids[row] for row in rows[chosen]],
    }
