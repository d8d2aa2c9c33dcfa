"""The lines behind addresses of a program, by its debug information (.debug_line).

    units and the addresses that each covers -> the unit around an address -> its rows, once -> the row around it

Of the debug information, which is larger than all else that a server has, only what is asked for is read.
"""

from __future__ import annotations

import bisect
import inspect
import io
import os
from array import array
from contextlib import suppress
from copy import copy
from functools import cached_property
from operator import itemgetter
from pathlib import Path, PurePath
from typing import Any, BinaryIO, NamedTuple

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo
from elftools.elf.elffile import ELFFile

from vprof.program.elf import ELF_ERRORS
from vprof.program.inlined import LARGEST_UNIT, Inlined, ranges_of

_FIRST_FILE = {2: 1, 3: 1, 4: 1, 5: 0}
"""How line programs of each version of DWARF count files."""


class Line(NamedTuple):
    file: str
    """Without folders."""
    line: int
    column: int
    """From 1; 0: not known."""


class _Rows:
    """Of one unit's line program, by address; behind the end of a sequence line 0 stands for none."""

    def __init__(self, program: Any) -> None:
        files, first = program.header["file_entry"], _FIRST_FILE.get(program.header["version"], 1)
        self._first = first
        self._names = ["", *(PurePath(file.name.decode(errors="replace")).name for file in files)]
        rows = []
        for entry in copy(program).get_entries():  # which keeps them as long as the program
            state = entry.state
            if state is not None:
                place = state.file - first + 1
                is_known = not state.end_sequence and 0 < place < len(self._names)
                # A sequence ends before another begins at the same address.
                row = (place, state.line, state.column) if is_known else (0, 0, 0)
                rows.append((state.address, not state.end_sequence, *row))
        rows.sort(key=itemgetter(0, 1))
        self._addresses = array("Q", (row[0] for row in rows))
        self._places = array("I", (part for row in rows for part in row[2:]))

    def at(self, address: int) -> Line | None:
        row = bisect.bisect_right(self._addresses, address) - 1
        place, line, column = self._places[3 * row : 3 * row + 3] if row >= 0 else (0, 0, 0)
        return Line(self._names[place], line, column) if line else None

    def line(self, file: int, line: int, column: int) -> Line | None:
        """With the number of a file as the unit counts them."""
        place = file - self._first + 1
        return Line(self._names[place], line, column) if 0 < place < len(self._names) and line else None


class Lines:
    """Of one program. It keeps the file open once it was asked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[int, _Rows | None] = {}
        self._inlined: dict[int, Inlined | None] = {}

    def at(self, address: int) -> Line | None:
        """The line of an instruction; None if the program does not say."""
        unit = self._unit_at(address)
        rows = self._rows_of(unit) if unit else None
        return rows.at(address) if rows else None

    def call_at(self, address: int) -> Line | None:
        """The line of the call for which a function was expanded around an instruction; None likewise, or if the unit
        is larger than is read for that."""
        unit = self._unit_at(address)
        rows, inlined = (self._rows_of(unit), self._inlined_of(unit)) if unit else (None, None)
        call = inlined.call_at(address) if inlined else None
        return rows.line(*call) if rows and call else None

    def _unit_at(self, address: int) -> CompileUnit | None:
        begins, units = self._units
        index = bisect.bisect_right(begins, address) - 1
        return units[index][1] if index >= 0 and address < units[index][0] else None

    def _rows_of(self, unit: CompileUnit) -> _Rows | None:
        if unit.cu_offset not in self._rows:
            self._rows[unit.cu_offset] = self._read(unit)
        return self._rows[unit.cu_offset]

    def _inlined_of(self, unit: CompileUnit) -> Inlined | None:
        if unit.cu_offset not in self._inlined:
            self._inlined[unit.cu_offset] = None
            if unit["unit_length"] <= LARGEST_UNIT:
                with suppress(OSError, *ELF_ERRORS):
                    self._inlined[unit.cu_offset] = Inlined(self._dwarf, unit)
        return self._inlined[unit.cu_offset]

    @cached_property
    def _dwarf(self) -> DWARFInfo | None:
        try:
            file = self._path.open("rb")
            elf = ELFFile(file)
            return _debug_information(elf, file) if elf.has_dwarf_info(strict=True) else None
        except (OSError, *ELF_ERRORS):
            return None

    @cached_property
    def _units(self) -> tuple[list[int], list[tuple[int, CompileUnit]]]:
        """Where ranges of units begin, ascending, and where each ends, of which unit it is."""
        found = []
        try:
            for unit in self._dwarf.iter_CUs() if self._dwarf else ():
                found += [(begin, end, unit) for begin, end in ranges_of(self._dwarf, unit, unit.get_top_DIE())]
        except (OSError, *ELF_ERRORS):
            pass  # of what follows nothing is known
        found.sort(key=lambda one: one[:2])
        return [begin for begin, _, _ in found], [(end, unit) for _, end, unit in found]

    def _read(self, unit: CompileUnit) -> _Rows | None:
        assert self._dwarf is not None
        try:
            program = self._dwarf.line_program_for_CU(unit)
            return _Rows(program) if program else None
        except (OSError, *ELF_ERRORS):
            return None


class _Part(io.RawIOBase):
    """Bytes of a file, from 0."""

    def __init__(self, file: BinaryIO, begin: int, size: int) -> None:
        self._file, self._begin, self._size, self._at = file, begin, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = max(min(len(buffer), self._size - self._at), 0)
        content = os.pread(self._file.fileno(), wanted, self._begin + self._at)
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)


_SECTIONS = ("info", "abbrev", "line", "str", "line_str", "str_offsets", "ranges", "rnglists", "loclists", "addr")


def _debug_information(elf: ELFFile, file: BinaryIO) -> DWARFInfo:
    """What pyelftools makes of a file, but that it reads all sections whole."""
    sections: dict[str, Any] = dict.fromkeys(inspect.signature(DWARFInfo).parameters)
    sections["config"] = DwarfConfig(
        little_endian=elf.little_endian, machine_arch=elf.get_machine_arch(), default_address_size=elf.elfclass // 8
    )
    for name in _SECTIONS:
        section = elf.get_section_by_name(f".debug_{name}")
        if section is not None:
            part = _Part(file, section["sh_offset"], section.data_size)
            stream = io.BytesIO(section.data()) if section.compressed else io.BufferedReader(part)
            sections[f"debug_{name}_sec"] = DebugSectionDescriptor(
                stream=stream, name=section.name, global_offset=section["sh_offset"], size=section.data_size, address=0
            )
    return DWARFInfo(**sections)
