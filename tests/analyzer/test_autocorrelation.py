"""Autocorrelation times, and the autocovariances that they are made of."""

import numpy as np
import pytest
from properties import seeds

from vprof.variance.autocorrelation import autocorrelation_time, autocovariances, pooled_time


def _slow(noise: np.ndarray, memory: float) -> np.ndarray:
    """A process each value of which keeps a part of the one before."""
    slow = np.zeros(len(noise))
    for i in range(1, len(slow)):
        slow[i] = memory * slow[i - 1] + noise[i]
    return slow


def test_of_noise_and_of_a_slow_process() -> None:
    noise = np.random.default_rng(5).normal(size=20000)
    assert autocorrelation_time(noise)[0] == pytest.approx(1, abs=0.2)
    time, error = autocorrelation_time(_slow(noise, 0.9))
    assert time == pytest.approx(19, rel=0.3)  # (1 + 0.9) / (1 - 0.9)
    assert abs(time - 19) < 3 * error < 19


def test_of_a_process_that_remembers_longer_than_is_looked_at_first() -> None:
    noise = np.random.default_rng(6).normal(size=200_000)
    time, _ = autocorrelation_time(_slow(noise, 0.999))
    assert time == pytest.approx(1999, rel=0.5)


def test_of_what_never_changes() -> None:
    assert autocorrelation_time(np.zeros(5000)) == (1.0, 0.0)


def _with_all_lags(x: np.ndarray) -> tuple[float, float]:
    """The same, by definition."""
    sums = np.correlate(x, x, "full")[len(x) - 1 :]
    tau = 2 * np.cumsum(sums / sums[0]) - 1
    window = next((k for k in range(len(x)) if k >= 5 * tau[k]), len(x) - 1)
    time = max(1.0, float(tau[window]))
    return time, time * (2 * (2 * window + 1) / len(x)) ** 0.5


@seeds(20)
def test_it_looks_as_far_as_it_has_to(seed: int) -> None:
    """Also where the window closes late, or never: a walk that comes back to its mean once."""
    rng = np.random.default_rng(seed)
    x = _slow(rng.normal(size=int(rng.integers(2, 6000))), 1 - 10 ** -rng.uniform(0, 5))
    x -= x.mean() * (seed % 2)
    assert autocorrelation_time(x) == pytest.approx(_with_all_lags(x), rel=1e-6)


@seeds(10)
def test_autocovariances_are_sums_of_products(seed: int) -> None:
    """Whatever the length, also where it takes several pieces."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=int(np.exp(rng.uniform(0, np.log(150_000)))))
    lags = int(rng.integers(1, min(len(x), 3000) + 1))
    asked = {0, lags - 1, *rng.integers(0, lags, 20).tolist()}
    found = autocovariances(x, lags)
    assert len(found) == lags
    for k in asked:
        assert found[k] == pytest.approx(float(x[: len(x) - k] @ x[k:]), abs=1e-9 * float(x @ x))


@seeds(5)
def test_two_series_pooled_are_as_one_where_they_do_not_touch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (_slow(rng.normal(size=int(rng.integers(2000, 6000))), 0.8) for _ in range(2))
    apart = np.r_[a, np.zeros(6000), b]
    time, _ = pooled_time([a, b])
    assert time == pytest.approx(autocorrelation_time(apart)[0], rel=1e-9)
