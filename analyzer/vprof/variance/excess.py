"""Where single intervals took more than the mean.

    ids of intervals + SingleTimes  ->  time by node - mean by node  ->  one node of each: Excess

The innermost function of a slow interval is not the answer: most of any interval may be spent where every interval
spends as much. So the walk goes down the excess, from the root to the child with most of it, as long as that child has
at least half of what its parent has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from vprof.tables.model import Float
from vprof.trace.usable import rows_of
from vprof.variance.analysis import Analysis

_HALF = 0.5


@dataclass(frozen=True)
class Excess:
    """Of an interval, `of_mean` times as long as the mean one: `node` has `share` of what it took more than the mean,
    and if it took no more, of all that it took."""

    interval: str
    latency_ns: int
    of_mean: float
    is_slower: bool
    node: int
    share: float


def excesses(analysis: Analysis, wanted: Iterable[str]) -> dict[str, Excess]:
    """Of analyzed intervals by id; one that took no time has none. Reads the traces once more, where these end."""
    trace, mean_ns = analysis.trace, analysis.tree.mean_ns
    names = {trace.interval_ids[row]: position for position, row in enumerate(rows_of(trace).tolist())}
    times = analysis.times.of_intervals([names[sid] for sid in wanted])
    found = {}
    for sid in wanted:
        taken = times[names[sid]]
        is_slower = bool(taken[0] > mean_ns[0])
        over = taken - mean_ns if is_slower else taken.astype(np.float64)
        if over[0] > 0:
            node = _walked(analysis.tree.children, over)
            of_mean, share = float(taken[0] / mean_ns[0]), float(over[node] / over[0])
            found[sid] = Excess(sid, int(taken[0]), of_mean, is_slower, node, share)
    return found


def _walked(children: list[list[int]], over: Float) -> int:
    """The innermost node on the way along the largest `over` that has half of what is around it."""
    node = 0
    while children[node]:
        most = max(children[node], key=lambda child: float(over[child]))
        if over[most] < _HALF * over[node]:
            break
        node = most
    return node
