"""What an expression does, step by step, in an order in which it may do it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from vprof.transaction.program import Expression


@dataclass(frozen=True)
class Step:
    """`node`: a place that is read or written, a call, or what is unknown. `certain`: it happens whenever the
    expression is evaluated. `value`: what is written."""

    kind: Literal["read", "write", "call", "unknown"]
    node: Expression
    certain: bool = True
    value: Expression | None = None


def steps(node: Expression, certain: bool = True) -> Iterator[Step]:
    """Of a value."""
    kind = node["k"]
    if kind == "load":
        yield from within(node["e"], certain)
        yield Step("read", node["e"], certain)
    elif kind == "address":
        yield from within(node["e"], certain)
    elif kind == "assign":
        yield from steps(node["e"], certain)
        yield from within(node["to"], certain)
        if node["also_reads"]:
            yield Step("read", node["to"], certain)
        yield Step("write", node["to"], certain, node["e"])
    elif kind == "call":
        for argument in node["args"]:
            yield from steps(argument, certain)
        yield Step("call", node, certain)
    elif kind in ("op", "list", "maybe"):
        for part in node["es"]:
            yield from steps(part, certain and kind != "maybe")
    elif kind == "unknown":
        yield Step("unknown", node, certain)
    elif kind in ("var", "deref", "field", "index", "temporary"):
        yield from within(node, certain)


def within(place: Expression, certain: bool = True) -> Iterator[Step]:
    """What is evaluated to find a place."""
    kind = place["k"]
    if kind in ("deref", "temporary"):
        yield from steps(place["e"], certain)
    elif kind == "index":
        yield from within(place["e"], certain)
        yield from steps(place["i"], certain)
    elif kind == "field":
        yield from within(place["e"], certain)
    elif kind == "unknown":
        yield Step("unknown", place, certain)


Path = tuple[int | str, ...]


def path_of(place: Expression) -> tuple[int, Path, bool] | None:
    """The variable that a place is in, the fields and constant indices that lead there, and whether it is exactly that
    and not only somewhere in it. None if it is reached through a pointer, or unknown."""
    selectors: list[Any] = []
    while place["k"] in ("field", "index"):
        if place["k"] == "field":
            selectors.append(place["name"])
        else:
            selectors.append(place["i"].get("value") if place["i"]["k"] == "constant" else None)
        place = place["e"]
    if place["k"] != "var":
        return None
    path = tuple(reversed(selectors))
    exact = None not in path
    return place["v"], path if exact else path[: path.index(None)], exact


def overlap(one: Path, other: Path) -> bool:
    """Whether two parts of a variable have something in common."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
