"""What the functions of the same file do, as if a table of calls described them: helpers that a transaction calls.

A function can be described if all it does is: use what its parameters point to, send queries, and be seen. Others, such
as those that call themselves or change variables of the file, stay unknown.
"""

from __future__ import annotations

from vprof.transaction.clients import Call, Calls
from vprof.transaction.effects import Effects, Facts
from vprof.transaction.flow import STATE
from vprof.transaction.pointers import OUTSIDE, Memory
from vprof.transaction.program import Function, Program


def with_helpers(program: Program, calls: Calls, but: str) -> Calls:
    """The calls and those of functions of the program that can be described, `but` one."""
    known = dict(calls)
    left = [one for one in program.functions if one.name not in known and one.name != but]
    while left:
        found = [(one, call) for one in left if (call := _describe(program, one, known)) is not None]
        if not found:
            return known
        known.update({one.name: call for one, call in found})
        left = [one for one in left if one.name not in known]
    return known


def _describe(program: Program, function: Function, calls: Calls) -> Call | None:
    facts = Facts(program, function, calls, apart=True)
    effects = facts.of(function.body)
    controls = {one.query.control for one in effects.asked}
    undoes = any(facts.rolls_back(one) for one in function.body.inner)
    returned = _returned(facts)
    if effects.barrier or not controls <= {None, "rollback"} or ("rollback" in controls) != undoes or returned is None:
        return None
    given = [facts.pointers.held(Memory("given", one)) for one in function.parameters]
    if any(held != {OUTSIDE} for held in given if held):  # it leaves pointers there
        return None
    if any(not _is_known(facts, place.kind, place.number) for place in effects.reads | effects.writes):
        return None
    queries = tuple(one.query for one in effects.queries)
    if undoes and (queries or facts.sent):
        return None
    roles = tuple(_role(facts, effects, parameter) for parameter in function.parameters)
    if roles.count("sql") > 1:
        return None
    shows = any(place.kind == "world" for place in effects.writes)
    return Call(
        function.name,
        roles,
        "value",
        returned,
        "rollback" if undoes else None,
        shows,
        False,
        facts.dialect,
        queries,
        facts.client,
    )


def _is_known(facts: Facts, kind: str, number: int) -> bool:
    if kind == "variable":
        return number == STATE or facts.program.variables[number].local
    return kind in ("given", "new", "temporary", "world")


def _role(facts: Facts, effects: Effects, parameter: int) -> str:
    reads = any(place.kind == "given" and place.number == parameter for place in effects.reads)
    writes = any(place.kind == "given" and place.number == parameter for place in effects.writes)
    if parameter in facts.sent:
        return "sql"
    if writes:
        return "inout"
    if reads:
        return "in"
    return facts.handle(parameter) or "value"


def _returned(facts: Facts) -> str | None:
    """As a table says it; None if it is a pointer to something else."""
    found = set()
    for one in facts.function.body.all():
        if one.kind == "return" and "value" in one.raw:
            found |= facts.pointers.values(one.raw["value"])
    if not found:
        return "value"
    if len(found) == 1:
        [memory] = found
        if memory.kind == "given":
            return f"argument {facts.function.parameters.index(memory.number)}"
        if memory.kind == "new":
            return "new"
    return None
