"""The problem: units in their old order, their conflict indices, and constraints; checked, and errors in one line.

    {"units": [1, 2, "commit"], "conflict_index": {"1": 40, "2": 12.5}, "before": [[1, 2, "same table"]]}

Units are numbers or texts. A key of JSON is a text, so 1 and "1" are the same unit. A unit without an index has 0: it
is no query, or nobody waits for it. Other keys of the file are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from vprof.errors import UsageError

Unit = int | str
_LARGEST = 1e300
"""So that doubles hold objectives."""


@dataclass(frozen=True)
class Before:
    """The unit at place `first` of the old order must precede that at place `then`."""

    first: int
    then: int
    reason: str


@dataclass(frozen=True)
class Problem:
    """`units` in their old order. `index`: of each one, exact, 0 or more. Places count from 0, positions from 1."""

    units: tuple[Unit, ...]
    index: tuple[Fraction, ...]
    before: tuple[Before, ...]


def load(path: Path) -> Problem:
    """Raises UsageError if there is no such file, or no problem in it."""
    try:
        return parse(json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_object))
    except OSError as e:
        raise UsageError(f"cannot read {path}: {e.strerror}") from e
    except (ValueError, RecursionError) as e:
        raise UsageError(f"{path} is not JSON: {e}") from e
    except UsageError as e:
        raise UsageError(f"{path}: {e}") from e


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Python would keep the last of equal keys, and say nothing."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise UsageError(f"the key {next(key for key in keys if keys.count(key) > 1)} is there twice in an object")
    return found


def parse(raw: Any) -> Problem:
    """Raises UsageError if `raw` is not as the top of this file says."""
    if not isinstance(raw, Mapping):
        raise UsageError("a problem is an object with units, conflict_index and before")
    for key, kind, what in (
        ("units", (list, tuple), "a list of numbers or texts"),
        ("conflict_index", Mapping, "an object that gives units their index"),
        ("before", (list, tuple), "a list of [first, then, reason]"),
    ):
        if not isinstance(raw.get(key), kind):
            raise UsageError(f"{key} must be {what}")
    units = tuple(_unit(unit) for unit in raw["units"])
    places: dict[str, int] = {}
    for place, unit in enumerate(units):
        if places.setdefault(str(unit), place) != place:
            raise UsageError(f"unit {unit} is there twice in units: give each a name of its own")
    index = [Fraction(0)] * len(units)
    seen: set[int] = set()
    for key, value in raw["conflict_index"].items():
        place = _place(key, places, "conflict_index")
        if place in seen:
            raise UsageError(f"unit {key} is there twice in conflict_index: give each unit one index")
        seen.add(place)
        index[place] = _index(key, value)
    return Problem(units, tuple(index), tuple(_before(entry, places) for entry in raw["before"]))


def _unit(unit: Any) -> Unit:
    if isinstance(unit, bool) or not isinstance(unit, int | str):
        raise UsageError(f"units must be whole numbers or texts, not {json.dumps(unit, default=str)}")
    return unit


def _place(name: Any, places: Mapping[str, int], where: str) -> int:
    place = places.get(str(_unit(name)))
    if place is None:
        raise UsageError(f"{where} names unit {name}, which is not in units")
    return place


def _index(unit: Any, value: Any) -> Fraction:
    """Exact: a decimal number as it is written, as far as a double keeps it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"the conflict index of unit {unit} must be a number, not {json.dumps(value, default=str)}")
    if value < 0 or value > _LARGEST or value != value:
        raise UsageError(f"the conflict index of unit {unit} is {value}: it must be 0 or more, and at most {_LARGEST}")
    return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)


def _before(entry: Any, places: Mapping[str, int]) -> Before:
    if not isinstance(entry, list | tuple) or len(entry) not in (2, 3):
        raise UsageError(f"an entry of before must be [first, then, reason], not {json.dumps(entry, default=str)}")
    first, then = (_place(name, places, "before") for name in entry[:2])
    reason = entry[2] if len(entry) == 3 else "no reason given"
    if not isinstance(reason, str):
        raise UsageError(f"the reason in before must be a text, not {json.dumps(reason, default=str)}")
    return Before(first, then, reason)
