"""What a host does to constant work tells which other work varies by no more."""

import numpy as np
import pytest
from properties import seeds

from vprof.drill.host import STEADY, Host, measured

MS = 1e6
MEASURED = 20_000
"""Pieces of 0.2 ms in eight seconds."""


def shaken(length_ns: float, pieces: int, events: float, rng: np.random.Generator) -> np.ndarray:
    """Constant work of that length, and up to 10 ms more at random moments, `events` in a second of work."""
    taken = rng.poisson(events * length_ns / 1e9, pieces)
    return length_ns * rng.normal(1, 0.1, pieces) + np.array([rng.uniform(0, 10 * MS, n).sum() for n in taken])


def told(took: np.ndarray) -> Host:
    return Host(float(took.mean()), float(took.std() / took.mean()))


@seeds(10)
def test_what_a_host_takes_explains_constant_work_of_any_length_and_no_more_than_that(seed: int) -> None:
    rng = np.random.default_rng(seed)
    host = told(shaken(0.2 * MS, MEASURED, 10, rng))
    for length in (0.1 * MS, 0.25 * MS, 1 * MS):
        other = told(shaken(length, 40_000, 10, rng))
        assert host.explains(other.mean_ns, other.spread)
        assert not host.explains(other.mean_ns, 3 * other.spread)


@pytest.mark.parametrize(("spread", "explained"), [(0.9, True), (STEADY, False), (0.3, False)])
def test_a_host_that_takes_little_explains_nothing(spread: float, explained: bool) -> None:
    """Not even of short work, whose spread caches and hyperthreads do not raise as such events would."""
    assert Host(0.2 * MS, spread).explains(0.2 * MS, 1.0) == explained
    assert Host(0.2 * MS, 0.3).spread_of(0.01 * MS) == 0


def test_constant_work_is_measured_in_pieces_as_long_as_a_request() -> None:
    host = measured(0.5)
    assert 0.02 * MS < host.mean_ns < 20 * MS
    assert host.spread > 0
