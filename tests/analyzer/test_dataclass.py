"""`vprof.dataclass` makes what the standard library makes."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field, replace
from functools import cached_property
from typing import Any

import pytest

from vprof.dataclass import dataclass


@dataclass(frozen=True)
class Point:
    """With all that classes of ours have."""

    x: int
    y: int = 2
    names: list[str] = field(default_factory=list)

    @cached_property
    def sum(self) -> int:
        return self.x + self.y


@dataclass
class Count:
    n: int


@dataclass(frozen=True, kw_only=True)
class Named:
    name: str


def theirs(ours: type) -> Any:
    """The same class by the standard library."""
    members = {"__annotations__": ours.__annotations__, "y": 2, "names": field(default_factory=list)}
    return dataclasses.dataclass(frozen=True)(type("Point", (), members))


def test_instances_are_made_shown_and_compared_as_those_of_the_standard_library() -> None:
    other = theirs(Point)
    for arguments in ((1,), (1, 3), (1, 3, ["a"])):
        assert repr(Point(*arguments)) == repr(other(*arguments))
        assert Point(*arguments) == Point(*arguments)
        assert Point(*arguments) != other(*arguments)
    assert Point(1) != Point(2)
    assert [f.name for f in dataclasses.fields(Point)] == ["x", "y", "names"]  # type: ignore[arg-type]
    assert hash(Named(name="a")) == hash(Named(name="a"))
    assert len({Named(name="a"), Named(name="a"), Named(name="b")}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Count(1))
    with pytest.raises(TypeError):
        Named("a")  # type: ignore[misc]


def test_a_frozen_one_stays_as_it_is() -> None:
    point = Point(1)
    for name in ("x", "names", "z"):
        with pytest.raises(FrozenInstanceError):
            setattr(point, name, 5)
        with pytest.raises(FrozenInstanceError):
            delattr(point, name)
    assert point.sum == 3
    assert replace(point, x=5).sum == 7
    assert pickle.loads(pickle.dumps(point)) == point
    count = Count(1)
    count.n = 2
    assert count == Count(2)
