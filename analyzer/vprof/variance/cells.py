"""Sums of products in single blocks of intervals: kept as they come, put together when they are asked for.

    InBlock of some intervals of a block -> [BlockRows] added up, some at a time
    BlockRows, pairs  ->  Cells: one for each pair and block in which it occurs

Sums are exact, so the cells are the same however a block's intervals came in parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vprof.tables.columns import i64
from vprof.tables.kernels import kernel
from vprof.tables.model import NONE, Float, Int32, Int64

_PARTS = 8
B_PRODUCT, B_TIME = range(2)
"""Of a pair in a block: the rounded sum of products, the sum of a node's time."""


class InBlock(NamedTuple):
    """Sums of pairs, each once, in some intervals of a block: of products, modulo 2^64 and as `rounded` B_*."""

    pair: Int32
    product: Int64
    rounded: Float
    block: int


class BlockRows:
    """Of each block, what came of it in parts. Memory: the pairs that occur in it, up to _PARTS times."""

    def __init__(self) -> None:
        self._of: dict[int, list[InBlock]] = {}

    @property
    def parts(self) -> list[InBlock]:
        return [part for parts in self._of.values() for part in parts]

    def add(self, part: InBlock) -> None:
        parts = self._of.setdefault(part.block, [])
        parts.append(part)
        if len(parts) > _PARTS:
            parts[:] = [_added_up(parts)]

    def merge(self, other: BlockRows, place: Int64) -> None:
        """`place`: the number here of each of their pairs."""
        for part in other.parts:
            self.add(part._replace(pair=place[part.pair].astype(np.int32)))

    def added_up(self) -> BlockRows:
        """The same, one part of each block."""
        found = BlockRows()
        found._of = {block: [_added_up(parts)] for block, parts in self._of.items()}
        return found


def _added_up(parts: list[InBlock]) -> InBlock:
    if len(parts) == 1:
        return parts[0]
    size = 1 + max(int(part.pair.max(initial=-1)) for part in parts)
    occurs, product, rounded = np.zeros(size, np.bool_), np.zeros(size, np.int64), np.zeros((size, 2))
    for part in parts:
        occurs[part.pair] = True
        product[part.pair] += part.product
        rounded[part.pair] += part.rounded
    pair = np.flatnonzero(occurs)
    return InBlock(pair.astype(np.int32), product[pair], rounded[pair], parts[0].block)


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


def cells_of(blocks: Sequence[InBlock], pairs: Int64, size: int) -> Cells:
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
    """Rows of `InBlock`s, by pair."""

    block: Int32
    product: Int64
    rounded: Float
    time: Float


@kernel
def _file(part: InBlock, place: Int64, at: Int64, filed: _Filed) -> None:
    """Puts each row of an asked pair where `at` says that the next one of the pair goes."""
    for i in range(len(part.pair)):
        k = place[part.pair[i]]
        if k != NONE:
            to = at[k]
            at[k] += 1
            filed.block[to], filed.product[to] = part.block, part.product[i]
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
