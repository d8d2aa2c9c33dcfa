"""Where the intervals waited for a CPU: a drill-down's tree has these waits below its root, in no function.

    the parts of the confirmation -> pieces and times at nodes, of waits for a CPU -> the heaviest place, and its thread

Others may have the CPU; but where a thread has none while it holds a lock that the intervals wait for, the program can
mend that.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from vprof.path.parts import Part
from vprof.path.path_tree import display_names
from vprof.path.stacks import T_LABEL, T_PARENT, Forest
from vprof.tables.kinds import CPU_PIECES, CPU_WAITS, FIRST_FRAME, PSEUDO
from vprof.tables.model import NONE, Float, Int64, Trace
from vprof.trace.usable import rows_of
from vprof.variance.analysis import Analysis
from vprof.variance.cpu_share import cpu_share

_LEAST = 0.25
"""From this share of the variance on it is worth reading the traces once more."""


@dataclass(frozen=True)
class CpuPlace:
    """`path`: names from below the root to the wait. `share`: of what waits for a CPU hold of the variance. `thread`:
    the one that waited, if the intervals waited for it meanwhile, "" if it is one of their own."""

    path: list[str]
    share: float
    thread: str


def heaviest_place(analysis: Analysis) -> CpuPlace | None:
    """None if little of the variance is waiting for a CPU."""
    if sum(cpu_share(analysis.tree).values()) < _LEAST:
        return None
    intervals, rows = analysis.trace.intervals, rows_of(analysis.trace)
    latency = intervals.end[rows] - intervals.begin[rows]
    deviation = latency - latency.mean()
    nodes: Counter[int] = Counter()
    threads: Counter[int] = Counter()
    forest = None
    for part in analysis.times.parts:
        forest = part.stacks.forest
        _add_nodes(part, deviation, nodes)
        _add_threads(part, deviation, threads)
    total = sum(nodes.values())
    if forest is None or total <= 0:
        return None
    node, most = max(nodes.items(), key=lambda row: row[1])
    path = _path(analysis.trace, forest, node)
    waker = max(threads, key=lambda thread: threads[thread]) if "[blocked]" in path and threads else NONE
    return CpuPlace(path, most / total, analysis.trace.threads[waker] if waker != NONE else "")


def _add_nodes(part: Part, deviation: Float, nodes: Counter[int]) -> None:
    labels = part.stacks.forest.nodes[:, T_LABEL]
    interval, node, ns = part.placed[np.isin(labels[part.placed[:, 1]], CPU_WAITS)].T
    _add(part, interval, node, ns, deviation, nodes)


def _add_threads(part: Part, deviation: Float, threads: Counter[int]) -> None:
    """Those of waits only: the intervals' own are in their path."""
    p = part.paths.pieces
    rows = np.flatnonzero(np.isin(p.kind, CPU_PIECES) & (p.wait != NONE))
    of = p.thread[rows].astype(np.int64) + part.opened.first_thread
    _add(part, p.interval[rows].astype(np.int64), of, p.stop[rows] - p.start[rows], deviation, threads)


def _add(part: Part, interval: Int64, key: Int64, ns: Int64, deviation: Float, sums: Counter[int]) -> None:
    """By key the covariance with the latency, but for the number of intervals."""
    position = part.opened.positions[interval]
    known = position != NONE
    keys, of = np.unique(key[known], return_inverse=True)
    found = np.bincount(of, ns[known] * deviation[position[known]], len(keys))
    for one, value in zip(keys.tolist(), found.tolist(), strict=True):
        sums[one] += value


def _path(trace: Trace, forest: Forest, node: int) -> list[str]:
    functions = display_names(trace)
    names = []
    while node:
        label = int(forest.nodes[node, T_LABEL])
        names.append(PSEUDO[label] if label < FIRST_FRAME else functions[forest.function[label]])
        node = int(forest.nodes[node, T_PARENT])
    return names[::-1]
