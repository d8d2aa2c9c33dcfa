"""The whole way from a function to its new text, and the check that reads this text again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from vprof.errors import InvariantError, UsageError
from vprof.reorder import Solution, solve
from vprof.reorder.problem import Before, Problem
from vprof.transaction.attach import attached
from vprof.transaction.client_program import ClientProgram
from vprof.transaction.clients import Calls
from vprof.transaction.dependences import Dependence, Dependences
from vprof.transaction.effects import Facts
from vprof.transaction.helpers import with_helpers
from vprof.transaction.index import Index
from vprof.transaction.layout import reordered
from vprof.transaction.program import Program, Statement, read
from vprof.transaction.rename import Renaming, is_same, renamed, renamings
from vprof.transaction.schema import Schema, load
from vprof.transaction.split import splits
from vprof.transaction.units import Unit, block_of, effects_of, labels, units_of, webs_outside


@dataclass(frozen=True)
class Reordering:
    """`before`, `after`: the texts of `file`; equal if nothing moves. `client`: as of Facts. `weaker`: lines
    that ask for isolation weaker than serializable, with the level. `undone`: as of
    Facts."""

    file: Path
    function: str
    units: tuple[Unit, ...]
    solution: Solution
    before: bytes
    after: bytes
    client: ClientProgram | None
    undone: bool
    renamed: tuple[Renaming, ...]
    weaker: tuple[tuple[int, str], ...]

    @cached_property
    def fixed(self) -> list[tuple[str, str]]:
        """Units that nothing may pass, each with the reason."""
        names = self.solution.problem.units
        return [
            (str(name), unit.effects.barrier)
            for name, unit in zip(names, self.units, strict=True)
            if unit.effects.barrier and not _is_a_border(unit)
        ]


def _is_a_border(unit: Unit) -> bool:
    """Whether it is clear without words that nothing passes it."""
    controls = {asked.query.control for asked in unit.effects.asked}
    return unit.statements[-1].kind == "return" or bool(controls & {"begin", "commit"})


@dataclass(frozen=True)
class _Block:
    """What is known of the block with the transaction."""

    statement: Statement
    units: list[Unit]
    dependences: list[Dependence]


def reorder(
    file: Path,
    function: str,
    index: Index,
    calls: Calls,
    schema_file: Path | None,
    options: Sequence[str] = (),
    undone: bool = False,
) -> Reordering:
    """`options`: of the compiler. `undone`: as of Facts.

    Raises UsageError if there is no such function, or it is none that can be reordered; InvariantError if the new text
    breaks what must hold.
    """
    whole = read(file, options)
    function_of_it = whole.function(function)
    calls = with_helpers(whole, calls, function)
    facts = Facts(whole, function_of_it, calls, undone=undone)
    block_of(facts)
    schema = load(schema_file, facts.dialect) if schema_file else Schema()
    way = _Way(file, function, calls, schema, options, undone)
    kept_whole: frozenset[int] = frozenset()
    while True:
        program = way.split(whole, kept_whole)
        block = way.block(program)
        solution = solve(_problem(block, index, function))
        useless = _useless(block, solution)
        if useless <= kept_whole:
            break
        kept_whole |= useless
    program, block, solution, names = _renamed(way, _Found(program, block, solution), index)
    after = reordered(program.text, block.statement, block.units, solution.places)
    moved = list(solution.places) != sorted(solution.places)
    if moved:
        way.check(after, program, block, solution)
    text = after if moved else whole.text
    units, weaker = tuple(block.units), tuple(_weaker(facts))
    return Reordering(file, function, units, solution, whole.text, text, facts.client, undone, names, weaker)


def _weaker(facts: Facts) -> Iterator[tuple[int, str]]:
    for asked in facts.of(facts.function.body).asked:
        level = asked.query.level
        if level and level != "SERIALIZABLE":
            yield asked.line, level


class _Found(NamedTuple):
    program: Program
    block: _Block
    solution: Solution
    renamed: tuple[Renaming, ...] = ()

    @property
    def gained(self) -> Fraction:
        """The objective of the queries among themselves: what does not ask counts nothing."""
        asking = [place for place in self.solution.places if self.block.units[place].asked]
        index = self.solution.problem.index
        return sum((position * index[place] for position, place in enumerate(asking)), Fraction(0))


def _renamed(way: _Way, found: _Found, index: Index) -> _Found:
    """With the renamings by which queries gain, none of them in vain."""
    chosen = way.renamings(found.program, found.block)
    best = way.renamed(found.program, chosen, index) if chosen else None
    if best is None or best.gained <= found.gained:
        return found
    for one in chosen:
        fewer = [other for other in best.renamed if other is not one]
        without = way.renamed(found.program, fewer, index) if fewer else None
        if without and without.gained >= best.gained:
            best = without
    return best


def _useless(block: _Block, solution: Solution) -> frozenset[int]:
    """The lines of statements that were split, although their parts stand together as they did."""
    old = [one for unit in block.units for one in unit.statements]
    new = [one for place in solution.places for one in block.units[place].statements]
    at = {one: position for position, one in enumerate(new)}
    parts: dict[int, list[int]] = {}
    for one in old:
        parts.setdefault(one.line, []).append(at[one])
    together = {line for line, found in parts.items() if found == list(range(found[0], found[0] + len(found)))}
    return frozenset(line for line in together if len(parts[line]) > 1)


class _Way:
    """From one text of a function to the next one."""

    def __init__(
        self, file: Path, function: str, calls: Calls, schema: Schema, options: Sequence[str], undone: bool
    ) -> None:
        self._file, self._function, self._calls = file, function, calls
        self._schema, self._options, self._undone = schema, options, undone

    def _facts(self, program: Program) -> Facts:
        return Facts(program, program.function(self._function), self._calls, undone=self._undone)

    def block(self, program: Program, sizes: Sequence[int] | None = None, checks: bool = True) -> _Block:
        """The block with the transaction. `sizes`: of its units, in statements; None: those that units.py and attach.py
        find."""
        facts = self._facts(program)
        statement = block_of(facts)
        outside = webs_outside(facts, statement)
        if sizes is None:
            units = units_of(facts, statement)
            spans = attached(units, Dependences(facts, units, outside, self._schema).all())
            sizes = [sum(len(unit.statements) for unit in units[begin:end]) for begin, end in spans]
        units = _units_of_sizes(facts, statement, sizes)
        return _Block(statement, units, Dependences(facts, units, outside, self._schema, checks).all())

    def split(self, program: Program, kept_whole: frozenset[int]) -> Program:
        """With all branches and loops in parts that may be, but for those of the block in these lines."""
        while True:
            facts = self._facts(program)
            block = block_of(facts)
            within = [one for one in block.inner if one.line not in kept_whole]
            found = next(splits(facts, self._schema, within), None)
            if found is None:
                return program
            old = program.text.split(b"\n")
            new = [(line, program.line(at)) for at, line in enumerate(old)]
            new[found.first : found.last] = found.lines
            text = b"\n".join(line for line, _ in new)
            program = self._read(text, [number for _, number in new])

    def renamings(self, program: Program, block: _Block) -> list[Renaming]:
        return renamings(self._facts(program), block.statement)

    def renamed(self, program: Program, chosen: Sequence[Renaming], index: Index) -> _Found | None:
        """None if the new text is another program, such as where a macro uses the name."""
        try:
            new = read(self._file, self._options, *renamed(program, chosen))
        except UsageError:
            return None
        if not is_same(program, new, self._function, chosen):
            return None
        block = self.block(new)
        return _Found(new, block, solve(_problem(block, index, self._function)), tuple(chosen))

    def check(self, after: bytes, before: Program, old: _Block, solution: Solution) -> None:
        """Reads the new text as if it came from elsewhere: it has the same statements, and no two of them changed
        places that depend on each other, neither as the old text says nor as the new one does."""
        program = self._read(after, None)
        units = [old.units[place] for place in solution.places]
        new = self.block(program, [len(unit.statements) for unit in units], checks=False)
        was = [_text(before, one) for one in chain.from_iterable(unit.statements for unit in units)]
        if [_text(program, one) for one in new.statement.inner] != was:
            raise InvariantError("the new text has not the statements of the old one, each once")
        place = {old_place: at for at, old_place in enumerate(solution.places)}
        for first, then, why in old.dependences:
            if place[first] > place[then]:
                raise InvariantError(f"the new text breaks a constraint of the old one: {why}")
        for first, then, why in new.dependences:
            if solution.places[first] > solution.places[then]:
                raise InvariantError(f"the new text has a constraint that the old one breaks: {why}")

    def _read(self, text: bytes, lines: Sequence[int] | None) -> Program:
        try:
            return read(self._file, self._options, text, lines)
        except UsageError as e:
            raise InvariantError(f"the new text: {e}") from e


def _units_of_sizes(facts: Facts, block: Statement, sizes: Sequence[int]) -> list[Unit]:
    units, at = [], 0
    for size in sizes:
        some = block.inner[at : at + size]
        units.append(Unit(some, effects_of(facts, some)))
        at += size
    return units


def _problem(block: _Block, index: Index, function: str) -> Problem:
    largest = index.of(block.units, function)
    before = tuple(Before(first, then, why) for first, then, why in block.dependences)
    return Problem(tuple(labels(block.units)), tuple(Fraction(repr(float(one))) for one in largest), before)


def _text(program: Program, one: Statement) -> bytes:
    return program.text[one.begin : one.end]
