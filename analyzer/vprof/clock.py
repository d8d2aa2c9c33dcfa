"""Ticks to nanoseconds, and times that never stand still (ALGORITHMS section 2, "Time").

A trace has anchors (ticks, CLOCK_MONOTONIC) about every second; between two anchors the clock is a straight line,
outside them the nearest line goes on. The conversion never decreases: larger ticks give no smaller nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vprof.columns import groups
from vprof.model import Bool, Int32, Int64


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

    def to_ns(self, ticks: Int64) -> Int64:
        """Nanoseconds of each tick value."""
        k = np.searchsorted(self.ticks[1:-1], ticks, "right")
        slope = np.diff(self.ns) / np.diff(self.ticks)
        out: Int64 = np.floor((ticks - self.ticks[k]) * slope[k] + 0.5).astype(np.int64)
        out += self.ns[k]
        # Rounding must not carry a time past the anchor that follows it.
        limit = np.r_[self.ns[1:-1], np.iinfo(np.int64).max]
        np.minimum(out, limit[k], out=out)
        return out

    def one(self, ticks: int) -> int:
        """Nanoseconds of one tick value."""
        return int(self.to_ns(np.array([ticks], np.int64))[0])


def settle(thread: Int32, carries: Bool, t: Int64) -> int:
    """Makes the times of each thread strictly increasing in record order, in place; returns how many went backwards.

    `carries` marks the records whose time is the thread's own; others are left as they are. Equal times move up by
    the least step and do not count: that is the resolution of a nanosecond, not a fault of the clock. REQUIRES:
    grouped by thread.
    """
    rows = np.flatnonzero(carries)
    owner, wanted = thread[rows], t[rows]
    backwards = 0
    for mine in groups(owner):
        backwards += int(np.count_nonzero(wanted[mine][1:] < np.maximum.accumulate(wanted[mine])[:-1]))
        # Strictly increasing is: never decreasing after each time went down by its position.
        steps = np.arange(mine.stop - mine.start)
        wanted[mine] = np.maximum.accumulate(wanted[mine] - steps) + steps
    t[rows] = wanted
    return backwards
