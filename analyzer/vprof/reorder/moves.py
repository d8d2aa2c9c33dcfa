"""Why a unit is where it is in the new order: what it moved behind or in front of, and what holds others in place.

A query should come behind all whose index is smaller. Where it does not, constraints are the reason: its own, or those
of a unit in between. Otherwise the two could be exchanged, and the objective would be larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from vprof.reorder.constraints import chain, members, predecessors
from vprof.reorder.ordering import Solution
from vprof.reorder.problem import Before, Problem


@dataclass(frozen=True)
class Move:
    """A unit whose position changed. `passed`: the units that it follows now and preceded before, or, if it is `early`,
    the other way round."""

    place: int
    early: bool
    passed: tuple[int, ...]


@dataclass(frozen=True)
class Held:
    """`place` stays in front of `smaller`, whose index is smaller, because of the constraints `because`. They lead from
    `place` to `smaller`, or one of these is tied to a unit that lies between both."""

    place: int
    smaller: int
    because: tuple[Before, ...]


class Moves:
    """Of a solution."""

    def __init__(self, solution: Solution) -> None:
        self.problem: Problem = solution.problem
        self._order = solution.places
        self._position = {place: position for position, place in enumerate(self._order)}

    def moved(self) -> Iterator[Move]:
        """In the new order. What only made room for others is left out: it has the same neighbours on both sides."""
        for position, place in enumerate(self._order):
            behind = tuple(other for other in self._order[:position] if other > place)
            front = tuple(other for other in self._order[position + 1 :] if other < place)
            if len(behind) > len(front):
                yield Move(place, False, behind)
            elif front:
                yield Move(place, True, front)

    def held(self) -> Iterator[Held]:
        """In the new order, one for each query that something holds in front of a query with a smaller index."""
        index = self.problem.index
        for position, place in enumerate(self._order):
            smaller = [
                (other, because)
                for other in self._order[position + 1 :]
                if 0 < index[other] < index[place] and (because := self._because(place, other))
            ]
            if smaller:
                yield min((Held(place, *one) for one in smaller), key=_how_far)

    def _because(self, place: int, smaller: int) -> tuple[Before, ...]:
        """The constraints that hold a unit in front of another one."""
        if self._must_precede(place, smaller):
            return tuple(chain(self.problem.before, place, smaller))
        for between in self._order[self._position[place] + 1 : self._position[smaller]]:
            if self._must_precede(place, between):
                return tuple(chain(self.problem.before, place, between))
            if self._must_precede(between, smaller):
                return tuple(chain(self.problem.before, between, smaller))
        return ()

    def _must_precede(self, first: int, then: int) -> bool:
        return first in members(self._closure[then])

    @cached_property
    def _closure(self) -> list[int]:
        return predecessors(self.problem)


def _how_far(held: Held) -> tuple[bool, bool, int]:
    """Constraints between both units say more than those of a unit in between; few say more than many."""
    first, then = held.because[0].first, held.because[-1].then
    return (first, then) != (held.place, held.smaller), first != held.place, len(held.because)
