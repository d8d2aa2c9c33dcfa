"""Where the probes before bodies of a program are (runtime/abi/PROBE_ABI.md "Probes before the body").

    vprof_places: a record for each place -> the function around it (.eh_frame_hdr) -> its own place, or a copy

A copy is where the compiler has expanded a function in a caller: nothing is recorded there.
"""

from __future__ import annotations

import bisect
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from pathlib import Path

from elftools.elf.elffile import ELFFile

_NO_OP = bytes.fromhex("0f1f440008")
_LANDING = bytes.fromhex("f30f1efa")
_RECORD = struct.Struct("<iiii")
_AS_LINKERS_DO = bytes.fromhex("011b033b")


@dataclass(frozen=True)
class Places:
    """`bodies`: of each body with a no-op, by where it begins, the address of its switch byte; `copies`: by the address
    of the switch byte, where the functions with a copy begin. `begins`: where functions begin, ascending; `stub`: where
    one of the wrapper's stubs is, 0: there is none."""

    bodies: dict[int, int] = field(default_factory=dict)
    copies: dict[int, set[int]] = field(default_factory=dict)
    begins: list[int] = field(default_factory=list)
    stub: int = 0

    @cached_property
    def own(self) -> set[int]:
        """Switch bytes of what has a body with a no-op."""
        return set(self.bodies.values())


def read_places(path: Path) -> Places:
    """Of a program or library; none if it has no such probes. REQUIRES: an ELF file that can be read."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        records, table = elf.get_section_by_name("vprof_places"), elf.get_section_by_name(".eh_frame_hdr")
        if records is None or table is None or records["sh_size"] <= _RECORD.size:
            return Places()
        begins = _begins(table.data(), table["sh_addr"])
        around: dict[int, list[tuple[int, int]]] = defaultdict(list)
        placed = list(_places(records.data(), records["sh_addr"]))
        for place, site, _ in placed:
            index = bisect.bisect_right(begins, place) - 1
            if index >= 0:
                around[begins[index]].append((place, site))
        found = Places(begins=begins, stub=placed[0][2])
        _sort_out(found, around, Code(elf))
        return found


def _places(content: bytes, address: int) -> Iterator[tuple[int, int, int]]:
    """Each with its switch byte and its stub. The first record is the section's head."""
    for at in range(_RECORD.size, len(content) - _RECORD.size + 1, _RECORD.size):
        place, site, stub, _ = _RECORD.unpack_from(content, at)
        yield address + at + place, address + at + 4 + site, address + at + 8 + stub


def _begins(header: bytes, address: int) -> list[int]:
    """Where functions begin, ascending."""
    if header[:4] != _AS_LINKERS_DO:
        return []
    [count] = struct.unpack_from("<I", header, 8)
    return [address + begin for begin, _ in struct.iter_unpack("<ii", header[12 : 12 + 8 * count])]


class Code:
    """The executable bytes of a program."""

    def __init__(self, elf: ELFFile) -> None:
        executable = [s for s in elf.iter_segments("PT_LOAD") if s["p_flags"] & 1]
        self._parts = [(segment["p_vaddr"], segment.data()) for segment in executable]

    def read(self, begin: int, end: int) -> bytes:
        """Up to `end`, or the end of what lies together."""
        for address, content in self._parts:
            if 0 <= begin - address < len(content):
                return content[begin - address : max(end, begin) - address]
        return b""

    def has_no_op(self, function: int) -> bool:
        code = self.read(function, function + len(_LANDING) + len(_NO_OP))
        return code.removeprefix(_LANDING).startswith(_NO_OP)


def _sort_out(found: Places, around: dict[int, list[tuple[int, int]]], code: Code) -> None:
    for begin, places in around.items():
        places.sort(
            key=itemgetter(0)
        )  # of several at one address the outer ones come first, as the compiler wrote them
        if code.has_no_op(begin):
            found.bodies[begin] = places.pop(0)[1]
        for _, site in places:
            found.copies.setdefault(site, set()).add(begin)
