"""When an interval is slow: a time that was given, or a quantile of the latencies of late, by type.

A quantile is learned from what ended before, so an outlier does not hide itself, and forgotten: minute by minute, the
last ten count. So it follows a server whose load changes.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from vprof.errors import UsageError
from vprof.tables.model import Int64
from vprof.workload.quantiles import Quantiles

_UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9}
_MINUTE_NS = 60 * 10**9
_MINUTES = 10
_FEWEST_BEYOND = 2
"""A quantile is known once so many latencies are expected beyond it."""


class Threshold(Protocol):
    """`text`: what the user asked for."""

    text: str

    def limit(self, type_: str) -> int | None:
        """What takes more ns is slow; None: not known yet."""

    def learn(self, type_: str, latencies: Int64, now: int) -> None:
        """Of one piece, which ended at `now`."""


@dataclass
class Fixed:
    text: str
    ns: int

    def limit(self, type_: str) -> int | None:
        return self.ns

    def learn(self, type_: str, latencies: Int64, now: int) -> None:
        """Nothing to learn."""


@dataclass
class _Of:
    """The latencies of one type: (minute, its quantiles), oldest first; and what was last asked of them."""

    minutes: deque[tuple[int, Quantiles]] = field(default_factory=deque)
    limit: int | None = None


@dataclass
class Learned:
    text: str
    quantile: float
    _types: dict[str, _Of] = field(default_factory=dict)

    def limit(self, type_: str) -> int | None:
        return self._types[type_].limit if type_ in self._types else None

    def learn(self, type_: str, latencies: Int64, now: int) -> None:
        known = self._types.setdefault(type_, _Of())
        minute = now // _MINUTE_NS
        if not known.minutes or known.minutes[-1][0] != minute:
            known.minutes.append((minute, Quantiles()))
        known.minutes[-1][1].add(np.maximum(latencies, 0))
        while minute - known.minutes[0][0] >= _MINUTES:
            known.minutes.popleft()
        of_all = Quantiles()
        for _, part in known.minutes:
            of_all.join(part)
        enough = of_all.count * (1 - self.quantile) >= _FEWEST_BEYOND
        known.limit = of_all.at(self.quantile)[0] if enough else None


def threshold(text: str) -> Threshold:
    """From what a user gave: 20ms, 1.5s, p99, p99.9. Raises UsageError."""
    if found := re.fullmatch(r"p(\d{1,2}(?:\.\d{1,4})?)", text):
        percent = float(found[1])
        if 50 <= percent < 100:
            return Learned(text, percent / 100)
    elif (found := re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(ns|us|ms|s|m)", text)) and float(found[1]) > 0:
        return Fixed(text, round(float(found[1]) * _UNITS[found[2]]))
    raise UsageError(f"'{text}' is no limit: give a time such as 20ms, or a percentile from p50 on such as p99.9")
