"""Sums of products in single blocks of intervals: kept as they come, put together when they are asked for.

    InBlocks of each window, pairs  ->  Cells: one for each pair and block in which it occurs

Sums are exact, so the cells are the same however a block's intervals came in parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vprof.tables.columns import i64
from vprof.tables.kernels import kernel
from vprof.tables.model import NONE, Float, Int32, Int64

B_PRODUCT, B_TIME = range(2)
"""Of a pair in a block: the rounded sum of products, the sum of a node's time."""


class InBlocks(NamedTuple):
    """Rows of sums of a pair in some intervals of a block: of products, modulo 2^64 and as `rounded` B_*. A block and a
    pair may have several rows."""

    block: Int32
    pair: Int32
    product: Int64
    rounded: Float


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


def cells_of(blocks: Sequence[InBlocks], pairs: Int64, size: int) -> Cells:
    """Of the asked pairs, in their order, each once; numbers of pairs are below `size`."""
    place = np.full(size, NONE, np.int64)
    place[pairs] = np.arange(len(pairs))
    at = np.zeros(len(pairs) + 2, np.int64)
    for part in blocks:
        _count_pairs(part.pair, place, at[2:])
    np.cumsum(at, out=at)
    n = int(at[-1])
    filed = _Filed(np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n), np.empty(n))
    for part in blocks:
        _file(part, place, at[1:], filed)
    return _summed(filed, at[:-1])


@kernel
def _count_pairs(pair: Int32, place: Int64, count: Int64) -> None:
    for i in range(len(pair)):
        k = place[pair[i]]
        if k != NONE:
            count[k] += 1


class _Filed(NamedTuple):
    """Columns of `InBlocks`, by pair."""

    block: Int32
    product: Int64
    rounded: Float
    time: Float


@kernel
def _file(part: InBlocks, place: Int64, at: Int64, filed: _Filed) -> None:
    """Puts each row of an asked pair where `at` says that the next one of the pair goes."""
    for i in range(len(part.pair)):
        k = place[part.pair[i]]
        if k != NONE:
            to = at[k]
            at[k] += 1
            filed.block[to], filed.product[to] = part.block[i], part.product[i]
            filed.rounded[to], filed.time[to] = part.rounded[i, B_PRODUCT], part.rounded[i, B_TIME]


def _summed(filed: _Filed, first: Int64) -> Cells:
    """One cell of each pair and block, by pair and block: the same however the block's intervals came in parts.
    `first`: the rows of pair k are first[k] .. first[k + 1]."""
    pair = np.repeat(np.arange(len(first) - 1), np.diff(first))
    order = np.lexsort((filed.block, pair))
    pair, block = pair[order], filed.block[order]
    begins = np.flatnonzero(np.r_[True, (np.diff(pair) != 0) | (np.diff(block) != 0)][: len(order)])
    if not len(begins):
        return Cells(first, filed.block, filed.rounded, filed.time)
    product, rounded, time = (np.add.reduceat(column[order], begins) for column in filed[1:])
    times_2_64 = np.rint((rounded - product.astype(np.float64)) / 2.0**64)
    exact = product.astype(np.float64) + times_2_64 * 2.0**64
    return Cells(i64(np.searchsorted(pair[begins], np.arange(len(first)))), block[begins], exact, time)
