"""`dataclass` as the standard library's, made in a third of the time: the start of a small command makes a hundred.

    from vprof.dataclass import dataclass

The standard library compiles up to six methods for each class, which takes half a millisecond (CPython 3.11). Here
each class has an `__init__` of its own, and all share the others. They do the same: equal are instances of one class
with equal fields, and the fields of a frozen one cannot be set twice.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]


def _values(self: Any) -> tuple[Any, ...]:
    """Of the fields, which all take part in a comparison."""
    return tuple([getattr(self, name) for name in self.__dataclass_fields__])


def _equals(self: Any, other: Any) -> bool:
    return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _shown(self: Any) -> str:
    fields = (f"{name}={getattr(self, name)!r}" for name in self.__dataclass_fields__)
    return f"{self.__class__.__qualname__}({', '.join(fields)})"


def _set_once(self: Any, name: str, value: Any) -> None:
    if name in self.__dict__ or name not in self.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    self.__dict__[name] = value


def _keep(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _made(cls: type, frozen: bool, kw_only: bool) -> type:
    cls.__doc__ = cls.__doc__ or cls.__name__  # else it would be found out how to call it
    shared = {"__repr__": _shown, "__eq__": _equals, "__hash__": _hash if frozen else None}
    frozen_only = {"__setattr__": _set_once, "__delattr__": _keep} if frozen else {}
    for name, method in {**shared, **frozen_only}.items():
        if name not in cls.__dict__:
            setattr(cls, name, method)
    return dataclasses.dataclass(eq=False, repr=False, kw_only=kw_only)(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, kw_only: bool = False) -> Any:
        return (lambda cls: _made(cls, frozen, kw_only)) if cls is None else _made(cls, frozen, kw_only)
