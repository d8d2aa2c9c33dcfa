"""The best order of up to 20 queries, exactly, by a dynamic program over sets of queries.

best(S) is what the queries that are not in S add at most, if those in S are there already:

    best(all) = 0
    best(S)   = maximum over each q that may come next of  index(q) * position(S) + best(S + q)

position(S), where the next query comes, depends on S alone (queries.py). From the empty set on, the query that is first
in the old order is taken among those that reach best(S): of equal orders, the one nearest to the old one comes out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vprof.reorder.queries import Queries

MOST = 20
_LARGEST = 2**62


def best_order(queries: Queries) -> list[int]:
    """Takes 2^n steps and as many numbers: n at most `MOST`."""
    count = len(queries.index)
    position = _positions(queries)
    # What 64 bits cannot hold is computed with Python's whole numbers: slower, but as exact.
    fits = sum(queries.index) * int(position[-1]) < _LARGEST
    best = np.full(1 << count, -1, np.int64 if fits else object)
    best[-1] = 0
    sizes = _sizes(count)
    by_size = np.argsort(sizes, kind="stable")
    borders = np.searchsorted(sizes[by_size], np.arange(count + 1))
    for size in range(count - 1, -1, -1):
        sets = by_size[borders[size] : borders[size + 1]]
        for query in range(count):
            now = sets[_may_follow(queries, query, sets)]
            best[now] = np.maximum(best[now], _added(queries, query, now, position, best))
    return _follow(queries, position, best)


def _may_follow(queries: Queries, query: int, sets: NDArray[np.int64]) -> NDArray[np.bool_]:
    needed = queries.preceding[query]
    may: NDArray[np.bool_] = (sets & (needed | 1 << query)) == needed
    return may


def _added(queries: Queries, query: int, sets: Any, position: Any, best: Any) -> Any:
    """What the queries outside each set add, if this one comes next."""
    return position[sets].astype(best.dtype) * queries.index[query] + best[sets | 1 << query]


def _positions(queries: Queries) -> NDArray[np.int64]:
    """By set: the position of the query that comes next."""
    count = len(queries.index)
    early = np.zeros(1 << count, np.int64)
    for needed, units in queries.others.items():
        early[needed] += units
    for query in range(count):  # then each set has the units of all its subsets
        halves = early.reshape(-1, 2, 1 << query)
        halves[:, 1] += halves[:, 0]
    return 1 + early + _sizes(count)


def _sizes(count: int) -> NDArray[np.int64]:
    """By set: how many queries it has."""
    sizes = np.zeros(1 << count, np.int64)
    for query in range(count):
        sizes[1 << query : 2 << query] = sizes[: 1 << query] + 1
    return sizes


def _follow(queries: Queries, position: NDArray[np.int64], best: NDArray[Any]) -> list[int]:
    order: list[int] = []
    there = np.zeros(1, np.int64)
    while len(order) < len(queries.index):
        query = next(
            query
            for query in range(len(queries.index))
            if _may_follow(queries, query, there)[0]
            and _added(queries, query, there, position, best)[0] == best[there[0]]
        )
        order.append(query)
        there = there | 1 << query
    return order
