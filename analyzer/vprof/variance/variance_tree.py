"""The variance tree: variance, sibling covariances and the shares that reports draw, of every tree node.

    PathTree + Moments + latencies  ->  VarianceTree

Source: docs/algorithms.md section 4. X[i, x] is the time of node x in interval i, 0 where x is absent. Variances divide
by the number of intervals. Guaranteed, and checked on every run: the root's times are the latencies, a parent's time
is the sum of its children's (exactly), and Var(parent) = sum Var(child) + 2 sum Cov(child, child) (relative 1e-9).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vprof.errors import InvariantError
from vprof.path.path_tree import PathTree
from vprof.tables.columns import floats, i64
from vprof.tables.kinds import L_BODY
from vprof.tables.model import Bool, Float, Int64
from vprof.variance.moments import Moments


@dataclass(frozen=True)
class Summed:
    """What was summed, and where: node x of a PathTree is node `place[x]` of the moments, or if `own[x]` the own time
    of that one."""

    moments: Moments
    place: Int64
    own: Bool

    def pair(self, a: Int64, b: Int64) -> Int64:
        """Where the moments have pairs of siblings, or of nodes with themselves."""
        return self.moments.layout.at(self.place[a], self.own[a], self.place[b], self.own[b])

    def covariance(self, a: int, b: int) -> float:
        """Of siblings, or of a node with itself."""
        nodes, time = np.array([[a], [b]]), self.time()
        return float(self.moments.covariance(self.pair(*nodes), *time[nodes])[0])

    def time(self) -> Int64:
        return i64(self.moments.time[self.place, i64(self.own)])

    def tail_time(self) -> Int64:
        return i64(self.moments.tail_time[self.place, i64(self.own)])

    def with_latency(self) -> Float:
        total, own = self.moments.with_latency(0)[self.place], self.moments.with_latency(1)[self.place]
        return np.where(self.own, own, total)


@dataclass(frozen=True, kw_only=True)
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
    summed: Summed

    @property
    def total_variance(self) -> float:
        return float(self.var_ns2[0])


def of_moments(paths: PathTree, summed: Summed, latency_ns: Int64, tail: Bool | None) -> VarianceTree:
    """`latency_ns` of the intervals that were summed, in any order; `tail` marks the slowest of them."""
    time = summed.time()
    mean = time / summed.moments.intervals
    children = _children(paths)
    with_latency = summed.with_latency()
    var = _variances(summed, paths, time)
    var[0] = with_latency[0]  # the root's time is the latency
    tree = VarianceTree(
        paths=paths,
        latency_ns=latency_ns,
        mean_ns=mean,
        var_ns2=var,
        share=with_latency / var[0] if var[0] > 0 else np.full(len(mean), np.nan),
        mean_share=mean / mean[0] if mean[0] > 0 else np.full(len(mean), np.nan),
        tail_share=_tail_share(summed, mean, latency_ns, tail),
        children=children,
        cov=_covariances(summed, children, time, var),
        summed=summed,
    )
    _check(tree, time)
    return tree


def _variances(summed: Summed, paths: PathTree, time: Int64) -> Float:
    """Of all nodes but the root."""
    nodes = np.arange(1, len(time))
    return floats(np.r_[0.0, summed.moments.covariance(summed.pair(nodes, nodes), time[nodes], time[nodes])])


def _covariances(summed: Summed, children: list[list[int]], time: Int64, var: Float) -> dict[int, Float]:
    """By node with several children: the covariances of all pairs of them."""
    alike: dict[int, list[int]] = {}
    for parent, kids in enumerate(children):
        if len(kids) > 1:
            alike.setdefault(len(kids), []).append(parent)
    found: dict[int, Float] = {}
    for n, parents in alike.items():  # all nodes with as many children at once
        nodes = np.array([children[parent] for parent in parents])
        low, high = np.tril_indices(n, -1)
        a, b = nodes[:, low].ravel(), nodes[:, high].ravel()
        cov = np.zeros((len(parents), n, n))
        cov[:, np.arange(n), np.arange(n)] = var[nodes]
        cov[:, low, high] = summed.moments.covariance(summed.pair(a, b), time[a], time[b]).reshape(len(parents), -1)
        cov[:, high, low] = cov[:, low, high]
        found.update(zip(parents, cov, strict=True))
    return {parent: found[parent] for parent in sorted(found)}


def _children(paths: PathTree) -> list[list[int]]:
    """Children by name, body or rest last."""
    rank = {name: n for n, name in enumerate(sorted(set(paths.name)))}
    names = np.fromiter(map(rank.__getitem__, paths.name), np.int64, len(paths.name))
    order = np.lexsort((names, paths.pseudo == L_BODY, paths.parent))[1:]  # the root comes first
    kids, last = order.tolist(), np.cumsum(np.bincount(paths.parent[order], minlength=len(names))).tolist()
    return [kids[a:b] for a, b in pairwise([0, *last])]


def _tail_share(summed: Summed, mean: Float, latency_ns: Int64, tail: Bool | None) -> Float:
    if tail is None:
        return np.full(len(mean), np.nan)
    tail_mean = summed.tail_time() / np.count_nonzero(tail)
    excess = float(latency_ns[tail].mean() - latency_ns.mean())
    return (tail_mean - mean) / excess if excess > 0 else np.full(len(mean), np.nan)


def _check(tree: VarianceTree, time: Int64) -> None:
    if int(time[0]) != tree.summed.moments.latency or int(time[0]) != int(tree.latency_ns.sum()):
        raise InvariantError("the tree's root does not sum to the latencies: please report this trace")
    below = np.zeros(len(time), np.int64)
    np.add.at(below, tree.paths.parent[1:], time[1:])
    inner = np.array([bool(kids) for kids in tree.children])
    total, most = _sums_below(tree)
    close = np.abs(total - tree.var_ns2) <= 1e-9 * np.maximum(most, 1.0)
    bad = np.flatnonzero(inner & ((below != time) | ~close))
    if len(bad):
        name = tree.paths.name[bad[0]]
        raise InvariantError(f"the children of {name} do not sum to it: please report this trace")


def _sums_below(tree: VarianceTree) -> tuple[Float, Float]:
    """By node the sum of its children's variances and covariances, and of their absolute values."""
    total, most = np.zeros((2, len(tree.children)))
    alone = [(parent, kids[0]) for parent, kids in enumerate(tree.children) if len(kids) == 1]
    for parent, kid in alone:
        total[parent] = most[parent] = tree.var_ns2[kid]
    if tree.cov:
        parents, size = list(tree.cov), np.array([matrix.size for matrix in tree.cov.values()])
        values = np.concatenate([matrix.ravel() for matrix in tree.cov.values()])
        first = np.cumsum(size) - size
        total[parents], most[parents] = np.add.reduceat(values, first), np.add.reduceat(np.abs(values), first)
    return total, most
