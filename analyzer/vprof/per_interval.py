"""The details of single intervals, for `vprof analyze --intervals`: critical path, path times, own times.

`path_times`: executing time on the path by function of the executing thread, callers included, recursion once, plus the
pseudo-rows. `own_times`: wall time of the interval's own calls, waits included, recursion once (ALGORITHMS section 9).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.columns import i32
from vprof.critical_path import PIECE_NAMES, Paths
from vprof.kernels import kernel
from vprof.model import NONE, Int64, Trace
from vprof.path_tree import PathTree, display_names
from vprof.stacks import L_BLOCKED, L_BODY, PSEUDO

Piece = tuple[str, str, int, int]
"""(kind, thread, from, to)"""


@dataclass
class IntervalDetail:
    latency_ns: int
    critical_path: list[Piece]
    path_times: dict[str, int]
    own_times: dict[str, int]


def details(trace: Trace, paths: Paths, tree: PathTree, rows: Int64) -> dict[int, IntervalDetail]:
    """By row of trace.intervals."""
    iv = trace.intervals
    out = {int(i): IntervalDetail(int(iv.end[i] - iv.begin[i]), [], {}, {}) for i in rows}
    p = paths.pieces
    for k in range(len(p.kind)):
        piece = (PIECE_NAMES[p.kind[k]], trace.threads[p.thread[k]], int(p.start[k]), int(p.stop[k]))
        out[int(p.interval[k])].critical_path.append(piece)
    counted = _counted_names(trace, tree)
    for i, x, ns in zip(tree.own_interval.tolist(), tree.own_node.tolist(), tree.own_ns.tolist(), strict=True):
        times = out[i].path_times
        for name in counted[x]:
            times[name] = times.get(name, 0) + ns
    _own_times(trace, out)
    return out


def _counted_names(trace: Trace, tree: PathTree) -> list[list[str]]:
    """By node: the rows its own time counts for. Walks up to the nearest `[blocked]`, where another thread's stack
    ends."""
    names = display_names(trace)
    result = []
    for x in range(len(tree.parent)):
        if tree.pseudo[x] not in (NONE, L_BODY, L_BLOCKED):
            result.append([PSEUDO[tree.pseudo[x]]])
            continue
        found = set()
        while x != NONE and tree.pseudo[x] != L_BLOCKED:
            if tree.function[x] != NONE:
                found.add(names[tree.function[x]])
            x = int(tree.parent[x])
        result.append(sorted(found))
    return result


def _own_times(trace: Trace, out: dict[int, IntervalDetail]) -> None:
    inv = trace.invocations
    names = display_names(trace)
    for k in np.flatnonzero(_outermost(i32(inv.thread), i32(inv.interval), i32(inv.function), i32(inv.depth))):
        detail = out.get(int(inv.interval[k]))
        if detail is not None:
            name = names[inv.function[k]]
            detail.own_times[name] = detail.own_times.get(name, 0) + int(inv.fe[k] - inv.fs[k])


@kernel
def _outermost(thread, interval, function, depth):  # type: ignore[no-untyped-def]
    """Calls that do not lie in a call of the same function for the same interval."""
    result = np.ones(len(thread), np.bool_)
    open_rows = np.empty(64, np.int64)
    n = 0
    for i in range(len(thread)):
        if i > 0 and thread[i] != thread[i - 1]:
            n = 0
        while n > 0 and depth[open_rows[n - 1]] >= depth[i]:
            n -= 1
        for j in range(n):
            if function[open_rows[j]] == function[i] and interval[open_rows[j]] == interval[i]:
                result[i] = False
        if n == len(open_rows):
            open_rows = np.concatenate((open_rows, np.empty(n, np.int64)))
        open_rows[n] = i
        n += 1
    return result
