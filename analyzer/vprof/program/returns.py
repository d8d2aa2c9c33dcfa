"""Where functions whose probe is before the body were called: what the low bits of a return address mean in the machine
code of the caller (runtime/abi/PROBE_ABI.md "Call numbers").

    bodies with a no-op (places.py), code -> the calls in the caller's body -> those of the callee with these low bits
      -> their lines (lines.py)
"""

from __future__ import annotations

import bisect
import re
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from elftools.elf.elffile import ELFFile

from vprof.program.elf import ELF_ERRORS
from vprof.program.lines import Line, Lines
from vprof.program.places import Code, Places, read_places

_LOW_BITS = (1 << 10) - 1
_NEAR = re.compile(rb"[\xe8\xe9]")
_POINTED = re.compile(rb"\xff[\x10-\x17\x50-\x57\x90-\x97\xd0-\xd7]")
_THROUGH_SLOT = re.compile(rb"\xff\x25")
_BODY_OF_PAIR = b"\x41\xff\x13"
"""`call *(%r11)` of the wrapper."""
_STUB_LOAD = 7
_WRAPPER_BYTES = 128
_LARGE = 1 << 20


class Call(NamedTuple):
    back: int
    """The address to which it returns; of a tail call that behind it."""
    to: int | None
    """What it calls, or the slot from which it reads that; None: through a pointer."""
    is_tail: bool


@dataclass(frozen=True)
class Found:
    """`places` that a number may mean, of `all` at which the caller calls the callee."""

    places: set[Line]
    all: set[Line]


class Returns:
    """Of the programs of a trace: where each is, and by the address of a switch byte the number of the function."""

    def __init__(self, programs: list[tuple[Path, dict[int, int]]]) -> None:
        self._programs = programs

    def __reduce__(self) -> tuple[type[Returns], tuple[list[tuple[Path, dict[int, int]]]]]:
        return Returns, (self._programs,)

    def place(self, caller: int, number: int, callee: int) -> str:
        """The file and line of a call, and which one of several on a line; "" if there is but one place where the
        caller calls it, or if the programs do not say."""
        places, all_places = set[Line](), set[Line]()
        for code, bodies in self._bodies:
            for begin in bodies.get(caller, ()):
                found = code.calls_from(begin, frozenset(bodies.get(callee, ())), number)
                places |= found.places
                all_places |= found.all
        if len(places) != 1 or len(all_places) < 2:
            return ""
        [(file, line, column)] = places
        columns = sorted({other.column for other in all_places if (other.file, other.line) == (file, line)})
        return f"{file}:{line}" + (f" #{columns.index(column) + 1}" if len(columns) > 1 else "")

    @cached_property
    def _bodies(self) -> list[tuple[CallsOfProgram, dict[int, list[int]]]]:
        """The programs that are still what they were, and by function, where its bodies begin."""
        found = []
        for path, functions in self._programs:
            code = _calls_of(path)
            if code is not None and code.places.own <= functions.keys():
                bodies: dict[int, list[int]] = defaultdict(list)
                for begin, byte in code.places.bodies.items():
                    bodies[functions[byte]].append(begin)
                found.append((code, bodies))
        return found


class CallsOfProgram:
    """The calls in bodies with a no-op. REQUIRES: an ELF file that can be read."""

    def __init__(self, path: Path) -> None:
        self.places: Places = read_places(path)
        self._lines = Lines(path)
        with path.open("rb") as file:
            elf = ELFFile(file)
            self._code = Code(elf)
            self._slots = dict(_slots(elf))
        self._begins = set(self.places.begins)
        self._calls: dict[int, list[Call]] = {}

    def calls_from(self, caller: int, callees: frozenset[int], number: int) -> Found:
        """`caller`, `callees`: where bodies begin. A call through a slot or a pointer may be one of the callee, too. If
        that has no body here, so may be one of any function that has none, but then 0 means nothing."""
        if not callees and number == 0:
            return Found(set(), set())
        others = self._begins if callees else self.places.bodies
        calls = [call for call in self._calls_in(caller) if call.to in callees or call.to not in others]
        meant = [call for call in calls if not call.is_tail and call.back & _LOW_BITS == number]
        if any(call.to in callees for call in meant):
            meant = [call for call in meant if call.to in callees]
        if not meant and number == self._back_to_wrapper:
            meant = [call for call in calls if call.is_tail and call.to in callees]
        targets = {None, *(call.to for call in meant), *callees}
        return Found(
            {place for call in meant if (place := self._lines.at(call.back - 1))},
            {place for call in calls if call.to in targets and (place := self._lines.at(call.back - 1))},
        )

    def _calls_in(self, begin: int) -> list[Call]:
        if begin not in self._calls:
            index = bisect.bisect_right(self.places.begins, begin)
            end = self.places.begins[index] if index < len(self.places.begins) else begin + _LARGE
            self._calls[begin] = list(self._read(begin, end))
        return self._calls[begin]

    def _read(self, begin: int, end: int) -> Iterator[Call]:
        code = self._code.read(begin, end)
        for at in (match.start() for match in _NEAR.finditer(code, 0, max(len(code) - 4, 0))):
            back = begin + at + 5
            to = back + int(struct.unpack_from("<i", code, at + 1)[0])
            if to in self._begins or to in self._slots:
                yield Call(back, self._slots.get(to, to), code[at] == 0xE9)
        for at in (match.start() for match in _POINTED.finditer(code)):
            size = _size_of_pointed(code, at)
            is_slot = code[at + 1] == 0x15 and at + size <= len(code)
            slot = begin + at + size + int(struct.unpack_from("<i", code, at + 2)[0]) if is_slot else None
            yield Call(begin + at + size, slot, is_tail=False)

    @cached_property
    def _back_to_wrapper(self) -> int | None:
        """The low bits of the address to which bodies return whose probe is on; None: not found."""
        begin = self.places.stub + _STUB_LOAD
        jump = self._code.read(begin, begin + 5)
        if jump[:1] == b"\xe9" and len(jump) == 5:
            wrapper = begin + 5 + int(struct.unpack("<i", jump[1:])[0])
        elif jump[:1] == b"\xeb":
            wrapper = begin + 2 + int(struct.unpack("<b", jump[1:2])[0])
        else:
            return None
        at = self._code.read(wrapper, wrapper + _WRAPPER_BYTES).find(_BODY_OF_PAIR)
        return (wrapper + at + len(_BODY_OF_PAIR)) & _LOW_BITS if at >= 0 else None


def _size_of_pointed(code: bytes, at: int) -> int:
    """Of `call *...`: opcode, ModRM, SIB, distance."""
    mode, register = code[at + 1] >> 6, code[at + 1] & 7
    size = 2
    if mode == 3:
        return size
    base = register
    if register == 4:
        base = code[at + 2] & 7 if at + 2 < len(code) else 0
        size += 1
    if mode == 0:
        return size + (4 if base == 5 else 0)
    return size + (1 if mode == 1 else 4)


def _slots(elf: ELFFile) -> Iterator[tuple[int, int]]:
    """Entries of the procedure linkage table, and the slot that each jumps through."""
    for name in (".plt", ".plt.sec", ".plt.got"):
        section = elf.get_section_by_name(name)
        if section is None or not section["sh_size"]:
            continue
        content, address = section.data(), int(section["sh_addr"])
        size = int(section["sh_entsize"]) or 16
        for entry in range(0, len(content) - size + 1, size):
            jump = _THROUGH_SLOT.search(content, entry, entry + size)
            if jump and jump.end() + 4 <= len(content):
                distance = int(struct.unpack_from("<i", content, jump.end())[0])
                yield address + entry, address + jump.end() + 4 + distance


def _calls_of(path: Path) -> CallsOfProgram | None:
    try:
        return _read_calls(path, path.stat().st_mtime_ns)
    except (OSError, *ELF_ERRORS):
        return None


@lru_cache(maxsize=64)
def _read_calls(path: Path, _changed_ns: int) -> CallsOfProgram:
    """Each step of a drill-down reads a trace of the same programs."""
    return CallsOfProgram(path)
