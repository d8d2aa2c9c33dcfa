"""What the call graph says of a program and of single functions, for people who wonder about a height or a child.

    programs, traces -> [read] Knowledge: units + calls seen -> [inspect] Inspection -> summary, about a function

The reports are plain data, schema `vprof-callgraph/1` (report/callgraph.py has its text form):

    schema      "vprof-callgraph/1"
    roots       where paths are counted from; [] if none was given and there is no `main`
    summary     functions (defined), external, sites, left {reason: n}, direct_calls, observed_calls (distinct callers
                and callees), indirect_calls, virtual_calls (places in the source), reachable (from the roots, else
                all), largest_group {size, share of the reachable, members}, highest [{name, place, height}],
                call_paths (from the roots), units {instrumented, unchanged {reason: n}}, warnings; in builds with
                probes before bodies expanded {functions: expanded in callers, everywhere: of these, without a body of
                their own}
    functions   instead of `summary`: one for each function asked for:
                name, id, place ("file:line", "" without source), site, left (why it has no site, else null), ignored
                (calls of it do not count for heights), height, chain (the names that make the height), group (the
                names of its recursive group, itself included, [] if none), comes_back (callees whose calls do not
                count, since they come back), paths_from_root (null without roots), paths_below,
                expanded (in how many functions, where its calls are not seen: builds with probes before bodies)
                children [{name, place, how, via}]: what a drill switches on; `via` has no site, or is null
                callees, callers [{name, place, how}]; unfollowed ["file:line"]: calls through pointers of which
                no callee is known

`how` is direct, observed (only seen at run time), virtual (the call may mean it) or pointer (its address is taken with
the type of the call). Paths are counted with recursive groups as one, as exact integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from vprof.errors import UsageError, VprofError
from vprof.program import callgraph
from vprof.program.callgraph import CallGraph, Graph
from vprof.program.elf import read_program
from vprof.program.heights import acyclic, heights, longest_chain
from vprof.program.metadata import Function, Unit, parse_units
from vprof.program.places import read_places
from vprof.tables.model import Int32
from vprof.trace.chunks import is_trace, read_chunks
from vprof.trace.described import RECURSION_WARNING

SCHEMA = "vprof-callgraph/1"
_HIGHEST = 10
NO_SOURCE = "no source"
"""Why a function that no unit defines has no site."""


@dataclass
class Knowledge:
    """Units of one or several programs, and calls that nested at run time, as (id of the caller, id of the callee)."""

    units: list[Unit] = field(default_factory=list)
    nested: set[tuple[str, str]] = field(default_factory=set)
    expanded: dict[str, set[tuple[Path, int]]] = field(default_factory=dict)
    """By id of a function whose probe stands before its body: the functions where it is expanded."""
    with_body: set[str] = field(default_factory=set)
    """Those that have such a probe."""

    def add_units(self, units: Iterable[Unit]) -> None:
        """Units that are known already, as those of a trace and of the program it is of, count once."""
        known = {(unit.unit, unit.switch_addr, len(unit.functions)) for unit in self.units}
        self.units += [unit for unit in units if (unit.unit, unit.switch_addr, len(unit.functions)) not in known]

    def add_places(self, program: Path, units: Iterable[Unit]) -> None:
        """Of the probes before bodies in a program of these units."""
        places = read_places(program)
        for unit in units if places.own or places.copies else ():
            for function in unit.functions:
                if function.site is None:
                    continue
                byte = unit.switch_addr + function.site
                if byte in places.own:
                    self.with_body.add(function.id)
                for begin in places.copies.get(byte, ()):
                    self.expanded.setdefault(function.id, set()).add((program, begin))

    def read(self, path: Path) -> None:
        """A program or a trace. Raises VprofError when it is neither, or knows nothing of its functions."""
        if not is_trace(path):
            units = read_program(path)
            self.add_units(units)
            self.add_places(path, units)
            return
        units = [unit for content in read_chunks(path).metadata.values() for unit in parse_units(content, str(path))]
        if not units:
            raise VprofError(f"{path}: no program in this trace was built with CC=vprof-cc")
        self.add_units(units)
        from vprof.trace.reading import read_nested_calls

        sites, nested = read_nested_calls(path)
        ids = list(sites.graph.number)
        self.nested.update((ids[caller], ids[callee]) for caller, callee in nested)


class Inspection:
    """The call graph of what is known. `roots` are names; the default is `main`, if there is one.

    Raises UsageError when a root is not there.
    """

    def __init__(self, knowledge: Knowledge, roots: Sequence[str] = ()) -> None:
        self.units = knowledge.units
        self.knowledge = knowledge
        self.graph: CallGraph = callgraph.build(knowledge.units)
        number = self.graph.number
        nested = [(number[f], number[g]) for f, g in sorted(knowledge.nested) if f in number and g in number]
        self.calls: Graph = [list(callees) for callees in self.graph.calls]
        self.observed = callgraph.add_observed(self.calls, nested)
        self.counted = self.graph.counted(self.calls)
        self.keys = self.graph.keys()
        seen = self.graph.counted_pairs(nested)
        self.counting = acyclic(self.counted, self.keys, self.graph.apart(), seen)
        self.height: Int32 = heights(self.counting)
        wanted = roots or (["main"] if "main" in self.graph.names else [])
        self.roots = [f for name in wanted for f in self._named(name)]
        self.functions: dict[int, Function] = {}
        for unit in self.units:
            for function in unit.functions:
                self.functions.setdefault(number[function.id], function)

    def matching(self, patterns: Sequence[str]) -> list[int]:
        """Functions by name or glob, in the order of their names. Raises UsageError for what matches none."""
        found = {f for pattern in patterns for f in self._named(pattern)}
        return sorted(found, key=self.keys.__getitem__)

    def _named(self, pattern: str) -> list[int]:
        names = self.graph.names
        found = [f for f, name in enumerate(names) if name == pattern]
        found = found or [f for f, name in enumerate(names) if fnmatchcase(name, pattern)]
        if not found:
            near = get_close_matches(pattern, names, n=3)
            raise UsageError(f"no function matches '{pattern}'" + (f"; near misses: {', '.join(near)}" if near else ""))
        return found

    @cached_property
    def groups(self) -> dict[int, list[int]]:
        """The recursive group of each function that has one."""
        return {f: members for members in callgraph.components(self.counted) if len(members) > 1 for f in members}

    @cached_property
    def callers(self) -> Graph:
        """Who calls or may call each function."""
        callers: Graph = [[] for _ in self.calls]
        for f in range(len(self.calls)):
            for callee in {*self.calls[f], *self.graph.candidates[f]}:
                callers[callee].append(f)
        return callers

    @cached_property
    def paths(self) -> list[int]:
        """Call paths from the roots to each function."""
        return callgraph.paths_to(self.calls, self.roots)

    def how(self, caller: int, callee: int) -> str:
        """How a caller calls or may call a callee."""
        if callee in self.calls[caller]:
            return "observed" if (caller, callee) in self.observed else "direct"
        return "virtual" if callee in self.graph.virtual[caller] else "pointer"

    def no_site(self, f: int) -> str | None:
        """Why a function has no site."""
        if self.graph.sited[f]:
            return None
        return str(self.functions[f].no_site) if f in self.functions else NO_SOURCE


def summarize(inspection: Inspection) -> dict[str, Any]:
    """The report on the whole program."""
    graph, functions = inspection.graph, inspection.functions
    reachable = callgraph.reachable(inspection.calls, inspection.roots or range(len(graph.names)))
    largest = max((members for f, members in inspection.groups.items() if f in reachable), key=len, default=[])
    share = len(largest) / max(1, len(reachable))
    by_height = sorted(range(len(graph.names)), key=lambda f: (-inspection.height[f], inspection.keys[f]))
    unchanged = [unit.reason.split(":")[0] for unit in inspection.units if unit.status != "instrumented"]
    summary = {
        "functions": len(functions),
        "external": len(graph.names) - len(functions),
        "sites": sum(graph.sited),
        "left": dict(Counter(inspection.no_site(f) for f in functions if not graph.sited[f]).most_common()),
        "direct_calls": sum(map(len, graph.calls)),
        "observed_calls": len(inspection.observed),
        "indirect_calls": sum(len(function.indirect) for function in functions.values()),
        "virtual_calls": sum(len(function.virtual) for function in functions.values()),
        "reachable": len(reachable),
        "largest_group": {"size": len(largest), "share": share, "members": _names(inspection, largest)},
        "highest": [{**_place(inspection, f), "height": int(inspection.height[f])} for f in by_height[:_HIGHEST]],
        "call_paths": callgraph.call_paths(inspection.calls, inspection.roots),
        "units": {
            "instrumented": len(inspection.units) - len(unchanged),
            "unchanged": dict(Counter(unchanged).most_common()),
        },
        "warnings": _warnings(share, len(largest)),
    }
    expanded = inspection.knowledge.expanded
    if expanded or inspection.knowledge.with_body:
        everywhere = len(expanded.keys() - inspection.knowledge.with_body)
        summary["expanded"] = {"functions": len(expanded), "everywhere": everywhere}
    return {**_head(inspection), "summary": summary}


def describe(inspection: Inspection, chosen: Sequence[int]) -> dict[str, Any]:
    """The report on some functions."""
    return {**_head(inspection), "functions": [_function(inspection, f) for f in chosen]}


def _head(inspection: Inspection) -> dict[str, Any]:
    return {"schema": SCHEMA, "roots": _names(inspection, inspection.roots)}


def _warnings(share: float, size: int) -> list[str]:
    if size < 2 or share < RECURSION_WARNING:
        return []
    return [
        f"{share:.0%} of the reachable functions call each other: heights say little; name error and exit functions in "
        "ignore_for_height"
    ]


def _function(inspection: Inspection, f: int) -> dict[str, Any]:
    graph, calls = inspection.graph, inspection.calls
    chain = longest_chain(inspection.counting, inspection.height, inspection.keys, f)
    entered = callgraph.probed_children(graph, calls, f)
    children = sorted(entered, key=inspection.keys.__getitem__)
    lost = set(inspection.counted[f]) - set(inspection.counting[f])
    callees = {*calls[f], *graph.candidates[f]}
    return {
        **_place(inspection, f),
        "id": inspection.keys[f][1],
        "site": graph.sited[f],
        "left": inspection.no_site(f),
        "ignored": graph.ignored[f],
        "height": int(inspection.height[f]),
        "chain": [graph.names[g] for g in chain],
        "group": _names(inspection, inspection.groups.get(f, [])),
        "comes_back": _names(inspection, lost),
        "paths_from_root": inspection.paths[f] if inspection.roots else None,
        "paths_below": callgraph.call_paths(calls, [f]),
        **_expanded(inspection, f),
        "children": [_child(inspection, f, child, entered[child]) for child in children],
        "callees": [_edge(inspection, f, g, g) for g in sorted(callees, key=inspection.keys.__getitem__)],
        "unfollowed": graph.unfollowed.get(f, []),
        "callers": [_edge(inspection, g, f, g) for g in sorted(inspection.callers[f], key=inspection.keys.__getitem__)],
    }


def _expanded(inspection: Inspection, f: int) -> dict[str, int]:
    id_, knowledge = inspection.keys[f][1], inspection.knowledge
    if id_ not in knowledge.expanded and id_ not in knowledge.with_body:
        return {}
    return {"expanded": len(knowledge.expanded.get(id_, ()))}


def _child(inspection: Inspection, f: int, child: int, via: int) -> dict[str, Any]:
    edge = _edge(inspection, via, child, child)
    return {**edge, "via": None if via == f else inspection.graph.names[via]}


def _edge(inspection: Inspection, caller: int, callee: int, shown: int) -> dict[str, Any]:
    return {**_place(inspection, shown), "how": inspection.how(caller, callee)}


def _place(inspection: Inspection, f: int) -> dict[str, Any]:
    return {"name": inspection.graph.names[f], "place": inspection.graph.definitions[f]}


def _names(inspection: Inspection, functions: Iterable[int]) -> list[str]:
    return [inspection.graph.names[f] for f in sorted(functions, key=inspection.keys.__getitem__)]
