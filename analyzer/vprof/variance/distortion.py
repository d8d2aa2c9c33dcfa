"""What the probes do to what they measure: slices of one run with the plan on, and off, compared.

    ABBA BAAB ... slices of one length -> intervals inside each -> per round of four slices: on against off -> effects

The order of each round is drawn at random, so neither a drift nor a period of the program looks like an effect. The
unit is the round: intervals in it depend on each other. A metric's effect is the mean over the rounds of
log(on / off), with Student's interval; `detectable` is the effect that this measurement would have found 4 times in 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vprof.tables.model import Float, Int64, Slice
from vprof.trace.turns import ROUND

MIN_ROUNDS = 3
MIN_INTERVALS = 20
"""Of a round on either side: with fewer, it says nothing."""
_LEVEL, _POWER = 0.95, 0.80


@dataclass(frozen=True)
class Effect:
    """`change` = on / off - 1, its 95 % interval, and the least change that would have been found."""

    metric: str
    change: float
    ci95: tuple[float, float]
    detectable: float


@dataclass(frozen=True)
class Distortion:
    """`on`, `off`: intervals compared; `effects` is empty where there was too little, `reason` says what."""

    on: int
    off: int
    rounds: int
    effects: list[Effect]
    reason: str = ""


METRICS: dict[str, Callable[[Int64], float]] = {
    "mean": lambda latency: float(latency.mean()),
    "variance": lambda latency: float(latency.var()),
    "p99": lambda latency: float(np.quantile(latency, 0.99, method="inverted_cdf")),
}


def compare(slices: Sequence[Slice]) -> Distortion:
    """`slices` in the order of time; an incomplete round at the end is left out."""
    rounds = [slices[i : i + ROUND] for i in range(0, len(slices) - ROUND + 1, ROUND)]
    sides = [
        tuple(np.concatenate([s.latency_ns for s in one_round if s.on is on]) for on in (True, False))
        for one_round in rounds
    ]
    enough = [(on, off) for on, off in sides if min(len(on), len(off)) >= MIN_INTERVALS]
    counted = sum(len(side[0]) for side in enough), sum(len(side[1]) for side in enough)
    if len(enough) < MIN_ROUNDS:
        enough_of = f"{len(enough)} of {len(rounds)} rounds of four slices"
        reason = f"too little to compare: {enough_of} hold {MIN_INTERVALS} intervals"
        return Distortion(*counted, len(enough), [], reason)
    effects = [_effect(name, metric, enough) for name, metric in METRICS.items()]
    return Distortion(*counted, len(enough), [effect for effect in effects if effect])


def _of(one_round: Sequence[Slice], on: bool) -> Int64:
    return np.concatenate([part.latency_ns for part in one_round if part.on is on])


def _effect(name: str, metric: Callable[[Int64], float], rounds: Sequence[tuple[Int64, Int64]]) -> Effect | None:
    from scipy.special import stdtrit

    values = np.array([[metric(on), metric(off)] for on, off in rounds])
    if (values <= 0).any():
        return None
    logs: Float = np.log(values[:, 0] / values[:, 1])
    mean, error, freedom = float(logs.mean()), float(logs.std(ddof=1) / len(logs) ** 0.5), len(logs) - 1
    width = float(stdtrit(freedom, (1 + _LEVEL) / 2)) * error
    found = width + float(stdtrit(freedom, _POWER)) * error
    low, change, high, detectable = np.expm1([mean - width, mean, mean + width, found]).tolist()
    return Effect(name, change, (low, high), detectable)
