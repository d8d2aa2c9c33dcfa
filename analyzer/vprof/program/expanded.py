"""What a compiler expanded in its callers, where a probe before the body does not see it: below functions that matter.

programs with such probes -> copies of bodies (places.py), call graph -> by function: what it enters next, unseen
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from vprof.errors import VprofError
from vprof.program import callgraph
from vprof.program.elf import read_program
from vprof.program.metadata import Unit
from vprof.program.places import Places, read_places


def expanded_below(programs: Iterable[Path], names: Iterable[str]) -> dict[str, list[str]]:
    """By name: the functions with a probe that it enters next and that are expanded in some caller, sorted.

    Of programs that are gone or have no such probes nothing is said. Which caller has the copy is not asked: it may be
    another one.
    """
    units: list[Unit] = []
    copied: set[str] = set()
    for program in programs:
        with suppress(OSError, VprofError):
            if (places := read_places(program)).copies:
                of_program = read_program(program)
                units += of_program
                copied |= _copied(of_program, places)
    if not copied:
        return {}
    graph = callgraph.build(units)
    calls = [list(callees) for callees in graph.calls]
    ids = list(graph.number)
    found = {}
    for name in names:
        numbers = [f for f, other in enumerate(graph.names) if other == name]
        below = {child for f in numbers for child in callgraph.probed_children(graph, calls, f)}
        if unseen := sorted({graph.names[child] for child in below if ids[child] in copied}):
            found[name] = unseen
    return found


def _copied(units: Iterable[Unit], places: Places) -> set[str]:
    """Ids of functions with a copy in some caller."""
    return {
        function.id
        for unit in units
        for function in unit.functions
        if function.site is not None and unit.switch_addr + function.site in places.copies
    }
