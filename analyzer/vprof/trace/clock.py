"""Ticks to nanoseconds (runtime/TRACE_FORMAT.md section 5, `anchor`).

A trace has anchors (ticks, CLOCK_MONOTONIC) about every second; between two anchors the clock is a straight line,
outside them the nearest line goes on. The conversion never decreases: larger ticks give no smaller nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from vprof.tables.columns import i64
from vprof.tables.kernels import helper
from vprof.tables.model import Float, Int64


class Lines(NamedTuple):
    """A clock for kernels: line k begins at (ticks[k], ns[k]); no time on it is later than limit[k]."""

    ticks: Int64
    ns: Int64
    slope: Float
    limit: Int64


@dataclass(frozen=True)
class Clock:
    """Anchors in increasing order of both columns. `remark` is for the report: why times are not nanoseconds, or ""."""

    ticks: Int64
    ns: Int64
    remark: str = ""

    @classmethod
    def of(cls, kind: str, anchors: list[dict[str, Any]]) -> Clock:
        """From the `session` event's clock ("tsc" or "monotonic") and the `anchor` events.

        With fewer than two usable anchors the speed of a TSC is unknown: then a tick counts as one nanosecond, and
        `remark` says so.
        """
        ticks: list[int] = []
        ns: list[int] = []
        for anchor in sorted(anchors, key=lambda anchor: int(anchor["ticks"])):
            if not ticks or (anchor["ticks"] > ticks[-1] and anchor["monotonic_ns"] > ns[-1]):
                ticks.append(anchor["ticks"])
                ns.append(anchor["monotonic_ns"])
        remark = ""
        if len(ticks) < 2:
            if kind != "monotonic":
                remark = (
                    f"{len(ticks)} clock anchors, 2 are needed: times are ticks of the CPU, not ns; shares still hold"
                )
            start = ticks[0] if ticks else 0
            origin = ns[0] if ns else 0
            ticks, ns = [start, start + 1], [origin, origin + 1]
        return cls(np.array(ticks, np.int64), np.array(ns, np.int64), remark)

    def lines(self) -> Lines:
        """Rounding must not carry a time past the anchor that follows it: that is the limit."""
        return self._lines

    @cached_property
    def _lines(self) -> Lines:
        slope = np.diff(self.ns) / np.diff(self.ticks)
        limit = np.r_[self.ns[1:-1], np.iinfo(np.int64).max]
        return Lines(i64(self.ticks), i64(self.ns), slope, i64(limit))

    def to_ns(self, ticks: Int64) -> Int64:
        """Nanoseconds of each tick value."""
        lines = self.lines()
        k = np.searchsorted(self.ticks[1:-1], ticks, "right")
        out: Int64 = np.floor((ticks - self.ticks[k]) * lines.slope[k] + 0.5).astype(np.int64)
        out += self.ns[k]
        np.minimum(out, lines.limit[k], out=out)
        return out

    def one(self, ticks: int) -> int:
        """Nanoseconds of one tick value."""
        return int(self.to_ns(np.array([ticks], np.int64))[0])


@helper
def line_at(lines: Lines, ticks: int, k: int) -> int:
    """The line that a tick value lies on. The search begins at line k: times that are near each other cost nothing."""
    while k > 0 and ticks < lines.ticks[k]:
        k -= 1
    while k + 2 < len(lines.ticks) and ticks >= lines.ticks[k + 1]:
        k += 1
    return k


@helper
def ns_on(lines: Lines, ticks: int, k: int) -> int:
    """Nanoseconds of a tick value on line k, as `Clock.to_ns` gives them."""
    ns = np.int64(np.floor((ticks - lines.ticks[k]) * lines.slope[k] + 0.5)) + lines.ns[k]
    return int(min(ns, lines.limit[k]))
