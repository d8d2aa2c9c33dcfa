"""Sums of times and of products of times over intervals: all that means, variances, covariances and shares are made of.

    (interval, node, ns) of some intervals at a time  ->  exact sums per node, pair of siblings, and block of intervals

Sums are whole numbers, so the order in which intervals, windows or traces come does not matter, nor which of them
were summed apart and merged. Each node counts twice: with everything below it, and alone (its *own* time, a child of
number 0 of itself). Only products of times that occur in one interval are touched. Memory: nodes, pairs of siblings,
and what occurs of them in each block.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from vprof.tables.columns import i64
from vprof.tables.kernels import helper, kernel, loop, roomy, with_room
from vprof.tables.model import NONE, R_INTERVAL, R_NODE, R_NS, Bool, Float, Int64
from vprof.variance.cells import B_PRODUCT, B_TIME, BlockRows, Cells, InBlock, cells_of
from vprof.variance.layout import Layout, numbered, places

N_TIME, N_OWN, N_TAIL, N_OWN_TAIL, N_LATENCY, N_OWN_LATENCY = range(6)
"""Sums of a node: time with all below it, its own, both over the slowest intervals, and products with the latency
modulo 2^64; `rounded` holds these products again, as floats, which together tell them exactly."""


class _Sums(NamedTuple):
    """`nodes` (N_*) and `pairs` (products modulo 2^64), and the products again, rounded. There is room for more."""

    nodes: Int64
    nodes_rounded: Float
    pairs: Int64
    pairs_rounded: Float


class _Intervals(NamedTuple):
    """By interval: its latency, whether it is one of the slowest, its block or NONE."""

    latency: Int64
    in_tail: Int64
    block: Int64


class _Scratch(NamedTuple):
    """Of the current interval: the row of each node in `mine` (M_*) or NONE, the children of one node (V_*); of the
    current block: by pair the sums of products, modulo 2^64 and as floats beside the times (B_*), and a list of the
    pairs with any. The sums are zero in between."""

    row: Int64
    mine: Int64
    values: Int64
    products: Int64
    rounded: Float
    pairs: Int64


class Moments:
    """Grows with every `add`; the tree may grow in between (nodes at its end)."""

    def __init__(self) -> None:
        empty, rounded = np.zeros(0, np.int64), np.zeros(0, np.float64)
        self.layout = Layout(empty, empty, empty)
        self._children = empty
        self._sums = _Sums(np.zeros((0, 6), np.int64), np.zeros((0, 2), np.float64), empty, rounded)
        self._scratch = _scratch(0, 0)
        self._blocks = BlockRows()
        self.intervals = 0
        self.latency = 0

    def __getstate__(self) -> dict[str, Any]:
        """Without the room for more, and what is zero now."""
        n, pairs = len(self.layout.parent), _pairs_of(self.layout)
        own = self._sums
        sums = _Sums(own.nodes[:n], own.nodes_rounded[:n], own.pairs[:pairs], own.pairs_rounded[:pairs])
        blocks = self._blocks.added_up()
        return {**vars(self), "_children": self._children[:n], "_sums": sums, "_scratch": None, "_blocks": blocks}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._scratch = _scratch(len(self.layout.parent), _pairs_of(self.layout))

    def add(self, parent: Int64, rows: Int64, latency: Int64, tail: Bool, block: Int64) -> None:
        """`parent` of each node, before it; `rows` (interval, node, own ns), grouped by interval, of intervals 0 ..
        len(latency) - 1; `tail` marks the slowest; `block` of each interval, NONE if there are none."""
        self._grow(i64(parent))
        self.intervals += len(latency)
        self.latency += int(latency.sum())
        intervals = _Intervals(i64(latency), tail.astype(np.int64), i64(block))
        keys, products = _accumulate(i64(rows), self.layout, intervals, self._sums, self._scratch)
        cuts = np.flatnonzero(np.diff(keys[:, K_BLOCK])) + 1
        for first, last in pairwise([0, *cuts.tolist(), len(keys)] if len(keys) else []):
            pair, product = keys[first:last, K_PAIR].astype(np.int32), keys[first:last, K_PRODUCT].copy()
            self._blocks.add(InBlock(pair, product, products[first:last].copy(), int(keys[first, K_BLOCK])))

    def merge(self, other: Moments, into: Int64, parent: Int64) -> None:
        """Adds what others summed. `into`: the node here of each of theirs; `parent` of each node here."""
        self._grow(i64(parent))
        n = len(other.layout.parent)
        self.intervals += other.intervals
        self.latency += other.latency
        mine, theirs = self._sums, other._sums
        mine.nodes[into[:n]] += theirs.nodes[:n]
        mine.nodes_rounded[into[:n]] += theirs.nodes_rounded[:n]
        place = places(other.layout, i64(into), self.layout)
        mine.pairs[place] += theirs.pairs[: len(place)]
        mine.pairs_rounded[place] += theirs.pairs_rounded[: len(place)]
        self._blocks.merge(other._blocks, place)

    def _grow(self, parent: Int64) -> None:
        old = self.layout
        known = len(old.parent)
        if known == len(parent):
            return
        self._children = with_room(self._children, len(parent))
        number = np.r_[old.number, numbered(parent, known, self._children)]
        first = np.cumsum(number + 2) - (number + 2)
        self.layout = Layout(parent, number, first)
        pairs = _pairs_of(self.layout)
        sums, scratch = self._sums, self._scratch
        self._sums = _Sums(
            with_room(sums.nodes, len(parent)),
            with_room(sums.nodes_rounded, len(parent)),
            with_room(sums.pairs, pairs),
            with_room(sums.pairs_rounded, pairs),
        )
        row = with_room(scratch.row, len(parent))
        row[len(scratch.row) :] = NONE
        self._scratch = _Scratch(
            row,
            with_room(scratch.mine, len(parent)),
            with_room(scratch.values, len(parent) + 1),
            with_room(scratch.products, pairs),
            with_room(scratch.rounded, pairs),
            with_room(scratch.pairs, pairs),
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
        return cells_of(self._blocks.parts, pairs, len(self._sums.pairs))


def _pairs_of(layout: Layout) -> int:
    """How many there are."""
    return int(layout.first[-1] + layout.number[-1] + 2) if len(layout.parent) else 0


def _scratch(nodes: int, pairs: int) -> _Scratch:
    return _Scratch(
        np.full(nodes, NONE, np.int64),
        np.zeros((nodes, 7), np.int64),
        np.zeros((nodes + 1 if nodes else 0, 3), np.int64),
        np.zeros(pairs, np.int64),
        np.zeros((pairs, 2), np.float64),
        np.zeros(pairs, np.int64),
    )


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


M_NODE, M_TIME, M_OWN, M_ABOVE, M_FIRST, M_NEXT, M_AWAITED = range(7)
"""Of a node with time in the current interval: its time, its own; the row of its parent, of the first of its children,
of the next such sibling; and how many children have yet to add their time, NONE when it has added its own."""

V_NUMBER, V_TIME, V_ROW = range(3)
"""Of a child: its number, its time, its row of pairs."""

K_BLOCK, K_PAIR, K_PRODUCT = range(3)
"""What such a row is of, and the sum of products again, modulo 2^64."""


@kernel
def _accumulate(
    rows: Int64, layout: Layout, intervals: _Intervals, sums: _Sums, scratch: _Scratch
) -> tuple[Int64, Float]:
    """Of rows R_*: rows K_* and their B_*; none without blocks."""
    keys, products, n = np.empty((1024, 3), np.int64), np.empty((1024, 2), np.float64), 0
    k = used = 0
    while k < len(rows):
        block = intervals.block[rows[k, R_INTERVAL]]
        k, used = _sum_block(k, rows, layout, intervals, sums, scratch)
        if block != NONE:
            keys, products = roomy(keys, n, used), roomy(products, n, used)
            n = _list(block, keys, products, n, scratch, used)
        _fold(sums, scratch, used)
    return keys[:n].copy(), products[:n].copy()


@loop
def _sum_block(
    k: int, rows: Int64, layout: Layout, intervals: _Intervals, sums: _Sums, scratch: _Scratch
) -> tuple[int, int]:
    """Sums the intervals from row k on that are in one block with the first; returns the row after them, and how many
    pairs have sums."""
    mine, used = scratch.mine, 0
    block = intervals.block[rows[k, R_INTERVAL]]
    while k < len(rows) and intervals.block[rows[k, R_INTERVAL]] == block:
        interval, met = rows[k, R_INTERVAL], 0
        while k < len(rows) and rows[k, R_INTERVAL] == interval:
            met = _meet(rows[k, R_NODE], rows[k, R_NS], layout, scratch, met)
            k += 1
        for m in range(met):
            _climb(m, mine)
        for m in range(met):
            _count(mine[m], intervals, interval, sums)
            used = _multiply(_children(m, layout, scratch), scratch, used)
            scratch.row[mine[m, M_NODE]] = NONE
    return k, used


@helper
def _meet(node: int, ns: int, layout: Layout, scratch: _Scratch, met: int) -> int:
    """Adds own time to a node, after it and those above it have got rows."""
    row_of, mine = scratch.row, scratch.mine
    x, inner = node, NONE
    while x != NONE and row_of[x] == NONE:
        row_of[x] = met
        mine[met, M_NODE], mine[met, M_TIME], mine[met, M_OWN], mine[met, M_ABOVE] = x, 0, 0, NONE
        mine[met, M_FIRST], mine[met, M_NEXT], mine[met, M_AWAITED] = NONE, NONE, 0
        _link(inner, met, mine)
        inner = met
        met += 1
        x = layout.parent[x]
    if x != NONE:
        _link(inner, row_of[x], mine)
    m = row_of[node]
    mine[m, M_OWN] += ns
    mine[m, M_TIME] += ns
    return met


@helper
def _link(m: int, above: int, mine: Int64) -> None:
    """Makes row m, if it is one, a child of row `above`."""
    if m != NONE:
        mine[m, M_ABOVE], mine[m, M_NEXT] = above, mine[above, M_FIRST]
        mine[above, M_FIRST] = m
        mine[above, M_AWAITED] += 1


@helper
def _climb(m: int, mine: Int64) -> None:
    """Adds a node's time, if its children have, to its parent's, and so on upwards: once for each node."""
    while m != NONE and mine[m, M_AWAITED] == 0:
        mine[m, M_AWAITED] = NONE
        above = mine[m, M_ABOVE]
        if above != NONE:
            mine[above, M_TIME] += mine[m, M_TIME]
            mine[above, M_AWAITED] -= 1
        m = above


@helper
def _count(mine: Int64, intervals: _Intervals, interval: int, sums: _Sums) -> None:
    """Counts a node's times in the interval. `mine`: its row M_*."""
    latency, in_tail = intervals.latency[interval], intervals.in_tail[interval]
    of_node, rounded = sums.nodes[mine[M_NODE]], sums.nodes_rounded[mine[M_NODE]]
    for own in range(2):
        time = mine[M_TIME + own]
        of_node[N_TIME + own] += time
        of_node[N_TAIL + own] += in_tail * time
        of_node[N_LATENCY + own] += time * latency
        rounded[own] += float(time) * float(latency)


@helper
def _children(m: int, layout: Layout, scratch: _Scratch) -> int:
    """Puts each child with time, the own one included, into `values`; returns how many there are."""
    mine, values, n = scratch.mine, scratch.values, 0
    if mine[m, M_OWN]:
        values[0, V_NUMBER], values[0, V_TIME], values[0, V_ROW] = 0, mine[m, M_OWN], layout.first[mine[m, M_NODE]]
        n = 1
    child = mine[m, M_FIRST]
    while child != NONE:
        x = mine[child, M_NODE]
        values[n, V_NUMBER], values[n, V_TIME], values[n, V_ROW] = (
            layout.number[x],
            mine[child, M_TIME],
            layout.first[x] + 1,
        )
        n += 1
        child = mine[child, M_NEXT]
    return n


@helper
def _multiply(n: int, scratch: _Scratch, used: int) -> int:
    """Adds the products of all pairs of a node's n children."""
    values, products, rounded = scratch.values, scratch.products, scratch.rounded
    for a in range(n):
        number, time, row = values[a, V_NUMBER], values[a, V_TIME], values[a, V_ROW]
        for b in range(a + 1):
            other = values[b, V_TIME]
            is_later = values[b, V_NUMBER] > number
            key = values[b, V_ROW] + number if is_later else row + values[b, V_NUMBER]
            if rounded[key, B_PRODUCT] == 0:
                scratch.pairs[used] = key
                used += 1
            products[key] += time * other
            rounded[key, B_PRODUCT] += float(time) * float(other)
        rounded[row + number, B_TIME] += time
    return used


@loop
def _fold(sums: _Sums, scratch: _Scratch, used: int) -> None:
    """Adds the block's sums to those of all intervals."""
    products, rounded = scratch.products, scratch.rounded
    for u in range(used):
        key = scratch.pairs[u]
        sums.pairs[key] += products[key]
        sums.pairs_rounded[key] += rounded[key, B_PRODUCT]
        products[key], rounded[key, B_PRODUCT], rounded[key, B_TIME] = 0, 0.0, 0.0


@loop
def _list(block: int, keys: Int64, products: Float, n: int, scratch: _Scratch, used: int) -> int:
    """Appends the block's sums to the tables, after their first n rows."""
    for u in range(used):
        key = scratch.pairs[u]
        keys[n, K_BLOCK], keys[n, K_PAIR], keys[n, K_PRODUCT] = block, key, scratch.products[key]
        products[n, B_PRODUCT], products[n, B_TIME] = scratch.rounded[key, B_PRODUCT], scratch.rounded[key, B_TIME]
        n += 1
    return n
