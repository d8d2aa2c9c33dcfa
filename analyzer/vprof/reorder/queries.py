"""The smaller problem that solvers see: only the units with an index, the queries.

A unit without one gains nothing by being late, and each query behind it gains one position. So it comes as early as it
may: as soon as all queries that must precede it are there. Where a query lies follows from the queries before it alone:

    position = 1 + queries before it + units without index all of whose queries are among these

Queries are numbered 0, 1, ... in their old order; sets of them are bits, as in constraints.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vprof.reorder.constraints import members
from vprof.reorder.problem import Problem


@dataclass(frozen=True)
class Queries:
    """`places`: where each query is in the old order. `index`: whole numbers in the ratios of the conflict indices.
    `preceding`: the queries that must precede each query. `others`: how many units without index need which queries."""

    places: tuple[int, ...]
    index: tuple[int, ...]
    preceding: tuple[int, ...]
    others: Counter[int]

    def objective(self, order: Sequence[int]) -> int:
        """Of an order of all queries: the sum of position times index, in the unit of `index`."""
        there = total = 0
        for number, query in enumerate(order, 1):
            early = sum(count for needed, count in self.others.items() if needed & ~there == 0)
            total += self.index[query] * (number + early)
            there |= 1 << query
        return total


def queries_of(problem: Problem, closure: Sequence[int]) -> Queries:
    """`closure`: of `predecessors`."""
    places = tuple(place for place, index in enumerate(problem.index) if index)
    number = {place: query for query, place in enumerate(places)}
    scale = math.lcm(*(index.denominator for index in problem.index))

    def needed(place: int) -> int:
        return sum(1 << number[first] for first in members(closure[place]) if first in number)

    return Queries(
        places,
        tuple(int(problem.index[place] * scale) for place in places),
        tuple(needed(place) for place in places),
        Counter(needed(place) for place in range(len(problem.units)) if place not in number),
    )
