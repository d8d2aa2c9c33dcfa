"""Where the sums of a tree's pairs of siblings are, while the tree grows (moments.py)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vprof.tables.columns import i64
from vprof.tables.kernels import kernel
from vprof.tables.model import NONE, Bool, Int64


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


@kernel
def numbered(parent: Int64, known: int, children: Int64) -> Int64:
    """The numbers of the nodes from `known` on among their siblings; counts them in `children`."""
    number = np.zeros(len(parent) - known, np.int64)
    for x in range(known, len(parent)):
        if parent[x] != NONE:
            children[parent[x]] += 1
            number[x - known] = children[parent[x]]
    return number


def places(other: Layout, into: Int64, here: Layout) -> Int64:
    """Where the sums of each pair of another layout are, whose nodes are `into` here."""
    return _places(other, _children_of(other), into, here)


def _children_of(layout: Layout) -> _Children:
    order = np.argsort(layout.parent[1:], kind="stable") + 1 if len(layout.parent) else layout.parent
    return _Children(i64(np.searchsorted(layout.parent[order], np.arange(len(layout.parent) + 1))), i64(order))


class _Children(NamedTuple):
    """By node: its children are of[first[node]] .., in the order of their numbers."""

    first: Int64
    of: Int64


@kernel
def _places(other: Layout, children: _Children, into: Int64, here: Layout) -> Int64:
    n = len(other.parent)
    place = np.empty(other.first[n - 1] + other.number[n - 1] + 2 if n else 0, np.int64)
    for x in range(n):
        node, at = into[x], other.first[x]
        place[at] = here.first[node]
        for k in range(other.number[x] + 1):
            if k == 0:  # the parent's own time; of the root itself
                place[at + 1] = here.first[node] + 1
            else:
                sibling = into[children.of[children.first[other.parent[x]] + k - 1]]
                later = sibling if here.number[sibling] > here.number[node] else node
                sooner = node if later == sibling else sibling
                place[at + 1 + k] = here.first[later] + 1 + here.number[sooner]
    return place
