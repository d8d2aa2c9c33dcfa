"""The reorder units of a transaction: statements of one block, in groups that must stay together.

A variable that several pieces of the block use, each for itself (`result` of one query after the other), has a web for
each of them. Where all of a web lies in one unit it is the unit's own affair, and units may pass each other. So
neighbours become a unit if they have a web in common, and at most one query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from vprof.errors import UsageError
from vprof.transaction.effects import Asked, Effects, Facts, not_understood
from vprof.transaction.flow import names
from vprof.transaction.program import Program, Statement

Web = tuple[int, int]
"""A variable, and one of its webs."""


@dataclass(frozen=True, eq=False)
class Unit:
    """Consecutive statements of a block."""

    statements: tuple[Statement, ...]
    effects: Effects

    @property
    def line(self) -> int:
        """Of its first query, or else its own."""
        return self.asked[0].line if self.asked else self.statements[0].line

    @property
    def asked(self) -> Sequence[Asked]:
        return self.effects.queries

    @cached_property
    def webs(self) -> frozenset[Web]:
        return webs_of(self.effects)

    def declares(self, program: Program) -> frozenset[str]:
        """The names that what follows in the block may use."""
        return names(program, (one["v"] for statement in self.statements for one in statement.raw.get("declares", ())))

    def mentions(self, program: Program) -> frozenset[str]:
        return names(program, (number for statement in self.statements for number in statement.mentions))


def webs_of(effects: Effects) -> frozenset[Web]:
    return frozenset((one.number, one.web) for one in effects.reads | effects.writes if one.web is not None)


def block_of(facts: Facts) -> Statement:
    """The innermost block that has all queries of the function in it.

    Raises UsageError if the function has none, or more than one transaction.
    """
    body = facts.function.body
    asked = facts.of(body).asked
    begins = [one.line for one in asked if one.query.control == "begin"]
    name = facts.function.name
    if len(begins) > 1:
        lines = ", ".join(map(str, begins))
        raise UsageError(f"{name} begins {len(begins)} transactions (lines {lines}): give one function to each")
    if not facts.of(body).queries:
        other = next((one for one in body.all() if one.kind == "other"), None)
        if other is not None:
            raise UsageError(
                f"{name} sends no query that vprof sees: line {other.line} has {not_understood(other.raw)}"
            )
        raise UsageError(f"{name} sends no query that vprof knows of: annotations/clients has the calls that do")
    block = body
    while True:
        # What undoes the transaction may stand outside of the block, as in `failed: PQexec(connection, "ROLLBACK")`.
        inner = [one for one in block.inner if any(a.query.control != "rollback" for a in facts.of(one).asked)]
        if len(inner) != 1 or inner[0].kind not in ("block", "for", "while", "do"):
            return block
        within = inner[0].part("body") or inner[0]
        if within.kind != "block":
            return block
        block = within


def units_of(facts: Facts, block: Statement) -> list[Unit]:
    """In the order of the text."""
    program = facts.program
    spans = _fused(program, [(at, at + 1) for at in range(len(block.inner))], block)
    effects = [effects_of(facts, block.inner[begin:end]) for begin, end in spans]
    grouped = _grouped(effects, webs_outside(facts, block))
    return [Unit(block.inner[spans[begin][0] : spans[end - 1][1]], _all(effects[begin:end])) for begin, end in grouped]


def _fused(program: Program, spans: list[tuple[int, int]], block: Statement) -> list[tuple[int, int]]:
    """Statements whose texts share a line are one."""
    fused: list[tuple[int, int]] = []
    for begin, end in spans:
        if fused:
            before, one = block.inner[begin - 1], block.inner[begin]
            if b"\n" not in program.text[before.end : one.begin]:
                fused[-1] = (fused[-1][0], end)
                continue
        fused.append((begin, end))
    return fused


def effects_of(facts: Facts, statements: Sequence[Statement]) -> Effects:
    """Of statements that are one unit, or part of one."""
    found = _all([facts.of(one) for one in statements])
    if statements[-1].kind == "return":
        found.stop("the function ends here")
    undone = [one.line for one in found.asked if one.query.control == "rollback"]
    if len(undone) > len(found.exits):
        found.stop(f"line {undone[0]} may undo the transaction and go on")
    if found.exits and not found.aborts:
        found.stop(f"line {found.exits[0]} may leave other than by undoing the transaction and returning")
    for one in statements:
        if not one.placed or one.begin >= one.end:
            found.stop("its text is not in this file, or a macro's")
        if any(_end_before(facts, one) <= at < one.end for at in facts.program.directives):
            found.stop("a line of the preprocessor is in it or in front of it")
        if one.raw.get("types"):
            found.stop("it declares a type")
    if any(before.end > one.begin for before, one in pairwise(statements)):
        found.stop("a macro writes several statements")
    return found


def _end_before(facts: Facts, one: Statement) -> int:
    """Where the text begins that the statement takes along."""
    block = facts.parent(one)
    if not block or block.kind != "block":
        return one.begin
    at = block.inner.index(one)
    return block.inner[at - 1].end if at else block.begin


def _all(effects: Sequence[Effects]) -> Effects:
    found = Effects()
    for one in effects:
        found.add(one)
    return found


def webs_outside(facts: Facts, block: Statement) -> frozenset[Web]:
    """The webs that the function uses outside of the block, or that come with its parameters."""
    found = set(facts.given_webs())
    inside: Statement | None = block
    while inside is not None and (outer := facts.parent(inside)) is not None:
        for one in outer.inner:
            if one is not inside:
                found |= webs_of(facts.of(one))
        for node in outer.expressions:
            found |= webs_of(facts.of_expression(node))
        inside = outer
    return frozenset(found)


def _grouped(effects: Sequence[Effects], outside: frozenset[Web]) -> list[tuple[int, int]]:
    """Spans of neighbours that become one unit."""
    users: dict[Web, list[int]] = {}
    for at, one in enumerate(effects):
        for web in webs_of(one):
            users.setdefault(web, []).append(at)
    often = [variable for variable, _ in users]
    wanted = sorted(
        (places[-1] + 1 - places[0], places[0])
        for web, places in users.items()
        if len(places) > 1 and web not in outside and often.count(web[0]) > 1
    )
    groups = [(at, at + 1) for at in range(len(effects))]
    for length, begin in wanted:
        touched = [one for one in groups if one[0] < begin + length and begin < one[1]]
        joined = (touched[0][0], touched[-1][1])
        inside = effects[joined[0] : joined[1]]
        if sum(len(one.asked) > 0 and bool(one.queries) for one in inside) > 1 or any(one.barrier for one in inside):
            continue
        groups = sorted([*(one for one in groups if one not in touched), joined])
    return groups


def open_webs(units: Sequence[Unit], outside: frozenset[Web]) -> frozenset[Web]:
    """The webs that more than one unit uses, or the function outside of all."""
    seen: set[Web] = set()
    found = set(outside)
    for one in units:
        found |= seen & one.webs
        seen |= one.webs
    return frozenset(found)


def labels(units: Sequence[Unit]) -> list[str]:
    """A name for each, by line and query, all different."""
    return list(_labels(units))


def _labels(units: Sequence[Unit]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for one in units:
        what = ", ".join(dict.fromkeys(asked.query.summary for asked in one.effects.asked))
        name = f"line {one.line}" + (f" ({what})" if what else "")
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name}, part {seen[name]}"
