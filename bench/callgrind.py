"""What callgrind counts: instructions and calls by function.

valgrind --tool=callgrind PROGRAM -> a profile -> Counter by function, library functions among them
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_NAMED = re.compile(r"\((\d+)\)(?: (.*))?$")


@dataclass
class Profile:
    """Self instructions by (object file, function) and calls of each; names as the linker has them."""

    instructions: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)

    def minus(self, other: Profile) -> Profile:
        """What a longer run did more: may be negative where the two differ by chance."""
        result = Profile(Counter(self.instructions), Counter(self.calls))
        result.instructions.subtract(other.instructions)
        result.calls.subtract(other.calls)
        return result

    def total(self) -> int:
        return sum(self.instructions.values())


def without_debug_information(program: Path, copy: Path) -> Path:
    """Debian 12's valgrind gives up at some of clang's."""
    shutil.copy2(program, copy)
    subprocess.run(["strip", "--strip-debug", str(copy)], check=True)
    return copy


def parse(text: str) -> Profile:
    """The text of a profile; costs of calls, which are inclusive, are left out."""
    result = Profile()
    names: dict[tuple[str, str], str] = {}
    here = {"ob": "", "fn": "", "cob": "", "cfn": ""}
    skip = False
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and key in here:
            here[key] = _name(names, key[-2:], value)
        elif key == "calls":
            called = (here["cob"] or here["ob"], here["cfn"])
            result.calls[called] += int(value.split()[0])
            here["cob"] = ""
            skip = True
        elif line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            if not skip:
                result.instructions[here["ob"], here["fn"]] += int(line.split()[1])
            skip = False
    return result


def _name(names: dict[tuple[str, str], str], kind: str, value: str) -> str:
    match = _NAMED.match(value)
    if not match:
        return value
    if match[2] is not None:
        names[kind, match[1]] = match[2]
    return names[kind, match[1]].split("'")[0]


def by_name(profile: Profile, program: Path) -> Mapping[str, tuple[int, int]]:
    """(instructions, calls) of the program's own functions; what the linker or compiler adds to a name is left out."""
    found: dict[str, tuple[int, int]] = {}
    for (where, function), instructions in profile.instructions.items():
        if Path(where).name == program.name:
            name = re.sub(r"(\.\w+)+$", "", function)
            before = found.get(name, (0, 0))
            found[name] = (before[0] + instructions, before[1] + profile.calls[where, function])
    return found
