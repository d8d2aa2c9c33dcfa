"""The distinct values of a column."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import DTypeLike
from properties import seeds

from vprof.tables.lookup import distinct, values_of


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
