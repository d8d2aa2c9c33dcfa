"""Latencies now and then in figures: how much a change would gain, and how sure that is.

    begins, latencies now and then + Blocks  ->  Figure by figure: now, then, their ratio and its 95 % interval

The same blocks of wall-clock time are resampled on both sides, since the same intervals are (docs/algorithms.md
section 5). The interval says how much chance there is in the intervals that were recorded, not whether the model holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, stdtrit

from vprof.tables.columns import floats, i64
from vprof.tables.kernels import kernel, loop
from vprof.tables.model import Float, Int64
from vprof.variance.statistics import LEVEL, RESAMPLES, Blocks, NoBlocks

FIGURES = ("mean", "sd", "variance", "p50", "p99", "p99.9", "max", "l2", "throughput")
_QUANTILES = (0.5, 0.99, 0.999)


@dataclass(frozen=True)
class Figure:
    """`now` and `then` in ns, ns2 (variance) or intervals a second (throughput); None: not defined. `ratio`: then by
    now."""

    name: str
    now: float | None
    then: float | None
    ratio: float | None
    ci95: tuple[float, float] | None


class Latencies(NamedTuple):
    """Of the analyzed intervals, host by host in the order of their begins now; ns. `begin`: since the first of the
    same host, an index."""

    begin: Float
    ns: Float
    host: Int64

    def some(self, rows: Int64) -> Latencies:
        return Latencies(self.begin[rows], self.ns[rows], self.host[rows])


@dataclass(frozen=True)
class Outcome:
    """`no_ci95`: why no ratio has an interval, "" if some have."""

    figures: list[Figure]
    no_ci95: str

    def __getitem__(self, name: str) -> Figure:
        return next(figure for figure in self.figures if figure.name == name)


def outcome(now: Latencies, then: Latencies, blocks: Blocks | NoBlocks | None) -> Outcome:
    """`blocks`: of the latencies now, None if they do not vary."""
    before, after = _figures(now), _figures(then)
    resampled: dict[str, Float] = {}
    if isinstance(blocks, Blocks):
        resampled = _resampled(now, then, blocks)
    figures = []
    for name in FIGURES:
        a, b = before[name], after[name]
        ratio = b / a if a and b is not None else None
        ci95 = _ci95(resampled[name], blocks) if name in resampled and isinstance(blocks, Blocks) else None
        figures.append(Figure(name, a, b, ratio, ci95 if ratio is not None else None))
    reason = blocks.reason if isinstance(blocks, NoBlocks) else "" if blocks else "the latencies do not vary"
    return Outcome(figures, reason)


def as_measured(ratios: Outcome, now: Latencies) -> Outcome:
    """With the ratios of an outcome, and what the figures are now."""
    known = _figures(now)
    figures = [replace(one, now=known[one.name], then=_times(known[one.name], one.ratio)) for one in ratios.figures]
    return Outcome(figures, ratios.no_ci95)


def _times(now: float | None, ratio: float | None) -> float | None:
    return None if now is None or ratio is None else now * ratio


def _figures(latencies: Latencies) -> dict[str, float | None]:
    ns = latencies.ns
    quantiles = np.quantile(ns, _QUANTILES, method="inverted_cdf")
    variance, length = float(ns.var()), float((latencies.begin + ns).max() - latencies.begin.min())
    return {
        "mean": float(ns.mean()),
        "sd": variance**0.5,
        "variance": variance,
        **dict(zip(("p50", "p99", "p99.9"), map(float, quantiles), strict=True)),
        "max": float(ns.max()),
        "l2": float(np.sqrt((ns**2).mean())),
        "throughput": len(ns) / (length / 1e9) if length > 0 else None,
    }


def _ci95(ratios: Float, blocks: Blocks) -> tuple[float, float] | None:
    """Quantiles as far out as Student's t with the blocks that count, as for shares; None if some ratio is not
    defined."""
    if not np.isfinite(ratios).all():
        return None
    freedom = max(1.0, blocks.effective - 1)
    outside = ndtr(np.sqrt((freedom + 1) / freedom) * stdtrit(freedom, (1 - LEVEL) / 2))
    low, high = np.quantile(ratios, [outside, 1 - outside])
    return float(low), float(high)


def _resampled(now: Latencies, then: Latencies, blocks: Blocks) -> dict[str, Float]:
    """The ratio of each figure in every resample; the maximum, which one interval makes, has none."""
    picks = np.random.default_rng(1).integers(0, blocks.count, (RESAMPLES, blocks.count))
    offsets = np.arange(RESAMPLES)[:, None] * blocks.count
    weights = np.bincount((picks + offsets).ravel(), minlength=RESAMPLES * blocks.count).reshape(RESAMPLES, -1)
    a, b = _side(now, weights, blocks), _side(then, weights, blocks)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {name: b[name] / a[name] for name in a}


def _side(latencies: Latencies, weights: Int64, blocks: Blocks) -> dict[str, Float]:
    """Every figure in every resample."""
    ns, of = latencies.ns, blocks.of
    n, total, squares = (weights @ np.bincount(of, x, blocks.count) for x in (None, ns, ns**2))
    mean = total / n
    centred = ns - ns.mean()  # else the difference of large numbers
    shift = (weights @ np.bincount(of, centred, blocks.count)) / n
    variance = np.maximum((weights @ np.bincount(of, centred**2, blocks.count)) / n - shift**2, 0.0)
    order = np.argsort(ns, kind="stable")
    p50, p99, p999 = _quantiles(floats(ns[order]), i64(of[order]), i64(weights), floats(_QUANTILES))
    return {
        "mean": mean,
        "sd": np.sqrt(variance),
        "variance": variance,
        "p50": p50,
        "p99": p99,
        "p99.9": p999,
        "l2": np.sqrt(squares / n),
        "throughput": n / (weights @ _lasted(latencies, blocks)),
    }


def _lasted(latencies: Latencies, blocks: Blocks) -> Float:
    """How long each block lasts: from its first begin to the next one's of the same host, the last one to the last
    end."""
    lasted = []
    for host in np.unique(latencies.host):
        mine = latencies.host == host
        begin, of = latencies.begin[mine], blocks.of[mine]
        first = np.full(int(of[-1] - of[0]) + 2, np.inf)
        first[-1] = (begin + latencies.ns[mine]).max()
        np.minimum.at(first, of - of[0], begin)
        lasted.append(np.diff(np.minimum.accumulate(first[::-1])[::-1]))
    return floats(np.concatenate(lasted))


@kernel
def _quantiles(ns: Float, of: Int64, weights: Int64, wanted: Float) -> Float:
    """By quantile and resample, of latencies in order: the least that so many do not exceed."""
    found = np.zeros((len(wanted), len(weights)))
    sizes = np.zeros(weights.shape[1], np.int64)
    for i in range(len(of)):
        sizes[of[i]] += 1
    for r in range(len(weights)):
        _of_resample(ns, of, weights[r], sizes, wanted, found, r)
    return found


@loop
def _of_resample(ns: Float, of: Int64, weight: Int64, sizes: Int64, wanted: Float, found: Float, r: int) -> None:
    total = 0
    for block in range(len(weight)):
        total += weight[block] * sizes[block]
    seen, k = 0, 0
    for i in range(len(ns)):
        seen += weight[of[i]]
        while k < len(wanted) and seen > 0 and seen >= wanted[k] * total:
            found[k, r] = ns[i]
            k += 1
        if k == len(wanted):
            break
