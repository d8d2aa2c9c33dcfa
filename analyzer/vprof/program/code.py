"""The functions of a program's machine code, by the linker's symbols: where each lies, how long it is, its name."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from elftools.elf.elffile import ELFFile

from vprof.program.elf import ELF_ERRORS, open_regular

_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_FUNCTION = 2
_EXECUTABLE = 1


class Function(NamedTuple):
    begin: int
    size: int
    name: bytes
    """As the linker has it."""


def read_code(path: Path) -> dict[tuple[int, int], list[Function]]:
    """The functions of each executable segment (its address, its bytes). Nothing of what cannot be read."""
    try:
        with open_regular(path) as file:
            elf = ELFFile(file)
            segments = [s for s in elf.iter_segments("PT_LOAD") if s["p_flags"] & _EXECUTABLE]
            table = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
            if table is None:
                return {}
            texts = elf.get_section(table["sh_link"]).data()
            content = table.data()
            places = [(int(s["p_vaddr"]), int(s["p_filesz"])) for s in segments]
    except (OSError, *ELF_ERRORS):
        return {}
    symbols = np.frombuffer(content[: len(content) // _SYMBOL.itemsize * _SYMBOL.itemsize], _SYMBOL)
    functions = symbols[(symbols["info"] & 15 == _FUNCTION) & (symbols["size"] > 0) & (symbols["section"] != 0)]
    return {place: _within(functions, texts, *place) for place in places}


def _within(symbols: np.ndarray, texts: bytes, begin: int, size: int) -> list[Function]:
    inside = symbols[(symbols["value"] >= begin) & (symbols["value"] < begin + size)]
    return [
        Function(int(value), int(length), texts[name : texts.find(b"\0", name)])
        for value, length, name in zip(inside["value"], inside["size"], inside["name"].tolist(), strict=True)
    ]
