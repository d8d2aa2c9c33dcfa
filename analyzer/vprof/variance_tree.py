"""Moments of every tree node over the intervals: variance, sibling covariances and the shares that reports draw.

    PathTree + latencies  ->  VarianceTree

Source: ALGORITHMS section 4. X[i, x] is the time of node x in interval i, 0 where x is absent. Variances divide by
the number of intervals. Guaranteed, and checked on every run: the root's times are the latencies, a parent's time is
the sum of its children's (exactly), and Var(parent) = sum Var(child) + 2 sum Cov(child, child) (relative 1e-9).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vprof.errors import InvariantError
from vprof.model import Int64
from vprof.path_tree import PathTree

Float = NDArray[np.float64]

_CHUNK = 1 << 16
"""Intervals per dense block of the covariance sums: bounds memory to _CHUNK x siblings."""


@dataclass(frozen=True)
class VarianceTree:
    """Columns are by node of `paths`. Shares are NaN where they are not defined (no variance, too few tail intervals).

    `share` is additive, Cov(x, L) / Var(L); `tail_share` is additive for the slowest intervals, `mean_share` E[x] /
    E[L]. `cov[p]` is the covariance matrix of `children[p]`, in that order.
    """

    paths: PathTree
    latency_ns: Int64
    mean_ns: Float
    var_ns2: Float
    share: Float
    mean_share: Float
    tail_share: Float
    children: list[list[int]]
    cov: dict[int, Float]
    column: Columns

    @property
    def total_variance(self) -> float:
        return float(self.var_ns2[0])


class Columns:
    """The times of a tree by node: `column[x]` gives the intervals (0-based) where x occurs and its nanoseconds
    there."""

    def __init__(self, interval: Int64, node: Int64, ns: Int64, n_nodes: int, n_intervals: int) -> None:
        order = np.argsort(node, kind="stable")
        self.n = n_intervals
        self._interval, self._ns = interval[order], ns[order]
        self._first = np.searchsorted(node[order], np.arange(n_nodes + 1))

    def __getitem__(self, x: int) -> tuple[Int64, Int64]:
        part = slice(self._first[x], self._first[x + 1])
        return self._interval[part], self._ns[part]

    def dense(self, x: int) -> Int64:
        out = np.zeros(self.n, np.int64)
        interval, ns = self[x]
        out[interval] = ns
        return out


def build_variance_tree(
    paths: PathTree, rows: Int64, latency_ns: Int64, tail: NDArray[np.bool_] | None
) -> VarianceTree:
    """`rows` are the intervals of `paths` that count, `latency_ns` their latencies, `tail` marks the slowest of
    them."""
    n_nodes, n = len(paths.parent), len(rows)
    position = np.full(int(rows.max()) + 1, -1, np.int64)
    position[rows] = np.arange(n)
    keep = np.isin(paths.interval, rows)
    interval, node, ns = position[paths.interval[keep]], paths.node[keep].astype(np.int64), paths.total_ns[keep]
    column = Columns(interval, node, ns, n_nodes, n)
    total = np.bincount(node, ns, n_nodes)
    mean = total / n
    var = _variances(interval, node, ns, mean, n)
    children = _children(paths)
    cov = {p: _covariances(column, kids, mean) for p, kids in enumerate(children) if len(kids) > 1}
    deviation = latency_ns - latency_ns.mean()
    with_latency = np.bincount(node, ns * deviation[interval], n_nodes) / n
    tree = VarianceTree(
        paths,
        latency_ns,
        mean,
        var,
        with_latency / var[0] if var[0] > 0 else np.full(n_nodes, np.nan),
        mean / mean[0] if mean[0] > 0 else np.full(n_nodes, np.nan),
        _tail_share(interval, node, ns, mean, latency_ns, tail),
        children,
        cov,
        column,
    )
    _check(tree)
    return tree


def _variances(interval: Int64, node: Int64, ns: Int64, mean: Float, n: int) -> Float:
    """Two passes over the present values; every absent one deviates by the mean itself."""
    squares = np.bincount(node, (ns - mean[node]) ** 2, len(mean))
    present = np.bincount(node, minlength=len(mean))
    return (squares + (n - present) * mean**2) / n


def _children(paths: PathTree) -> list[list[int]]:
    """Children by name, body or rest last."""
    children: list[list[int]] = [[] for _ in paths.parent]
    for x in range(1, len(paths.parent)):
        children[paths.parent[x]].append(x)
    for kids in children:
        kids.sort(key=lambda x: (paths.is_body(x), paths.name[x]))
    return children


def _covariances(column: Columns, kids: list[int], mean: Float) -> Float:
    cov = np.zeros((len(kids), len(kids)))
    for lo in range(0, column.n, _CHUNK):
        hi = min(lo + _CHUNK, column.n)
        block = np.zeros((hi - lo, len(kids)))
        for j, x in enumerate(kids):
            interval, ns = column[x]
            a, b = np.searchsorted(interval, [lo, hi])
            block[interval[a:b] - lo, j] = ns[a:b]
            block[:, j] -= mean[x]
        cov += block.T @ block
    return cov / column.n


def _tail_share(
    interval: Int64, node: Int64, ns: Int64, mean: Float, latency_ns: Int64, tail: NDArray[np.bool_] | None
) -> Float:
    if tail is None:
        return np.full(len(mean), np.nan)
    in_tail = tail[interval]
    tail_mean = np.bincount(node[in_tail], ns[in_tail], len(mean)) / np.count_nonzero(tail)
    excess = float(latency_ns[tail].mean() - latency_ns.mean())
    return (tail_mean - mean) / excess if excess > 0 else np.full(len(mean), np.nan)


def _check(tree: VarianceTree) -> None:
    if not np.array_equal(tree.column.dense(0), tree.latency_ns):
        raise InvariantError("the tree's root does not sum to the latencies: please report this trace")
    for parent, kids in enumerate(tree.children):
        if not kids:
            continue
        times = sum(int(tree.column[x][1].sum()) for x in kids)
        matrix = tree.cov.get(parent, np.array([[tree.var_ns2[kids[0]]]]))
        close = abs(matrix.sum() - tree.var_ns2[parent]) <= 1e-9 * max(np.abs(matrix).sum(), 1.0)
        if times != int(tree.column[parent][1].sum()) or not close:
            raise InvariantError(
                f"the children of {tree.paths.name[parent]} do not sum to it: please report this trace"
            )
