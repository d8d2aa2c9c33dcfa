"""Hosts that are unlike the others: in the mean of their latencies, or in their variance.

    latencies, host by host -> blocks of so many intervals that they hardly depend on each other -> by metric:
      is the host's own fluctuation enough to explain it (blocks dealt anew to the hosts)
      and is how the other hosts differ (the hosts themselves as a sample)  ->  p, Holm's correction over all

A host is named only if neither explains it. So no more than 1 in 20 fleets has a host named without reason, if all
hosts are alike (then the first question keeps the level, however skewed latencies are and however unequal the numbers
of intervals), and also if each has a level of its own (then the second does). Two hosts that are alike and unlike the
rest hide each other: for the second question each widens how the others differ. docs/design/tests-of-hosts.md has the
figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vprof.tables.model import Float, Int64
from vprof.variance.autocorrelation import pooled_time
from vprof.variance.holm import holm
from vprof.variance.statistics import BLOCK_TIMES, CAUTION, times_of

METRICS = ("mean", "variance")
LEAST_HOSTS = 3
ALPHA = 0.05
_LEAST_BLOCKS = 8
"""Of a host that can be tested."""
_MOST_BLOCKS = 2000
"""Of all hosts: more intervals make longer blocks."""
_DEALS = 4999
_DEALS_OF_A_HOST = 400
"""Holm's correction needs small p values where hosts are many."""
_AT_ONCE = 200


@dataclass(frozen=True)
class Unlike:
    """`ratio`: of the host's `metric` to the geometric mean of the others'. `p_holm`: corrected for all that was asked
    of all hosts."""

    host: int
    metric: str
    ratio: float
    p_holm: float

    @property
    def found(self) -> bool:
        return self.p_holm < ALPHA


@dataclass(frozen=True)
class Outliers:
    """Of each host that was tested and each metric that is 0 on none, `tested`; `reason`: why none was, or why some
    were not, ""."""

    tested: list[Unlike]
    reason: str


def outliers(latency_ns: Sequence[Int64]) -> Outliers:
    """Of each host its latencies, in order of time; at least one."""
    if len(latency_ns) < LEAST_HOSTS:
        return Outliers([], f"no host can be told to be unlike the others: at least {LEAST_HOSTS} are needed")
    size = _block_size(latency_ns)
    large = [host for host, ns in enumerate(latency_ns) if len(ns) >= _LEAST_BLOCKS * size]
    need = f"about {_LEAST_BLOCKS * size} intervals are needed of each"
    if len(large) < LEAST_HOSTS:
        return Outliers([], f"no host can be told to be unlike the others: {need}")
    blocks = [_blocks(latency_ns[host].astype(np.float64), size) for host in large]
    means = np.stack([one.mean(axis=1) for one in blocks], axis=1)
    known = np.flatnonzero((means > 0).all(axis=1))
    p, ratio = _tested([one[known] for one in blocks], means[known])
    corrected = holm(p.ravel().tolist())
    rows = [(host, metric) for metric in range(len(known)) for host in range(len(large))]
    tested = [
        Unlike(large[host], METRICS[known[metric]], float(ratio[metric, host]), one)
        for (host, metric), one in zip(rows, corrected, strict=True)
    ]
    left = len(latency_ns) - len(large)
    return Outliers(tested, f"{left} host{'s' * (left > 1)} not compared: {need}" if left else "")


def _block_size(latency_ns: Sequence[Int64]) -> int:
    """Intervals of a block: the same on all hosts, so that blocks may be dealt anew. Enough autocorrelation times of
    all hosts, taken with caution, and of each host alone."""
    together = max(time + CAUTION * error for time, error in times_of(latency_ns))
    alone = [_longest(ns.astype(np.float64)) for ns in latency_ns]
    size = BLOCK_TIMES * max(together, *alone)
    return int(np.ceil(max(size, sum(map(len, latency_ns)) / _MOST_BLOCKS)))


def _longest(ns: Float) -> float:
    centred = ns - ns.mean()
    return max(pooled_time([x])[0] for x in (centred, centred**2 - (centred**2).mean()))


def _blocks(ns: Float, size: int) -> Float:
    """By metric and block its mean: of latencies, of their squares about the host's mean. What is left at the end is
    not used."""
    count = len(ns) // size
    both = np.stack((ns, (ns - ns.mean()) ** 2))
    found: Float = both[:, : count * size].reshape(2, count, size).mean(axis=2)
    return found


def _tested(blocks: Sequence[Float], means: Float) -> tuple[Float, Float]:
    """By metric and host the p value, before correction, and the ratio to the others. REQUIRES: means above 0."""
    if not len(means):
        return means, means
    values = np.concatenate(blocks, axis=1)
    sizes = np.array([one.shape[1] for one in blocks])
    level = np.log(means)
    others = (level.sum(axis=1, keepdims=True) - level) / (len(blocks) - 1)
    p = np.maximum(_by_dealing(values, sizes), np.stack([_among_hosts(one) for one in level]))
    return p, np.exp(level - others)


def _by_dealing(values: Float, sizes: Int64) -> Float:
    """How often blocks that are dealt to the hosts at random differ as much between a host and all others."""
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    observed = np.stack([_statistic(one[None], starts, sizes)[0] for one in values])
    deals = max(_DEALS, _DEALS_OF_A_HOST * len(sizes))
    chance, least = np.random.default_rng(1), observed * (1 - 1e-9)
    extreme = np.ones(observed.shape)
    for first in range(0, deals, _AT_ONCE):
        rows = min(_AT_ONCE, deals - first)
        dealt = chance.permuted(np.tile(np.arange(values.shape[1]), (rows, 1)), axis=1)
        for metric, one in enumerate(values):
            extreme[metric] += (_statistic(one[dealt], starts, sizes) >= least[metric]).sum(axis=0)
    return extreme / (deals + 1)


def _statistic(dealt: Float, starts: Int64, sizes: Int64) -> Float:
    """By row and host |t| between its blocks and all others (Welch's)."""
    n, rest = sizes, sizes.sum() - sizes
    total, squares = (np.add.reduceat(x, starts, axis=1) for x in (dealt, dealt**2))
    all_total, all_squares = total.sum(axis=1, keepdims=True), squares.sum(axis=1, keepdims=True)
    mean, others = total / n, (all_total - total) / rest
    spread = np.maximum(squares / n - mean**2, 0) / (n - 1)
    spread += np.maximum((all_squares - squares) / rest - others**2, 0) / (rest - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(mean - others) / np.sqrt(spread)
    found: Float = np.nan_to_num(t, nan=0.0, posinf=np.inf)
    return found


def _among_hosts(level: Float) -> Float:
    """Of each host: would one more of the population of the others be as far from them (Student's t of a
    prediction)."""
    from scipy.special import stdtr

    n = len(level) - 1
    p = np.ones(len(level))
    for host in range(len(level)):
        others = np.delete(level, host)
        away = abs(level[host] - others.mean())
        spread = others.std(ddof=1) * np.sqrt(1 + 1 / n)
        if away > 0:
            p[host] = 2 * stdtr(n - 1, -away / spread) if spread > 0 else 0.0
    return p
