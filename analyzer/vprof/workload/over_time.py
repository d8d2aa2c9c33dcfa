"""Latencies over the time of a run, small enough to draw: percentiles and maximum of each of some hundred slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_MOST_SLICES, _FEWEST_SLICES = 240, 12
_PER_SLICE = 40
"""Transactions that a slice should hold."""
_STEPS_PER_DOUBLING, _DOUBLINGS = 16, 50


@dataclass
class OverTime:
    """Counts of latencies by slice of the run (by intended start) and by size, in steps of 2 ** (1 / 16): 4.4 %."""

    begin_ns: int
    slice_ns: float
    counts: npt.NDArray[np.int64]
    maximum_ns: npt.NDArray[np.int64]

    @classmethod
    def of(cls, begin_ns: int, end_ns: int, transactions: int) -> OverTime:
        slices = int(np.clip(transactions // _PER_SLICE, _FEWEST_SLICES, _MOST_SLICES))
        width = max(1.0, (end_ns - begin_ns) / slices)
        counts = np.zeros((slices, _STEPS_PER_DOUBLING * _DOUBLINGS), np.int64)
        return cls(begin_ns, width, counts, np.zeros(slices, np.int64))

    def add(self, intended_ns: npt.NDArray[np.int64], latency_ns: npt.NDArray[np.int64]) -> None:
        if not len(intended_ns):
            return
        slices, steps = self.counts.shape
        at = np.clip((intended_ns - self.begin_ns) // self.slice_ns, 0, slices - 1).astype(np.int64)
        size = (np.log2(np.maximum(latency_ns, 1)) * _STEPS_PER_DOUBLING).astype(np.int64)
        cells = at * steps + np.minimum(size, steps - 1)
        self.counts += np.bincount(cells, minlength=self.counts.size).reshape(self.counts.shape)
        np.maximum.at(self.maximum_ns, at, latency_ns)

    def bands(self) -> dict[str, Any]:
        """`slice_s`, and for each slice the `count`, `p50_ns`, `p99_ns` (upper edges of a step of 4.4 %, at most the
        maximum), `max_ns`; null where a slice is empty."""
        totals = self.counts.sum(axis=1)
        return {
            "slice_s": self.slice_ns / 1e9,
            "count": totals.tolist(),
            "p50_ns": self._at(0.5, totals),
            "p99_ns": self._at(0.99, totals),
            "max_ns": [int(most) if n else None for n, most in zip(totals, self.maximum_ns, strict=True)],
        }

    def _at(self, quantile: float, totals: npt.NDArray[np.int64]) -> list[float | None]:
        reached = np.cumsum(self.counts, axis=1) >= np.maximum(1, np.ceil(quantile * totals))[:, None]
        edges = 2.0 ** ((reached.argmax(axis=1) + 1) / _STEPS_PER_DOUBLING)
        found = np.minimum(edges, self.maximum_ns)
        return [float(ns) if n else None for n, ns in zip(totals, found, strict=True)]
