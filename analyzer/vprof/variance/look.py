"""All windows of some traces, gone through once: in this process, or some of them in each task of several.

    Traces -> [path/parts.py] Parts -> [sums.py] Tally, merged as a tree -> Sums;  what is left of each latency

What a window needs of those before it, the first reading knows (trace/scan.py): so windows can be read in any order, by
any process that has the outline of the trace. Of each is sent back what it adds to the sums, what it taught of the
whole trace, and what is apart of its own intervals. An interval is analyzed in one window, whatever it spans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from vprof.jobs.tasks import Jobs, Progress, spans
from vprof.path.parts import Parts
from vprof.path.stacks import Forest
from vprof.path.view import View, apart_ns
from vprof.tables.memory import freed_memory_kept
from vprof.tables.model import NONE, Bool, Int64, Trace
from vprof.trace.merge import merge
from vprof.trace.reading import Learned
from vprof.trace.sources import Source, attach, learn, learned_by
from vprof.trace.usable import rows_of
from vprof.variance import statistics
from vprof.variance.per_interval import Details, IntervalDetail
from vprof.variance.sums import Sums, Tally

T = TypeVar("T")

Blocks = statistics.Blocks | statistics.NoBlocks | None


class Traces:
    """What is analyzed of some sources, and how. A process that is sent it finds out again what follows from that."""

    def __init__(self, sources: Sequence[Source], view: View, tail: float, by_type: bool) -> None:
        self.sources, self._view, self._tail, self._by_type = sources, view, tail, by_type

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in ("sources", "_view", "_tail", "_by_type")}

    @cached_property
    def known(self) -> Trace:
        """All intervals and names, merged. Raises TraceError if a file is not there, UsageError as `merge` does."""
        attach(self.sources)
        return merge([source.bare() for source in self.sources])

    @cached_property
    def rows(self) -> Int64:
        """The intervals that are analyzed. Raises NoIntervalError."""
        return rows_of(self.known)

    @cached_property
    def latency(self) -> Int64:
        latency: Int64 = self.known.intervals.end[self.rows] - self.known.intervals.begin[self.rows]
        return latency

    @cached_property
    def parts(self) -> Parts:
        return Parts(self.sources, self.known, self.rows, self._view)

    def sums(self, forest: Forest, block: Int64 | None) -> Sums:
        """None yet. `block` of each interval."""
        types = with_own_tree(self.known, split(self.known, self.rows) if self._by_type else None, self.rows)
        return Sums(forest, len(self.known.program.functions), self.latency, self._tail, block, types)

    @property
    def has_apart(self) -> bool:
        """Something may be apart."""
        return bool(self._view.labels)

    def apart_ns(self, forest: Forest, times: Int64, count: int) -> Int64:
        return apart_ns(forest, self._view, times, count)


@dataclass(frozen=True)
class Seen:
    """What some windows gave: of the intervals at `positions`, which end there, what is `apart` and their `details`, if
    asked for; what was `learned` of each source."""

    tally: Tally
    positions: Int64
    apart: Int64
    learned: list[list[Learned | None]]
    details: dict[int, IntervalDetail] = field(default_factory=dict)


class Looks:
    """May look again and again. `jobs`: who does it, None: this process."""

    def __init__(self, traces: Traces, jobs: Jobs | None) -> None:
        self.traces, self.jobs = traces, jobs
        self._shared = jobs.share(traces) if jobs else None

    @property
    def is_shared(self) -> bool:
        """Tasks can be given to others now."""
        return self.jobs is not None and self.jobs.is_open

    def merged(self, task: Callable[..., T], merge: Callable[[T, T], T], shared: Sequence[Any]) -> T:
        """Of all windows. `task` gets the traces, what is shared, and a span of windows. REQUIRES: is_shared."""
        assert self.jobs is not None
        known = [self._shared, *map(self.jobs.share, shared)]
        return self.jobs.merged(task, merge, known, spans(self.traces.parts.size, self.jobs.parts))

    def look(self, blocks: Blocks, details: Details | None, progress: Progress) -> tuple[Sums, Int64]:
        """The sums, and what is left of each latency without what is apart."""
        traces, parts = self.traces, self.traces.parts
        block = blocks.of if isinstance(blocks, statistics.Blocks) else None
        sums, left = traces.sums(parts.forest, block), traces.latency.copy()
        if self.jobs is None:
            seen = _look(traces, parts, sums, None, details, progress)
        else:
            jobs = self.jobs
            shared = [self._shared, jobs.share(block), details is not None]
            seen = jobs.merged(_look_apart, _merged, shared, spans(parts.size, jobs.parts), progress)
            sums.tally.merge(seen.tally)
            for learned in seen.learned:
                learn(traces.sources, learned)
            if details:
                details.take(seen.details)
        left[seen.positions] -= seen.apart
        return sums, left


def _look_apart(traces: Traces, block: Int64 | None, detailed: bool, span: tuple[int, int]) -> Seen:
    """A task: the windows of a span."""
    parts = traces.parts.growing(Forest())
    details = Details(traces.known, traces.rows) if detailed else None
    return _look(traces, parts, traces.sums(parts.forest, block), span, details)


@freed_memory_kept()
def _look(
    traces: Traces,
    parts: Parts,
    sums: Sums,
    span: tuple[int, int] | None,
    details: Details | None,
    progress: Progress = lambda done: None,
) -> Seen:
    positions, apart = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    detailed: dict[int, IntervalDetail] = {}
    for opened in parts.open(progress, span=span):
        sums.count(opened)
        if opened.is_analyzed:
            part = parts.placed(opened)
            sums.add(part)
            mine = opened.positions != NONE
            if traces.has_apart:
                positions.append(opened.positions[mine])
                apart.append(traces.apart_ns(parts.forest, part.times, len(mine))[mine])
            if details:
                details.add(part)
                detailed |= details.of(opened.positions[mine].tolist())
    found = np.concatenate(positions), np.concatenate(apart)
    return Seen(sums.tally, *found, [learned_by(traces.sources)], detailed)


def _merged(a: Seen, b: Seen) -> Seen:
    """A task. What it takes stays as it is: should a worker die, it may be merged again."""
    tally = Tally.begin(Forest(), len(a.tally.moments), len(a.tally.ended))
    tally.merge(a.tally)
    tally.merge(b.tally)
    positions, apart = np.r_[a.positions, b.positions], np.r_[a.apart, b.apart]
    return Seen(tally, positions, apart, [*a.learned, *b.learned], a.details | b.details)


def split(trace: Trace, rows: Int64) -> statistics.TypeSplit:
    iv = trace.intervals
    return statistics.split_by_type(iv.end[rows] - iv.begin[rows], iv.type[rows], trace.types)


def with_own_tree(trace: Trace, types: statistics.TypeSplit | None, rows: Int64) -> list[tuple[str, Bool]]:
    """The types that get a tree, and which of the intervals `rows` are theirs; none if there is but one type."""
    if types is None or len(types.rows) < 2:
        return []
    names = np.array([statistics.type_name(name) for name in trace.types])[trace.intervals.type[rows]]
    return [(row.type, names == row.type) for row in types.rows]
