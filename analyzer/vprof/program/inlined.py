"""Where functions were called that the compiler expanded there, by a program's debug information (.debug_info).

unit -> what is expanded in its functions, once: the code of each copy, and the place of its call
  -> the innermost copy around an address
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE

LARGEST_UNIT = 2 << 20
"""Bytes of a unit that is read. Units of C++ with all debug information may be larger."""

_OF_PROBES = b"__vprof_"
"""Names of functions of the prelude begin so: gcc has them here, clang does not."""


@dataclass(frozen=True)
class _Copy:
    ranges: list[tuple[int, int]]
    call: tuple[int, int, int]
    """The number of the file, the line and the column."""
    origin: int
    """Where the function is described."""


class Inlined:
    """Of one unit. REQUIRES: no more than LARGEST_UNIT."""

    def __init__(self, dwarf: Any, unit: CompileUnit) -> None:
        unread = copy(unit)
        vars(unread).update(_dielist=[], _diemap=[])  # what was read, which the unit would keep
        copies, of_probes = list[_Copy](), set[int]()
        for die in unread.iter_DIEs():
            if die.tag == "DW_TAG_inlined_subroutine":
                file, line, column = (_value(die, f"DW_AT_call_{what}") for what in ("file", "line", "column"))
                origin = unit.cu_offset + _value(die, "DW_AT_abstract_origin")
                copies.append(_Copy(list(ranges_of(dwarf, unit, die)), (file, line, column), origin))
            elif "DW_AT_name" in die.attributes and die.attributes["DW_AT_name"].value.startswith(_OF_PROBES):
                of_probes.add(die.offset)
        self._copies = [one for one in copies if one.origin not in of_probes]

    def call_at(self, address: int) -> tuple[int, int, int] | None:
        """The number of the file, the line and the column of the call that the copy stands for around an address."""
        for one in reversed(self._copies):  # the innermost one is the last that begins
            if any(begin <= address < end for begin, end in one.ranges):
                return one.call
        return None


def ranges_of(dwarf: Any, unit: CompileUnit, die: DIE) -> Iterator[tuple[int, int]]:
    """The addresses that a part of the debug information is about: begins and ends."""
    low = _value(unit.get_top_DIE(), "DW_AT_low_pc")
    if "DW_AT_high_pc" in die.attributes:
        begin, high = _value(die, "DW_AT_low_pc"), die.attributes["DW_AT_high_pc"]
        yield begin, high.value if high.form == "DW_FORM_addr" else begin + high.value
    elif "DW_AT_ranges" in die.attributes:
        base = low
        for entry in dwarf.range_lists().get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, unit):
            if hasattr(entry, "base_address"):
                base = entry.base_address
            else:
                origin = 0 if entry.is_absolute else base
                yield origin + entry.begin_offset, origin + entry.end_offset


def _value(die: DIE, attribute: str) -> int:
    return int(die.attributes[attribute].value) if attribute in die.attributes else 0
