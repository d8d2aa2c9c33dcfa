"""Sums of times and of products of times over intervals: all that means, variances, covariances and shares are made of.

    (interval, node, ns) of some intervals at a time  ->  exact sums per node, pair of siblings, and block of intervals

Sums are whole numbers, so the order in which intervals, windows or traces come does not matter. Each node counts
twice: with everything below it, and alone (its *own* time, a child of number 0 of itself). Only products of times that
occur in one interval are touched. Memory: nodes, pairs of siblings, and what occurs of them in each block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vprof.columns import i64
from vprof.kernels import helper, kernel, maker
from vprof.model import NONE, Bool, Int32, Int64

Float = NDArray[np.float64]


class Layout(NamedTuple):
    """Where the sums of a tree's pairs are. Children of a node are numbered from 1 as they turn up, its own time is
    number 0. The pair of x's own time with itself is at first[x], those of x with its siblings of lower numbers and
    with itself from first[x] + 1 on. So a new node moves nothing."""

    parent: Int64
    number: Int64
    first: Int64

    def at(self, a: Int64, own_a: Bool, b: Int64, own_b: Bool) -> Int64:
        """Of pairs of siblings, or of nodes with themselves; `own_a`: the own time of node a."""
        i, j = np.where(own_a, 0, self.number[a]), np.where(own_b, 0, self.number[b])
        row_a, row_b = (
            np.where(own_a, self.first[a], self.first[a] + 1),
            np.where(own_b, self.first[b], self.first[b] + 1),
        )
        place: Int64 = np.where(i > j, row_a + j, row_b + i)
        return place


N_TIME, N_OWN, N_TAIL, N_OWN_TAIL, N_LATENCY, N_OWN_LATENCY = range(6)
"""Sums of a node: time with all below it, its own, both over the slowest intervals, and products with the latency
modulo 2^64; `rounded` holds these products again, as floats, which together tell them exactly."""


class _Sums(NamedTuple):
    """`nodes` (N_*) and `pairs` (products modulo 2^64), and the products again, rounded. There is room for more."""

    nodes: Int64
    nodes_rounded: Float
    pairs: Int64
    pairs_rounded: Float


class _Scratch(NamedTuple):
    """Of the current interval: the row of each node in `mine` (M_*) or NONE, the children of one node; of the current
    block: by pair the sums of products, modulo 2^64 and as floats beside the times (B_*), and a list of the pairs with
    any. The sums are zero in between."""

    row: Int64
    mine: Int64
    values: Int64
    products: Int64
    rounded: Float
    pairs: Int64


class Cells(NamedTuple):
    """Sums of pairs in the blocks in which they occur: those of pair k are first[k] .. first[k + 1]; of products, and
    for a node with itself of its time."""

    first: Int64
    block: Int32
    product: Float
    time: Float

    def of(self, pairs: Int64) -> Cells:
        """The cells of these pairs, in their order."""
        first, last = self.first[pairs], self.first[pairs + 1]
        begins = np.r_[0, np.cumsum(last - first)]
        row = np.arange(begins[-1]) + np.repeat(first - begins[:-1], last - first)
        return Cells(i64(begins), self.block[row], self.product[row], self.time[row])


class Moments:
    """Grows with every `add`; the tree may grow in between (nodes at its end)."""

    def __init__(self) -> None:
        empty, rounded = np.zeros(0, np.int64), np.zeros(0, np.float64)
        self.layout = Layout(empty, empty, empty)
        self._children = empty
        self._sums = _Sums(np.zeros((0, 6), np.int64), np.zeros((0, 2), np.float64), empty, rounded)
        self._scratch = _Scratch(empty, empty.reshape(0, 7), empty.reshape(0, 3), empty, rounded.reshape(0, 2), empty)
        self._blocks: list[tuple[Int32, Int32, Float]] = []
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
        keys, products = _accumulate(
            i64(rows), self.layout, i64(latency), tail.astype(np.int64), i64(block), self._sums, self._scratch
        )
        if len(keys):
            self._blocks.append((keys[:, 0].astype(np.int32), keys[:, 1].astype(np.int32), products))

    def _grow(self, parent: Int64) -> None:
        old = self.layout
        known = len(old.parent)
        if known == len(parent):
            return
        self._children = _with_room(self._children, len(parent))
        number = np.r_[old.number, _numbered(parent, known, self._children)]
        first = np.cumsum(number + 2) - (number + 2)
        pairs = int(first[-1] + number[-1] + 2)
        self.layout = Layout(parent, number, first)
        sums, scratch = self._sums, self._scratch
        self._sums = _Sums(
            *(_with_room(table, len(parent)) for table in (sums.nodes, sums.nodes_rounded)),
            *(_with_room(table, pairs) for table in (sums.pairs, sums.pairs_rounded)),
        )
        row = _with_room(scratch.row, len(parent))
        row[len(scratch.row) :] = NONE
        self._scratch = _Scratch(
            row,
            _with_room(scratch.mine, len(parent)),
            _with_room(scratch.values, len(parent) + 1),
            *(_with_room(table, pairs) for table in (scratch.products, scratch.rounded, scratch.pairs)),
        )

    @property
    def time(self) -> Int64:
        """By node: its time with everything below it, and its own."""
        return self._sums.nodes[: len(self.layout.parent), [N_TIME, N_OWN]]

    @property
    def tail_time(self) -> Int64:
        return self._sums.nodes[: len(self.layout.parent), [N_TAIL, N_OWN_TAIL]]

    def covariance(self, key: Int64, time_a: Int64, time_b: Int64) -> Float:
        """Of the pairs at `key`, whose times sum to these: population covariances, rounded once."""
        return self._exact(self._sums.pairs[key], self._sums.pairs_rounded[key], time_a, time_b)

    def with_latency(self, own: int) -> Float:
        """By node: the covariance of its time (`own` 0: all, 1: its own) with the latency."""
        n = len(self.layout.parent)
        product, rounded = self._sums.nodes[:n, N_LATENCY + own], self._sums.nodes_rounded[:n, own]
        return self._exact(product, rounded, self.time[:, own], np.full(len(product), self.latency))

    def _exact(self, product: Int64, rounded: Float, time_a: Int64, time_b: Int64) -> Float:
        return covariances(product, rounded, time_a, time_b, self.intervals)

    def cells(self, pairs: Int64) -> Cells:
        """Of the asked pairs, in their order, each once."""
        place = np.full(len(self._sums.pairs), NONE, np.int64)
        place[pairs] = np.arange(len(pairs))
        at = np.zeros(len(pairs) + 2, np.int64)
        for _, pair, _ in self._blocks:
            _count_pairs(pair, place, at[2:])
        np.cumsum(at, out=at)
        n = int(at[-1])
        cells = Cells(at[:-1], np.empty(n, np.int32), np.empty(n, np.float64), np.empty(n, np.float64))
        for part in self._blocks:
            _file(*part, place, at[1:], cells)
        return cells


def covariances(product: Int64, rounded: Float, time_a: Int64, time_b: Int64, n: int) -> Float:
    """Population covariances over n intervals, rounded once: of sums of products, modulo 2^64 and as rounded floats,
    and sums of times."""
    columns = (product.tolist(), rounded.tolist(), time_a.tolist(), time_b.tolist())
    found = [(n * _whole(p, near) - a * b) / (n * n) for p, near, a, b in zip(*columns, strict=True)]
    return np.array(found, np.float64)


def _whole(modulo: int, near: float) -> int:
    """The whole number that is `modulo` modulo 2^64, and near the other.

    Exact as long as the rounded sums err by less than 2^63: that is, for nine years of intervals.
    """
    return modulo + (round((near - modulo) / 2**64) << 64)


def _with_room(table: NDArray[Any], n: int) -> Any:
    """The table if it has n rows, else a larger copy with more; new ones are zero."""
    if n <= len(table):
        return table
    larger = np.zeros((n + n // 2, *table.shape[1:]), table.dtype)
    larger[: len(table)] = table
    return larger


@kernel
def _numbered(parent, known, children):  # type: ignore[no-untyped-def]
    """The numbers of the nodes from `known` on among their siblings; counts them in `children`."""
    number = np.zeros(len(parent) - known, np.int64)
    for x in range(known, len(parent)):
        if parent[x] != NONE:
            children[parent[x]] += 1
            number[x - known] = children[parent[x]]
    return number


@kernel
def _count_pairs(pair, place, count):  # type: ignore[no-untyped-def]
    for i in range(len(pair)):
        k = place[pair[i]]
        if k != NONE:
            count[k] += 1


@kernel
def _file(block, pair, products, place, at, cells):  # type: ignore[no-untyped-def]
    """Puts each cell of an asked pair where `at` says that the next one of the pair goes."""
    to_block, to_product, to_time = cells.block, cells.product, cells.time
    for i in range(len(pair)):
        k = place[pair[i]]
        if k != NONE:
            to = at[k]
            at[k] += 1
            to_block[to], to_product[to], to_time[to] = block[i], products[i, 0], products[i, 1]


M_NODE, M_TIME, M_OWN, M_ABOVE, M_FIRST, M_NEXT, M_AWAITED = range(7)
"""Of a node with time in the current interval: its time, its own; the row of its parent, of the first of its children,
of the next such sibling; and how many children have yet to add their time, NONE when it has added its own."""

B_PRODUCT, B_TIME = range(2)
"""Of the current block, by pair: the rounded sum of products, the sum of a node's time."""


@kernel
def _accumulate(rows, layout, latency, tail, block, sums, scratch):  # type: ignore[no-untyped-def]
    """Returns (block, pair) rows and their (product, time) sums; none without blocks."""
    keys, products, n = np.empty((1024, 2), np.int64), np.empty((1024, 2), np.float64), 0
    k = used = 0
    while k < len(rows):
        of = block[rows[k, 0]]
        k, used = _sum_block(k, rows, layout, latency, tail, block, sums.nodes, sums.nodes_rounded, scratch)
        if of != NONE:
            while n + used > len(keys):
                keys, products = _doubled(keys, products)
            n = _list(of, keys, products, n, scratch.pairs, scratch.rounded, used)
        _fold(sums.pairs, sums.pairs_rounded, scratch.products, scratch.rounded, scratch.pairs, used)
    return keys[:n].copy(), products[:n].copy()


@helper
def _sum_block(k, rows, layout, latency, tail, block, node_sums, node_rounded, scratch):  # type: ignore[no-untyped-def]
    """Sums the intervals from row k on that are in one block with the first; returns the row after them, and how many
    pairs have sums."""
    mine, values, row_of, used = scratch.mine, scratch.values, scratch.row, 0
    of = block[rows[k, 0]]
    while k < len(rows) and block[rows[k, 0]] == of:
        interval, met = rows[k, 0], 0
        while k < len(rows) and rows[k, 0] == interval:
            met = _meet(rows[k, 1], rows[k, 2], layout.parent, row_of, mine, met)
            k += 1
        for m in range(met):
            _climb(m, mine)
        for m in range(met):
            x = mine[m, M_NODE]
            _count(mine[m], latency[interval], tail[interval], node_sums[x], node_rounded[x])
            n = _children(m, mine, layout.number, layout.first, values)
            used = _multiply(values, n, scratch.products, scratch.rounded, scratch.pairs, used)
            row_of[x] = NONE
    return k, used


@helper
def _meet(node, ns, parent, row_of, mine, met):  # type: ignore[no-untyped-def]
    """Adds own time to a node, after it and those above it have got rows."""
    x, inner = node, NONE
    while x != NONE and row_of[x] == NONE:
        row_of[x] = met
        mine[met, M_NODE], mine[met, M_TIME], mine[met, M_OWN], mine[met, M_ABOVE] = x, 0, 0, NONE
        mine[met, M_FIRST], mine[met, M_NEXT], mine[met, M_AWAITED] = NONE, NONE, 0
        _link(inner, met, mine)
        inner = met
        met += 1
        x = parent[x]
    if x != NONE:
        _link(inner, row_of[x], mine)
    m = row_of[node]
    mine[m, M_OWN] += ns
    mine[m, M_TIME] += ns
    return met


@helper
def _link(m, above, mine):  # type: ignore[no-untyped-def]
    """Makes row m, if it is one, a child of row `above`."""
    if m != NONE:
        mine[m, M_ABOVE], mine[m, M_NEXT] = above, mine[above, M_FIRST]
        mine[above, M_FIRST] = m
        mine[above, M_AWAITED] += 1


@helper
def _climb(m, mine):  # type: ignore[no-untyped-def]
    """Adds a node's time, if its children have, to its parent's, and so on upwards: once for each node."""
    while m != NONE and mine[m, M_AWAITED] == 0:
        mine[m, M_AWAITED] = NONE
        above = mine[m, M_ABOVE]
        if above != NONE:
            mine[above, M_TIME] += mine[m, M_TIME]
            mine[above, M_AWAITED] -= 1
        m = above


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
def _children(m, mine, number, first, values):  # type: ignore[no-untyped-def]
    """Number, time and row of pairs of each child with time, the own one included; returns how many."""
    n = 0
    if mine[m, M_OWN]:
        values[0, 0], values[0, 1], values[0, 2] = 0, mine[m, M_OWN], first[mine[m, M_NODE]]
        n = 1
    child = mine[m, M_FIRST]
    while child != NONE:
        x = mine[child, M_NODE]
        values[n, 0], values[n, 1], values[n, 2] = number[x], mine[child, M_TIME], first[x] + 1
        n += 1
        child = mine[child, M_NEXT]
    return n


@helper
def _multiply(values, n, products, rounded, pairs, used):  # type: ignore[no-untyped-def]
    """Adds the products of all pairs of a node's children."""
    for a in range(n):
        number, time, row = values[a, 0], values[a, 1], values[a, 2]
        for b in range(a + 1):
            other = values[b, 1]
            key = values[b, 2] + number if values[b, 0] > number else row + values[b, 0]
            if rounded[key, B_PRODUCT] == 0:
                pairs[used] = key
                used += 1
            products[key] += time * other
            rounded[key, B_PRODUCT] += float(time) * float(other)
        rounded[row + number, B_TIME] += time
    return used


@helper
def _fold(sums, sums_rounded, products, rounded, pairs, used):  # type: ignore[no-untyped-def]
    """Adds the block's sums to those of all intervals."""
    for u in range(used):
        key = pairs[u]
        sums[key] += products[key]
        sums_rounded[key] += rounded[key, B_PRODUCT]
        products[key], rounded[key, B_PRODUCT], rounded[key, B_TIME] = 0, 0.0, 0.0


@helper
def _list(block, keys, products, n, pairs, rounded, used):  # type: ignore[no-untyped-def]
    for u in range(used):
        key = pairs[u]
        keys[n, 0], keys[n, 1] = block, key
        products[n, 0], products[n, 1] = rounded[key, B_PRODUCT], rounded[key, B_TIME]
        n += 1
    return n


@maker
def _doubled(keys, products):  # type: ignore[no-untyped-def]
    size = len(keys)
    more_keys, more_products = np.empty((2 * size, 2), np.int64), np.empty((2 * size, 2), np.float64)
    for k in range(size):
        for c in range(2):
            more_keys[k, c], more_products[k, c] = keys[k, c], products[k, c]
    return more_keys, more_products
