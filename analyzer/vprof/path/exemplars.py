"""Single intervals that stand for a run: the slowest ones, the one at p99, the median."""

from __future__ import annotations

import numpy as np

from vprof.tables.model import Trace


def exemplars(trace: Trace) -> dict[str, str]:
    """Why an interval is one, by its id; the slowest first. A run of few intervals has fewer."""
    iv = trace.intervals
    rows = np.flatnonzero(~iv.ignore)
    by_latency = rows[np.argsort(iv.end[rows] - iv.begin[rows], kind="stable")]
    n = len(by_latency)
    median = (n - 1) // 2
    places = {
        "slowest": n - 1,
        "median": median if n > 1 else -1,
        "second slowest": n - 2,
        "third slowest": n - 3,
        "at p99": -(-99 * n // 100) - 1,
    }
    chosen: dict[int, str] = {}
    for label, at in places.items():
        if at >= 0:
            chosen.setdefault(at, label)
    return {trace.interval_ids[by_latency[at]]: chosen[at] for at in sorted(chosen, reverse=True)}
