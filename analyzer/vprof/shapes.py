"""What data from outside must look like, said once and checked in one place: JSON of traces, of drill-downs.

    shape = table_of({"uid": whole(1, 9), "name": TEXT}, may={"off_cpu": TEXT})
    shape.wrong(value)  =  "" or ": `uid` is not a whole number from 1 to 9"

A check costs about a microsecond for each value, allocates nothing, and never raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Shape:
    """`wrong` of a value: what is wrong with it, as the end of a sentence that begins with its name, or ""."""

    wrong: Callable[[Any], str]


def _kind(what: str, holds: Callable[[Any], bool]) -> Shape:
    return Shape(lambda value: "" if holds(value) else f" is not {what}")


def whole(least: int, most: int) -> Shape:
    return _kind(f"a whole number from {least} to {most}", lambda v: type(v) is int and least <= v <= most)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and (value.isascii() or value.encode("utf-8", "ignore").decode() == value)


ANYTHING = Shape(lambda value: "")
TEXT = _kind("a text", _is_text)
FLAG = _kind("true or false", lambda v: isinstance(v, bool))


def number(least: float, most: float) -> Shape:
    return _kind(f"a number from {least:g} to {most:g}", lambda v: type(v) in (int, float) and least <= v <= most)


NUMBER = number(-1e300, 1e300)


def optional(shape: Shape) -> Shape:
    """It, or null."""
    return Shape(lambda value: "" if value is None else shape.wrong(value))


def list_of(shape: Shape, most: int | None = None) -> Shape:
    def wrong(value: Any) -> str:
        if not isinstance(value, list):
            return " is not a list"
        if most is not None and len(value) > most:
            return f" has more than {most} items"
        for i, item in enumerate(value):
            if said := shape.wrong(item):
                return f"[{i}]{said}"
        return ""

    return Shape(wrong)


def row_of(*shapes: Shape, least: int | None = None) -> Shape:
    """A list with an item of each shape; those behind the first `least` may be missing. More items are ignored."""
    least = len(shapes) if least is None else least

    def wrong(value: Any) -> str:
        if not isinstance(value, list) or len(value) < least:
            return f" is not a list of {least} items"
        for i, (shape, item) in enumerate(zip(shapes, value, strict=False)):
            if said := shape.wrong(item):
                return f"[{i}]{said}"
        return ""

    return Shape(wrong)


def mapping_of(shape: Shape) -> Shape:
    """An object with any keys."""

    def wrong(value: Any) -> str:
        if not isinstance(value, dict):
            return " is not an object"
        for key, item in value.items():
            if said := TEXT.wrong(key) or shape.wrong(item):
                return f"[{key[:40]!r}]{said}"
        return ""

    return Shape(wrong)


def table_of(keys: Mapping[str, Shape], may: Mapping[str, Shape] | None = None) -> Shape:
    """An object with these keys, and perhaps those of `may`. Others are ignored."""
    rest = tuple((may or {}).items())

    def wrong(value: Any) -> str:
        if not isinstance(value, dict):
            return " is not an object"
        for key, shape in keys.items():
            if key not in value:
                return f" lacks the key `{key}`"
            if said := shape.wrong(value[key]):
                return f": `{key}`{said}"
        for key, shape in rest:
            if key in value and (said := shape.wrong(value[key])):
                return f": `{key}`{said}"
        return ""

    return Shape(wrong)
