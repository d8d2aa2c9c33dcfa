"""Why one unit must stay in front of another.

RAW: the later one reads what the first writes; WAR: it writes what the first reads; WAW: both write it. Tables follow
the same rule, whatever the rows. A web that one unit has for itself binds it to nothing (units.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from vprof.transaction.effects import WORLD, Facts, Place
from vprof.transaction.schema import Schema
from vprof.transaction.units import Unit, Web, open_webs

Dependence = tuple[int, int, str]
"""The unit at the first place must precede that at the second, and why."""


class Dependences:
    """Of the units of a block."""

    def __init__(
        self, facts: Facts, units: Sequence[Unit], outside: frozenset[Web], schema: Schema, checks: bool = True
    ) -> None:
        """Without `checks`, what one protects may stand in front of it: it did already when the text was written."""
        self._facts, self._units, self._schema = facts, units, schema
        self._open = open_webs(units, outside)
        self._guarded = [self._guards(at) if checks else set() for at in range(len(units))]

    def all(self) -> list[Dependence]:
        return [
            (first, then, why)
            for first, then in combinations(range(len(self._units)), 2)
            if (why := self.why(first, then)) is not None
        ]

    def why(self, first: int, then: int, apart: frozenset[int] = frozenset()) -> str | None:
        """The first reason there is. `apart`: variables that count as no reason."""
        return next(self._reasons(first, then, apart), None)

    def _reasons(self, first: int, then: int, apart: frozenset[int]) -> Iterator[str]:
        one, other = self._units[first], self._units[then]
        for unit in (one, other):
            if unit.effects.barrier:
                yield unit.effects.barrier
        yield from self._of_exits(first, then)
        yield from self._of_memory(one, other, apart)
        for a in one.asked:
            for b in other.asked:
                yield from self._schema.conflicts(a.query, b.query)
        program = self._facts.program
        for name in sorted(one.declares(program) & other.mentions(program)):
            yield f"the declaration of {name}"
        for name in sorted(other.declares(program) & one.mentions(program)):
            yield f"the declaration of {name} hides another one"

    def _of_exits(self, first: int, then: int) -> Iterator[str]:
        one, other = self._units[first].effects, self._units[then].effects
        for leaves, shows in ((one, other), (other, one)):
            if leaves.exits and (seen := next((p for p in shows.writes if self._facts.visible(p)), None)):
                yield f"line {leaves.exits[0]} may leave, and others see {self._facts.name(seen)}"
        if one.exits:
            for place in sorted(other.reads, key=repr):
                if any(self._touch(place, guard) for guard in self._guarded[first]):
                    yield f"the check that line {one.exits[0]} belongs to is about {self._facts.name(place)}"

    def _touch(self, one: Place, other: Place) -> bool:
        return self._facts.same(one, other) and (one.web == other.web or None in (one.web, other.web))

    def _guards(self, at: int) -> set[Place]:
        """What a check examines: what its conditions read, and what the units before it computed that from."""
        unit = self._units[at]
        found = set(unit.effects.conditions)
        for before in reversed(self._units[:at]):
            if any(self._touch(a, b) for a in before.effects.writes for b in found):
                found |= before.effects.writes
                if not before.asked:
                    found |= before.effects.reads
        return {one for one in found if not self._facts.is_handle(one)}

    def _of_memory(self, one: Unit, other: Unit, apart: frozenset[int]) -> Iterator[str]:
        a, b = one.effects, other.effects
        for kind, first, then in (("RAW", a.writes, b.reads), ("WAR", a.reads, b.writes), ("WAW", a.writes, b.writes)):
            for place in sorted(first, key=repr):
                if place.kind == "variable" and place.number in apart:
                    continue
                for same in then:
                    if self._facts.same(place, same) and self._binds(place, same):
                        yield "others see both" if place == WORLD else f"{kind} {self._facts.name(place)}"

    def _binds(self, one: Place, other: Place) -> bool:
        if one.web is None or other.web is None or one.web == other.web:
            return True
        return (one.number, one.web) in self._open or (other.number, other.web) in self._open
