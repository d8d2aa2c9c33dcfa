"""Which definitions of a local variable reach which uses: its webs.

A web is a set of definitions and uses of one variable that belong together: each use with all definitions whose value
it may see. Two webs of a variable share nothing but its memory, as if it were two variables. Only variables have webs
whose address nobody keeps; with gotos that lead back, none have. What follows a label that a goto leads to counts as
written at the goto, too, so that paths which end there share no web. What the last query leaves behind in a connection
(errors, counts) is a variable like any other: STATE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vprof.transaction.clients import Call, Calls
from vprof.transaction.program import Expression, Function, Program, Statement
from vprof.transaction.steps import Path, overlap, path_of, steps

STATE = -1
"""The variable that stands for what a query leaves behind in its connection."""

_DIRECT = {"in", "out", "inout", "ins", "outs", "null", "connection", "state", "take", "sql", "end"}


@dataclass(frozen=True)
class Touch:
    """A use or a definition of a part of a variable. `sure`: a definition of exactly that, which certainly happens.
    `node`: the expression that does it, or the declaration."""

    variable: int
    path: Path
    write: bool
    sure: bool
    node: Expression


State = frozenset[int]
"""The numbers of the definitions that may have been the last ones."""


def address_argument(role: str, argument: Expression) -> Expression | None:
    """The place that an argument gives the address of, to a function that does not keep it."""
    return argument["e"] if role in _DIRECT and argument["k"] == "address" else None


def kept_addresses(function: Function, calls: Calls) -> set[int]:
    """The variables whose address somebody may keep."""
    kept: set[int] = set()

    def look(node: Expression, used: bool) -> None:
        if node["k"] == "address":
            found = path_of(node["e"])
            if found:
                kept.add(found[0])
        call = calls.get(node["name"]) if node["k"] == "call" else None
        for position, argument in enumerate(node.get("args", ())):
            place = address_argument(call.role(position), argument) if call else None
            if place is None or (call and call.returned_argument == position and used):
                look(argument, True)
            else:
                look(place, True)
        for part in node.get("es", ()):
            look(part, True)
        for key in ("e", "to", "i"):
            if key in node:
                look(node[key], True)

    for statement in function.body.all():
        for one in statement.expressions:
            look(one, statement.kind != "expression")
    return kept


class Webs:
    """Of a function."""

    def __init__(self, program: Program, function: Function, calls: Calls) -> None:
        self._calls = calls
        kept = kept_addresses(function, calls)
        self.tracked = {
            number
            for number, one in enumerate(program.variables)
            if one.local and not one.reference and not one.volatile and number not in kept
        } | {STATE}
        if _leads_back(function.body):
            self.tracked = set()
        self._touches: list[Touch] = []
        self._parent: list[int] = []
        self._seen: dict[int, list[tuple[int, int]]] = {}
        self._endings = endings(function.body)
        self._way = 0
        self._labels: dict[str, State] = {}
        self._exits: list[list[State]] = []
        self._continues: list[list[State]] = []
        entry = frozenset(
            self._touch(Touch(number, (), True, True, {})) for number in function.parameters if number in self.tracked
        )
        self._entry = entry
        self._statement(function.body, entry)

    def touches(self, node: Expression, way: int | None = 0) -> Iterator[tuple[Touch, int]]:
        """What an expression of the function does to tracked variables itself, each with the number of its web. `way`:
        of the goto that led there, 0: none, None: whatever the way."""
        for number, by in self._seen.get(id(node), ()):
            if way in (None, by):
                yield self._touches[number], self._root(number)

    @property
    def given(self) -> set[tuple[int, int]]:
        """The variables and webs whose values come with the parameters."""
        return {(self._touches[one].variable, self._root(one)) for one in self._entry}

    def _root(self, number: int) -> int:
        while self._parent[number] != number:
            number = self._parent[number]
        return number

    def _touch(self, touch: Touch) -> int:
        """The same touch of the same node has one number, however often its statement is looked at."""
        numbers = self._seen.setdefault(id(touch.node), []) if touch.node else []
        for number, way in numbers:
            if self._touches[number] == touch and way == self._way:
                return number
        self._touches.append(touch)
        self._parent.append(len(self._parent))
        numbers.append((len(self._touches) - 1, self._way))
        return numbers[-1][0]

    def _apply(self, touch: Touch, state: State) -> State:
        if touch.variable not in self.tracked:
            return state
        number = self._touch(touch)
        same = [one for one in state if self._touches[one].variable == touch.variable]
        if not touch.write:
            for one in same:
                if overlap(self._touches[one].path, touch.path):
                    self._parent[self._root(one)] = self._root(number)
            return state
        if touch.sure:
            over = len(touch.path)
            state = state - {one for one in same if self._touches[one].path[:over] == touch.path}
        else:  # what was there may still be there, in the same variable
            for one in same:
                if overlap(self._touches[one].path, touch.path):
                    self._parent[self._root(one)] = self._root(number)
        return state | {number}

    def _expression(self, node: Expression, state: State) -> State:
        for touch in touches_of(node, self._calls):
            state = self._apply(touch, state)
        return state

    def _statement(self, one: Statement, state: State) -> State:
        """The definitions that reach its end."""
        if one.kind == "for":
            first = one.part("first")
            state = self._statement(first, state) if first else state
        if one.kind in ("for", "while", "do"):
            return self._loop(one, state)
        for declared in one.raw.get("declares", ()):
            for size in declared.get("sizes", ()):
                state = self._expression(size, state)
            if "value" in declared and not declared.get("static"):
                state = self._expression(declared["value"], state)
                state = self._apply(Touch(declared["v"], (), True, True, declared), state)
            else:
                state = frozenset(n for n in state if self._touches[n].variable != declared["v"])
        if one.kind != "declaration":
            for node in one.expressions:
                state = self._expression(node, state)
        if one.kind == "if":
            ways = [self._statement(way, state) if (way := one.part(key)) else state for key in ("then", "else")]
            return ways[0] | ways[1]
        if one.kind == "switch":
            return self._switch(one, state)
        ending = self._endings.get(one.raw["name"]) if one.kind == "goto" and not self._way else None
        if ending:
            self._way = way_of(one)
            for statement in ending:
                state = self._statement(statement, state)
            self._way = 0
            return frozenset()
        if one.kind == "goto":
            self._labels[one.raw["name"]] = self._labels.get(one.raw["name"], frozenset()) | state
        if one.kind == "label":
            state = state | self._labels.get(one.raw["name"], frozenset())
        if one.kind == "break" and self._exits:
            self._exits[-1].append(state)
        if one.kind == "continue" and self._continues:
            self._continues[-1].append(state)
        if one.kind in ("goto", "return", "break", "continue"):
            return frozenset()
        for inner in one.inner:
            state = self._statement(inner, state)
        return state

    def _loop(self, one: Statement, state: State) -> State:
        body = one.part("body")
        condition = one.raw["condition"]["value"] if "condition" in one.raw else None
        done = state
        while True:
            self._exits.append([])
            self._continues.append([])
            begin = state
            if condition and one.kind != "do":
                begin = self._expression(condition, begin)
            end = self._statement(body, begin) if body else begin
            end = _union(end, *self._continues.pop())
            if condition and one.kind == "do":
                end = self._expression(condition, end)
            if "step" in one.raw:
                end = self._expression(one.raw["step"], end)
            done = _union(begin if one.kind != "do" else end, *self._exits.pop())
            if end <= state:
                return done
            state = state | end

    def _switch(self, one: Statement, state: State) -> State:
        """Any case may be entered, and any left."""
        body = one.part("body")
        before = state
        self._exits.append([])
        for inner in body.inner if body else ():
            state = self._statement(inner, state | before)
        return _union(state, before, *self._exits.pop())


def endings(body: Statement) -> dict[str, Sequence[Statement]]:
    """By label: what is done from there to the end of the function, if that is a part of one block."""
    found: dict[str, Sequence[Statement]] = {}
    for block in body.all():
        for at, one in enumerate(block.inner if block.kind == "block" else ()):
            rest = block.inner[at:]
            jumps = any(inner.kind in ("goto", "break", "continue") for after in rest for inner in after.all())
            if one.kind == "label" and rest[-1].kind == "return" and not jumps:
                found[one.raw["name"]] = rest
    return found


def way_of(jump: Statement) -> int:
    """The number of a goto."""
    return jump.begin + 1


def _union(*states: State) -> State:
    return frozenset().union(*states)


def _leads_back(body: Statement) -> bool:
    """Whether a goto leads to a label before it, or into a block that it is not in, as into a switch."""
    labels: set[str] = set()
    for one in body.all():
        if one.kind == "label":
            labels.add(one.raw["name"])
        if one.kind == "goto" and one.raw["name"] in labels:
            return True
    return False


def touches_of(node: Expression, calls: Calls) -> Iterator[Touch]:
    """What an expression does to variables directly, in order."""
    for step in steps(node):
        if step.kind in ("read", "write"):
            found = path_of(step.node)
            if found:
                variable, path, exact = found
                yield Touch(variable, path, step.kind == "write", step.certain and exact, step.node)
        elif step.kind == "call":
            call = calls.get(step.node["name"])
            if call:
                yield from _call_touches(call, step.node, step.certain)


def _call_touches(call: Call, node: Expression, certain: bool) -> Iterator[Touch]:
    writes: list[Touch] = []
    for position, argument in enumerate(node["args"]):
        role = call.role(position)
        if role in ("state", "take"):
            yield Touch(STATE, (), False, False, node)
        place = address_argument(role, argument)
        found = path_of(place) if place else None
        if not found:
            continue
        variable, path, exact = found
        # A pointer to an element leads to the others as well.
        whole = path[:-1] if path and isinstance(path[-1], int) and place and place["k"] == "index" else path
        if role in ("in", "ins", "outs", "inout", "sql", "end", "null"):
            yield Touch(variable, whole, False, False, argument)
        if role in ("out", "inout", "null", "end"):
            sure = role == "out" and certain and exact and whole == path
            writes.append(Touch(variable, whole, True, sure, argument))
    yield from writes
    if call.asks or call.transaction:
        yield Touch(STATE, (), True, certain, node)
    elif any(call.role(position) == "take" for position in range(len(node["args"]))):
        yield Touch(STATE, (), True, False, node)


def names(program: Program, variables: Iterable[int]) -> frozenset[str]:
    """Of variables."""
    return frozenset(program.variables[one].name for one in variables)
