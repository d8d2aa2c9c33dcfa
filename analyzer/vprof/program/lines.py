"""The lines behind addresses of a program, by its debug information (.debug_line).

units and the addresses that each covers -> the unit around an address -> its rows, once -> the row around it
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.elf.elffile import ELFFile

from vprof.program.elf import ELF_ERRORS

_FIRST_FILE = {2: 1, 3: 1, 4: 1, 5: 0}
"""How line programs of each version of DWARF count files."""


class Line(NamedTuple):
    file: str
    """Without folders."""
    line: int
    column: int
    """From 1; 0: not known."""


class Lines:
    """Of one program. It keeps the file open as long as it is used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[int, tuple[list[int], list[Line | None]]] = {}

    def at(self, address: int) -> Line | None:
        """The line of an instruction; None if the program does not say."""
        begins, units = self._units
        index = bisect.bisect_right(begins, address) - 1
        if index < 0 or address >= units[index][0]:
            return None
        unit = units[index][1]
        if unit.cu_offset not in self._rows:
            self._rows[unit.cu_offset] = self._read(unit)
        addresses, lines = self._rows[unit.cu_offset]
        row = bisect.bisect_right(addresses, address) - 1
        return lines[row] if row >= 0 else None

    @cached_property
    def _dwarf(self) -> DWARFInfo | None:
        try:
            elf = ELFFile(self._path.open("rb"))
            return elf.get_dwarf_info() if elf.has_dwarf_info() else None
        except (OSError, *ELF_ERRORS):
            return None

    @cached_property
    def _units(self) -> tuple[list[int], list[tuple[int, CompileUnit]]]:
        """Where ranges of units begin, ascending, and where each ends, of which unit it is."""
        found = []
        try:
            for unit in self._dwarf.iter_CUs() if self._dwarf else ():
                found += [(begin, end, unit) for begin, end in _ranges(self._dwarf, unit)]
        except ELF_ERRORS:
            pass  # of what follows nothing is known
        found.sort(key=lambda one: one[:2])
        return [begin for begin, _, _ in found], [(end, unit) for _, end, unit in found]

    def _read(self, unit: CompileUnit) -> tuple[list[int], list[Line | None]]:
        assert self._dwarf is not None
        try:
            program = self._dwarf.line_program_for_CU(unit)
            rows = sorted(_rows(program), key=lambda row: row[0]) if program else []
        except ELF_ERRORS:
            rows = []
        return [address for address, _ in rows], [line for _, line in rows]


def _ranges(dwarf: Any, unit: CompileUnit) -> Iterator[tuple[int, int]]:
    attributes = unit.get_top_DIE().attributes
    low = attributes["DW_AT_low_pc"].value if "DW_AT_low_pc" in attributes else 0
    if "DW_AT_high_pc" in attributes:
        high = attributes["DW_AT_high_pc"]
        yield low, high.value if high.form == "DW_FORM_addr" else low + high.value
    elif "DW_AT_ranges" in attributes:
        base = low
        for entry in dwarf.range_lists().get_range_list_at_offset(attributes["DW_AT_ranges"].value, unit):
            if hasattr(entry, "base_address"):
                base = entry.base_address
            else:
                origin = 0 if entry.is_absolute else base
                yield origin + entry.begin_offset, origin + entry.end_offset


def _rows(program: Any) -> Iterator[tuple[int, Line | None]]:
    """Of all sequences; a sequence's end is a row without a line. An end comes before a row at its address."""
    files, first = program.header["file_entry"], _FIRST_FILE.get(program.header["version"], 1)
    names = [PurePath(file.name.decode(errors="replace")).name for file in files]
    ends, rows = [], []
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if state.end_sequence:
            ends.append((state.address, None))
        else:
            place = state.file - first
            known = state.line != 0 and 0 <= place < len(names)
            rows.append((state.address, Line(names[place], state.line, state.column) if known else None))
    yield from ends
    yield from rows
