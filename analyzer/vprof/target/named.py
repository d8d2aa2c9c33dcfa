"""What a descriptor has under a name: a knob, a cure."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

from vprof.errors import UsageError

T = TypeVar("T")


def named(kind: str, name: str, known: Mapping[str, T], file: object) -> T:
    """`kind`: of table. Raises UsageError that names those that `file` has, and the one that was probably meant."""
    if name in known:
        return known[name]
    if not known:
        raise UsageError(f"there is no {kind} '{name}': {file} has no [[{kind}]]")
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    raise UsageError(f"there is no {kind} '{name}': {hint}{file} has {', '.join(known)}")
