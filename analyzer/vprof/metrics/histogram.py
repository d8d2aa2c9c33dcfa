"""Latencies in buckets, piece by piece: by NumPy, since the library's own histogram takes them one at a time."""

from __future__ import annotations

import numpy as np

from vprof.tables.model import Int64

BOUNDS_NS = tuple(
    round(bound * 1e9)
    for bound in (
        *(100e-6, 250e-6, 500e-6),
        *(1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5),
        *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
    )
)
"""Upper bounds, which belong to their buckets. Beyond the last is one more bucket."""
_BOUNDS = np.array(BOUNDS_NS, np.int64)


class Histogram:
    def __init__(self) -> None:
        self._counts, self._sum_ns = np.zeros(len(BOUNDS_NS) + 1, np.int64), 0

    def add(self, latencies: Int64) -> None:
        """In ns."""
        taken = np.maximum(latencies, 0)
        self._counts += np.bincount(np.searchsorted(_BOUNDS, taken, "left"), minlength=len(self._counts))
        self._sum_ns += int(taken.sum())

    @property
    def sum_seconds(self) -> float:
        return self._sum_ns / 1e9

    def buckets(self) -> list[tuple[str, float]]:
        """(upper bound in seconds, how many took no longer)."""
        bounds = [*(f"{bound / 1e9:g}" if bound % 10**9 else f"{bound / 1e9:.1f}" for bound in BOUNDS_NS), "+Inf"]
        return list(zip(bounds, map(float, np.cumsum(self._counts).tolist()), strict=True))
