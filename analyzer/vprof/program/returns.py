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
from typing import Any, NamedTuple

from elftools.elf.elffile import ELFFile

from vprof.program.code import read_code
from vprof.program.elf import ELF_ERRORS
from vprof.program.lines import Line, Lines
from vprof.program.places import Code, Places, read_places

_LOW_BITS = (1 << 10) - 1
_NEAR = re.compile(rb"[\xe8\xe9]")
_POINTED = re.compile(rb"\xff[\x10-\x17\x50-\x57\x90-\x97\xd0-\xd7]")
_COMPARES = b"\x80\x3d"
_TESTS = re.compile(_COMPARES + rb"|(?:\x8d|\x0f\xb6)[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]")
"""`cmpb $1, byte(%rip)`, and at -O0 or by gcc `lea byte(%rip), ...` and `movzbl byte(%rip), ...`."""
_PROBE = re.compile(rb"\x48\x8d\x05([\s\S]{4})\x4c\x8d[\s\S]{2,6}\x48\x83\xc4\x80\xe8")
"""`leaq byte(%rip), %rax; leaq frame, %r10; addq $-128, %rsp; call`, but for the distance of the call."""
_THROUGH_SLOT = re.compile(rb"\xff\x25")
_BODY_OF_PAIR = b"\x41\xff\x13"
"""`call *(%r11)` of the wrapper."""
_STUB_LOAD = 7
_WRAPPER_BYTES = 128
_LARGE = 1 << 20
_OF_SYMBOLS = {6, 7}
"""R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT."""


class Call(NamedTuple):
    back: int
    """The address to which it returns; of a tail call that behind it."""
    to: int | str | None
    """What it calls: where that begins, or the symbol of a function that is elsewhere; None: through a pointer."""
    is_tail: bool


class Callee(NamedTuple):
    name: str
    bodies: frozenset[int]
    """Where those with a no-op begin, in one program."""
    switches: frozenset[int]
    """Its switch bytes there."""
    is_wrapped: bool
    """There is a body with a no-op, perhaps in another program: it always says where it returns to."""
    in_body: bool
    """Its probe is in its body, so in copies of that, too."""


@dataclass(frozen=True)
class Found:
    """`places` that a number may mean, of `all` at which the caller calls the callee."""

    places: set[Line]
    all: set[Line]


class Returns:
    """Of the programs of a trace: where each is, and by the address of a switch byte the number of the function. One
    whose probe is in its body says where that returns to, as a wrapper does; external functions do, too."""

    def __init__(self, programs: list[tuple[Path, dict[int, int]]]) -> None:
        self._programs = programs

    def __reduce__(self) -> tuple[type[Returns], tuple[list[tuple[Path, dict[int, int]]]]]:
        return Returns, (self._programs,)

    def place(self, caller: int, number: int, callee: int, name: str) -> str:
        """The file and line of a call of the callee, which is named so, and which one of several on a line; "" if there
        is but one place where the caller calls it, or if the programs do not say."""
        places, all_places = set[Line](), set[Line]()
        is_wrapped = any(callee in bodies for _, bodies, _ in self._bodies)
        in_body = not is_wrapped and any(callee in switches for _, _, switches in self._bodies)
        for code, bodies, switches in self._bodies:
            here = frozenset(bodies.get(callee, ())), frozenset(switches.get(callee, ()))
            called = Callee(name, *here, is_wrapped, in_body)
            for begin in bodies.get(caller, ()):
                found = code.calls_from(begin, number, called)
                places |= found.places
                all_places |= found.all
        if len(places) != 1 or len(all_places) < 2:
            return ""
        [(file, line, column)] = places
        columns = sorted({other.column for other in all_places if (other.file, other.line) == (file, line)})
        return f"{file}:{line}" + (f" #{columns.index(column) + 1}" if len(columns) > 1 else "")

    @cached_property
    def _bodies(self) -> list[tuple[CallsOfProgram, dict[int, list[int]], dict[int, list[int]]]]:
        """The programs that are still what they were, and by function, where its bodies with a no-op begin, and its
        switch bytes."""
        found: list[tuple[CallsOfProgram, dict[int, list[int]], dict[int, list[int]]]] = []
        for path, functions in self._programs:
            code = _calls_of(path)
            if code is not None and code.places.own <= functions.keys():
                bodies, switches = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
                for begin, byte in code.places.bodies.items():
                    bodies[functions[byte]].append(begin)
                for byte, function in functions.items():
                    switches[function].append(byte)
                found.append((code, bodies, switches))
        return found


class CallsOfProgram:
    """The calls in bodies with a no-op. REQUIRES: an ELF file that can be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.places: Places = read_places(path)
        self._lines = Lines(path)
        with path.open("rb") as file:
            elf = ELFFile(file)
            self._code = Code(elf)
            self._slots = _slots(elf)
            self._entries = dict(_entries(elf))
            switches = elf.get_section_by_name("vprof_switch")
            first = switches["sh_addr"] if switches else 0
            self._switches = range(first, first + switches["sh_size"] if switches else 0)
        self._begins = set(self.places.begins)
        self._calls: dict[int, list[Call]] = {}
        self._tested: dict[int, int | None] = {}

    def calls_from(self, caller: int, number: int, callee: Callee) -> Found:
        """`caller`: where its body begins. The number 0 means nothing of a callee that may not say it."""
        if not callee.is_wrapped and number == 0:
            return Found(set(), set())
        if callee.in_body:
            return self._calls_of_body_probe(caller, number, callee)
        calls = [call for call in self._calls_in(caller) if self._may_lead(call, callee)]
        meant = [call for call in calls if not call.is_tail and call.back & _LOW_BITS == number]
        if any(call.to is not None for call in meant):
            meant = [call for call in meant if call.to is not None]
        if not meant and number == self._back_to_wrapper:
            meant = [call for call in calls if call.is_tail]
        return Found(self._lines_of(meant), self._lines_of(calls))

    def _calls_of_body_probe(self, caller: int, number: int, callee: Callee) -> Found:
        """Copies of its body in the caller's are told apart by where their probes return to. A tail call says where the
        probe in its own body returns to, so no place."""
        calls = [call.back for call in self._calls_in(caller) if not call.is_tail and self._may_lead(call, callee)]
        copies = [back for back, switch in self._probes_in(caller) if switch in callee.switches]
        lines = [(back, self._lines.at(back - 1)) for back in calls]
        lines += [(back, self._lines.call_at(back - 1)) for back in copies]
        meant = {line for back, line in lines if line and back & _LOW_BITS == number}
        return Found(meant, {line for _, line in lines if line})

    def _may_lead(self, call: Call, callee: Callee) -> bool:
        if callee.bodies or call.to is None:
            return call.to is None or call.to in callee.bodies
        if call.to in self.places.bodies:
            return False
        if isinstance(call.to, int) and self._first_tested_in(call.to) in callee.switches:
            return True
        # A symbol has the name in it: pread64, __read_chk, __wrap_usleep, _ZN5Table3getEv.
        symbol = self._symbols.get(call.to, "") if isinstance(call.to, int) else call.to
        return callee.name.rpartition("::")[2] in symbol

    def _lines_of(self, calls: list[Call]) -> set[Line]:
        return {place for call in calls if (place := self._lines.at(call.back - 1))}

    def _calls_in(self, begin: int) -> list[Call]:
        if begin not in self._calls:
            self._calls[begin] = list(self._read(begin))
        return self._calls[begin]

    def _first_tested_in(self, begin: int) -> int | None:
        """The first switch byte to which the function there refers: its own, if it has a probe."""
        if begin not in self._tested:
            code = self._code_of(begin)
            found = (_target(code, match, begin) for match in _TESTS.finditer(code, 0, max(len(code) - 4, 0)))
            self._tested[begin] = next((byte for byte in found if byte in self._switches), None)
        return self._tested[begin]

    def _probes_in(self, begin: int) -> Iterator[tuple[int, int]]:
        """Of the probes that are expanded in a body: where they return to when they are on, and their switch bytes."""
        code = self._code_of(begin)
        for probe in _PROBE.finditer(code):
            [distance] = struct.unpack("<i", probe[1])
            yield begin + probe.end() + 4, begin + probe.end(1) + distance

    def _code_of(self, function: int) -> bytes:
        index = bisect.bisect_right(self.places.begins, function)
        return self._code.read(function, [*self.places.begins[index : index + 1], function + _LARGE][0])

    def _read(self, begin: int) -> Iterator[Call]:
        code = self._code_of(begin)
        for at in (match.start() for match in _NEAR.finditer(code, 0, max(len(code) - 4, 0))):
            back = begin + at + 5
            to = back + int(struct.unpack_from("<i", code, at + 1)[0])
            if to in self._entries or to in self._begins:
                yield Call(back, self._slots.get(self._entries.get(to, 0), to), code[at] == 0xE9)
        for at in (match.start() for match in _POINTED.finditer(code)):
            back = begin + at + _size_of_pointed(code, at)
            is_near = code[at + 1] == 0x15 and at + 6 <= len(code)
            slot = back + int(struct.unpack_from("<i", code, at + 2)[0]) if is_near else 0
            yield Call(back, self._slots.get(slot), is_tail=False)

    @cached_property
    def _symbols(self) -> dict[int, str]:
        functions = (function for part in read_code(self._path).values() for function in part)
        return {function.begin: function.name.decode(errors="replace") for function in functions}

    @cached_property
    def _back_to_wrapper(self) -> int | None:
        """The low bits of the address to which bodies return whose probe is on; None: not found."""
        begin = self.places.stub + _STUB_LOAD
        jump = self._code.read(begin, begin + 5)
        if jump[:1] == b"\xe9" and len(jump) == 5:
            wrapper = begin + 5 + int(struct.unpack("<i", jump[1:])[0])
        elif jump[:1] == b"\xeb" and len(jump) > 1:
            wrapper = begin + 2 + int(struct.unpack("<b", jump[1:2])[0])
        else:
            return None
        at = self._code.read(wrapper, wrapper + _WRAPPER_BYTES).find(_BODY_OF_PAIR)
        return (wrapper + at + len(_BODY_OF_PAIR)) & _LOW_BITS if at >= 0 else None


def _target(code: bytes, test: re.Match[bytes], begin: int) -> int:
    """To what one of _TESTS refers: a distance from its end, which is one byte further where it has a value."""
    end = begin + test.end() + (5 if test[0] == _COMPARES else 4)
    return end + int(struct.unpack_from("<i", code, test.end())[0])


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


def _slots(elf: Any) -> dict[int, int | str]:
    """By the address of a slot of the global offset table: the function that it leads to, or its symbol if it is not
    defined here."""
    found: dict[int, int | str] = {}
    for section in elf.iter_sections("SHT_RELA"):
        symbols = elf.get_section(section["sh_link"]) if section["sh_link"] else None
        for relocation in section.iter_relocations():
            if relocation["r_info_type"] in _OF_SYMBOLS and symbols is not None:
                symbol = symbols.get_symbol(relocation["r_info_sym"])
                found[relocation["r_offset"]] = symbol["st_value"] or symbol.name
    return found


def _entries(elf: ELFFile) -> Iterator[tuple[int, int]]:
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
