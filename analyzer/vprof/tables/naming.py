"""Functions that share a name (overloads, static functions): told apart by where they are, `name (file.cc:12)`.

Reports print as much of the place as tells them apart; plans take it, and less or more of it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

_PLACED = re.compile(r"(?P<name>.+?) \((?P<place>.+:\d+)\)")

_PART = re.compile(r"(?P<kind>body|rest)\((?P<of>.+)\)")


def placed(name: str, place: str) -> str:
    """`place` is "file:line", or a number for what has none."""
    return f"{name} ({place})"


def distinct(names: Sequence[str], places: Sequence[str]) -> list[str]:
    """The names, with a place where several functions have one; without a known place ("") their number counts."""
    sharing: dict[str, list[int]] = defaultdict(list)
    for i, name in enumerate(names):
        sharing[name].append(i)
    result = list(names)
    for name, same in sharing.items():
        if len(same) > 1:
            for i, place in zip(same, _shortest([places[i] or str(i) for i in same]), strict=True):
                result[i] = placed(name, place)
    return result


def _shortest(places: list[str]) -> list[str]:
    """As many last parts of each path as it takes to make all of them different, the same number for all."""
    parts = [place.split("/") for place in places]
    for count in range(1, max(map(len, parts))):
        short = ["/".join(part[-count:]) for part in parts]
        if len(set(short)) == len(set(places)):
            return short
    return places


class Names:
    """Names to choose from, each perhaps with its place."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_name: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for full in names:
            name, place = _split(full)
            self._by_name[name].append((place, full))

    def matching(self, pattern: str) -> Iterator[str]:
        """Those that have the name or match the glob, and lie where the pattern says."""
        name, wanted = _split(pattern)
        for candidate in self._candidates(name):
            for place, full in self._by_name[candidate]:
                if not wanted or f"/{place}".endswith(f"/{wanted}"):
                    yield full

    def _candidates(self, name: str) -> list[str]:
        if any(char in name for char in "*?["):
            return [known for known in self._by_name if fnmatchcase(known, name)]
        return [name] if name in self._by_name else []


def without_place(full: str) -> str:
    """The name alone; of a function's body, or the rest of it, with the function's name alone."""
    part = _PART.fullmatch(full)
    return f"{part['kind']}({without_place(part['of'])})" if part else _split(full)[0]


def of_function(full: str) -> str:
    """The name of the function alone, also of its body, the rest of it, or a call of it (`f@g.c:12`)."""
    name = without_place(full)
    part = _PART.fullmatch(name)
    return of_function(part["of"]) if part else name.partition("@")[0]


def _split(full: str) -> tuple[str, str]:
    match = _PLACED.fullmatch(full)
    return (match["name"], match["place"]) if match else (full, "")
