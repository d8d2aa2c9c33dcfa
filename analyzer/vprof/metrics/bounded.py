"""Labels that stay few over weeks: whatever a program calls its types and objects, a time series costs its reader."""

from __future__ import annotations

from collections.abc import Iterable

from vprof.terminal import one_line

OTHERS = "(others)"
_LONGEST = 200


def label(text: str) -> str:
    """As a value of a label: one line, not too long."""
    plain = one_line(text)
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"


class First:
    """The first so many names, which stay; all others are one."""

    def __init__(self, most: int) -> None:
        self._most, self._known = most, set[str]()

    def of(self, name: str) -> str:
        found = label(name)
        if found not in self._known and len(self._known) >= self._most:
            return OTHERS
        self._known.add(found)
        return found


class Latest:
    """Sums by name, of the names that were last added to: at most so many. A name that goes and comes back begins at
    zero, as a counter does when its process is started again. What is of too little weight to have a name, is one."""

    def __init__(self, most: int) -> None:
        self._most, self.sums, self.others = most, dict[str, float](), 0.0

    def add(self, amounts: Iterable[tuple[str, float]], named: int) -> None:
        """The largest `named` of these get their names."""
        ordered = sorted(amounts, key=lambda pair: (-pair[1], pair[0]))
        for name, amount in ordered[:named]:
            found = label(name)
            self.sums[found] = self.sums.pop(found, 0.0) + amount
        self.others += sum(amount for _, amount in ordered[named:])
        while len(self.sums) > self._most:
            del self.sums[next(iter(self.sums))]
