"""The details of single intervals, for `vprof analyze --intervals`: critical path, path times, own times.

`path_times`: executing time on the path by function of the executing thread, callers included, recursion once, plus the
pseudo-rows. `own_times`: wall time of the interval's own calls, waits included, recursion once (analyzer/SCHEMA.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from vprof.path.parts import Part
from vprof.path.path_tree import display_names
from vprof.path.stacks import T_LABEL, T_PARENT, Forest
from vprof.tables.columns import i32
from vprof.tables.kernels import kernel, roomy
from vprof.tables.kinds import FIRST_FRAME, MEANWHILE, PIECE_NAMES, PSEUDO
from vprof.tables.model import NONE, Bool, Int32, Int64, Trace

Piece = tuple[str, str, int, int]
"""(kind, thread, from, to)"""


@dataclass
class IntervalDetail:
    latency_ns: int
    critical_path: list[Piece]
    path_times: dict[str, int]
    own_times: dict[str, int]


class Details:
    """`found`: by the id of an interval; grows with every `add`."""

    def __init__(self, known: Trace, rows: Int64) -> None:
        """`known`: the merged bare traces, of which the intervals `rows` are analyzed."""
        iv = known.intervals
        self._names, self._threads = display_names(known), known.threads
        self._of = [IntervalDetail(int(iv.end[i] - iv.begin[i]), [], {}, {}) for i in rows]
        self.found = {known.interval_ids[row]: detail for row, detail in zip(rows, self._of, strict=True)}
        self._counted: dict[int, list[str]] = {}

    def take(self, of: dict[int, IntervalDetail]) -> None:
        """Details by position, of intervals of which there are none."""
        for position, detail in of.items():
            vars(self._of[position]).update(vars(detail))

    def of(self, positions: Iterable[int]) -> dict[int, IntervalDetail]:
        return {position: self._of[position] for position in positions}

    def add(self, part: Part) -> None:
        positions, p, first = part.opened.positions.tolist(), part.paths.pieces, part.opened.first_thread
        for k in range(len(p.kind)):
            piece = (PIECE_NAMES[p.kind[k]], self._threads[first + p.thread[k]], int(p.start[k]), int(p.stop[k]))
            self._of[positions[p.interval[k]]].critical_path.append(piece)
        for i, node, ns in part.placed.tolist():
            times = self._of[positions[i]].path_times
            for name in self._rows(node, part.stacks.forest):
                times[name] = times.get(name, 0) + ns
        self._add_own_times(part)

    def _rows(self, node: int, forest: Forest) -> list[str]:
        """What a node's own time counts for: the functions up to the nearest `[blocked]` or `[busy]`, where other work
        begins."""
        if node not in self._counted:
            label = int(forest.nodes[node, T_LABEL])
            if label in range(FIRST_FRAME) and label not in MEANWHILE:
                self._counted[node] = [PSEUDO[label]]
            else:
                self._counted[node] = sorted(self._above(node, forest))
        return self._counted[node]

    def _above(self, node: int, forest: Forest) -> set[str]:
        found = set()
        while node != 0 and forest.nodes[node, T_LABEL] not in MEANWHILE:
            label = int(forest.nodes[node, T_LABEL])  # of `[aborted]`, or of a function
            found.add(PSEUDO[label] if label < FIRST_FRAME else self._names[forest.function[label]])
            node = int(forest.nodes[node, T_PARENT])
        return found

    def _add_own_times(self, part: Part) -> None:
        inv, functions, positions = part.trace.invocations, part.opened.functions, part.opened.positions.tolist()
        outermost = _outermost(i32(inv.thread), i32(inv.interval), i32(inv.function), i32(inv.depth))
        for k in np.flatnonzero(outermost & (inv.interval >= 0) & (inv.interval < len(positions))).tolist():
            at = positions[inv.interval[k]]
            if at != NONE:
                f = int(inv.function[k])
                name, times = self._names[f if functions is None else functions[f]], self._of[at].own_times
                times[name] = times.get(name, 0) + int(inv.fe[k] - inv.fs[k])


@kernel
def _outermost(thread: Int32, interval: Int32, function: Int32, depth: Int32) -> Bool:
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
        open_rows = roomy(open_rows, n, 1)
        open_rows[n] = i
        n += 1
    return result
