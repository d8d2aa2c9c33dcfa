"""The conflict index of each query: how much its time varies at the line of its call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vprof.errors import UsageError
from vprof.transaction.units import Unit


@dataclass(frozen=True)
class Index:
    """`lines`: of calls. `functions`: of those that the transaction calls at one place only, where no line is known.
    `all_are_queries`: a line without a query is an error."""

    lines: Mapping[int, float]
    functions: Mapping[str, float] = field(default_factory=dict)
    all_are_queries: bool = True

    def of(self, units: Sequence[Unit], function: str) -> list[float]:
        """The index of each unit, that of the query in it with the largest one. Raises UsageError."""
        asked = [one for unit in units for one in unit.asked]
        lines = {one.line for one in asked}
        strange = sorted(set(self.lines) - lines) if self.all_are_queries else []
        if strange:
            known = ", ".join(map(str, sorted(lines)))
            raise UsageError(
                f"the index names line {strange[0]}, where {function} has no query: it has some in lines {known}"
            )
        called = [one.function for one in asked]
        alone = {name: index for name, index in self.functions.items() if called.count(name) == 1}
        return [
            max((self.lines.get(one.line, alone.get(one.function, 0.0)) for one in unit.asked), default=0.0)
            for unit in units
        ]


def load(path: Path) -> Index:
    """A JSON object: line -> index, 0 or more. Raises UsageError if the file is none."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(raw, dict):
            raise ValueError("an index is an object that gives lines of queries their index")
        found = {int(line): value for line, value in raw.items()}
    except OSError as e:
        raise UsageError(f"cannot read {path}: {e.strerror}") from e
    except (ValueError, RecursionError) as e:
        raise UsageError(f"{path}: {e}") from e
    for line, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e300:
            raise UsageError(f"{path}: the index of line {line} must be a number of 0 or more")
    return Index(found)
