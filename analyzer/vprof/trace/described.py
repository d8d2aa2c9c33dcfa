"""What a trace knows of the program: functions behind site numbers, heights (model.Program).

module events + unit metadata -> site number -> function;  calls seen + call graph -> Program
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vprof.errors import VprofError
from vprof.program import callgraph
from vprof.program.callgraph import CallGraph
from vprof.program.heights import acyclic, group_sizes, heights, with_observed
from vprof.program.metadata import Unit, parse_units
from vprof.tables.model import NONE, Bool, Int32, Int64, Program
from vprof.trace.chunks import TraceFile

if TYPE_CHECKING:
    from vprof.program.returns import Returns

RECURSION_WARNING = 0.2
"""Share of the reachable functions in the largest recursive group from which on heights say little
(docs/algorithms.md section 5)."""


@dataclass(frozen=True)
class Sites:
    """Site numbers, sorted, and the function of each. `remarks` are for the report; `before_bodies` counts functions
    with their probe there, `returns` tells where they were called."""

    graph: CallGraph
    number: Int64
    function: Int32
    remarks: list[str]
    before_bodies: int
    returns: Returns | None

    def functions(self, numbers: Int32 | Int64) -> Int32:
        """The functions of site numbers that `read_sites` was told of."""
        return self._table[numbers]

    @cached_property
    def _table(self) -> Int32:
        table = np.zeros(int(self.number.max(initial=NONE)) + 1, np.int32)
        table[self.number] = self.function
        return table


def read_sites(file: TraceFile, seen: Int64) -> Sites:
    """Joins modules and their metadata. Numbers in `seen` without metadata get functions named "site N"."""
    units: list[Unit] = []
    numbers: dict[int, str] = {}
    remarks = []
    programs: list[_Module] = []
    for module in {module["index"]: module for module in file.of("module")}.values():
        content = file.metadata.get(module["index"], b"")
        try:
            of_module = parse_units(content, module["path"])
            own = _numbers(module, of_module)
        except VprofError as error:
            of_module, own = [], []
            remarks.append(str(error))
        if module["state"] == "unaligned":
            remarks.append(f"{module['path']} was not linked with vprof-cc: its probes stay off")
            units += [_dormant(unit) for unit in of_module]
        else:
            units += of_module
            numbers.update(own)
            programs.append(_Module(Path(module["path"]), module.get("build_id", ""), content, of_module))
    graph = callgraph.build(units)
    returns = _see_through(graph, programs, file.path.parent, remarks)
    nameless = [int(number) for number in seen if int(number) not in numbers]
    for number in nameless:
        numbers[number] = f"site {number}"
        graph.sited[graph.add(numbers[number], numbers[number])] = True
    if nameless:
        remarks.append(f"{len(nameless)} sites have no metadata in the trace: they are shown by number")
    ordered = sorted(numbers)
    function = np.array([graph.number[numbers[number]] for number in ordered], np.int32)
    before = {f.id for unit in units for f in unit.functions if f.before_body and f.site is not None}
    return Sites(graph, np.array(ordered, np.int64), function, remarks, len(before), returns)


@dataclass(frozen=True)
class _Module:
    """As a trace has it: where it was, what its linker made it known by, and its metadata, raw and read."""

    path: Path
    build_id: str
    content: bytes
    units: list[Unit]


def _see_through(graph: CallGraph, modules: list[_Module], beside: Path, remarks: list[str]) -> Returns | None:
    """Functions that are expanded in their callers are no way's end. Where the others are called from, if any has its
    probe before the body. Both are read from the modules' files, where they were or `beside` the trace; a remark says
    which is not there as it was recorded."""
    before = [module for module in modules if any(f.before_body for unit in module.units for f in unit.functions)]
    if not before:
        return None
    # These read programs, which takes a library.
    from vprof.program.elf import is_same_build
    from vprof.program.expanded import Expanded, expanded_in, seen_through, sites_of
    from vprof.program.returns import Returns

    expanded = Expanded()
    known: list[tuple[Path, dict[int, int]]] = []
    for module in before:
        places = module.path, beside / module.path.name
        path = next((path for path in places if is_same_build(path, module.content, module.build_id)), None)
        if path is None:
            remarks.append(
                f"{module.path} is not there as it was recorded, nor in the trace's folder, where a copy would do: "
                "places of calls and expanded functions are not known"
            )
            continue
        expanded.add(expanded_in(path, module.units))
        known.append((path, {byte: graph.number[f.id] for byte, f in sites_of(module.units).items()}))
    seen_through(graph, expanded)
    return Returns(known)


def _dormant(unit: Unit) -> Unit:
    """The unit without sites: it counts for the call graph alone."""
    return replace(unit, functions=[function._replace(site=None) for function in unit.functions])


def _numbers(module: dict[str, Any], units: list[Unit]) -> list[tuple[int, str]]:
    """(site number, function id) of a module's sites (runtime/TRACE_FORMAT.md section 3). Raises VprofError when they
    are not the module's."""
    base, shift = module["base"], module["base"] - module["section_addr"]
    found = [
        (unit.switch_addr + function.site + shift, function.id)
        for unit in units
        for function in unit.functions
        if function.site is not None
    ]
    if not all(base <= number < base + module["count"] for number, _ in found):
        raise VprofError(f"{module['path']}: its unit metadata are of another module: they are not used")
    return found


def describe(sites: Sites, on: Int64, observed: list[tuple[int, int]], entries: Int32) -> tuple[Program, list[str]]:
    """The Program, and remarks on it.

    `on` are site numbers, `observed` (caller, callee) frames that nested, `entries` outermost functions of threads.

    A function is *complete* when its probe was on and so were those of all functions with a site that it enters next:
    by direct calls, by observed ones, by pointers; it is not where it calls through a pointer what nobody knows.
    Functions without a site (external, small, excluded) are looked through, not asked for. Calls into functions that
    the graph ignores do not count for heights; those that were observed do first.
    The root height is that of the highest function above an outermost one, since the entry function of a thread may
    be off.
    """
    graph = sites.graph
    calls = [list(callees) for callees in graph.calls]
    callgraph.add_observed(calls, observed)
    counted = graph.counted(calls)
    seen = graph.counted_pairs(observed)
    height = heights(acyclic(counted, graph.keys(), graph.apart(), seen))
    above = callgraph.ancestors(counted, {int(f) for f in entries})
    is_on = _functions_on(sites, on)
    children = {int(f): callgraph.probed_children(graph, calls, int(f)) for f in np.flatnonzero(is_on)}
    unfollowed = {f: places for f in children if (places := callgraph.unfollowed_calls(graph, calls, f))}
    complete = [f in children and f not in unfollowed and all(is_on[c] for c in children[f]) for f in range(len(is_on))]
    program = Program(
        functions=graph.names,
        definitions=graph.definitions,
        calls=[sorted({*callees, *children.get(f, ())}) for f, callees in enumerate(calls)],
        height=height,
        root_height=max((int(height[f]) for f in above), default=0),
        on=is_on,
        complete=np.array(complete, np.bool_),
        switchable=np.array(graph.sited, np.bool_) & ~np.array(graph.ignored, np.bool_),
        call_graph=calls,
        group_size=group_sizes(with_observed(counted, seen)),
        unfollowed=unfollowed,
    )
    return program, _recursion(counted, callgraph.reachable(calls, map(int, entries)), program.functions)


def _functions_on(sites: Sites, on: Int64) -> Bool:
    functions = np.zeros(len(sites.graph.names), np.bool_)
    functions[sites.function[np.isin(sites.number, on)]] = True
    return functions


def _recursion(counted: callgraph.Graph, below: set[int], names: list[str]) -> list[str]:
    """A warning if most of what the entries reach is one recursive group."""
    groups = callgraph.components([callees if f in below else [] for f, callees in enumerate(counted)])
    largest = max(groups, key=len, default=[])
    if len(largest) < 2 or len(largest) < RECURSION_WARNING * len(below):
        return []
    return [
        f"{len(largest)} of {len(below)} reachable functions call each other ({names[largest[0]]}, ...): heights say "
        "little; name error and exit functions in ignore_for_height"
    ]
