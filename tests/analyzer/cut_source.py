"""A trace in memory, cut into windows anywhere: what a reader gives of a long one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from vprof.tables.kinds import EXEC
from vprof.tables.model import NONE, Created, Int64, Trace, nothing_happened
from vprof.trace.locks import LockSteps
from vprof.trace.window import WHOLE, Window

T = TypeVar("T")


@dataclass(frozen=True)
class CutTrace:
    """A `Source`. What executes across the begin or the end of a window's data is cut there; labels are the numbers of
    the intervals that end in the window, larger ones for others."""

    whole: Trace
    borders: Sequence[int]

    def bare(self) -> Trace:
        return replace(self.whole, **nothing_happened())

    @property
    def size(self) -> int:
        return len(self.borders) + 1

    def windows(self) -> Iterator[Window]:
        for begin, end in pairwise([WHOLE.begin, *self.borders, WHOLE.end]):
            first = self.whole.intervals.begin[self.rows(Window(begin, begin, end))].min(initial=begin)
            yield Window(min(begin, int(first)), begin, end)

    def rows(self, window: Window) -> Int64:
        return np.flatnonzero(window.owns(self.whole.intervals.end))

    def created(self) -> Created:
        return self.whole.created

    def lock_steps(self) -> LockSteps | None:
        return None

    def conclude(self, trace: Trace) -> Trace:
        return replace(trace, program=self.whole.program)

    def trace(self, window: Window) -> Trace:
        whole, rows = self.whole, self.rows(window)
        most = len(whole.intervals.begin)
        number = np.full(most + 1, len(rows), np.int32)
        number[rows], number[NONE] = np.arange(len(rows)), NONE
        seg, inv, made = whole.segments, whole.invocations, whole.created
        kept = np.flatnonzero((seg.ts < window.end) & (seg.te > window.since))
        segments = chosen(seg, kept)
        is_cut = segments.state == EXEC
        segments = replace(
            segments,
            interval=number[segments.interval],
            ts=np.where(is_cut, np.maximum(segments.ts, window.since), segments.ts),
            te=np.where(is_cut, np.minimum(segments.te, window.end), segments.te),
        )
        place = np.full(len(seg.ts), NONE, np.int32)
        place[kept] = np.arange(len(kept))
        wakeups = chosen(whole.wakeups, np.flatnonzero(place[whole.wakeups.segment] != NONE))
        calls = chosen(inv, np.flatnonzero((inv.fs < window.end) & (inv.fe >= window.since)))
        iv = whole.intervals
        return replace(
            self.bare(),
            interval_ids=[],
            segments=segments,
            invocations=replace(calls, interval=number[calls.interval]),
            wakeups=replace(wakeups, segment=place[wakeups.segment]),
            created=chosen(made, np.flatnonzero((made.ts2 < window.end) & (made.ts2 >= window.since))),
            intervals=type(iv)(*(column[rows] for column in vars(iv).values())),
        )


def chosen(table: T, rows: Int64) -> T:
    columns: dict[str, Any] = {name: column[rows] for name, column in vars(table).items()}
    return replace(table, **columns)  # type: ignore[type-var]
