"""The windows of some traces, one after the other, with every nanosecond of their intervals at a node of one forest.

    Source -> trace of a window -> critical paths -> stacks -> times  =  Part

May be gone through again and again: of a part nothing is kept but the nodes of the forest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from vprof.jobs.tasks import Progress
from vprof.path.cpu_view import split_queues
from vprof.path.critical_path import critical_paths
from vprof.path.own_view import without_wakers
from vprof.path.pieces import Paths
from vprof.path.places import place
from vprof.path.stacks import Forest, Stacks, build_stacks
from vprof.path.view import View, beside
from vprof.tables.columns import i64
from vprof.tables.model import NONE, Int64, Trace
from vprof.trace.merge import function_numbers
from vprof.trace.sources import Source, analyzed, positions
from vprof.trace.window import Window


@dataclass(frozen=True)
class Opened:
    """A window, before its intervals are looked at. `number` of its source; `positions` of the window's intervals
    among the analyzed ones, NONE for one that is ignored; `functions`: the numbers of all for those of its trace, None
    if they are the same; `first_thread`: the number of all for its trace's first one."""

    number: int
    window: Window
    trace: Trace
    positions: Int64
    functions: Int64 | None
    first_thread: int

    @property
    def is_analyzed(self) -> bool:
        """An analyzed interval ends here."""
        return bool((self.positions != NONE).any())


@dataclass(frozen=True)
class Part:
    """What the intervals that end in a window did. `placed` and `times`: rows (interval of the trace, node of the
    forest, ns), by interval: where the time was spent, and where the view of the analysis counts it."""

    opened: Opened
    paths: Paths
    stacks: Stacks
    placed: Int64
    times: Int64

    @property
    def trace(self) -> Trace:
        return self.opened.trace


class Parts:
    """`rows`: the intervals of `known`, the merged bare traces, that are analyzed."""

    def __init__(self, sources: Sequence[Source], known: Trace, rows: Int64, view: View) -> None:
        self.sources, self.known = sources, known
        self.forest = Forest()
        self.count = len(rows)
        self._view = view
        bare = [source.bare() for source in sources]
        of_all = positions(bare)
        self._positions = [analyzed(position, rows, len(known.intervals.begin)) for position in of_all]
        self._first_thread = np.cumsum([0, *(len(trace.threads) for trace in bare)]).tolist()
        self._functions: Sequence[Int64 | None] = [None]
        if len(sources) > 1:
            self._functions = function_numbers([trace.program for trace in bare])[1]

    def growing(self, forest: Forest) -> Parts:
        """The same windows, whose nodes are those of another forest."""
        same = copy(self)
        same.forest = forest
        return same

    @property
    def size(self) -> int:
        """How many windows there are."""
        return sum(source.size for source in self.sources)

    def ending(self) -> Iterator[Int64]:
        """Of each part the positions of the analyzed intervals that end in it; nothing is read."""
        for number, source in enumerate(self.sources):
            for window in source.windows():
                mine = self._positions[number][source.rows(window)]
                if (mine != NONE).any():
                    yield mine[mine != NONE]

    def open(
        self,
        progress: Progress = lambda done: None,
        wanted: Int64 | None = None,
        span: tuple[int, int] | None = None,
    ) -> Iterator[Opened]:
        """Every window, or those from span[0] on and before span[1]. With `wanted`, positions of intervals: only those
        in which one of these ends."""
        first, last = span or (0, self.size)
        done = before = 0
        for number, source in enumerate(self.sources):
            here = max(0, first - before), max(0, last - before)
            before += source.size
            for window in islice(source.windows(), *here):
                mine = self._positions[number][source.rows(window)]
                if wanted is not None and not np.isin(mine, wanted).any():
                    continue
                trace = replace(source.trace(window), has_sync=self.known.has_sync)
                yield Opened(number, window, trace, mine, self._functions[number], self._first_thread[number])
                done += 1
                progress(done / (last - first))

    def placed(self, opened: Opened) -> Part:
        """REQUIRES: it is analyzed."""
        paths = critical_paths(opened.trace)
        if self._view.cpu_apart:
            paths = split_queues(opened.trace, paths)
        trace = _without_call_sites(opened.trace) if self._view.calls_together else opened.trace
        stacks = build_stacks(trace, self.forest, opened.functions)
        placed = place(opened.trace, paths, stacks)
        times = placed
        if self._view.own:
            times = _moved(times, without_wakers(self.forest))
        if self._view.labels:
            times = _moved(times, beside(self.forest, self._view))
        return Part(opened, paths, stacks, placed, times)

    def __iter__(self) -> Iterator[Part]:
        """Those in which an analyzed interval ends."""
        for opened in self.open():
            if opened.is_analyzed:
                yield self.placed(opened)


def _without_call_sites(trace: Trace) -> Trace:
    calls = trace.invocations
    return replace(trace, invocations=replace(calls, call_site=np.full_like(calls.call_site, NONE)))


def _moved(times: Int64, into: Int64) -> Int64:
    return i64(np.column_stack((times[:, 0], into[times[:, 1]], times[:, 2])))
