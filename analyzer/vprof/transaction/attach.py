"""Statements that go along with a query: what prepares its inputs in front of it, and what takes its results behind it.

They are free to stand elsewhere, but nobody gains by that: positions count queries then, and a patch moves what belongs
together. A neighbour joins a query only if that ties the query to no other one that it was not tied to before.
"""

from __future__ import annotations

from collections.abc import Sequence

from vprof.transaction.dependences import Dependence
from vprof.transaction.units import Unit

Span = tuple[int, int]
"""Units [first, last) that are one."""


def attached(units: Sequence[Unit], dependences: Sequence[Dependence]) -> list[Span]:
    """All units, in order."""
    ties = _Ties(units, dependences)
    spans: list[Span] = []
    at = 0
    while at < len(units):
        end = at + 1
        while units[at].asked and end < len(units) and ties.follows(range(at, end), end):
            end += 1
        spans.append((at, end))
        at = end
    joined: list[Span] = []
    for begin, end in reversed(spans):
        if joined and end == joined[-1][0] and end - begin == 1 and ties.prepares(begin, range(*joined[-1])):
            joined[-1] = (begin, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined[::-1]


class _Ties:
    """What must precede what, directly and through others."""

    def __init__(self, units: Sequence[Unit], dependences: Sequence[Dependence]) -> None:
        self._units = units
        self._direct = {(first, then) for first, then, _ in dependences}
        self._before: list[set[int]] = [set() for _ in units]
        for then in range(len(units)):  # constraints lead from the front to the back
            for first in range(then):
                if (first, then) in self._direct:
                    self._before[then] |= {first} | self._before[first]

    def _may_join(self, one: int) -> bool:
        return not (self._units[one].asked or self._units[one].effects.barrier)

    def follows(self, span: range, one: int) -> bool:
        if not self._may_join(one) or self._units[span[0]].effects.barrier:
            return False
        known = set(span).union(*(self._before[at] for at in span))
        queries = {at for at in self._before[one] if not self._may_join(at)}
        return queries <= known and any((at, one) in self._direct for at in span)

    def prepares(self, one: int, span: range) -> bool:
        """Whoever needs it comes behind the query anyway."""
        queries = {at for at in span if self._units[at].asked}
        if not self._may_join(one) or not queries or any(self._units[at].effects.barrier for at in span):
            return False
        users = [at for at in range(span[-1] + 1, len(self._units)) if one in self._before[at]]
        needed = any((one, at) in self._direct for at in span)
        return needed and all(queries & self._before[at] for at in users)
