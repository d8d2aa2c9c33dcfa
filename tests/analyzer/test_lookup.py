"""The distinct values of a column, and which row held at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import DTypeLike
from properties import seeds

from vprof.tables.lookup import distinct, latest, values_of


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.bool_])
@seeds(5)
def test_values_come_once_and_in_order(seed: int, kind: DTypeLike) -> None:
    rng = np.random.default_rng(seed)
    column = rng.integers(0, 9, rng.integers(0, 30)).astype(kind)
    found = values_of(column)
    assert found.dtype == kind
    assert found.tolist() == sorted(set(column.tolist()))


def test_distinct_values_come_as_they_are_first_seen() -> None:
    found, which = distinct(np.array([7, -1, 7, 3]))
    assert (found.tolist(), which.tolist()) == ([7, -1, 3], [0, 1, 0, 2])


@pytest.mark.parametrize("kind", [np.int32, np.uint64])
@seeds(20)
def test_the_latest_row_is_that_of_the_key_and_not_after_the_time(seed: int, kind: DTypeLike) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(0, 200, 2)
    key, asked = (rng.integers(0, 6, size).astype(kind) for size in (n, m))
    if kind is np.uint64:
        key, asked = key * np.uint64(2**61), asked * np.uint64(2**61)  # above 2**63, too
    t, when = rng.integers(-50, 50, n), rng.integers(-60, 60, m)
    if seed % 2:  # a table in order, as most are
        order = np.lexsort((t, key))
        key, t = key[order], t[order]
    rows = [[i for i in range(n) if key[i] == k and t[i] <= x] for k, x in zip(asked, when, strict=True)]
    expected = [max(mine, key=lambda i: (t[i], i)) if mine else -1 for mine in rows]
    assert latest(key, t, asked, when).tolist() == expected
