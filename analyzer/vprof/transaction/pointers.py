"""What pointers may point to, in a function: by inclusion (Andersen), one set for each web of a pointer.

    p = &x        p may point to x
    p = q         p may point to what q may
    p = new()     p may point to the memory of that call
    *p = q        what p may point to may hold what q may

OUTSIDE is all memory that the function is given: by parameters, by other variables' pointers, by calls nobody knows. If
parameters are `apart`, what each of them points to is memory of its own.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from vprof.transaction.clients import Calls
from vprof.transaction.flow import Webs, address_argument
from vprof.transaction.program import Expression, Function, Program
from vprof.transaction.steps import Path, path_of, steps


class Memory(NamedTuple):
    """`kind`: variable (`number` is its), new (what a call returned), temporary, state (a connection's), given (by the
    parameter `number`), outside."""

    kind: str
    number: int = 0
    path: Path = ()


OUTSIDE = Memory("outside")
STATE_TEXT = Memory("state")
"""What a connection keeps until its next query, such as the text of an error."""


class Pointers:
    """Of a function."""

    def __init__(self, program: Program, function: Function, calls: Calls, webs: Webs, apart: bool = False) -> None:
        self._program, self._calls, self._webs, self._apart = program, calls, webs, apart
        self.way: int | None = None
        """Of the goto that led to what is asked about (flow.py); None: any."""
        self._nodes: dict[int, int] = {}
        self._held: dict[tuple[str, int], set[Memory]] = defaultdict(set)
        self._held["outside", 0] = {OUTSIDE}
        self.texts: dict[int, list[Expression]] = defaultdict(list)
        """By web: the values that are assigned to all of its variable."""
        for number, one in enumerate(program.variables):
            if one.parameter or not one.local:
                self._held["variable", number] = self._given(number)
                self._held["given", number] = {OUTSIDE}
        declared = [one for statement in function.body.all() for one in statement.raw.get("declares", ())]
        expressions = [node for statement in function.body.all() for node in statement.expressions]
        for one in declared:
            for _, web in webs.touches(one):
                self.texts[web].append(one.get("value", {}))
        for node in expressions:
            for step in steps(node):
                if step.kind == "write" and step.value:
                    for _, web in webs.touches(step.node, None):
                        self.texts[web].append(step.value)
        before = -1
        while before != (before := sum(map(len, self._held.values()))):
            for one in declared:
                if "value" in one:
                    self._flow(self.values(one["value"]), self._keys_of_declared(one))
            for node in expressions:
                self._look(node)

    def values(self, node: Expression) -> set[Memory]:
        """What a value may point to, if it is a pointer or has some in it."""
        kind = node["k"]
        if kind == "load":
            return self._contents(node["e"])
        if kind == "address":
            return self.targets(node["e"])
        if kind == "assign":
            return self.values(node["e"])
        if kind == "call":
            return self._returned(node)
        if kind in ("op", "maybe", "list"):
            return set().union(*(self.values(part) for part in node["es"]))
        return {OUTSIDE} if kind == "unknown" else set()

    def targets(self, place: Expression) -> set[Memory]:
        """The memory that a place may be."""
        found = path_of(place)
        if found:
            variable, path, _ = found
            if self._program.variables[variable].reference:
                return {OUTSIDE}
            # A pointer to an element leads to the others as well.
            return {Memory("variable", variable, path[:-1] if path and isinstance(path[-1], int) else path)}
        while place["k"] in ("field", "index"):
            place = place["e"]
        if place["k"] == "deref":
            return self.values(place["e"]) or {OUTSIDE}
        if place["k"] == "temporary":
            one = Memory("temporary", self._number(place))
            self._held["temporary", one.number] |= self.values(place["e"])
            return {one}
        return {OUTSIDE}

    def held(self, memory: Memory) -> set[Memory]:
        """What pointers in some memory may point to."""
        return self._held[memory.kind, memory.number]

    def held_web(self, web: int) -> set[Memory]:
        """The same, of the variable in a web."""
        return self._held["web", web]

    def _given(self, variable: int) -> set[Memory]:
        """What a variable points to that others have set."""
        return {Memory("given", variable)} if self._apart and self._program.variables[variable].local else {OUTSIDE}

    def _number(self, node: Expression) -> int:
        return self._nodes.setdefault(id(node), len(self._nodes))

    def _contents(self, place: Expression) -> set[Memory]:
        found = path_of(place)
        webs = [web for _, web in self._webs.touches(place, self.way)]
        if found and webs:
            variable = found[0]
            entry = self._given(variable) if self._program.variables[variable].parameter else set()
            return entry.union(*(self._held["web", web] for web in webs))
        return set().union(*(self.held(one) for one in self.targets(place)))

    def _returned(self, node: Expression) -> set[Memory]:
        call = self._calls.get(node["name"])
        if not call:
            return {OUTSIDE}
        if call.returns == "new":
            one = Memory("new", self._number(node))
            self._held["new", one.number].add(one)
            return {one}
        if call.returns == "state":
            return {STATE_TEXT}
        position = call.returned_argument
        return self.values(node["args"][position]) if position is not None else set()

    def _keys(self, place: Expression) -> list[tuple[str, int]]:
        webs = [("web", web) for _, web in self._webs.touches(place, None)]
        return webs or [(one.kind, one.number) for one in self.targets(place)]

    def _keys_of_declared(self, declared: Expression) -> list[tuple[str, int]]:
        return [("web", web) for _, web in self._webs.touches(declared)] or [("variable", declared["v"])]

    def _flow(self, values: set[Memory], keys: list[tuple[str, int]]) -> None:
        for key in keys:
            self._held[key] |= values

    def _look(self, node: Expression) -> None:
        for step in steps(node):
            if step.kind == "write" and step.value:
                self._flow(self.values(step.value), self._keys(step.node))
            elif step.kind == "call":
                self._look_at_call(step.node)

    def _look_at_call(self, node: Expression) -> None:
        call = self._calls.get(node["name"])
        given = [self.values(argument) for argument in node["args"]]
        if not call:
            for memory in set().union(*given):
                self._held[memory.kind, memory.number].add(OUTSIDE)
            self._held["outside", 0] |= set().union(*given)
            return
        roles = [call.role(position) for position in range(len(given))]
        copied = set().union(
            *(self.held(one) for role, some in zip(roles, given, strict=True) if role != "value" for one in some)
        )
        for role, argument, some in zip(roles, node["args"], given, strict=True):
            if role in ("out", "inout", "null"):
                place = address_argument(role, argument)
                keys = self._keys_of_argument(argument) if place else []
                self._flow(copied, keys or [(one.kind, one.number) for one in some])
            elif role == "outs":
                inner = set().union(*(self.held(one) for one in some))
                self._flow(copied, [(one.kind, one.number) for one in inner])

    def _keys_of_argument(self, argument: Expression) -> list[tuple[str, int]]:
        return [("web", web) for _, web in self._webs.touches(argument, None)]
