"""Traces as an analysis reads them: what is known of the whole, and one window of time after the other.

    files -> Windows (reading.py: of a binary trace) | Loaded (a trace in memory: one window)  =  Source

A source may be read as often as one likes; the same windows give the same tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from vprof.jobs.tasks import Jobs, Progress
from vprof.tables.model import NONE, Created, Int64, Trace, nothing_happened
from vprof.trace.loading import is_json, load_trace
from vprof.trace.origins import in_order
from vprof.trace.outline import WINDOW_RECORDS
from vprof.trace.reading import Learned, Windows, open_windows
from vprof.trace.window import WHOLE, Window

if TYPE_CHECKING:
    from vprof.trace.locks import LockSteps


class Source(Protocol):
    def bare(self) -> Trace:
        """All intervals and names, without what happened."""

    @property
    def size(self) -> int:
        """How many windows there are."""

    def windows(self) -> Iterator[Window]:
        """Windows that cover all times, in order."""

    def rows(self, window: Window) -> Int64:
        """The intervals that end in the window."""

    def trace(self, window: Window) -> Trace:
        """The intervals `rows(window)`, and all that overlaps them."""

    def created(self) -> Created:
        """All tasks that were handed over."""

    def lock_steps(self) -> LockSteps | None:
        """All steps of logical locks, None if none were recorded."""

    def conclude(self, trace: Trace) -> Trace:
        """The trace with all that is known after the windows were read."""


@dataclass(frozen=True)
class Loaded:
    """A trace in memory, and the steps of logical locks that belong to it."""

    whole: Trace
    steps: LockSteps | None = None
    size = 1

    def bare(self) -> Trace:
        return replace(self.whole, **nothing_happened())

    def windows(self) -> Iterator[Window]:
        yield WHOLE

    def rows(self, window: Window) -> Int64:
        return np.arange(len(self.whole.intervals.begin))

    def trace(self, window: Window) -> Trace:
        return self.whole

    def created(self) -> Created:
        return self.whole.created

    def lock_steps(self) -> LockSteps | None:
        return self.steps

    def conclude(self, trace: Trace) -> Trace:
        return trace


def open_sources(
    paths: Sequence[Path],
    root: str | None,
    window_records: int = WINDOW_RECORDS,
    progress: Progress = lambda done: None,
    jobs: Jobs | None = None,
) -> list[Source]:
    """`root`: each outermost call of this function is an interval. Raises TraceError or UsageError in one line."""

    def opened(n: int, path: Path) -> Source:
        if is_json(path):
            return Loaded(load_trace(path, root))
        return open_windows(path, window_records, root, lambda done: progress((n + done) / len(paths)), jobs)

    return [opened(n, path) for n, path in enumerate(paths)]


def attach(sources: Sequence[Source]) -> None:
    """Makes them readable in a process that was sent them. Raises TraceError if a file is not there."""
    for source in sources:
        if isinstance(source, Windows):
            source.attach()


def learned_by(sources: Sequence[Source]) -> list[Learned | None]:
    """Of each what its windows told of the whole, None if they tell nothing."""
    return [source.learned if isinstance(source, Windows) else None for source in sources]


def learn(sources: Sequence[Source], learned: Sequence[Learned | None]) -> None:
    """What other processes learned by reading windows of these sources."""
    for source, told in zip(sources, learned, strict=True):
        if isinstance(source, Windows) and told:
            source.learn(told)


def positions(bare: Sequence[Trace]) -> list[Int64]:
    """Of each source's intervals among those of all merged."""
    order = in_order(bare)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return np.split(rank, np.cumsum([len(trace.intervals.begin) for trace in bare])[:-1])


def analyzed(position: Int64, rows: Int64, count: int) -> Int64:
    """By interval with this position among all `count`: its place among `rows`, NONE if it is none of them."""
    place = np.full(count, NONE, np.int64)
    place[rows] = np.arange(len(rows))
    return place[position]
