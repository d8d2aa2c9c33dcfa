"""What an ELF file has of vprof: the units of its metadata, and whether its probes can be switched.

Apart from metadata.py, which the analysis of a trace needs: pyelftools takes a tenth of its start.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationHandler
from elftools.elf.sections import NoteSection

from vprof.errors import VprofError
from vprof.program.metadata import SECTION, TEXTS, Unit, parse_units

SWITCHES = "vprof_switch"
_PAGE = 4096
_MOST_SECTION_BYTES = 4 << 30
"""A large server has less than one gigabyte; a sparse file may say anything."""

ELF_ERRORS = (
    *(ELFError, DWARFError, struct.error, zlib.error),
    *(ValueError, ArithmeticError, MemoryError, TypeError, AttributeError, LookupError, AssertionError),
)
"""What pyelftools raises for a damaged file, which it reads without checking all of it."""


def read_program(path: Path) -> list[Unit]:
    """The units of an executable or shared library. Raises VprofError when it has none or they are damaged."""
    try:
        content, texts = read_sections(path)
    except OSError as error:
        raise VprofError(f"{path}: {error.strerror or error}") from None
    except ELF_ERRORS:
        raise VprofError(f"{path}: not a program (ELF file), or damaged") from None
    units = parse_units(content, str(path), texts)
    if not units:
        raise VprofError(f"{path}: no vprof metadata: build it with CC=vprof-cc (and link it with vprof-cc)")
    return units


def read_sections(path: Path) -> tuple[bytes, bytes]:
    """`.vprof_meta` and `.vprof_text` of an ELF file, empty if it has none; of an object as a link would have them."""
    with open_regular(path) as file:
        elf = ELFFile(file)
        content, texts = (_section(elf, name) for name in (SECTION, TEXTS))
        return content, texts


def is_same_build(path: Path, content: bytes, build_id: str) -> bool:
    """Whether a file is the module that a trace has this metadata of (runtime/TRACE_FORMAT.md sections 4 and 5), whose
    linker made it known by `build_id`, if by any. False if the file cannot be read."""
    try:
        if build_id and read_build_id(path) != build_id:
            return False
        units, texts = read_sections(path)
    except (OSError, *ELF_ERRORS):
        return False
    return content.startswith(units) and content.find(texts, len(units)) >= 0


def read_build_id(path: Path) -> str:
    """In hexadecimal; empty if the linker gave the file none. Raises OSError or one of ELF_ERRORS."""
    with open_regular(path) as file:
        section = ELFFile(file).get_section_by_name(".note.gnu.build-id")
        notes = section.iter_notes() if isinstance(section, NoteSection) else ()
        return next((str(note["n_desc"]) for note in notes if note["n_type"] == "NT_GNU_BUILD_ID"), "")


def open_regular(path: Path) -> BinaryIO:
    """Raises OSError for all but regular files: modules of a session are named by its programs, which may say anything,
    and to open a pipe would wait for ever."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "not a regular file")


def _section(elf: ELFFile, name: str) -> bytes:
    section = elf.get_section_by_name(name)
    if section is None:
        return b""
    if section.data_size > _MOST_SECTION_BYTES:
        raise ELFError(f"{name} has {section.data_size} bytes")
    if section["sh_offset"] + section["sh_size"] > elf.stream_len:
        raise ELFError(f"{name} ends beyond the file")
    content = BytesIO(section.data())
    handler = RelocationHandler(elf)
    relocations = handler.find_relocations_for_section(section) if elf["e_type"] == "ET_REL" else None
    if relocations is not None:
        handler.apply_section_relocations(content, relocations)
    return content.getvalue()


def linked_by_wrapper(path: Path) -> bool:
    """Whether a program's probes can be switched: `vprof-cc`, when it links, gives their bytes pages of their own."""
    with path.open("rb") as file:
        section = ELFFile(file).get_section_by_name(SWITCHES)
        return section is None or bool(section["sh_addralign"] >= _PAGE)
