"""The analysis of long traces: window by window, with one tree for all windows and traces.

    [trace.py: Reading] -> per window: critical paths -> nodes of the forest -> Moments  =>  Analysis

The result is that of `analysis.analyze` over the traces loaded whole and merged; sums are whole numbers, so it does not
depend on the windows. What needs the times of single intervals (`--intervals`, `--explain`, `--own`) is not to be had
this way. Memory: what `Reading` keeps of each interval, nodes and pairs of siblings, and one window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from vprof import statistics
from vprof.analysis import Analysis, AnalysisOptions, TypedTree, conclude, rows_of, split, with_own_tree
from vprof.columns import i64
from vprof.critical_path import critical_paths
from vprof.merge import function_numbers, merge
from vprof.model import NONE, Bool, Int64, Trace
from vprof.moments import Moments
from vprof.path_tree import PathTree, calls_of, tree_of
from vprof.places import place
from vprof.scan import Progress
from vprof.stacks import T_PARENT, Forest, build_stacks
from vprof.trace import WINDOW_RECORDS, Reading
from vprof.unknown import BlockedSums
from vprof.variance_tree import Summed, of_moments

_SCAN = 0.3
"""The part of the work that the first reading is, about."""


def analyze_traces(
    paths: Sequence[Path],
    root: str | None = None,
    options: AnalysisOptions | None = None,
    window_records: int = WINDOW_RECORDS,
    progress: Progress = lambda part: None,
) -> Analysis:
    """Binary traces of one program and plan as one. Raises VprofError as `load_trace`, `merge` and `analyze` do."""
    options = options or AnalysisOptions()
    readings = []
    for n, path in enumerate(paths):
        readings.append(
            Reading(path, window_records, root, lambda part, n=n: progress(_SCAN * (n + part) / len(paths)))  # type: ignore[misc]
        )
    known = merge([reading.outline() for reading in readings])
    rows = rows_of(known)
    latency = known.intervals.end[rows] - known.intervals.begin[rows]
    tail = statistics.tail_of(latency, options.tail)
    blocks = statistics.blocks_of(known.intervals.begin[rows], latency)
    chosen = with_own_tree(known, split(known, rows) if options.by_type else None, rows)
    sums = _Sums(
        Forest(),
        Moments(),
        BlockedSums(),
        tail[1] if tail else np.zeros(len(rows), np.bool_),
        blocks.of if isinstance(blocks, statistics.Blocks) else np.full(len(rows), NONE),
        [_SumsOfType.begin(name, mine, latency, options.tail) for name, mine in chosen],
    )
    steps = sum(len(reading.scan.borders) + 1 for reading in readings)
    done = 0
    for reading, functions, positions in zip(readings, _functions(readings), _positions(readings), strict=True):
        for window in reading.windows():
            trace = replace(reading.trace(window), has_sync=known.has_sync)
            sums.add(trace, functions, positions[reading.rows(window)])
            done += 1
            progress(_SCAN + (1 - _SCAN) * done / steps)
    trace = merge([reading.conclude(reading.outline()) for reading in readings])
    tree, place_of, own = tree_of(trace, sums.forest, sums.moments.time[:, 1] > 0, sums.calls)
    summed = Summed(sums.moments, place_of, own)
    whole = TypedTree("", of_moments(tree, summed, latency, tail[1] if tail else None), tail[0] if tail else None)
    analysis = conclude(trace, options, rows, whole, blocks, sums.blocked)
    return replace(analysis, type_trees=[one.conclude(tree, summed) for one in sums.types])


@dataclass(frozen=True)
class _SumsOfType:
    """The intervals of one type. `mine` and `tail` are by interval of all types."""

    type: str
    mine: Bool
    latency: Int64
    tail: Bool
    tail_quantile: float | None
    moments: Moments

    @staticmethod
    def begin(type_: str, mine: Bool, latency: Int64, quantile: float) -> _SumsOfType:
        """`latency` of all."""
        found = statistics.tail_of(latency[mine], quantile)
        tail = np.zeros(len(mine), np.bool_)
        if found:
            tail[mine] = found[1]
        return _SumsOfType(type_, mine, latency[mine], tail, found[0] if found else None, Moments())

    def add(self, parent: Int64, times: Int64, latency: Int64, positions: Int64) -> None:
        chosen = self.mine[positions]
        number = np.cumsum(chosen) - 1
        times = times[chosen[times[:, 0]]]
        own = np.column_stack((number[times[:, 0]], times[:, 1:]))
        blocks = np.full(np.count_nonzero(chosen), NONE)
        self.moments.add(parent, own, latency[chosen], self.tail[positions[chosen]], blocks)

    def conclude(self, tree: PathTree, whole: Summed) -> TypedTree:
        """`whole`: what was summed of all types, whose nodes are these."""
        empty = np.zeros(0, np.int64)
        self.moments.add(whole.moments.layout.parent, empty.reshape(0, 3), empty, empty.astype(np.bool_), empty)
        tail = None if self.tail_quantile is None else self.tail[self.mine]
        found = of_moments(tree, replace(whole, moments=self.moments), self.latency, tail)
        return TypedTree(self.type, found, self.tail_quantile)


@dataclass
class _Sums:
    """What all windows go into. `tail` and `block` are by interval, `calls` by node of the forest; `types` in the order
    of the split."""

    forest: Forest
    moments: Moments
    blocked: BlockedSums
    tail: Bool
    block: Int64
    types: list[_SumsOfType]
    calls: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, trace: Trace, functions: Int64 | None, positions: Int64) -> None:
        """`positions` of the trace's intervals among all."""
        iv = trace.intervals
        if not len(iv.begin):
            return
        paths = critical_paths(trace)
        stacks = build_stacks(trace, self.forest, functions)
        calls = calls_of(trace, stacks)
        calls[: len(self.calls)] += self.calls
        self.calls = calls
        times = place(trace, paths, stacks)
        parent = i64(self.forest.nodes[:, T_PARENT])
        self.moments.add(parent, times, iv.end - iv.begin, self.tail[positions], self.block[positions])
        for one in self.types:
            one.add(parent, times, iv.end - iv.begin, positions)
        self.blocked.add(trace, paths, stacks, functions)


def _functions(readings: list[Reading]) -> Sequence[Int64 | None]:
    if len(readings) == 1:
        return [None]
    return function_numbers([reading.outline().program for reading in readings])[1]


def _positions(readings: list[Reading]) -> list[Int64]:
    """Of each trace's intervals among those of all, which are sorted by begin."""
    begins = [reading.selection.intervals.begin for reading in readings]
    rank = np.empty(sum(map(len, begins)), np.int64)
    rank[np.argsort(np.concatenate(begins), kind="stable")] = np.arange(len(rank))
    return np.split(rank, np.cumsum([len(begin) for begin in begins])[:-1])
