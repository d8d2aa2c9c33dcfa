"""What a trace says, as the papers' tuples with names instead of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from writer import Writer

from vprof.tables.kinds import STATE_NAMES
from vprof.tables.model import NONE, Trace

Load = Callable[[Writer], Trace]
"""The fixture `load`: writes a trace and reads it back."""


class Tuples:
    """Threads are numbered by position."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def _id(self, interval: int) -> str | None:
        return None if interval == NONE else self.trace.interval_ids[interval]

    def segments(self) -> list[tuple[Any, ...]]:
        s = self.trace.segments
        rows = zip(s.thread, s.interval, s.ts, s.te, s.state, strict=True)
        return [(int(a), self._id(b), int(c), int(d), STATE_NAMES[e]) for a, b, c, d, e in rows]

    def calls(self) -> list[tuple[Any, ...]]:
        i = self.trace.invocations
        names = self.trace.program.functions
        rows = zip(i.thread, i.interval, i.function, i.fs, i.fe, i.depth, strict=True)
        return [(int(a), self._id(b), names[f], int(s), int(e), int(d)) for a, b, f, s, e, d in rows]

    def wakeups(self) -> list[tuple[Any, ...]]:
        """(thread, waker, t, (ts, te) of the wait)."""
        w, s = self.trace.wakeups, self.trace.segments
        rows = zip(w.thread, w.waker, w.t, w.segment, strict=True)
        return [(int(a), int(b), int(t), (int(s.ts[r]), int(s.te[r]))) for a, b, t, r in rows]

    def created(self) -> list[tuple[int, ...]]:
        c = self.trace.created
        return [tuple(map(int, row)) for row in zip(c.creator, c.ts, c.thread, c.ts2, strict=True)]

    def intervals(self) -> list[tuple[Any, ...]]:
        """(id, type, (thread, begin), (thread, end))."""
        i, t = self.trace.intervals, self.trace
        rows = enumerate(zip(i.type, i.begin_thread, i.begin, i.end_thread, i.end, strict=True))
        return [(t.interval_ids[n], t.types[y], (int(a), int(b)), (int(c), int(d))) for n, (y, a, b, c, d) in rows]
