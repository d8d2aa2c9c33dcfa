"""Branches and loops in several parts, each with at most one query, so that the parts can change places.

    if (c) { A; B; } else { C; }    ->  if (c) { A; } if (c) { B; } if (!(c)) { C; }
    for (i...) { A; B; }            ->  for (i...) { A; } for (i...) { B; }

A branch may be split if nothing in it changes what its condition reads. A loop may be if no round of a later part has
anything to do with another round of an earlier part: they have no memory and no table in common that one of them
changes, but for elements of an array which both use only as array[i], i being the loop's own variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from vprof.transaction.dependences import Dependences
from vprof.transaction.effects import Effects, Facts, Place
from vprof.transaction.layout import chunks
from vprof.transaction.program import Expression, Statement
from vprof.transaction.schema import Schema
from vprof.transaction.units import Unit, units_of, webs_outside

Line = tuple[bytes, int]
"""A line of the new text, and the number of the old one that it comes from."""

Part = tuple[int, int]
"""Units [first, last) of a block."""


@dataclass(frozen=True)
class Split:
    """The lines [first, last) of the text, from 0, become `lines`. `statement` is what they were."""

    statement: Statement
    first: int
    last: int
    lines: tuple[Line, ...]


def splits(facts: Facts, schema: Schema, statements: Sequence[Statement]) -> Iterator[Split]:
    """What can be split in statements; what lies within others comes first."""
    for one in statements:
        for inner in reversed(list(one.all())):
            if inner.kind in ("if", "for") and (found := _split(facts, schema, inner)):
                yield found


def _split(facts: Facts, schema: Schema, one: Statement) -> Split | None:
    ways = [way for key in ("then", "else", "body") if (way := one.part(key)) is not None]
    queries = len(facts.of(one).queries)
    if queries < 2 or facts.of(one).barrier or any(way.kind != "block" or not way.inner for way in ways):
        return None
    may = _may_split_branch if one.kind == "if" else _may_split_loop
    if not may(facts, one) or not _has_lines_of_its_own(facts, one, ways):
        return None
    cut = []
    for way in ways:
        units = units_of(facts, way)
        if any(unit.effects.barrier for unit in units):
            return None
        cut.append((way, units, _parts(facts, schema, one, way)))
    if sum(len(parts) for _, _, parts in cut) < 2:
        return None
    lines = tuple(line for way, units, parts in cut for line in _lines(facts, one, way, units, parts))
    text = facts.program.text
    return Split(one, text.count(b"\n", 0, one.begin), text.count(b"\n", 0, one.end) + 1, lines)


def _lines(
    facts: Facts, one: Statement, way: Statement, units: Sequence[Unit], parts: Sequence[Part]
) -> Iterator[Line]:
    """Each part of a way in braces of its own."""
    text = facts.program.text
    spans = chunks(text, way, units)
    for first, last in parts:
        for line in (_header(text, one, way) + b" {").split(b"\n"):
            yield line, one.line
        begin, end = spans[first][0], spans[last - 1][1]
        number = text.count(b"\n", 0, begin)
        for at, line in enumerate(text[begin:end].removesuffix(b"\n").split(b"\n")):
            yield line, facts.program.line(number + at)
        yield _indent(text, one) + b"}", one.line


def _header(text: bytes, one: Statement, way: Statement) -> bytes:
    """In front of each part of a way."""
    if one.kind == "for":
        return _indent(text, one) + text[one.begin : way.begin].rstrip()
    condition = text[one.raw["condition"]["begin"] : one.raw["condition"]["end"]]
    taken = way.raw is one.raw["then"]
    return _indent(text, one) + (b"if (%s)" if taken else b"if (!(%s))") % condition


def _indent(text: bytes, one: Statement) -> bytes:
    return text[text.rfind(b"\n", 0, one.begin) + 1 : one.begin]


def _has_lines_of_its_own(facts: Facts, one: Statement, ways: Sequence[Statement]) -> bool:
    """And no words that would belong to no part, such as a comment behind `else {`."""
    text = facts.program.text
    end = text.find(b"\n", one.end)
    between = [_indent(text, one), text[one.end : end if end >= 0 else len(text)]]
    for way in ways:
        spans = chunks(text, way, units_of(facts, way))
        between += [text[way.begin + 1 : spans[0][0]], text[spans[-1][1] : way.end - 1]]
        between.append(b"" if b"\n" in text[way.begin : spans[0][0]] else b"on one line")
    if len(ways) == 2:
        between.append(text[ways[0].end : ways[1].begin].replace(b"else", b"", 1))
    if one.kind == "if":
        between.append(text[one.raw["condition"]["end"] : ways[0].begin].replace(b")", b"", 1))
    return not any(some.strip() for some in between) and one.raw["condition"]["begin"] > 0


def _parts(facts: Facts, schema: Schema, one: Statement, way: Statement) -> list[Part]:
    """Each with a query, if it can be; in order, and all together the way."""
    units = units_of(facts, way)
    dependences = Dependences(facts, units, webs_outside(facts, way), schema)
    own = _elements(facts, one) if one.kind == "for" else frozenset()

    def tied(first: Part, then: Part) -> bool:
        pairs = [(a, b) for a in range(*first) for b in range(*then)]
        if one.kind == "if":
            return any(units[a].declares(facts.program) & units[b].mentions(facts.program) for a, b in pairs)
        return any(dependences.why(a, b, own) or dependences.why(b, a, own) for a, b in pairs)

    return _merged(_by_query(units, lambda a, b: dependences.why(a, b) is not None), tied)


def _by_query(units: Sequence[Unit], needs: Callable[[int, int], bool]) -> list[Part]:
    """What stands between two queries belongs to the second one, unless it needs the first one and the second does not
    need it."""
    queries = [at for at, unit in enumerate(units) if unit.asked]
    if not queries:
        return [(0, len(units))]
    borders = [0]
    for before, query in pairwise(queries):
        border = before + 1
        while border < query and needs(before, border) and not needs(border, query):
            border += 1
        borders.append(border)
    return list(zip(borders, [*borders[1:], len(units)], strict=True))


def _merged(parts: list[Part], tied: Callable[[Part, Part], bool]) -> list[Part]:
    """Parts that are tied to each other are one, with all between them."""
    done = False
    while not done:
        done = True
        for first in range(len(parts)):
            for then in range(len(parts) - 1, first, -1):
                if tied(parts[first], parts[then]):
                    parts = [*parts[:first], (parts[first][0], parts[then][1]), *parts[then + 1 :]]
                    done = False
                    break
            if not done:
                break
    return parts


def _is_quiet(effects: Effects) -> bool:
    """Nothing happens but reading."""
    return not (effects.writes or effects.asked or effects.barrier)


def _may_split_branch(facts: Facts, one: Statement) -> bool:
    condition = facts.of_expression(one.raw["condition"]["value"])
    writes = {place for way in one.inner for place in facts.of(way).writes}
    return _is_quiet(condition) and not _meet(facts, condition.reads, writes)


def _may_split_loop(facts: Facts, one: Statement) -> bool:
    """`for (i = ...; condition; i...)`, where its body changes nothing of that."""
    first, body = one.part("first"), one.part("body")
    if first is None or body is None or not {"condition", "step"} <= one.raw.keys() or facts.of(one).exits:
        return False
    begin, step = facts.of(first), facts.of_expression(one.raw["step"])
    condition = facts.of_expression(one.raw["condition"]["value"])
    variable = {place.number for place in begin.writes | step.writes}
    if len(variable) != 1 or any(place.web is None for place in begin.writes | step.writes):
        return False
    quiet = _is_quiet(condition) and not (begin.asked or begin.barrier or step.asked or step.barrier)
    reads = begin.reads | begin.writes | step.reads | condition.reads
    return quiet and not _meet(facts, reads, facts.of(body).writes)


def _meet(facts: Facts, some: set[Place], others: set[Place]) -> bool:
    return any(facts.same(one, other) for one in some for other in others)


def _elements(facts: Facts, loop: Statement) -> frozenset[int]:
    """The arrays of which a loop uses only the elements with the number of the round."""
    first = loop.part("first")
    own = {place.number for place in facts.of(first).writes} if first else set()
    body = loop.part("body")
    used: dict[int, list[bool]] = {}
    for one in body.all() if body else ():
        for node in one.expressions:
            for variable, index in _uses(node):
                used.setdefault(variable, []).append(index is not None and _is_load_of(index, own))
        for declared in one.raw.get("declares", ()):
            used.setdefault(declared["v"], []).append(False)
    return frozenset(variable for variable, ways in used.items() if all(ways) and facts.is_tracked(variable))


def _uses(node: Expression) -> Iterator[tuple[int, Expression | None]]:
    """The variables in an expression, each with the index that is applied to it at once."""
    if node["k"] == "index" and node["e"]["k"] == "var":
        yield node["e"]["v"], node["i"]
        yield from _uses(node["i"])
        return
    if node["k"] == "var":
        yield node["v"], None
    for key in ("e", "to", "i"):
        if key in node:
            yield from _uses(node[key])
    for key in ("es", "args"):
        for part in node.get(key, ()):
            yield from _uses(part)


def _is_load_of(node: Expression, variables: set[int]) -> bool:
    while node["k"] == "op" and len(node["es"]) == 1:
        node = node["es"][0]
    return bool(node["k"] == "load" and node["e"]["k"] == "var" and node["e"]["v"] in variables)
