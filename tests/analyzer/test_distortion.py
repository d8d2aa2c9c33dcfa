"""What probes do to latencies, told from slices with and without them."""

import numpy as np
import pytest

from vprof.tables.model import Slice
from vprof.variance.distortion import MIN_ROUNDS, compare

Rng = np.random.Generator


def run(rng: Rng, rounds: int, factor: float, drift: float = 0.0, intervals: int = 400) -> list[Slice]:
    """Lognormal latencies; with the probes on `factor` times as long; they grow by `drift` in each slice."""
    slices = []
    for _ in range(rounds):
        first = bool(rng.integers(2))
        for on in (first, not first, not first, first):
            scale = 1e6 * (1 + drift * len(slices)) * (factor if on else 1.0)
            slices.append(Slice(on, (scale * rng.lognormal(0, 0.5, intervals)).astype(np.int64)))
    return slices


@pytest.mark.parametrize(("factor", "drift"), [(1.0, 0.0), (1.0, 0.02), (1.2, 0.0)])
def test_the_intervals_hold_the_truth_as_often_as_they_say_also_when_latencies_drift(
    factor: float, drift: float
) -> None:
    rng = np.random.default_rng(2)
    truth = {"mean": factor - 1, "variance": factor**2 - 1, "p99": factor - 1}
    held = dict.fromkeys(truth, 0)
    for _ in range(200):
        for effect in compare(run(rng, 6, factor, drift, 60)).effects:
            held[effect.metric] += effect.ci95[0] <= truth[effect.metric] <= effect.ci95[1]
    # 95 % of 200, less three standard deviations.
    assert min(held.values()) >= 180


def test_a_slowdown_is_found_in_every_metric() -> None:
    effects = compare(run(np.random.default_rng(1), 20, 1.20)).effects
    assert [effect.metric for effect in effects] == ["mean", "variance", "p99"]
    assert all(effect.ci95[0] > 0 for effect in effects)


def test_an_effect_as_large_as_the_detectable_one_is_found_about_4_times_in_5() -> None:
    rng = np.random.default_rng(3)
    detectable = float(np.mean([compare(run(rng, 8, 1.0)).effects[0].detectable for _ in range(50)]))
    found = sum(compare(run(rng, 8, 1 + detectable)).effects[0].ci95[0] > 0 for _ in range(200))
    assert 130 <= found <= 185


@pytest.mark.parametrize(("rounds", "intervals"), [(0, 400), (MIN_ROUNDS - 1, 400), (20, 5)])
def test_too_little_is_said(rounds: int, intervals: int) -> None:
    distortion = compare(run(np.random.default_rng(4), rounds, 1.0, 0.0, intervals))
    assert distortion.effects == []
    assert "too little to compare" in distortion.reason


def test_what_does_not_vary_has_no_effect_on_its_variance() -> None:
    same = np.full(100, 1000)
    slices = [Slice(on, same) for _ in range(5) for on in (True, False, False, True)]
    assert [e.metric for e in compare(slices).effects] == ["mean", "p99"]
