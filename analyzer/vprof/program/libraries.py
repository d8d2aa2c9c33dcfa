"""What a program takes from libraries, and what a library gives others: the dynamic symbols of ELF files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection


def imports(program: Path) -> Iterator[str]:
    """The symbols that a program takes from libraries other than the C library, whose symbols have versions of its own.

    None if it is linked statically.
    """
    with program.open("rb") as file:
        elf = ELFFile(file)
        symbols, versions = elf.get_section_by_name(".dynsym"), elf.get_section_by_name(".gnu.version")
        system = _c_library(elf.get_section_by_name(".gnu.version_r"))
        if not isinstance(symbols, SymbolTableSection):
            return
        for number, symbol in enumerate(symbols.iter_symbols()):
            version = versions.get_symbol(number)["ndx"] if isinstance(versions, GNUVerSymSection) else None
            if symbol["st_shndx"] == "SHN_UNDEF" and version not in system:
                yield symbol.name


def exports(library: Path) -> Iterator[str]:
    """The symbols that a library gives others."""
    with library.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym")
        if isinstance(symbols, SymbolTableSection):
            yield from (symbol.name for symbol in symbols.iter_symbols() if symbol["st_shndx"] != "SHN_UNDEF")


def _c_library(needed: object) -> set[int]:
    """The numbers that its versions have in this file."""
    if not isinstance(needed, GNUVerNeedSection):
        return set()
    return {row["vna_other"] for _, rows in needed.iter_versions() for row in rows if row.name.startswith("GLIBC_")}
