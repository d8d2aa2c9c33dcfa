"""The best order of all units: that of the queries by the solver that suits their number, then the others, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from vprof.errors import InvariantError
from vprof.reorder import linear, subsets
from vprof.reorder.constraints import first_violated, predecessors
from vprof.reorder.problem import Before, Problem, Unit, parse
from vprof.reorder.queries import Queries, queries_of

Solver = Callable[[Queries], list[int]]


@dataclass(frozen=True)
class Solution:
    """`places`: of the old order, in the new one. `old`: the objective of the old order, exact as `new`."""

    problem: Problem
    places: tuple[int, ...]
    old: Fraction
    new: Fraction

    @property
    def order(self) -> list[Unit]:
        return [self.problem.units[place] for place in self.places]

    @property
    def objective(self) -> int | float:
        """The sum of position times index, positions from 1."""
        return number(self.new)

    @property
    def broken(self) -> Before | None:
        """The first constraint that the old order does not keep."""
        return first_violated(range(len(self.problem.units)), self.problem.before)

    def as_json(self) -> dict[str, Any]:
        return {"order": self.order, "objective": self.objective}


def solve(problem: Problem | dict[str, Any], solver: Solver | None = None) -> Solution:
    """The order with the largest objective; of several the one that keeps the old order of queries where it can.

    `problem`: as in a file (problem.py). `solver`: instead of the one that suits. Raises UsageError in one line if it
    is no problem, or its constraints go round.
    """
    if not isinstance(problem, Problem):
        problem = parse(problem)
    closure = predecessors(problem)
    queries = queries_of(problem, closure)
    if solver is None:
        solver = subsets.best_order if len(queries.index) <= subsets.MOST else linear.best_order
    order = solver(queries) if queries.index else []
    places = _with_others(closure, [queries.places[query] for query in order])
    old = objective(problem, range(len(problem.units)))
    new = objective(problem, places)
    if old == new and first_violated(range(len(problem.units)), problem.before) is None:
        places = list(range(len(problem.units)))
    _check(problem, places)
    return Solution(problem, tuple(places), old, new)


def objective(problem: Problem, places: Sequence[int]) -> Fraction:
    """The sum of position times index, positions from 1."""
    return sum((position * problem.index[place] for position, place in enumerate(places, 1)), Fraction(0))


def number(exact: Fraction) -> int | float:
    """A whole number if it is one."""
    return int(exact) if exact.denominator == 1 else float(exact)


def _with_others(closure: Sequence[int], queries: Sequence[int]) -> list[int]:
    """Each unit that is no query as early as it may come; those that may come together in their old order."""
    order: list[int] = []
    there = 0
    others = [place for place in range(len(closure)) if place not in set(queries)]

    def put(place: int) -> None:
        nonlocal there
        order.append(place)
        there |= 1 << place

    def put_others() -> None:
        while (ready := next((place for place in others if closure[place] & ~there == 0), None)) is not None:
            others.remove(ready)
            put(ready)

    put_others()
    for query in queries:
        put(query)
        put_others()
    return order


def _check(problem: Problem, places: Sequence[int]) -> None:
    """Raises InvariantError if a result of a solver is no order of all units, or breaks a constraint."""
    if sorted(places) != list(range(len(problem.units))):
        raise InvariantError("the new order has not each unit once")
    broken = first_violated(places, problem.before)
    if broken:
        first, then = problem.units[broken.first], problem.units[broken.then]
        raise InvariantError(f"the new order breaks a constraint: {first} before {then} ({broken.reason})")
