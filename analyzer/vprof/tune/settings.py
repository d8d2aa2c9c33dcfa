"""What is tried: the target's own setting, and values of knobs in place of it, one knob at a time or combined."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from vprof.errors import UsageError
from vprof.target.descriptor import Descriptor
from vprof.target.knobs import DURABILITY, NOTHING, Assignment
from vprof.target.named import named

BASELINE = "baseline"
MOST_SETTINGS = 64


@dataclass(frozen=True)
class Setting:
    """Without assignments it is the target's own. `name` tells it apart, also in files."""

    assignments: tuple[Assignment, ...] = ()

    @property
    def name(self) -> str:
        return " ".join(one.text for one in self.assignments) or BASELINE

    @property
    def lines(self) -> list[str]:
        """Of the user's own configuration."""
        return [one.line for one in self.assignments]

    @property
    def trades(self) -> list[str]:
        """What is lost for what it gains, knob by knob; none where nothing is."""
        return [f"{one.knob.name}: {one.knob.trades}" for one in self.assignments if one.knob.trades != NOTHING]

    @property
    def trades_durability(self) -> bool:
        return any(one.knob.trades.startswith(DURABILITY) for one in self.assignments)

    @property
    def restart(self) -> bool:
        return any(one.knob.restart for one in self.assignments)


def settings_of(texts: Sequence[str], descriptor: Descriptor, combined: bool, options: str = "") -> list[Setting]:
    """The baseline first; then of each `NAME=V1,V2` (or NAME: the descriptor's values) one setting for each value, or
    one for each combination of values of all knobs. A value that the baseline has by itself, also with the user's
    `options`, is tried alone only if it is given. Raises UsageError."""
    chosen: dict[str, list[Assignment]] = {}
    for text in texts:
        name, given, values = text.partition("=")
        _check_built(name.strip(), descriptor)
        knob = named("knob", name.strip(), descriptor.knobs, descriptor.file)
        own = list(knob.values) if combined else knob.others(options)
        tried = _values(values) if given else own
        if not tried:
            raise UsageError(f"--knob {text}: give values with commas between, or {name} alone for the descriptor's")
        if name in chosen:
            raise UsageError(f"--knob {name} is given twice: give all of its values at once")
        chosen[name] = [knob.assigned(value) for value in dict.fromkeys(tried)]
    rows = product(*chosen.values()) if combined else ((one,) for knob in chosen.values() for one in knob)
    found = [Setting(), *(Setting(tuple(row)) for row in rows)]
    if len(found) > MOST_SETTINGS:
        raise UsageError(f"{len(found)} settings are too many to try (at most {MOST_SETTINGS}): give fewer values")
    return found


def _check_built(name: str, descriptor: Descriptor) -> None:
    """Raises UsageError if it switches a cure that was not built in."""
    for cure in descriptor.absent_cures:
        if cure.switch and cure.switch.name == name and name not in descriptor.knobs:
            raise UsageError(f"there is no knob '{name}' in this build: it comes with --cure {cure.name} of instrument")


def _values(text: str) -> list[str]:
    """Those between commas; a comma in single quotes is part of one."""
    try:
        return [value.strip() for value in next(csv.reader([text], quotechar="'", strict=True)) if value.strip()]
    except csv.Error as error:
        raise UsageError(f"--knob: {text}: {error}") from None
