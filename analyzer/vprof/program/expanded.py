"""What a compiler expanded in its callers, where a probe before the body does not see it.

programs with such probes -> copies of bodies (places.py) -> ids of functions
  [seen_through] what a copy calls is called by who has it: the way of a drill-down goes on there
  [expanded_below] by function: what it enters next, unseen
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from vprof.errors import VprofError
from vprof.program import callgraph
from vprof.program.callgraph import CallGraph
from vprof.program.elf import ELF_ERRORS, read_program
from vprof.program.metadata import Unit
from vprof.program.places import Places, read_places


@dataclass(frozen=True)
class Expanded:
    """Ids of functions with a copy in some caller, and of those among them that are nowhere else."""

    copied: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()


def expanded_in(program: Path, units: Iterable[Unit]) -> Expanded:
    """`units` are the program's. Nothing of a program that is gone, has no such probes or is another one by now."""
    sites = {unit.switch_addr + f.site: f for unit in units for f in unit.functions if f.site is not None}
    if not any(function.before_body for function in sites.values()):
        return Expanded()
    try:
        places = _places(program, program.stat().st_mtime_ns)
    except (OSError, *ELF_ERRORS):
        return Expanded()
    if not places.copies or not (places.own | places.copies.keys()) <= sites.keys():
        return Expanded()
    own = {sites[byte].id for byte in places.own}
    copied = {sites[byte].id for byte in places.copies}
    return Expanded(frozenset(copied), frozenset(copied - own))


@lru_cache(maxsize=64)
def _places(program: Path, _changed_ns: int) -> Places:
    """Each step of a drill-down reads a trace of the same programs."""
    return read_places(program)


def seen_through(graph: CallGraph, expanded: Expanded) -> None:
    """Adds the calls of copies to the functions that may have them. What is nowhere else has no site."""
    copied = {graph.number[id_] for id_ in expanded.copied}
    for calls in (graph.calls, graph.candidates):
        for f, callees in enumerate(calls):
            known, queue = set(callees), list(graph.calls[f])
            for g in queue:
                if g in copied:
                    new = [h for h in calls[g] if h not in known]
                    known.update(new)
                    callees += new
                    queue += [h for h in graph.calls[g] if h not in queue]
    for id_ in expanded.only:
        graph.sited[graph.number[id_]] = False


def expanded_below(programs: Iterable[Path], names: Iterable[str]) -> dict[str, list[str]]:
    """By name: the functions with a probe that it, or a copy below it, enters next and that are expanded in some
    caller, sorted. Which caller has the copy is not asked: it may be another one."""
    units: list[Unit] = []
    copied: set[str] = set()
    for program in programs:
        with suppress(OSError, VprofError):
            of_program = read_program(program)
            if found := expanded_in(program, of_program).copied:
                units += of_program
                copied |= found
    if not copied:
        return {}
    graph = callgraph.build(units)
    numbers = {graph.number[id_] for id_ in copied}
    below = {}
    for name in names:
        queue = [f for f, other in enumerate(graph.names) if other == name]
        unseen = set[int]()
        for f in queue:
            new = callgraph.probed_children(graph, graph.calls, f).keys() & numbers - unseen
            unseen |= new
            queue += sorted(new)
        if unseen:
            below[name] = sorted({graph.names[f] for f in unseen})
    return below
