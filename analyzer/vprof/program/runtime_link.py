"""How a program gets libvprof: whether it looks for it by itself, and a copy of it that starts without.

All that vprof-cc puts into a program refers to libvprof weakly, so it starts anywhere. Where there is a session it
looks for libvprof (runtime/src/vprof_start.c, which leaves a mark in it). Programs without the mark stay dormant unless
LD_PRELOAD brings libvprof (`VPROF_RUNTIME=preloaded`), or need it to start, which their dynamic section says
(DT_NEEDED): those of `VPROF_RUNTIME=linked`, of which those whose own text calls vprof.h cannot do without.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from vprof.program.metadata import SECTION

RUNTIME = "libvprof.so"
_LOOKS = "vprof_start"
_ENTRY = struct.Struct("<qQ")


def _dynamic(elf: ELFFile) -> DynamicSegment | None:
    return next((segment for segment in elf.iter_segments() if isinstance(segment, DynamicSegment)), None)


def _needs(elf: ELFFile) -> bool:
    dynamic = _dynamic(elf)
    return dynamic is not None and any(getattr(tag, "needed", "") == RUNTIME for tag in dynamic.iter_tags())


def waits_for_preload(program: Path) -> bool:
    """Whether a program was built by vprof-cc, and gets libvprof by LD_PRELOAD alone. False for what is no program."""
    try:
        with program.open("rb") as file:
            elf = ELFFile(file)
            return (
                elf.get_section_by_name(SECTION) is not None
                and elf.get_section_by_name(_LOOKS) is None
                and _dynamic(elf) is not None
                and not _needs(elf)
            )
    except Exception:  # damaged files raise anything; whoever runs it says what is wrong with it
        return False


def looks_itself(program: Path) -> bool:
    """Whether a program looks for libvprof when it starts in a session."""
    with program.open("rb") as file:
        return ELFFile(file).get_section_by_name(_LOOKS) is not None


def strong_references(program: Path) -> list[str]:
    """Functions of libvprof that a program cannot do without, sorted."""
    with program.open("rb") as file:
        tables = [section for section in ELFFile(file).iter_sections() if isinstance(section, SymbolTableSection)]
        symbols = [symbol for table in tables if table.name == ".dynsym" for symbol in table.iter_symbols()]
        return sorted(
            symbol.name
            for symbol in symbols
            if symbol["st_shndx"] == "SHN_UNDEF"
            and symbol["st_info"]["bind"] == "STB_GLOBAL"
            and symbol.name.startswith(("vprof_", "__vprof_"))
        )


def switches_address(program: Path) -> int:
    """Where the switch bytes were linked to, which the session knows a module by (runtime/SESSION.md)."""
    with program.open("rb") as file:
        section = ELFFile(file).get_section_by_name("vprof_switch")
        return int(section["sh_addr"]) if section else 0


def forget_runtime(program: Path) -> None:
    """Takes the entry for libvprof out of the dynamic section of a file. The entries behind it move up, and the last
    place gets the end mark's, as linkers leave spare ones."""
    with program.open("r+b") as file:
        elf = ELFFile(file)
        dynamic = _dynamic(elf)
        if not _needs(elf) or dynamic is None:
            return
        tags = list(dynamic.iter_tags())
        offset = dynamic["p_offset"]
        file.seek(offset)
        entries = [file.read(_ENTRY.size) for _ in tags]
        kept = [entry for tag, entry in zip(tags, entries, strict=True) if getattr(tag, "needed", "") != RUNTIME]
        kept += [_ENTRY.pack(0, 0)] * (len(entries) - len(kept))
        file.seek(offset)
        file.write(b"".join(kept))
        file.flush()
        os.fsync(file.fileno())
