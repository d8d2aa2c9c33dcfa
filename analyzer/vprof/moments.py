"""Sums of times and of products of times over intervals: all that means, variances, covariances and shares are made of.

    (interval, node, ns) of some intervals at a time  ->  exact sums per node, pair of siblings, and block of intervals

Sums are whole numbers, so the order in which intervals, windows or traces come does not matter. Each node counts
twice: with everything below it, and alone (its *own* time, a child of number 0 of itself). Only products of times that
occur in one interval are touched. Memory: nodes, pairs of siblings, and what occurs of them in each block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vprof.columns import floats, i64
from vprof.kernels import helper, kernel
from vprof.model import NONE, Bool, Int32, Int64

Float = NDArray[np.float64]


class Layout(NamedTuple):
    """Where the sums of a tree's pairs are: children of a node are numbered from 1 in the order of the tree, its own
    time is number 0; the pair of numbers i <= j of node x is at first[x] + j * (j + 1) / 2 + i."""

    parent: Int64
    number: Int64
    first: Int64

    def at(self, x: Int64, i: Int64, j: Int64) -> Int64:
        low, high = np.minimum(i, j), np.maximum(i, j)
        place: Int64 = self.first[x] + high * (high + 1) // 2 + low
        return place


N_TIME, N_OWN, N_TAIL, N_OWN_TAIL, N_LATENCY, N_OWN_LATENCY = range(6)
"""Sums of a node: time with all below it, its own, both over the slowest intervals, and products with the latency
modulo 2^64; `rounded` holds these products again, as floats, which together tell them exactly."""


class _Sums(NamedTuple):
    """`nodes` (N_*) and `pairs` (products modulo 2^64), and the products again, rounded."""

    nodes: Int64
    nodes_rounded: Float
    pairs: Int64
    pairs_rounded: Float


@dataclass(frozen=True)
class BlockSums:
    """Sums by (block, pair), sorted by pair: of products, and for a node with itself of its time."""

    block: Int32
    pair: Int64
    product: Float
    time: Float

    def of(self, pairs: Int64, blocks: int) -> tuple[Float, Float]:
        """By (block, asked pair): the sums of products, and of times."""
        first, last = np.searchsorted(self.pair, pairs), np.searchsorted(self.pair, pairs, "right")
        asked = np.repeat(np.arange(len(pairs)), last - first)
        row = np.arange(len(asked)) + np.repeat(first - np.r_[0, np.cumsum(last - first)[:-1]], last - first)
        cell, shape = self.block[row] * np.int64(len(pairs)) + asked, (blocks, len(pairs))
        product, time = (
            floats(np.bincount(cell, column[row], blocks * len(pairs))).reshape(shape)
            for column in (self.product, self.time)
        )
        return product, time


class Moments:
    """Grows with every `add`; the tree may grow in between (nodes at its end)."""

    def __init__(self) -> None:
        empty = np.zeros(0, np.int64)
        self.layout = Layout(empty, empty, np.zeros(1, np.int64))
        rounded = np.zeros(0, np.float64)
        self._sums = _Sums(np.zeros((0, 6), np.int64), np.zeros((0, 2), np.float64), empty, rounded)
        self._blocks: list[tuple[Int32, Int64, Float]] = []
        self.intervals = 0
        self.latency = self.tail_latency = 0
        self._tail_intervals = 0

    def add(self, parent: Int64, rows: Int64, latency: Int64, tail: Bool, block: Int64) -> None:
        """`parent` of each node, before it; `rows` (interval, node, own ns), grouped by interval, of intervals 0 ..
        len(latency) - 1; `tail` marks the slowest; `block` of each interval, NONE if there are none."""
        self._grow(i64(parent))
        self.intervals += len(latency)
        self.latency += int(latency.sum())
        self._tail_intervals += int(np.count_nonzero(tail))
        self.tail_latency += int(latency[tail].sum())
        pairs, products = _accumulate(
            i64(rows), self.layout, i64(latency), tail.astype(np.int64), i64(block), self._sums
        )
        if len(pairs):
            node = np.searchsorted(self.layout.first, pairs[:, 1], "right") - 1
            packed = pair_number(node, pairs[:, 1] - self.layout.first[node])
            self._blocks.append((pairs[:, 0].astype(np.int32), packed, products))

    def _grow(self, parent: Int64) -> None:
        old, sums = self.layout, self._sums
        more = len(parent) - len(old.parent)
        if not more:
            return
        number = _numbered(parent)
        children = np.bincount(parent[1:], minlength=len(parent)) + 1
        self.layout = Layout(parent, number, i64(np.r_[0, np.cumsum(children * (children + 1) // 2)]))
        size = int(self.layout.first[-1])
        pairs, rounded = np.zeros(size, np.int64), np.zeros(size, np.float64)
        key = np.arange(len(sums.pairs))
        node = np.searchsorted(old.first, key, "right") - 1
        moved = key - old.first[node] + self.layout.first[node]
        pairs[moved], rounded[moved] = sums.pairs, sums.pairs_rounded
        nodes = np.pad(sums.nodes, ((0, more), (0, 0)))
        nodes_rounded = np.pad(sums.nodes_rounded, ((0, more), (0, 0)))
        self._sums = _Sums(nodes, nodes_rounded, pairs, rounded)

    @property
    def time(self) -> Int64:
        """By node: its time with everything below it, and its own."""
        return self._sums.nodes[:, [N_TIME, N_OWN]]

    @property
    def tail_time(self) -> Int64:
        return self._sums.nodes[:, [N_TAIL, N_OWN_TAIL]]

    def covariance(self, key: Int64, time_a: Int64, time_b: Int64) -> Float:
        """Of the pairs at `key`, whose times sum to these: population covariances, rounded once."""
        return self._exact(self._sums.pairs[key], self._sums.pairs_rounded[key], time_a, time_b)

    def with_latency(self, own: int) -> Float:
        """By node: the covariance of its time (`own` 0: all, 1: its own) with the latency."""
        product, rounded = self._sums.nodes[:, N_LATENCY + own], self._sums.nodes_rounded[:, own]
        return self._exact(product, rounded, self.time[:, own], np.full(len(product), self.latency))

    def _exact(self, product: Int64, rounded: Float, time_a: Int64, time_b: Int64) -> Float:
        n = self.intervals
        columns = (product.tolist(), rounded.tolist(), time_a.tolist(), time_b.tolist())
        found = [(n * _whole(p, near) - a * b) / (n * n) for p, near, a, b in zip(*columns, strict=True)]
        return np.array(found, np.float64)

    def blocks(self) -> BlockSums:
        parts = [*self._blocks, (np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros((0, 2)))]
        block, pair, products = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(pair, kind="stable")
        return BlockSums(block[order], pair[order], products[order, 0], products[order, 1])


def _whole(modulo: int, near: float) -> int:
    """The whole number that is `modulo` modulo 2^64, and near the other.

    Exact as long as the rounded sums err by less than 2^63: that is, for nine years of intervals.
    """
    return modulo + (round((near - modulo) / 2**64) << 64)


def pair_number(node: Int64, place: Int64) -> Int64:
    """A pair's name in `BlockSums`: its node, and its place among the pairs of the node."""
    return (node << 32) + place


@kernel
def _numbered(parent):  # type: ignore[no-untyped-def]
    """Each node's number among its siblings."""
    children, number = np.zeros(len(parent), np.int64), np.zeros(len(parent), np.int64)
    for x in range(1, len(parent)):
        children[parent[x]] += 1
        number[x] = children[parent[x]]
    return number


M_TIME, M_OWN, M_FIRST, M_NEXT, M_LIST = range(5)
"""Of the current interval, by node: its time, its own, the first of its children with time, the next such sibling; and
beside that a list of the nodes with time."""

B_PRODUCT, B_TIME, B_LIST = range(3)
"""Of the current block, by pair: the sum of products modulo 2^64, of a node's time; and beside that a list of the pairs
with any."""


@kernel
def _accumulate(rows, layout, latency, tail, block, sums):  # type: ignore[no-untyped-def]
    """Returns (block, pair) rows and their (product, time) sums; none without blocks."""
    # Tables are passed one by one: taking them out of a tuple costs more than what is done with them.
    parent, number, first = layout.parent, layout.number, layout.first
    node_sums, node_rounded, pair_sums, pair_rounded = sums.nodes, sums.nodes_rounded, sums.pairs, sums.pairs_rounded
    mine, values = np.zeros((len(parent), 5), np.int64), np.empty((len(parent) + 1, 3), np.int64)
    mine[:, M_FIRST] = NONE
    cells, rounded = np.zeros((len(pair_sums), 3), np.int64), np.zeros(len(pair_sums), np.float64)
    keys, products, n = np.empty((1024, 2), np.int64), np.empty((1024, 2), np.float64), 0
    touched = used = 0
    for k in range(len(rows)):
        interval = rows[k, 0]
        touched = _spread(rows[k, 1], rows[k, 2], parent, mine, touched)
        if k + 1 < len(rows) and rows[k + 1, 0] == interval:
            continue
        for t in range(touched):
            x = mine[t, M_LIST]
            _count(mine[x], latency[interval], tail[interval], node_sums[x], node_rounded[x])
            m = _children(x, mine, number, values)
            used = _multiply(first[x], values, m, cells, rounded, used)
        for t in range(touched):
            x = mine[t, M_LIST]
            mine[x, M_TIME] = mine[x, M_OWN] = 0
            mine[x, M_FIRST] = NONE
        touched = 0
        if k + 1 == len(rows) or block[rows[k + 1, 0]] != block[interval]:
            if block[interval] != NONE:
                while n + used > len(keys):
                    keys, products = _doubled(keys, products)
                n = _list(block[interval], keys, products, n, cells, rounded, used)
            _fold(pair_sums, pair_rounded, cells, rounded, used)
            used = 0
    return keys[:n].copy(), products[:n].copy()


@helper
def _spread(node, ns, parent, mine, touched):  # type: ignore[no-untyped-def]
    """Adds own time to a node and to all above it."""
    mine[node, M_OWN] += ns
    x = node
    while x != NONE:
        above = parent[x]
        if mine[x, M_TIME] == 0:
            mine[touched, M_LIST] = x
            touched += 1
            if above != NONE:
                mine[x, M_NEXT] = mine[above, M_FIRST]
                mine[above, M_FIRST] = x
        mine[x, M_TIME] += ns
        x = above
    return touched


@helper
def _count(mine, latency, in_tail, sums, rounded):  # type: ignore[no-untyped-def]
    """Counts a node's times in the current interval."""
    for own in range(2):
        time = mine[M_TIME + own]
        sums[N_TIME + own] += time
        sums[N_TAIL + own] += in_tail * time
        sums[N_LATENCY + own] += time * latency
        rounded[own] += float(time) * float(latency)


@helper
def _children(x, mine, number, values):  # type: ignore[no-untyped-def]
    """Number, time and row of pairs of each child with time, the own one included; returns how many."""
    n = 0
    if mine[x, M_OWN]:
        values[0, 0], values[0, 1], values[0, 2] = 0, mine[x, M_OWN], 0
        n = 1
    child = mine[x, M_FIRST]
    while child != NONE:
        j = number[child]
        values[n, 0], values[n, 1], values[n, 2] = j, mine[child, M_TIME], j * (j + 1) // 2
        n += 1
        child = mine[child, M_NEXT]
    return n


@helper
def _multiply(first, values, n, cells, rounded, used):  # type: ignore[no-untyped-def]
    """Adds the products of all pairs of a node's children."""
    for a in range(n):
        number, time, row = values[a, 0], values[a, 1], values[a, 2]
        for b in range(a + 1):
            other = values[b, 1]
            key = first + (values[b, 2] + number if values[b, 0] > number else row + values[b, 0])
            if rounded[key] == 0:
                cells[used, B_LIST] = key
                used += 1
            cells[key, B_PRODUCT] += time * other
            rounded[key] += float(time) * float(other)
        cells[first + row + number, B_TIME] += time
    return used


@helper
def _fold(sums, sums_rounded, cells, rounded, used):  # type: ignore[no-untyped-def]
    """Adds the block's sums to those of all intervals."""
    for u in range(used):
        key = cells[u, B_LIST]
        sums[key] += cells[key, B_PRODUCT]
        sums_rounded[key] += rounded[key]
        cells[key, B_PRODUCT], cells[key, B_TIME], rounded[key] = 0, 0, 0.0


@helper
def _list(block, keys, products, n, cells, rounded, used):  # type: ignore[no-untyped-def]
    for u in range(used):
        key = cells[u, B_LIST]
        keys[n, 0], keys[n, 1] = block, key
        products[n, 0], products[n, 1] = rounded[key], cells[key, B_TIME]
        n += 1
    return n


@helper
def _doubled(keys, products):  # type: ignore[no-untyped-def]
    size = len(keys)
    more_keys, more_products = np.empty((2 * size, 2), np.int64), np.empty((2 * size, 2), np.float64)
    for k in range(size):
        for c in range(2):
            more_keys[k, c], more_products[k, c] = keys[k, c], products[k, c]
    return more_keys, more_products
