"""What a statement does: the memory it reads and writes, its queries, the ways out of it, why nothing may pass it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from vprof.transaction.client_program import ClientProgram
from vprof.transaction.clients import Calls
from vprof.transaction.flow import STATE, Webs, address_argument, endings, way_of
from vprof.transaction.pointers import STATE_TEXT, Memory, Pointers
from vprof.transaction.program import Expression, Function, Program, Statement
from vprof.transaction.sql import Query, parse
from vprof.transaction.steps import Path, overlap, path_of, steps


class Place(NamedTuple):
    """Some memory, as in pointers.py; or `world`: what others see of the program. `web`: of a variable whose address
    nobody keeps."""

    kind: str
    number: int = 0
    path: Path = ()
    web: int | None = None


WORLD = Place("world")

_CALLED = {
    "CXXTryStmt": "a try block: vprof does not follow exceptions",
    "CXXThrowExpr": "a throw: vprof does not follow exceptions",
    "CXXForRangeStmt": "a for over a range",
    "LambdaExpr": "a lambda",
    "GCCAsmStmt": "assembly",
}
"""What is not understood, by Clang's name of it."""


@dataclass(frozen=True)
class Asked:
    """A query at the call of the function that sends it."""

    query: Query
    line: int
    function: str


@dataclass
class Effects:
    """`exits`: lines where control may leave other than by the end, `aborts`: it rolls back first, each time.
    `conditions`: what is read to decide on that."""

    reads: set[Place] = field(default_factory=set)
    writes: set[Place] = field(default_factory=set)
    asked: list[Asked] = field(default_factory=list)
    barrier: str | None = None
    exits: list[int] = field(default_factory=list)
    aborts: bool = True
    conditions: set[Place] = field(default_factory=set)

    def stop(self, why: str) -> None:
        self.barrier = self.barrier or why

    def add(self, other: Effects) -> None:
        self.reads |= other.reads
        self.writes |= other.writes
        self.asked += other.asked
        self.barrier = self.barrier or other.barrier
        self.exits += other.exits
        self.aborts &= other.aborts
        self.conditions |= other.conditions

    @property
    def queries(self) -> list[Asked]:
        """Those that ask for rows or change some."""
        return [one for one in self.asked if not one.query.control]


class Facts:
    """All that is known of a function."""

    def __init__(
        self, program: Program, function: Function, calls: Calls, apart: bool = False, undone: bool = False
    ) -> None:
        """`apart`: no two parameters point to the same memory, and SQL may be a parameter. `undone`: whoever calls the
        function undoes the transaction if it returns before its end."""
        self.program, self.function, self._calls, self._apart = program, function, calls, apart
        self._webs = Webs(program, function, calls)
        self.pointers = Pointers(program, function, calls, self._webs, apart)
        self.sent: set[int] = set()
        """Parameters that are sent as SQL."""
        self.dialect = ""
        """Of the SQL that was met so far."""
        self.client: ClientProgram | None = None
        """Of the calls that send it."""
        self._endings, self._way = endings(function.body), 0
        self._known: dict[int, Effects] = {}
        self._parsed: dict[tuple[str, str], Query] = {}
        self._parents = {inner: one for one in function.body.all() for inner in one.inner}
        self._undone = undone

    def of(self, statement: Statement) -> Effects:
        """With all in it."""
        if id(statement) not in self._known:
            self._known[id(statement)] = self._find(statement)
        return self._known[id(statement)]

    def of_expression(self, node: Expression) -> Effects:
        found = Effects()
        self._expression(found, node)
        return found

    def is_tracked(self, variable: int) -> bool:
        """Whether nobody keeps the address of a variable."""
        return variable in self._webs.tracked

    def handle(self, parameter: int) -> str | None:
        """The role of a parameter as a connection in the calls of the function, if it has one."""
        for statement in self.function.body.all():
            for node in statement.expressions:
                if any(self._parameter(argument) == parameter for argument in self._connections(node)):
                    return "connection"
        return None

    def parent(self, statement: Statement) -> Statement | None:
        return self._parents.get(statement)

    def given_webs(self) -> set[tuple[int, int]]:
        """Variables and webs whose values come with the parameters."""
        return self._webs.given

    def visible(self, place: Place) -> bool:
        """Whether the function's caller, or anybody else, may see what is written there."""
        if place.kind == "variable" and place.number != STATE:
            return not self.program.variables[place.number].local
        return place.kind in ("outside", "world")

    def same(self, one: Place, other: Place) -> bool:
        """Whether two places may have something in common."""
        if one.kind == other.kind and one.number == other.number:
            return overlap(one.path, other.path)
        kinds = {one.kind, other.kind}
        return "outside" in kinds and "world" not in kinds and self.visible(one) and self.visible(other)

    def name(self, place: Place) -> str:
        if place.kind == "variable" and place.number != STATE:
            parts = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in place.path)
            return self.program.variables[place.number].name + parts
        return {
            "new": "a result",
            "given": "what a parameter points to",
            "temporary": "a temporary",
            "outside": "memory of others",
            "world": "what others see",
        }.get(place.kind, "what a query leaves in its connection")

    def _find(self, one: Statement) -> Effects:
        found = Effects()
        if one.kind == "other":
            found.stop(not_understood(one.raw))
        for declared in one.raw.get("declares", ()):
            variable = self.program.variables[declared["v"]]
            if variable.destructor:
                found.stop(f"the end of {variable.name} runs code")
            for touch, web in self._webs.touches(declared, self._way):
                found.writes.add(Place("variable", touch.variable, touch.path, web))
            if "value" in declared and not list(self._webs.touches(declared, self._way)):
                found.writes.add(Place("variable", declared["v"]))
        for node in one.expressions:
            exits = len(found.exits)
            self._expression(found, node)
            if len(found.exits) > exits:
                found.conditions |= self._examined(node)
        for inner in one.inner:
            found.add(self.of(inner))
        if one.kind in ("return", "goto", "break", "continue"):
            self._leave(found, one)
        if one.kind in ("if", "switch", "for", "while", "do") and "condition" in one.raw and found.exits:
            found.conditions |= self._examined(one.raw["condition"]["value"])
        if one.kind in ("for", "while", "do", "switch"):
            self._stay(found, one)
        if one.kind == "label":
            found.stop("a label: control may come from elsewhere")
        return found

    def is_handle(self, place: Place) -> bool:
        """Whether it is a variable that calls take for their connection."""
        return place.kind == "variable" and place.number in self._handles

    @cached_property
    def _handles(self) -> set[int]:
        found = set()
        for statement in self.function.body.all():
            for node in statement.expressions:
                for argument in self._connections(node):
                    base = path_of(argument["e"]) if argument["k"] == "load" else None
                    found |= {base[0]} if base else set()
        return found

    def _connections(self, node: Expression) -> Iterator[Expression]:
        """The arguments that calls in an expression take for their connection."""
        for step in steps(node):
            call = self._calls.get(step.node["name"]) if step.kind == "call" else None
            for position, argument in enumerate(step.node["args"] if call else ()):
                if call and call.role(position) in ("connection", "state", "take"):
                    yield argument

    def _examined(self, condition: Expression) -> set[Place]:
        """What a condition reads, but for the connection that it asks."""
        handles = {id(argument.get("e")) for argument in self._connections(condition)}
        asked = self._calls_only(condition)
        reads = [step.node for step in steps(condition) if step.kind == "read" and id(step.node) not in handles]
        return asked.union(*(self._places(node, False) for node in reads))

    def _calls_only(self, node: Expression) -> set[Place]:
        found = Effects()
        for step in steps(node):
            if step.kind == "call":
                self._call(found, step.node)
        return found.reads

    def _leave(self, found: Effects, one: Statement) -> None:
        found.exits.append(one.line)
        rest = self._endings.get(one.raw["name"], ()) if one.kind == "goto" else ()
        # What goes on in the function may use what was done so far.
        ends = one.kind == "return" or bool(rest)
        found.aborts = ends and any(self.rolls_back(before) for before in [*self._before(one), one, *rest])
        found.aborts |= self._undone and self._fails(one)
        if not rest:
            return
        self._way = self.pointers.way = way_of(one)
        for statement in rest:
            found.reads |= self._only_reads(statement)
        self._way, self.pointers.way = 0, None

    def _fails(self, one: Statement) -> bool:
        """Whether it is a return in front of the function's last one, and says something else than that one."""
        last = self.function.body.inner[-1]
        if one.kind != "return" or one is last or "value" not in one.raw:
            return False
        values = [end.raw.get("value", {}).get("value") for end in (one, last) if end.kind == "return"]
        return None in values or len(set(values)) > 1

    def _only_reads(self, one: Statement) -> set[Place]:
        return {place for part in one.all() for node in part.expressions for place in self.of_expression(node).reads}

    def _before(self, one: Statement) -> Iterator[Statement]:
        """The statements of the same block in front of it."""
        parent = self._parents.get(one)
        if parent and parent.kind == "block":
            yield from parent.inner[: parent.inner.index(one)]

    def rolls_back(self, one: Statement) -> bool:
        """Certainly, and before anything else may leave."""
        if one.kind == "label":
            return any(map(self.rolls_back, one.inner))
        if one.kind not in ("expression", "declaration", "return"):
            return False
        calls = [step.node for node in one.expressions for step in steps(node) if step.kind == "call" and step.certain]
        return any(query.control == "rollback" for call in calls for query in self._asked(call))

    def _stay(self, found: Effects, one: Statement) -> None:
        """A break that ends this loop leaves nothing but it. Whether a loop ends nobody knows, but it does so wherever
        it stands."""
        inside = {"break", "continue"} if one.kind != "switch" else {"break"}
        kept = list(_exits(one, inside))
        if not kept:
            found.exits, found.aborts, found.conditions = [], True, set()
            return
        found.exits = [exit.line for exit in kept]
        found.aborts = all(self.of(exit).aborts for exit in kept)

    def _expression(self, found: Effects, node: Expression) -> None:
        for step in steps(node):
            if step.kind == "unknown":
                found.stop(not_understood(step.node))
            elif step.kind == "call":
                self._call(found, step.node)
            else:
                into = found.reads if step.kind == "read" else found.writes
                into |= self._places(step.node, step.kind == "write")
                base = path_of(step.node)
                if base and self.program.variables[base[0]].volatile:
                    found.stop(f"{self.program.variables[base[0]].name} is volatile")

    def _places(self, node: Expression, write: bool) -> set[Place]:
        touched = {
            Place("variable", touch.variable, touch.path, web)
            for touch, web in self._webs.touches(node, self._way)
            if touch.write == write
        }
        base = path_of(node)
        if touched or (base and not self.program.variables[base[0]].reference):
            return touched or {Place("variable", base[0], base[1])} if base else touched
        return {_place(memory) for memory in self.pointers.targets(node)}

    def _call(self, found: Effects, node: Expression) -> None:
        call = self._calls.get(node["name"])
        if not call:
            found.stop(f"nobody knows what {node['name']} does")
            return
        for position, argument in enumerate(node["args"]):
            self._argument(found, call.role(position), argument)
        for touch, web in self._webs.touches(node, self._way):  # the connection's state
            (found.writes if touch.write else found.reads).add(Place("variable", touch.variable, touch.path, web))
        if call.leaves:
            found.exits.append(node["line"])
        if call.visible:
            found.writes.add(WORLD)
        for query in self._asked(node):
            found.asked.append(Asked(query, node["line"], node["name"]))
            if query.unknown:
                found.stop(query.unknown)
            elif query.control in ("begin", "commit"):
                found.stop(
                    f"{query.control.upper()}: the transaction {'begins' if query.control == 'begin' else 'ends'}"
                )

    def _argument(self, found: Effects, role: str, argument: Expression) -> None:
        if role in ("value", "connection", "state", "take"):
            return
        reads = role in ("in", "ins", "outs", "inout", "sql", "end", "null")
        writes = role in ("out", "inout", "end", "null")
        touched = list(self._webs.touches(argument, self._way)) if address_argument(role, argument) else []
        for touch, web in touched:
            (found.writes if touch.write else found.reads).add(Place("variable", touch.variable, touch.path, web))
        memory = set() if touched else self.pointers.values(argument)
        if STATE_TEXT in memory and argument["k"] != "call":
            found.stop("what a connection says is used after it was asked for")
        memory -= {STATE_TEXT}
        if reads:
            found.reads |= {_place(one) for one in memory}
        if writes:
            found.writes |= {_place(one) for one in memory}
        if role in ("ins", "outs"):
            lists = memory or {Memory("variable", touch.variable) for touch, _ in touched}
            webs = {web for _, web in touched}
            inner = set().union(*(self.pointers.held(one) for one in lists), *(self.pointers.held_web(w) for w in webs))
            inner -= {STATE_TEXT}
            found.reads |= {_place(one) for one in inner}
            found.writes |= {_place(one) for one in inner if role == "outs"}

    def _asked(self, node: Expression) -> list[Query]:
        """What a call asks its server for."""
        call = self._calls.get(node["name"])
        if not call:
            return []
        if call.transaction:
            return [Query(call.transaction.upper(), control=call.transaction)]
        if "sql" not in call.arguments:
            return list(call.queries)
        self.dialect, self.client = call.dialect or "", call.program or self.client
        position = call.arguments.index("sql")
        if position >= len(node["args"]):
            return [Query("SQL", unknown="its SQL is built at run time")]
        parameter = self._parameter(node["args"][position])
        if self._apart and parameter is not None:
            self.sent.add(parameter)
            return []
        text = self._text(node["args"][position])
        if text is None:
            return [*call.queries, Query("SQL", unknown="its SQL is built at run time")]
        key = (text, self.dialect)
        if key not in self._parsed:
            self._parsed[key] = parse(*key)
        return [*call.queries, self._parsed[key]]

    def _parameter(self, node: Expression) -> int | None:
        """The parameter that a value is, as it was given."""
        base = path_of(node["e"]) if node["k"] == "load" else None
        if not base or base[1] or base[0] not in self.function.parameters:
            return None
        webs = {(base[0], web) for _, web in self._webs.touches(node["e"], None)}
        values = [value for _, web in webs for value in self.pointers.texts[web]]
        return base[0] if webs and webs <= self._webs.given and not values else None

    def _text(self, node: Expression) -> str | None:
        """The literal that a value certainly is."""
        if node["k"] == "string":
            return str(node["text"])
        base = path_of(node["e"]) if node["k"] in ("load", "address") else None
        if not base or base[1]:
            return None
        variable = self.program.variables[base[0]]
        if variable.text is not None:
            return variable.text
        values = [value for _, web in self._webs.touches(node["e"], None) for value in self.pointers.texts[web]]
        if len(values) == 1 and values[0].get("k") == "string":
            return str(values[0]["text"])
        return None


def not_understood(raw: dict[str, Any]) -> str:
    """In words, of a statement or an expression that is not."""
    what = raw.get("what", "")
    return _CALLED.get(what, f"C that vprof does not understand ({what})")


def _place(memory: Memory) -> Place:
    return Place(memory.kind, memory.number, memory.path)


def _exits(one: Statement, inside: Iterable[str]) -> Iterator[Statement]:
    """What leaves a loop or a switch, not only a round or a case of it."""
    for inner in one.inner:
        if inner.kind in ("return", "goto") or (inner.kind in ("break", "continue") and inner.kind not in inside):
            yield inner
        else:
            within = {"break", "continue"} if inner.kind in ("for", "while", "do") else set(inside)
            within |= {"break"} if inner.kind == "switch" else set()
            yield from _exits(inner, within)
