"""The best order of more queries than subsets.py can take, by a mixed-integer linear program (SciPy's HiGHS).

x(i,j) is 1 if query i comes before query j, x(j,i) = 1 - x(i,j). The closure of the constraints fixes many of them from
the start. The others are an order if no three of them go round, which holds if of each three

    0 <= x(i,j) + x(j,k) - x(i,k) <= 1

Few of these are ever in the way, so only those that a solution breaks are added, and it is solved again until there are
none. y(g,j) is the part of 1 by which group g of units without index, all of which need the same queries, precedes j:
y(g,j) <= x(i,j) for each query i that g needs. HiGHS computes with doubles: objectives that differ by less than a
millionth of the largest index may be the same to it. `polished` then tries, exactly, to exchange neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from vprof.errors import InvariantError
from vprof.reorder.constraints import members
from vprof.reorder.queries import Queries

Terms = dict[int, float]
"""Coefficients by variable."""


@dataclass
class Program:
    """A linear program to be maximised: `gain` of each variable, whether it is `whole`, rows of (terms, low, high)."""

    gain: list[float] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    rows: list[tuple[Terms, float, float]] = field(default_factory=list)

    def variable(self, gain: float, whole: int) -> int:
        self.gain.append(gain)
        self.whole.append(whole)
        return len(self.gain) - 1

    def solution(self) -> NDArray[np.float64]:
        """Raises InvariantError if there is none: an order always exists."""
        cells = [(row, column, value) for row, one in enumerate(self.rows) for column, value in one[0].items()]
        rows, columns, values = zip(*cells, strict=True) if cells else ((), (), ())
        matrix = csr_array((values, (rows, columns)), shape=(len(self.rows), len(self.gain)))
        low, high = ([one[side] for one in self.rows] for side in (1, 2))
        found = milp(
            -np.array(self.gain),
            integrality=self.whole,
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, low, high) if cells else None,
            options={"mip_rel_gap": 0},
        )
        if found.x is None:
            raise InvariantError(f"HiGHS found no order: {found.message}")
        return np.asarray(found.x, np.float64)


class Pairs:
    """Which of two queries comes first: known from the constraints, or a variable of the program."""

    def __init__(self, queries: Queries, program: Program) -> None:
        self.count = len(queries.index)
        self._preceding = queries.preceding
        # HiGHS's tolerances are absolute ones, made for numbers of about this size.
        self.scaled = [index / max(queries.index) for index in queries.index]
        self._variable = {
            (i, j): program.variable(self.scaled[j] - self.scaled[i], 1)
            for i, j in combinations(range(self.count), 2)
            if self.known(i, j) is None
        }

    def known(self, i: int, j: int) -> int | None:
        """1 if i must come before j, 0 if after it, None if it may do either."""
        if self._preceding[j] >> i & 1:
            return 1
        return 0 if self._preceding[i] >> j & 1 else None

    def terms(self, i: int, j: int) -> tuple[Terms, float]:
        """x(i,j) as terms and a constant."""
        known = self.known(i, j)
        if known is not None:
            return {}, known
        return ({self._variable[i, j]: 1.0}, 0.0) if i < j else ({self._variable[j, i]: -1.0}, 1.0)

    def first(self, found: NDArray[np.float64]) -> NDArray[np.bool_]:
        """[i, j]: whether i comes before j in a solution."""
        before = np.zeros((self.count, self.count), np.bool_)
        for i, j in combinations(range(self.count), 2):
            known = self.known(i, j)
            before[i, j] = found[self._variable[i, j]] > 0.5 if known is None else known
            before[j, i] = not before[i, j]
        return before


def best_order(queries: Queries) -> list[int]:
    """Seconds for 60 queries."""
    program = Program()
    pairs = Pairs(queries, program)
    _add_others(queries, pairs, program)
    for i, j, k in _with_one_known(pairs):
        _add_triple(pairs, program, i, j, k)
    while True:
        before = pairs.first(program.solution() if program.gain else np.zeros(0))
        broken = list(_round(before))
        if not broken:
            return polished(queries, sorted(range(pairs.count), key=lambda query: int(before[:, query].sum())))
        for i, j, k in broken:
            _add_triple(pairs, program, i, j, k)


def _with_one_known(pairs: Pairs) -> Iterator[tuple[int, int, int]]:
    """Triples whose condition two variables decide, which makes solutions nearly whole from the start."""
    for triple in combinations(range(pairs.count), 3):
        if sum(pairs.known(i, j) is not None for i, j in combinations(triple, 2)) == 1:
            yield triple


def _round(before: NDArray[np.bool_]) -> Iterator[tuple[int, int, int]]:
    """Triples that go round."""
    count = len(before)
    for i, j in combinations(range(count), 2):
        later = np.arange(count) > j
        one_way = before[i, j] & before[j] & ~before[i]
        other_way = ~before[i, j] & ~before[j] & before[i]
        for k in np.flatnonzero((one_way | other_way) & later):
            yield i, j, int(k)


def _add_triple(pairs: Pairs, program: Program, i: int, j: int, k: int) -> None:
    terms: Terms = {}
    constant = 0.0
    for sign, (a, b) in ((1, (i, j)), (1, (j, k)), (-1, (i, k))):
        some, more = pairs.terms(a, b)
        terms.update({variable: sign * value for variable, value in some.items()})
        constant += sign * more
    program.rows.append((terms, -constant, 1 - constant))


def _add_others(queries: Queries, pairs: Pairs, program: Program) -> None:
    """What units without index gain each query by preceding it."""
    for needed, units in queries.others.items():
        for query in range(pairs.count):
            needs = list(members(needed & ~queries.preceding[query]))
            # Never before a query that it needs, or that one of these needs; always if all of these come before anyway.
            if query in needs or any(pairs.known(one, query) == 0 for one in needs) or not needs:
                continue
            part = program.variable(units * pairs.scaled[query], 0)
            for one in needs:
                terms, constant = pairs.terms(one, query)
                row = {part: 1.0, **{variable: -value for variable, value in terms.items()}}
                program.rows.append((row, -np.inf, constant))


def polished(queries: Queries, order: list[int]) -> list[int]:
    """Neighbours are exchanged while that gains, or costs nothing and brings back their old order."""
    best = queries.objective(order)
    at = 1
    while at < len(order):
        one, other = order[at - 1 : at + 1]
        exchanged = [*order[: at - 1], other, one, *order[at + 1 :]]
        if not queries.preceding[other] >> one & 1:
            objective = queries.objective(exchanged)
            if objective > best or (objective == best and other < one):
                order, best, at = exchanged, objective, max(at - 1, 1)
                continue
        at += 1
    return order
