"""Texts with holes -> C and C++ text.

A piece (`pieces/*/*.piece`) is source with holes, filled anew wherever they stand:

    $n      the number of this piece or statement, for names            $k      a small number, 1..5
    $E      an expression of `a`, `r` and calls                         $u      any unsigned number
    $B      statements, on lines of their own                           $C      a condition
    $F      a call of something that exists already                     $U      the same without lambdas: not evaluated
    $M      the same for a macro's argument: without lines   $S      linkage of a function: static, inline, ...
    $(x $| y $| z $)    one of these; an empty one is allowed

and lines that are no text:

    //: f$n(__LINE__, $A)       from here on the piece can be called so; $A is an argument
    //& f$n(__LINE__, $A)       as above, but only once, by main
    //! std 20                  only in C++20 and later
    //! unit                    not in a header
    //! flags -pthread          what its compilation needs

`#include` lines go to the top. All values are `unsigned`, so that nothing overflows.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from pathlib import Path

PIECES = Path(__file__).parent / "pieces"
_DEEPEST_EXPRESSION, _DEEPEST_STATEMENT = 3, 2
_CHOICE = re.compile(r"\$\(((?:(?!\$\().)*?)\$\)", re.DOTALL)
_HOLE = re.compile(r"\$([A-Za-z])")


@dataclass(frozen=True)
class Piece:
    name: str
    text: str
    calls: list[str]
    once: list[str]
    includes: list[str]
    notes: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> Piece:
        text, calls, once, includes, notes = [], [], [], [], {}
        for line in path.read_text().splitlines():
            if line.startswith("//: "):
                calls.append(line[4:])
            elif line.startswith("//& "):
                once.append(line[4:])
            elif line.startswith("//! "):
                key, _, value = line[4:].partition(" ")
                notes[key] = value
            elif line.startswith("#include <"):
                includes.append(line)
            else:
                text.append(line)
        return cls(path.stem, "\n".join(text) + "\n", calls, once, includes, notes)


def pieces(language: str) -> list[Piece]:
    return [Piece.read(path) for path in sorted((PIECES / language).glob("*.piece"))]


def paragraphs(language: str, kind: str) -> list[str]:
    """The alternatives of `statements`, separated by empty lines, or of `expressions` and `linkage`, one a line."""
    text = (PIECES / language / kind).read_text()
    return [part.strip("\n") for part in re.split(r"\n\n+" if kind == "statements" else r"\n", text) if part.strip()]


@dataclass
class Grammar:
    """What fills the holes of one language."""

    expressions: list[str]
    statements: list[str]
    linkage: list[str]

    @classmethod
    def of(cls, language: str, standard: int) -> Grammar:
        statements = []
        for text in paragraphs(language, "statements"):
            since = re.match(r"//! std (\d+)\n", text)
            if not since or standard >= int(since[1]):
                statements.append(text.removeprefix(since[0] if since else ""))
        return cls(paragraphs(language, "expressions"), statements, paragraphs(language, "linkage"))


@dataclass
class Writer:
    """One file that grows piece by piece. `calls` are what it may call; `header`: functions must be inline."""

    rng: random.Random
    grammar: Grammar
    header: bool = False
    calls: list[str] = field(default_factory=list)
    once: list[str] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    number: int = 0

    def add(self, piece: Piece) -> None:
        number = self.fresh()
        self.includes += [line for line in piece.includes if line not in self.includes]
        self.body.append(self.fill(piece.text, number))
        self.once += [call.replace("$n", str(number)) for call in piece.once]
        self.calls += [call.replace("$n", str(number)) for call in piece.calls]

    def fresh(self) -> int:
        self.number += 1
        return self.number

    def text(self) -> str:
        return "\n".join([*self.includes, '#include "fuzz.h"', *self.body, ""])

    def fill(self, text: str, number: int, depth: int = 0, nested: int = 0) -> str:
        """`depth` counts expressions around this one, `nested` statements."""
        while match := _CHOICE.search(text):
            chosen = self.rng.choice(match[1].split("$|"))
            text = text[: match.start()] + chosen.strip(" ") + text[match.end() :]
        return _HOLE.sub(lambda hole: self._hole(hole[1], number, depth, nested), text)

    def _hole(self, kind: str, number: int, depth: int, nested: int) -> str:
        rng = self.rng
        if kind == "n":
            return str(number)
        if kind == "k":
            return str(rng.randint(1, 5))
        if kind == "u":
            return f"{rng.choice([rng.getrandbits(32), rng.randint(0, 9)])}u"
        if kind in "EA":
            return self._expression(depth, nested)
        if kind == "C":
            return f"({self._expression(depth, nested)} & {rng.choice([1, 3, 6])}u) {rng.choice(['==', '!='])} 1u"
        if kind == "F":
            return self._call(depth, nested)
        if kind == "U":
            return self._call(_DEEPEST_EXPRESSION, nested)
        if kind == "M":
            return self._call(depth, nested).replace("__LINE__", "0")
        if kind == "B":
            return self._statements(nested)
        if kind == "S":
            return "inline" if self.header else rng.choice(self.grammar.linkage)
        raise ValueError(f"no hole ${kind}")

    def _expression(self, depth: int, nested: int) -> str:
        if depth >= _DEEPEST_EXPRESSION:
            return self.rng.choice(["a", "r", f"{self.rng.randint(0, 99)}u", f"{self.rng.getrandbits(32)}u"])
        return self.fill(self.rng.choice(self.grammar.expressions), self.fresh(), depth + 1, nested)

    def _call(self, depth: int, nested: int) -> str:
        if not self.calls or depth > _DEEPEST_EXPRESSION:
            return "a"
        # The same few functions are called again and again, so that their calls are numbered.
        near = self.calls[-6:]
        chosen = self.rng.choice(near if self.rng.random() < 0.6 else self.calls)
        return self.fill(chosen, self.fresh(), depth + 1, nested)

    def _statements(self, nested: int) -> str:
        if nested >= _DEEPEST_STATEMENT:
            return f"r += {self._expression(1, nested)};"
        some = (self.rng.choice(self.grammar.statements) for _ in range(self.rng.randint(1, 3)))
        lines = [self.fill(text, self.fresh(), 0, nested + 1) for text in some]
        return "\n".join(lines)
