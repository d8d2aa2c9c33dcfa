"""Ticks to nanoseconds, and times that never stand still (ALGORITHMS section 2, "Time").

A trace has anchors (ticks, CLOCK_MONOTONIC) about every second; between two anchors the clock is a straight line,
outside them the nearest line goes on. The conversion never decreases: larger ticks give no smaller nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

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
        """Nanoseconds of each tick value; neighbours in time convert fastest."""
        converted: Int64 = _to_ns(ticks, self.ticks, self.ns)
        return converted

    def one(self, ticks: int) -> int:
        """Nanoseconds of one tick value."""
        return int(self.to_ns(np.array([ticks], np.int64))[0])


@njit(cache=True)
def _to_ns(ticks: Int64, anchor_ticks: Int64, anchor_ns: Int64) -> Int64:
    out = np.empty(len(ticks), np.int64)
    last = len(anchor_ticks) - 2
    k = 0
    for i in range(len(ticks)):
        t = ticks[i]
        while k < last and t >= anchor_ticks[k + 1]:
            k += 1
        while k > 0 and t < anchor_ticks[k]:
            k -= 1
        slope = (anchor_ns[k + 1] - anchor_ns[k]) / (anchor_ticks[k + 1] - anchor_ticks[k])
        value = anchor_ns[k] + np.int64(np.floor((t - anchor_ticks[k]) * slope + 0.5))
        # Rounding must not carry a time past the anchor that follows it.
        if k < last and value > anchor_ns[k + 1]:
            value = anchor_ns[k + 1]
        out[i] = value
    return out


@njit(cache=True)
def settle(thread: Int32, carries: Bool, t: Int64) -> int:
    """Makes the times of each thread strictly increasing in record order, in place; returns how many went backwards.

    `carries` marks the records whose time is the thread's own; others are left as they are. Equal times move up by
    the least step and do not count: that is the resolution of a nanosecond, not a fault of the clock.
    """
    backwards = 0
    owner = -1
    seen = latest = np.int64(0)
    for i in range(len(t)):
        if not carries[i]:
            continue
        if thread[i] != owner:
            owner = thread[i]
            seen = latest = t[i] - 1
        if t[i] < seen:
            backwards += 1
        seen = max(seen, t[i])
        latest = max(t[i], latest + 1)
        t[i] = latest
    return backwards
