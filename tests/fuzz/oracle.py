"""What a program logged of its calls (fuzz.h) against what vprof recorded of them: the same calls, nested the same way.

Functions without a probe, and functions without ENTER, are left out of both.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from programs import Program
from vprof.program.metadata import Unit
from vprof.tables.model import Trace

Place = tuple[str, int]
"""File and line where a function begins: its name here."""


@dataclass(frozen=True)
class Call:
    """`depth` counts the calls around it. `at`: the line of the call, "" if unknown, also to vprof, because the
    caller has no probe (runtime/abi/PROBE_ABI.md, call numbers)."""

    place: Place
    depth: int
    at: str


def comparable(program: Program, units: list[Unit]) -> set[Place]:
    """Functions that have both a probe and an ENTER, alone on their line.

    Not those whose ENTER is inside a function-try-block: the probe covers the handlers, too.
    """
    entered = {
        (name, number)
        for name, text in program.files.items()
        for number, line in enumerate(text.split("\n"), 1)
        if "ENTER(" in line and not re.match(r"#|.*\btry\b.*ENTER\(", line)
    }
    functions: dict[Place, set[tuple[str, bool]]] = defaultdict(set)
    for unit in units:
        for function in unit.functions:
            functions[PurePath(function.file).name, function.line].add((function.id, function.site is not None))
    return {place for place in entered if len(functions[place]) == 1 and next(iter(functions[place]))[1]}


def logged(path: Path, places: set[Place]) -> dict[int, list[Call]]:
    """The log: calls of each thread by its id, in order of entry."""
    calls: dict[int, list[Call]] = {}
    for line in path.read_text().splitlines():
        match line.split():
            case ["T", tid, _]:
                mine = calls.setdefault(int(tid), [])
                around: list[bool] = []
            case ["+", file, number, at]:
                counts = (file, int(number)) in places
                known = at != "0" and around and around[-1]
                if counts:
                    mine.append(Call((file, int(number)), sum(around), at if known else ""))
                around.append(counts)
            case _:
                if around:
                    around.pop()
    return calls


def recorded(trace: Trace, places: set[Place]) -> dict[int, list[Call]]:
    """The trace: likewise."""
    calls: dict[int, list[Call]] = defaultdict(list)
    rows = trace.invocations
    begins = [_place(text) for text in trace.program.definitions]
    lines = [_line(name) for name in trace.call_sites]
    around: list[tuple[int, bool]] = []
    previous = -1
    for thread, function, site, depth in zip(rows.thread, rows.function, rows.call_site, rows.depth, strict=True):
        if thread != previous:
            around, previous = [], thread
        while around and around[-1][0] >= depth:
            around.pop()
        place = begins[function]
        if place in places:
            around_it = sum(counts for _, counts in around)
            calls[_tid(trace.threads[thread])].append(Call(place, around_it, lines[site]))
        around.append((int(depth), place in places))
    return calls


def _place(text: str) -> Place:
    """Of "file:line"."""
    file, _, line = text.rpartition(":")
    return PurePath(file).name, int(line or 0)


def _line(site: str) -> str:
    match = re.match(r".*:(\d+)", site)
    return match[1] if match else ""


def _tid(name: str) -> int:
    match = re.match(r"\d+/(\d+)", name)
    return int(match[1]) if match else -1


def ends(program: Program) -> set[str]:
    """Lines on which a function may end."""
    lines = (row for text in program.files.values() for row in enumerate(text.split("\n"), 1))
    return {str(number) for number, line in lines if line.lstrip().startswith("}")}


def differences(
    log: dict[int, list[Call]], trace: dict[int, list[Call]], nested: bool, uncertain: Collection[str] = ()
) -> Iterator[str]:
    """One line for each thread whose calls differ. `nested`: depths and lines count, too, but for calls that were
    recorded at a line that is uncertain; without exits in the log neither is known, since its callers are not."""
    for number, tid in enumerate(sorted(log)):
        expected, found = log[tid], trace.get(tid, [])
        for index, (call, seen) in enumerate(zip(expected, found, strict=False)):
            if call.place != seen.place or (nested and call.depth != seen.depth):
                yield f"thread {number}, call {index}: {_told(seen)} is recorded, {_told(call)} was made"
                break
            if nested and call.at and seen.at and call.at != seen.at and seen.at not in uncertain:
                yield f"thread {number}, call {index}: {_told(seen)}, but it was called at line {call.at}"
                break
        else:
            if len(expected) != len(found):
                yield f"thread {number}: {len(found)} calls recorded, {len(expected)} made"


def _told(call: Call) -> str:
    at = f" called at line {call.at}" if call.at else ""
    return f"{call.place[0]}:{call.place[1]}{at} at depth {call.depth}"
