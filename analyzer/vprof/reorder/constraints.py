"""What must precede what: the closure of the constraints, their cycles, and the check of an order.

Sets of units are bits of a whole number: bit 2 is the unit at place 2 of the old order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from vprof.errors import UsageError
from vprof.reorder.problem import Before, Problem


def predecessors(problem: Problem) -> list[int]:
    """The units that must precede each unit, directly or through others. Raises UsageError if constraints go round."""
    direct: dict[int, set[int]] = {place: set() for place in range(len(problem.units))}
    for one in problem.before:
        direct[one.then].add(one.first)
    try:
        order = list(TopologicalSorter(direct).static_order())
    except CycleError as e:
        way = " before ".join(str(problem.units[place]) for place in e.args[1])
        raise UsageError(f"the constraints in before go round: {way}; leave one of them out") from e
    closure = [0] * len(problem.units)
    for place in order:
        for first in direct[place]:
            closure[place] |= closure[first] | 1 << first
    return closure


def members(units: int) -> Iterator[int]:
    """The places in a set, ascending."""
    while units:
        lowest = units & -units
        yield lowest.bit_length() - 1
        units ^= lowest


def first_violated(order: Sequence[int], before: Sequence[Before]) -> Before | None:
    """The first of the constraints that an order of places does not keep; a unit that is missing keeps none.

    It knows nothing of closures or solvers, so it is a second opinion on what these say.
    """
    at = {place: position for position, place in enumerate(order)}
    for one in before:
        if one.first not in at or one.then not in at or at[one.first] >= at[one.then]:
            return one
    return None


def chain(before: Sequence[Before], first: int, then: int) -> list[Before]:
    """The fewest constraints that lead from one unit to another, in order; empty if none do."""
    came_by: dict[int, Before] = {}
    queue = deque([first])
    while queue and then not in came_by:
        place = queue.popleft()
        for one in before:
            if one.first == place and one.then not in came_by:
                came_by[one.then] = one
                queue.append(one.then)
    found: list[Before] = []
    while then in came_by and then != first:
        found.append(came_by[then])
        then = came_by[then].first
    return found[::-1]
