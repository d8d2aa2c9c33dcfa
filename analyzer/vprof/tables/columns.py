"""Columns as compiled kernels want them: contiguous, writable, of one type. So each kernel is compiled once, ever. And
the groups of a column that is sorted or grouped."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from vprof.tables.model import Float, Int8, Int32, Int64


def i64(column: Any) -> Int64:
    return np.require(column, np.int64, ["C", "W"])


def i32(column: Any) -> Int32:
    return np.require(column, np.int32, ["C", "W"])


def floats(column: Any) -> Float:
    return np.asarray(column, np.float64)


def i8(column: Any) -> Int8:
    return np.require(column, np.int8, ["C", "W"])


def groups(column: Any) -> list[slice]:
    """The runs of equal values, in order."""
    starts = np.flatnonzero(column[1:] != column[:-1]) + 1
    return [slice(a, b) for a, b in pairwise([0, *starts.tolist(), len(column)]) if a < b]
