"""Names for perf in the code that processes share (runtime/SESSION.md "The code that processes share").

To perf, functions of shared code lie in the session's file `text`. That has room for an ELF header at its start, which
is zero. Here it becomes one, with a symbol table behind all that is used:

    regions of `text`, symbol tables of their modules -> functions by their place in `text` -> an ELF file for perf

What the recorded programs wrote there decides nothing but what perf prints.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vprof.errors import VprofError
from vprof.program.code import Function, read_code

_PAGE = 4096
_ELF_BYTES = 128
_HEAD = struct.Struct("<8s16sQI4x")
"""TextHeader of runtime/src/shared_text.h behind the room for the ELF header: magic, session, used, regions."""
_USED_AT = _ELF_BYTES + 24
_REGION = struct.Struct("<IIQQQ")
_MAGIC = b"VPROFTX2"
_MOST_REGIONS = 256

_ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SHARED_OBJECT, _X86_64 = 3, 62
_LOAD, _READ_EXECUTE = 1, 5
_PROGBITS, _SYMTAB, _STRTAB = 1, 2, 3
_ALLOCATED_CODE, _GLOBAL_FUNCTION = 6, 0x12
_NAMES = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"


@dataclass(frozen=True)
class _Region:
    base: int
    copy: int
    bytes: int


def give_names(directory: Path, modules: dict[int, Path]) -> int:
    """Writes the table into a session's `text`; `modules`: files by their first site. Returns how many functions have
    a name there now: those of modules whose code is shared. Raises VprofError where there is no room."""
    try:
        file = os.open(directory / "text", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise VprofError(f"{directory}/text: {error.strerror}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX)  # processes add regions meanwhile
        used, regions = _read(file)
        found = [
            function for one in regions if one.base in modules for function in _moved(read_code(modules[one.base]), one)
        ]
        if found:
            _write(file, used, found)
        return len(found)
    except OSError as error:
        raise VprofError(f"{directory}/text: {error.strerror}") from None
    finally:
        os.close(file)


def _read(file: int) -> tuple[int, list[_Region]]:
    head = os.pread(file, _ELF_BYTES + _HEAD.size + _MOST_REGIONS * _REGION.size, 0)
    magic, _, used, count = _HEAD.unpack_from(head, _ELF_BYTES)
    if magic != _MAGIC:
        raise VprofError("the session was made by another version of vprof")
    places = range(_ELF_BYTES + _HEAD.size, len(head) - _REGION.size + 1, _REGION.size)
    regions = [_REGION.unpack_from(head, at) for at in places[:count]]
    found = [_Region(base, copy, size) for base, _, copy, size, _ in regions]
    if used > os.fstat(file).st_size or any(one.copy + one.bytes > used for one in found):
        raise VprofError("a program has spoilt the session's shared code")
    return used, found


def _moved(code: dict[tuple[int, int], list[Function]], region: _Region) -> Iterator[Function]:
    """The functions of the segment that was copied, where they lie in `text`."""
    for (begin, size), functions in code.items():
        if -(-(begin % _PAGE + size) // _PAGE) * _PAGE != region.bytes:
            continue
        for function in functions:
            yield Function(function.begin - begin + begin % _PAGE + region.copy, function.size, function.name)
        return


def _write(file: int, used: int, functions: list[Function]) -> None:
    """The ELF header last: perf sees all or nothing."""
    texts, places = bytearray(b"\0"), {}
    for function in functions:
        if function.name not in places:
            places[function.name] = len(texts)
            texts += function.name + b"\0"
    table = bytearray(_SYMBOL.size)
    for one in functions:
        table += _SYMBOL.pack(places[one.name], _GLOBAL_FUNCTION, 0, 1, one.begin, one.size)
    at_table = used + 5 * _SECTION.size
    at_texts, at_names = at_table + len(table), at_table + len(table) + len(texts)
    sections = [
        _SECTION.pack(*[0] * 10),
        _SECTION.pack(1, _PROGBITS, _ALLOCATED_CODE, _PAGE, _PAGE, used - _PAGE, 0, 0, 16, 0),
        _SECTION.pack(7, _SYMTAB, 0, 0, at_table, len(table), 3, 1, 8, _SYMBOL.size),
        _SECTION.pack(15, _STRTAB, 0, 0, at_texts, len(texts), 0, 0, 1, 0),
        _SECTION.pack(23, _STRTAB, 0, 0, at_names, len(_NAMES), 0, 0, 1, 0),
    ]
    content = b"".join([*sections, table, texts, _NAMES])
    end = -(-(used + len(content)) // _PAGE) * _PAGE
    os.posix_fallocate(file, used, end - used)
    os.pwrite(file, content, used)
    os.pwrite(file, struct.pack("<Q", end), _USED_AT)
    identity = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    sizes = (_ELF_HEADER.size, _SEGMENT.size, 1, _SECTION.size, len(sections), len(sections) - 1)
    header = _ELF_HEADER.pack(identity, _SHARED_OBJECT, _X86_64, 1, 0, _ELF_HEADER.size, used, 0, *sizes)
    os.pwrite(file, header + _SEGMENT.pack(_LOAD, _READ_EXECUTE, 0, 0, 0, used, used, _PAGE), 0)
