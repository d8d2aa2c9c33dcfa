"""Percentiles of latencies by an HDR histogram of three significant digits (the library `hdrhistogram`).

The library records a million numbers a second one by one. So they are counted here by the 11 significant bits that it
tells apart, and the some ten thousand counts are recorded when something is asked; the histogram is the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

_DIGITS, _BITS = 3, 11
_LONGEST_NS = 1 << 50
"""Thirteen days; what took longer counts as that."""
_CELLS = (51 - _BITS + 2) << (_BITS - 1)
_HISTOGRAM: Any = HdrHistogram  # it has no annotations
_STEPS = 8
"""Points of the curve for each halving of what is left to 100 %."""


class Quantiles:
    """Of numbers of ns, added in parts. A percentile is at most 0.1 % above a number that occurred, and never above the
    maximum."""

    def __init__(self) -> None:
        self._histogram = _HISTOGRAM(1, _LONGEST_NS, _DIGITS)
        self._counts = np.zeros(_CELLS, np.int64)
        self._maximum = 0

    @property
    def count(self) -> int:
        return int(self._counts.sum())

    def add(self, values: npt.NDArray[np.int64]) -> None:
        """Numbers of 0 or more."""
        if not len(values):
            return
        self._maximum = max(self._maximum, int(values.max()))
        self._counts += np.bincount(_cell(np.minimum(values, _LONGEST_NS)), minlength=_CELLS)

    def join(self, other: Quantiles) -> None:
        """Adds all that `other` holds."""
        self._counts += other._counts
        self._maximum = max(self._maximum, other._maximum)

    def histogram(self) -> Any:
        """The library's, of all numbers."""
        if self._histogram.total_count != self.count:
            self._histogram = _HISTOGRAM(1, _LONGEST_NS, _DIGITS)
            cells = np.flatnonzero(self._counts)
            for value, count in zip(_value(cells).tolist(), self._counts[cells].tolist(), strict=True):
                self._histogram.record_value(value, count)
        return self._histogram

    def at(self, *quantiles: float) -> list[int | None]:
        """At each of them (0.99: the number that 99 % do not exceed, to the nearest rank), None if there is none."""
        if not self.count:
            return [None for _ in quantiles]
        found = self.histogram().get_percentile_to_value_dict([100 * q for q in quantiles])
        return [min(found[100 * q], self._maximum) for q in quantiles]

    def curve(self) -> list[tuple[float, int]]:
        """(quantile, ns), rising, closer together the nearer to 1; the last quantile is 1."""
        if not self.count:
            return []
        steps = self.histogram().get_percentile_iterator(_STEPS)
        points = [
            (step.percentile_level_iterated_to / 100, min(step.value_iterated_to, self._maximum)) for step in steps
        ]
        return points if points[-1][0] == 1 else [*points, (1.0, self._maximum)]


def _cell(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Which cell of the table of counts each is in: those with the same significant bits and length share one."""
    shift = np.maximum(np.frexp(values)[1].astype(np.int64) - _BITS, 0)
    return (shift << (_BITS - 1)) + (values >> shift)


def _value(cells: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The smallest number of each cell."""
    shift = np.maximum((cells >> (_BITS - 1)) - 1, 0)
    found: npt.NDArray[np.int64] = (cells - (shift << (_BITS - 1))) << shift
    return found
