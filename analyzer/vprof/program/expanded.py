"""What a compiler expanded in its callers, where a probe before the body does not see it.

programs with such probes -> copies of bodies (places.py) -> Expanded: which function has copies of which
  [seen_through] what a copy calls is called by who has it: the way of a drill-down goes on there
  [expanded_below] by function: the copies in it; [expanded_in_others] the other way round
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from vprof.errors import VprofError
from vprof.program import callgraph
from vprof.program.callgraph import CallGraph, Graph
from vprof.program.elf import ELF_ERRORS, read_program
from vprof.program.metadata import Function, Unit
from vprof.program.places import Places, read_places

_NAMED = 3
"""Functions that a message names."""


@dataclass(frozen=True)
class Expanded:
    """By id: `inside[f]` are the functions with a copy in f, if f has a no-op; `elsewhere` have one in some function
    without, of which only the address is known. `bodies` have a no-op."""

    inside: dict[str, set[str]] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)
    bodies: set[str] = field(default_factory=set)

    def add(self, other: Expanded) -> None:
        """What another program has."""
        for id_, copies in other.inside.items():
            self.inside.setdefault(id_, set()).update(copies)
        self.elsewhere.update(other.elsewhere)
        self.bodies.update(other.bodies)

    @property
    def only(self) -> set[str]:
        """Those that are nowhere but in others."""
        return set[str]().union(self.elsewhere, *self.inside.values()) - self.bodies


def sites_of(units: Iterable[Unit]) -> dict[int, Function]:
    """The functions of a program by the addresses of their switch bytes."""
    return {unit.switch_addr + f.site: f for unit in units for f in unit.functions if f.site is not None}


def expanded_in(program: Path, units: Iterable[Unit]) -> Expanded:
    """`units` are the program's. Nothing of a program that is gone, has no such probes or is another one by now."""
    sites = sites_of(units)
    if not any(function.before_body for function in sites.values()):
        return Expanded()
    try:
        places = _places(program, program.stat().st_mtime_ns)
    except (OSError, *ELF_ERRORS):
        return Expanded()
    if not (places.own | places.copies.keys()) <= sites.keys():
        return Expanded()
    found = Expanded(bodies={sites[byte].id for byte in places.own})
    for byte, begins in places.copies.items():
        for begin in begins:
            caller = places.bodies.get(begin)
            copies = found.elsewhere if caller is None else found.inside.setdefault(sites[caller].id, set())
            copies.add(sites[byte].id)
    return found


@lru_cache(maxsize=64)
def _places(program: Path, _changed_ns: int) -> Places:
    """Each step of a drill-down reads a trace of the same programs."""
    return read_places(program)


def copies_by_number(graph: CallGraph, expanded: Expanded) -> Graph:
    """By function of the graph: those with a copy in it. A function without a no-op may have the copies of what it
    calls, and of what these call."""
    elsewhere = {graph.number[id_] for id_ in expanded.elsewhere}
    found: Graph = []
    for f, id_ in enumerate(graph.number):
        if id_ in expanded.bodies:
            found.append(sorted(graph.number[copy] for copy in expanded.inside.get(id_, ())))
            continue
        queue = [g for g in graph.calls[f] if g in elsewhere]
        known = set(queue)
        for g in queue:
            new = [h for h in graph.calls[g] if h in elsewhere and h not in known]
            known.update(new)
            queue += new
        found.append(queue)
    return found


def seen_through(graph: CallGraph, expanded: Expanded) -> None:
    """Adds the calls of copies to the functions that have them. What is nowhere else has no site."""
    copies = copies_by_number(graph, expanded)
    for calls in (graph.calls, graph.candidates):
        added = [{h for g in inside for h in calls[g]} for inside in copies]
        for f, new in enumerate(added):
            calls[f] += sorted(new.difference(calls[f]))
    for id_ in expanded.only:
        graph.sited[graph.number[id_]] = False


def expanded_below(programs: Iterable[Path], names: Iterable[str]) -> dict[str, list[str]]:
    """By name: the functions with a probe that have a copy in it, sorted."""
    below: dict[str, set[str]] = {name: set() for name in names}
    for name, copies in _copies(programs):
        if name in below:
            below[name].update(copies)
    return {name: sorted(copies) for name, copies in below.items() if copies}


def expanded_in_others(programs: Iterable[Path], name: str) -> list[str]:
    """The other functions that have a copy of it, sorted."""
    return sorted({other for other, copies in _copies(programs) if name in copies and other != name})


def said_unseen(name: str, others: Sequence[str]) -> str:
    """`others`: of `expanded_in_others`, at least one."""
    names = ", ".join(others[:_NAMED]) + (f" and {len(others) - _NAMED} more" if len(others) > _NAMED else "")
    return (
        f"{name} is expanded in {names}, where its calls are not seen: to see them, name it in `roots` of a "
        "descriptor, or unset VPROF_PROBES, and build again"
    )


def _copies(programs: Iterable[Path]) -> Iterator[tuple[str, set[str]]]:
    """Functions, and which have a copy in them, by name. Of programs that are gone, nothing."""
    units, expanded = list[Unit](), Expanded()
    for program in programs:
        with suppress(OSError, VprofError):
            of_program = read_program(program)
            expanded.add(expanded_in(program, of_program))
            units += of_program
    graph = callgraph.build(units)
    for f, inside in enumerate(copies_by_number(graph, expanded)):
        yield graph.names[f], {graph.names[g] for g in inside}
