"""Other variables for later webs of a variable: two pieces of a block that use it, each for itself, are free then.

    x = first(); use(x);                x = first(); use(x);
    x = second(); use(x);    becomes    x_2 = second(); use(x_2);

Only what is simple: local variables whose address nobody keeps, declared by a statement like `int x, y = 3;`, without
pointers and structures; of them webs that lie in the block, in statements that have no other web of the variable. The
new text is read, and has to be the same program but for these names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vprof.transaction.effects import Facts
from vprof.transaction.program import Function, Program, Statement
from vprof.transaction.units import Web, webs_of, webs_outside

_DECLARATION = re.compile(rb"((?:[A-Za-z_]\w*\s+)+)([A-Za-z_]\w*\s*(?:[=,].*)?);", re.DOTALL)
_NOT_SIMPLE = {b"auto", b"static", b"register", b"extern", b"const", b"volatile", b"struct", b"union", b"constexpr"}
_WORDS = re.compile(rb'"(?:\\.|[^"\\])*"|' rb"'(?:\\.|[^'\\])*'|//[^\n]*|/\*.*?\*/|[A-Za-z_]\w*", re.DOTALL)
_SELECTOR = re.compile(rb"(?:\.|->)\s*$")


@dataclass(frozen=True, eq=False)
class Renaming:
    """`name`: in the place of `variable` in `statements`. `kind`: its type. `declaration`: of the variable."""

    variable: int
    old: str
    name: str
    kind: bytes
    declaration: Statement
    statements: tuple[Statement, ...]

    @property
    def line(self) -> int:
        return self.statements[0].line


def renamings(facts: Facts, block: Statement) -> list[Renaming]:
    """All there are."""
    outside = webs_outside(facts, block)
    users: dict[Web, list[Statement]] = {}
    several: set[Web] = set()
    for one in block.inner:
        webs = webs_of(facts.of(one))
        for web in webs:
            users.setdefault(web, []).append(one)
        numbers = [number for number, _ in webs]
        several |= {web for web in webs if numbers.count(web[0]) > 1}
    declared = dict(_declarations(facts.program, facts.function))
    taken = set(_WORDS.findall(facts.program.text))
    found: list[Renaming] = []
    for variable, (declaration, kind) in declared.items():
        own = [web for web in users if web[0] == variable]
        may = [w for w in own if w not in outside | several and declaration not in users[w] and len(users[w]) > 1]
        if len(own) == len(may):  # the first one keeps the name
            may = may[1:]
        for web in may if facts.is_tracked(variable) else ():
            old = facts.program.variables[variable].name
            name = _free(old.encode(), taken)
            found.append(Renaming(variable, old, name.decode(), kind, declaration, tuple(users[web])))
    return found


def _free(name: bytes, taken: set[bytes]) -> bytes:
    number = 2
    while (new := b"%s_%d" % (name, number)) in taken:
        number += 1
    taken.add(new)
    return new


def _declarations(program: Program, function: Function) -> Iterator[tuple[int, tuple[Statement, bytes]]]:
    """Of the simple variables: the statement, and the type."""
    for block in function.body.all():
        for one in block.inner if block.kind == "block" else ():
            text = _DECLARATION.fullmatch(program.text[one.begin : one.end]) if one.kind == "declaration" else None
            if not text or set(text[1].split()) & _NOT_SIMPLE or b"\n" in text[1]:
                continue
            if re.search(rb"[*&\[({]", re.sub(rb"=[^,;]*", b"", text[2])):
                continue
            for declared in one.raw["declares"]:
                variable = program.variables[declared["v"]]
                if variable.local and not variable.parameter and not variable.destructor and not variable.volatile:
                    yield declared["v"], (one, text[1].strip())


def renamed(program: Program, chosen: Sequence[Renaming]) -> tuple[bytes, list[int]]:
    """The new text, and the numbers that its lines go by."""
    edits: list[tuple[int, int, bytes]] = []
    for one in chosen:
        for statement in one.statements:
            edits += _words(program.text, statement, one)
        begin, end = one.declaration.begin, one.declaration.end
        line = program.text.rfind(b"\n", 0, begin) + 1
        indent = re.match(rb"[ \t]*", program.text[line:begin])
        edits.append((end, end, b"\n%s%s %s;" % (indent[0] if indent else b"", one.kind, one.name.encode())))
    text = program.text
    numbers = [program.line(at) for at in range(text.count(b"\n") + 1)]
    for begin, end, new in sorted(edits, reverse=True):
        if b"\n" in new:
            at = text.count(b"\n", 0, begin)
            numbers.insert(at + 1, numbers[at])
        text = text[:begin] + new + text[end:]
    return text, numbers


def _words(text: bytes, statement: Statement, one: Renaming) -> Iterator[tuple[int, int, bytes]]:
    for word in _WORDS.finditer(text, statement.begin, statement.end):
        if word[0] == one.old.encode() and not _SELECTOR.search(text, statement.begin, word.start()):
            yield word.start(), word.end(), one.name.encode()


def is_same(old: Program, new: Program, function: str, chosen: Sequence[Renaming]) -> bool:
    """Whether the function of the new text is the old one but for the names."""
    names: dict[int, dict[int, str]] = {}
    for one in chosen:
        for statement in one.statements:
            names.setdefault(id(statement.raw), {})[one.variable] = one.name
    added = {one.name for one in chosen}
    compared = _Compared(old, new, names, added)
    return compared.same(old.function(function).body.raw, new.function(function).body.raw, {})


class _Compared:
    """Two programs, part by part. Each variable of the old one is one of the new one, or two by its new name. What
    statements mention without using it (sizeof) has the same type by either name."""

    def __init__(self, old: Program, new: Program, names: Mapping[int, Mapping[int, str]], added: set[str]) -> None:
        self._old, self._new, self._names, self._added = old, new, names, added
        self._known: dict[tuple[int, str], int] = {}

    def same(self, old: Any, new: Any, names: Mapping[int, str]) -> bool:
        if isinstance(old, dict) and isinstance(new, dict):
            names = {**names, **self._names.get(id(old), {})}
            keys = (old.keys() | new.keys()) - {"begin", "end", "children", "mentions"}
            return all(
                key in old and key in new and self._same_part(key, old[key], new[key], names) for key in keys
            ) and self.same(old.get("children", []), self._children(new), names)
        if isinstance(old, list) and isinstance(new, list):
            return len(old) == len(new) and all(self.same(a, b, names) for a, b in zip(old, new, strict=True))
        return bool(old == new)

    def _same_part(self, key: str, old: Any, new: Any, names: Mapping[int, str]) -> bool:
        if key == "v":
            return self._same_variable(old, new, names)
        return self.same(old, new, names)

    def _same_variable(self, old: int, new: int, names: Mapping[int, str]) -> bool:
        name = names.get(old, "")
        if self._known.setdefault((old, name), new) != new or self._new.variables[new].name != (
            name or self._old.variables[old].name
        ):
            return False
        return list(self._known.values()).count(new) == 1

    def _children(self, new: dict[str, Any]) -> list[Any]:
        """Without the declarations that were added."""
        return [one for one in new.get("children", ()) if not self._is_added(one)]

    def _is_added(self, one: dict[str, Any]) -> bool:
        declares = one.get("declares", ())
        return len(declares) == 1 and self._new.variables[declares[0]["v"]].name in self._added
