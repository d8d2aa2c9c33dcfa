"""Joining two tables on a key and the latest time: which begin does this end belong to, which label held then."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vprof.model import Int64


def latest(key: NDArray[Any], t: Int64, asked_key: NDArray[Any], asked_t: Int64) -> Int64:
    """For each asked (key, time) the row of the table with that key and the latest time not after it, or -1."""
    keys = np.concatenate([key, asked_key])
    times = np.concatenate([t, asked_t])
    asks = np.arange(len(keys)) >= len(key)
    order = np.lexsort((asks, times, keys))
    row = np.where(asks[order], -1, np.arange(len(order)))
    position = np.maximum.accumulate(row)
    found = np.where(position >= 0, order[position], -1)
    found = np.where((found >= 0) & (keys[found] == keys[order]), found, -1)
    answer = np.empty(len(keys), np.int64)
    answer[order] = found
    return answer[len(key) :]
