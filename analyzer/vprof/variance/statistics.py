"""Statistics over intervals: the latencies' summary, the tail, types, and how far a share can be trusted.

Source: docs/algorithms.md sections 4, 5 and 8. All functions are pure; the resampling is seeded, so a trace always
gives the same report. Quantiles are latencies that occurred (inverse of the empirical distribution).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vprof.tables.columns import floats
from vprof.tables.kernels import helper, kernel, loop
from vprof.tables.lookup import values_of
from vprof.tables.model import Bool, Float, Int32, Int64
from vprof.variance.autocorrelation import pooled_time
from vprof.variance.cells import Cells
from vprof.variance.chains import deepest
from vprof.variance.factors import Factor
from vprof.variance.variance_tree import VarianceTree

TAIL_INTERVALS = 100
"""A tail share needs this many intervals in the tail."""
_TAILS = (0.999, 0.99, 0.95, 0.9, 0.75, 0.5)
MIN_BLOCKS = 30
MAX_BLOCKS = 1000
BLOCK_TIMES = 10
"""A block spans at least this many autocorrelation times."""
CAUTION = 3
MIN_EFFECTIVE = 30
MAX_BLOCK_SHARE = 0.20
RESAMPLES = 1000
LEVEL = 0.95
_TILE = 200
"""Resamples that are looked at together: their weights fit in the cache."""


@dataclass(frozen=True)
class Summary:
    """Latencies of the analyzed intervals; population variance."""

    count: int
    mean_ns: float
    variance_ns2: float
    stddev_ns: float
    cv: float | None
    p50_ns: int
    p95_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int


def summarize(latency_ns: Int64) -> Summary:
    mean, variance = float(latency_ns.mean()), float(latency_ns.var())
    q = [int(v) for v in np.quantile(latency_ns, [0.5, 0.95, 0.99, 0.999, 1], method="inverted_cdf")]
    cv = variance**0.5 / mean if mean > 0 else None
    return Summary(len(latency_ns), mean, variance, variance**0.5, cv, *q)


def tail_of(latency_ns: Int64, wanted: float = 0.99) -> tuple[float, Bool] | None:
    """The wanted quantile, or else the highest usual one below it, with at least 100 intervals at or above it, and
    those intervals; None if too few."""
    for q in (wanted, *(q for q in _TAILS if q < wanted)):
        tail = latency_ns >= np.quantile(latency_ns, q, method="inverted_cdf")
        if TAIL_INTERVALS <= np.count_nonzero(tail) < len(latency_ns):
            return q, tail
    return None


@dataclass(frozen=True)
class TypeRow:
    type: str
    count: int
    mean_ns: float
    variance_ns2: float
    p99_ns: int


@dataclass(frozen=True)
class TypeSplit:
    """Law of total variance: within_ns2 = E[Var | type], between_ns2 = Var(E | type), their sum is Var(L)."""

    within_ns2: float
    between_ns2: float
    rows: list[TypeRow]


def type_name(label: str) -> str:
    """As reports show a type; "" is none."""
    return label or "(none)"


def split_by_type(latency_ns: Int64, type_: Int32, names: list[str]) -> TypeSplit:
    rows = []
    within = between = 0.0
    mean = float(latency_ns.mean())
    for t in values_of(type_):
        part = summarize(latency_ns[type_ == t])
        weight = part.count / len(latency_ns)
        within += weight * part.variance_ns2
        between += weight * (part.mean_ns - mean) ** 2
        rows.append(TypeRow(type_name(names[t]), part.count, part.mean_ns, part.variance_ns2, part.p99_ns))
    return TypeSplit(within, between, sorted(rows, key=lambda r: (-r.count, r.type)))


@dataclass(frozen=True)
class Blocks:
    """Wall-clock blocks of the run: each interval's block, how many blocks there are, and to how many blocks of equal
    weight the variance amounts (n_eff)."""

    of: NDArray[np.int64]
    count: int
    effective: float


@dataclass(frozen=True)
class NoBlocks:
    """Why shares get no confidence interval, and the intervals to blame if there are some (positions); or how many
    intervals would be needed, about."""

    reason: str
    heaviest: Int64
    effective: float | None = None
    needed: int = 0


def blocks_of(begin_ns: Int64, latency_ns: Int64, host: Int64 | None = None) -> Blocks | NoBlocks | None:
    """None if the latencies do not vary."""
    return cut_blocks(begin_ns, latency_ns, host) if latency_ns.min() < latency_ns.max() else None


def cut_blocks(begin_ns: Int64, latency_ns: Int64, host: Int64 | None = None) -> Blocks | NoBlocks:
    """Blocks of equal wall-clock length on each `host` (None: all are of one); intervals are sorted by host, then by
    begin, and their latencies vary. Of no two hosts times are compared, nor does a block hold intervals of both.

    The autocorrelation time counts with CAUTION standard errors added: else just the runs in which it was estimated
    too short would be the ones with enough blocks (docs/design/intervals-of-shares.md).
    """
    centred = latency_ns - latency_ns.mean()
    spans = _of_hosts(host, len(latency_ns))
    times = times_of([latency_ns[a:b] for a, b in spans])
    tau = max(time + CAUTION * error for time, error in times)
    count = min(MAX_BLOCKS, int(len(latency_ns) / (BLOCK_TIMES * tau)))
    if count < MIN_BLOCKS:
        return _too_few(len(latency_ns), _needed(times, len(latency_ns)))
    of, count = _wall_clock(begin_ns, spans, count)
    sums = np.bincount(of, centred**2, count)
    effective = _effective(np.sqrt(sums))
    if effective >= MIN_EFFECTIVE and sums.max() <= MAX_BLOCK_SHARE * sums.sum():
        return Blocks(of, count, effective)
    if effective >= count / 2 and sums.max() <= MAX_BLOCK_SHARE * sums.sum():  # equal enough, but not enough of them
        return _too_few(len(latency_ns), int(np.ceil(len(latency_ns) * MIN_EFFECTIVE / effective)), effective)
    few = heaviest(centred**2)
    return NoBlocks(f"{len(few)} interval{'s hold' if len(few) > 1 else ' holds'} half of the variance", few, effective)


def _of_hosts(host: Int64 | None, n: int) -> list[tuple[int, int]]:
    """From where to where the intervals of each lie."""
    borders = [] if host is None else (np.flatnonzero(np.diff(host)) + 1).tolist()
    return list(pairwise([0, *borders, n]))


def _wall_clock(begin_ns: Int64, spans: list[tuple[int, int]], count: int) -> tuple[Int64, int]:
    """About `count` blocks, shared out by the number of intervals that the hosts have: each interval's block, and how
    many blocks there are."""
    of, made = np.empty(len(begin_ns), np.int64), 0
    for a, b in spans:
        mine = max(1, count * (b - a) // len(begin_ns))
        begin = begin_ns[a:b]
        block = (begin - begin[0]).astype(np.float64) / (int(begin[-1] - begin[0]) + 1) * mine
        of[a:b] = made + np.minimum(block.astype(np.int64), mine - 1)
        made += mine
    return of, made


def times_of(parts: Sequence[Int64]) -> list[tuple[float, float]]:
    """The autocorrelation times of latencies and of their squares about the mean of each part, with standard
    errors."""
    centred = [part - part.mean() for part in parts]
    return [pooled_time(x) for x in (centred, [c**2 - (c**2).mean() for c in centred])]


def _too_few(n: int, needed: int, effective: float | None = None) -> NoBlocks:
    return NoBlocks(
        f"too few intervals: {n}, about {needed} needed", np.zeros(0, np.int64), effective=effective, needed=needed
    )


def _needed(times: list[tuple[float, float]], n: int) -> int:
    """How many intervals give enough blocks, if the autocorrelation times are those found in n: errors get smaller."""
    needed = float(MIN_BLOCKS * BLOCK_TIMES)
    for _ in range(10):
        tau = max(time + CAUTION * error * (n / needed) ** 0.5 for time, error in times)
        needed = MIN_BLOCKS * BLOCK_TIMES * tau
    return int(np.ceil(needed))


def _effective(influence: Float) -> float:
    """How many blocks of equal influence would carry as much: (sum x^2)^2 / sum x^4."""
    squares = influence**2
    return float(squares.sum() ** 2 / (squares**2).sum()) if squares.any() else float(len(influence))


def heaviest(squares: Float) -> Int64:
    """The fewest intervals that hold half of the variance, by their squared deviations; the largest first."""
    order = np.argsort(-squares, kind="stable")
    largest = np.cumsum(squares[order])
    return order[: int(np.searchsorted(largest, largest[-1] / 2)) + 1]


class ShareIntervals:
    """95 % intervals of factors' shares: blocks resampled with replacement, shares from per-block co-moments.

    REQUIRES: the tree was built with these blocks.
    """

    def __init__(self, tree: VarianceTree, blocks: Blocks, factors: list[Factor]) -> None:
        """`factors`: those that will be asked for."""
        self._tree, self._blocks = tree, blocks
        picks = np.random.default_rng(1).integers(0, blocks.count, (RESAMPLES, blocks.count))
        offsets = np.arange(RESAMPLES)[:, None] * blocks.count
        weights = np.bincount((picks + offsets).ravel(), minlength=RESAMPLES * blocks.count)
        tiles = weights.reshape(RESAMPLES // _TILE, _TILE, blocks.count).transpose(0, 2, 1)
        self._weights = np.ascontiguousarray(tiles, np.float64)
        self._size = np.bincount(blocks.of, minlength=blocks.count).astype(np.float64)
        self._n = _weighted(self._weights, self._size)
        places = np.array([pair for factor in factors for pair in factor.instances], np.int64).reshape(-1, 2)
        a, b = places.T
        self._pairs = values_of(np.concatenate([tree.summed.pair(x, y) for x, y in ((a, a), (b, b), (a, b))]))
        self._cells = tree.summed.moments.cells(self._pairs)
        self._known: dict[int, tuple[Factor, Float, Float]] = {}
        latency = tree.latency_ns - tree.latency_ns.mean()
        self._squares, deviations = (floats(np.bincount(blocks.of, x, blocks.count)) for x in (latency**2, latency))
        self._variance = self._covariance(self._squares, _weighted(self._weights, deviations) ** 2)

    def of(self, factor: Factor) -> tuple[float, float]:
        """Its interval: quantiles of the resampled shares, as far out as Student's t with the blocks that count.

        Few blocks, or blocks of unequal influence, make plain quantiles too narrow (Hesterberg 2015, expanded
        percentiles); a block's influence is its part of the contribution less the share's part of its variance.
        """
        from scipy.special import ndtr, stdtrit

        shares, products = self._resampled(factor)
        freedom = max(1.0, _effective(products - factor.share * self._squares) - 1)
        outside = ndtr(np.sqrt((freedom + 1) / freedom) * stdtrit(freedom, (1 - LEVEL) / 2))
        low, high = np.quantile(shares, [outside, 1 - outside])
        return float(low), float(high)

    def samples(self, factor: Factor) -> Float:
        """Its share in every resample; the same resamples for all factors, so that they can be compared."""
        return self._resampled(factor)[0]

    def firsts(self, factors: list[Factor], min_share: float) -> list[float]:
        """Of each, in how many of the resamples (0 to 1) it is ranked first: the highest score of those that hold
        `min_share` there, or what that one passes its variance to."""
        shares = np.array([self.samples(factor) for factor in factors])
        specificity = np.array([[factor.specificity] for factor in factors])
        scores = np.where(shares >= min_share, specificity * shares, -np.inf)
        cause = np.array(deepest([f.function for f in factors], {f.function: f.passes_to for f in factors}))
        first = np.where(scores.max(axis=0) > -np.inf, cause[scores.argmax(axis=0)], len(factors))
        counts = np.bincount(first, minlength=len(factors))[: len(factors)]
        return [float(count) / RESAMPLES for count in counts]

    def _resampled(self, factor: Factor) -> tuple[Float, Float]:
        """Its shares, and per block its sum of products: of deviations from the means."""
        if id(factor) not in self._known:
            times = 1 if factor.kind == "variance" else 2
            products, of_means = self._sums(factor.instances)
            shares = times * self._covariance(products, of_means) / self._variance
            self._known[id(factor)] = factor, shares, times * products
        return self._known[id(factor)][1:]

    def _covariance(self, products: Float, of_means: Float) -> Float:
        """In every resample."""
        found: Float = (_weighted(self._weights, products) - of_means / self._n) / self._n
        return found

    def _sums(self, pairs: list[tuple[int, int]]) -> tuple[Float, Float]:
        """Over the pairs, the sums of deviations' products in every block, and of products of their sums in every
        resample."""
        a, b = np.array(pairs, np.int64).T
        alone = np.array_equal(a, b)
        both = self._of(a, b)
        left, right = (both, both) if alone else (self._of(a, a), self._of(b, b))
        mean_a, mean_b = self._tree.mean_ns[a], self._tree.mean_ns[b]
        products = self._size * (mean_a @ mean_b)
        for cells, value in (
            (both, both.product),
            (left, -left.time * np.repeat(mean_b, np.diff(left.first))),
            (right, -right.time * np.repeat(mean_a, np.diff(right.first))),
        ):
            products += np.bincount(cells.block, value, self._blocks.count)
        sides = _Side(left, mean_a), _Side(right, mean_b)
        return products, _products_of_sums(*sides, alone, self._weights, self._n.reshape(-1, _TILE))

    def _of(self, a: Int64, b: Int64) -> Cells:
        """By block, of pairs of siblings or of nodes with themselves."""
        return self._cells.of(np.searchsorted(self._pairs, self._tree.summed.pair(a, b)))


@kernel
def _weighted(weights: Float, values: Float) -> Float:
    """By resample the weighted sum of what the blocks have; `weights` by (tile, block, resample)."""
    tiles, _, resamples = weights.shape
    total = np.zeros((tiles, resamples))
    for tile in range(tiles):
        _add_weighted(values, weights[tile], total[tile])
    return total.ravel()


@loop
def _add_weighted(values: Float, weights: Float, total: Float) -> None:
    for block in range(len(values)):
        value, of = values[block], weights[block]
        for r in range(len(total)):
            total[r] += value * of[r]


class _Side(NamedTuple):
    """One node of each pair: its cells, and its mean time."""

    cells: Cells
    mean: Float


@kernel
def _products_of_sums(left: _Side, right: _Side, alone: bool, weights: Float, n: Float) -> Float:
    """Over the pairs of `left` and `right`, by resample: the sum of products of their weighted deviations. `alone`: of
    nodes with themselves. `n`: the weighted sizes, by (tile, resample)."""
    total = np.zeros(n.shape)
    tiles, resamples = n.shape
    for tile in range(tiles):
        scratch = np.empty((2, resamples))
        _add_tile(left, right, alone, weights[tile], n[tile], total[tile], scratch)
    return total.ravel()


@loop
def _add_tile(left: _Side, right: _Side, alone: bool, weights: Float, n: Float, total: Float, scratch: Float) -> None:
    a, b = scratch[0], scratch[0 if alone else 1]
    for k in range(len(left.mean)):
        _deviate(left, k, weights, n, a)
        if not alone:
            _deviate(right, k, weights, n, b)
        for r in range(len(total)):
            total[r] += a[r] * b[r]


@helper
def _deviate(side: _Side, k: int, weights: Float, n: Float, out: Float) -> None:
    """The deviations of the k-th node's cells from its mean, weighted."""
    cells, mean = side.cells, side.mean[k]
    for r in range(len(out)):
        out[r] = -mean * n[r]
    for c in range(cells.first[k], cells.first[k + 1]):
        value, of = cells.time[c], weights[cells.block[c]]
        for r in range(len(out)):
            out[r] += value * of[r]


@dataclass(frozen=True)
class Lost:
    """`count` of `total` intervals were left out because records were lost; they hold `of_variance` of Var(L)."""

    count: int
    total: int
    of_variance: float

    @property
    def share(self) -> float:
        """How much of the picture is missing: of the intervals, or of their variance if that is more."""
        return max(self.count / self.total, self.of_variance)

    def __str__(self) -> str:
        what = "touches lost records and was" if self.count == 1 else "touch lost records and were"
        held = f"{100 * self.of_variance:.1f} % of the variance"
        return f"{self.count} of {self.total} intervals {what} left out, with {held}"


def lost(latency_ns: Int64, lost_ns: Int64) -> Lost:
    """`latency_ns` of the analyzed intervals, `lost_ns` of those left out because of loss."""
    everything = np.concatenate((latency_ns, lost_ns)).astype(np.float64)
    squares = (everything - everything.mean()) ** 2
    of_variance = squares[len(latency_ns) :].sum() / squares.sum() if squares.sum() > 0 else 0.0
    return Lost(len(lost_ns), len(everything), float(of_variance))
