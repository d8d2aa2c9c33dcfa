"""In how much of a time at least so many of some other times overlap."""

from __future__ import annotations

import numpy as np

from vprof.tables.model import Float, Int64


class Overlap:
    def __init__(self, begin: Int64, end: Int64, least: int) -> None:
        """`begin`, `end`: of each time; `least`: how many have to overlap."""
        at = np.concatenate([begin, end])
        order = np.argsort(at, kind="stable")
        level = np.cumsum(np.repeat([1, -1], [len(begin), len(end)])[order])
        self._at = at[order].astype(np.float64)
        self._ns = np.r_[0.0, np.cumsum(np.diff(self._at) * (level[:-1] >= least))] if len(at) else np.zeros(0)

    def between(self, begin: Int64, end: Int64) -> Float:
        """How much of the time from each begin to each end that is, ns."""
        if not len(self._at):
            return np.zeros(len(begin))
        found: Float = np.interp(end, self._at, self._ns) - np.interp(begin, self._at, self._ns)
        return found
