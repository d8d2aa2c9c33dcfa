"""Statistics over intervals: the latencies' summary, the tail, types, and how far a share can be trusted.

Source: ALGORITHMS sections 4, 5 and 8. All functions are pure; the resampling is seeded, so a trace always gives the
same report. Quantiles are latencies that occurred (inverse of the empirical distribution).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vprof.factors import Factor
from vprof.model import Bool, Int32, Int64
from vprof.variance_tree import Float, VarianceTree

TAIL_INTERVALS = 100
"""A tail share needs this many intervals in the tail."""
_TAILS = (0.999, 0.99, 0.95, 0.9, 0.75, 0.5)
MIN_BLOCKS = 30
MAX_BLOCKS = 1000
BLOCK_TIMES = 10
"""A block spans at least this many autocorrelation times."""
MIN_EFFECTIVE = 30
MAX_BLOCK_SHARE = 0.20
RESAMPLES = 1000
_BATCH = 64
"""Places of a factor whose block sums are held at once."""


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
    for t in np.unique(type_):
        part = summarize(latency_ns[type_ == t])
        weight = part.count / len(latency_ns)
        within += weight * part.variance_ns2
        between += weight * (part.mean_ns - mean) ** 2
        rows.append(TypeRow(type_name(names[t]), part.count, part.mean_ns, part.variance_ns2, part.p99_ns))
    return TypeSplit(within, between, sorted(rows, key=lambda r: (-r.count, r.type)))


@dataclass(frozen=True)
class Blocks:
    """Wall-clock blocks of the run: each interval's block, and how many blocks there are."""

    of: NDArray[np.int64]
    count: int


@dataclass(frozen=True)
class NoBlocks:
    """Why shares get no confidence interval, and the intervals to blame if there are some (positions)."""

    reason: str
    events: Int64


def cut_blocks(begin_ns: Int64, latency_ns: Int64) -> Blocks | NoBlocks:
    """Blocks of equal wall-clock length; intervals are sorted by begin and their latencies vary."""
    centred = latency_ns - latency_ns.mean()
    tau = max(autocorrelation_time(centred), autocorrelation_time(centred**2 - (centred**2).mean()))
    count = min(MAX_BLOCKS, int(len(latency_ns) / (BLOCK_TIMES * tau)))
    if count < MIN_BLOCKS:
        needed = int(np.ceil(MIN_BLOCKS * BLOCK_TIMES * tau))
        return NoBlocks(f"too few intervals: {len(latency_ns)}, about {needed} needed", np.zeros(0, np.int64))
    span = int(begin_ns[-1] - begin_ns[0]) + 1
    block = (begin_ns - begin_ns[0]).astype(np.float64) / span * count
    blocks = Blocks(np.minimum(block.astype(np.int64), count - 1), count)
    sums = np.bincount(blocks.of, centred**2, count)
    effective = sums.sum() ** 2 / (sums**2).sum()
    if effective >= MIN_EFFECTIVE and sums.max() <= MAX_BLOCK_SHARE * sums.sum():
        return blocks
    few = events(centred**2)
    return NoBlocks(f"driven by {len(few)} event{'s' * (len(few) > 1)} (n_eff {effective:.0f})", few)


def events(squares: Float) -> Int64:
    """The fewest intervals that hold half of the variance, by their squared deviations; the largest first."""
    order = np.argsort(-squares, kind="stable")
    largest = np.cumsum(squares[order])
    return order[: int(np.searchsorted(largest, largest[-1] / 2)) + 1]


def autocorrelation_time(x: Float) -> float:
    """Integrated autocorrelation time in intervals, at least 1 (window of five times itself, after Sokal)."""
    n = len(x)
    spectrum = np.fft.rfft(x, 2 * n)
    rho = np.fft.irfft(spectrum * np.conj(spectrum))[:n]
    if rho[0] <= 0:
        return 1.0
    tau = 2 * np.cumsum(rho / rho[0]) - 1
    window = np.flatnonzero(np.arange(n) >= 5 * tau)
    return max(1.0, float(tau[window[0] if len(window) else n - 1]))


class ShareIntervals:
    """95 % intervals of factors' shares: blocks resampled with replacement, shares from per-block co-moments."""

    def __init__(self, tree: VarianceTree, blocks: Blocks) -> None:
        self._tree, self._blocks = tree, blocks
        picks = np.random.default_rng(1).integers(0, blocks.count, (RESAMPLES, blocks.count))
        offsets = np.arange(RESAMPLES)[:, None] * blocks.count
        weights = np.bincount((picks + offsets).ravel(), minlength=RESAMPLES * blocks.count)
        self._weights = weights.reshape(RESAMPLES, blocks.count).astype(np.float64)
        self._n = self._weights @ np.bincount(blocks.of, minlength=blocks.count)
        self._variance = self._covariances([(0, 0)])

    def of(self, factor: Factor) -> tuple[float, float]:
        low, high = np.quantile(self.samples(factor), [0.025, 0.975])
        return float(low), float(high)

    def samples(self, factor: Factor) -> Float:
        """Its share in every resample; the same resamples for all factors, so that they can be compared."""
        times = 1 if factor.kind == "variance" else 2
        contribution = np.zeros(RESAMPLES)
        for i in range(0, len(factor.instances), _BATCH):
            contribution += times * self._covariances(factor.instances[i : i + _BATCH])
        shares: Float = contribution / self._variance
        return shares

    def _covariances(self, pairs: list[tuple[int, int]]) -> Float:
        """Sum of Cov(a, b) over the pairs, in every resample."""
        products = np.zeros(self._blocks.count)
        left, right = (np.zeros((self._blocks.count, len(pairs))) for _ in range(2))
        for j, pair in enumerate(pairs):
            a, b = (self._tree.column.dense(x) - self._tree.mean_ns[x] for x in pair)
            products += self._block_sums(a * b)
            left[:, j], right[:, j] = self._block_sums(a), self._block_sums(b)
        n = self._n[:, None]
        means = (self._weights @ left / n) * (self._weights @ right / n)
        total: Float = self._weights @ products / self._n - means.sum(axis=1)
        return total

    def _block_sums(self, x: Float) -> Float:
        return np.bincount(self._blocks.of, x, self._blocks.count).astype(np.float64)


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
