"""Call sites: where in its caller a function was called, for calls of one function that stand at several places.

    numbered calls of the units + (caller, call number, callee) of every invocation -> a place "file:line" for it

Source: ALGORITHMS section 3 (frames are distinguished by call site); runtime/PROBE_ABI.md "Call numbers". A caller sets
its number before a numbered call and leaves it until the next one, so a number only counts for a callee that it was
given for: the function called there, or, if that has no probe, one that it enters.
"""

from __future__ import annotations

from pathlib import PurePath

import numpy as np

from vprof.callgraph import CallGraph, probed_children
from vprof.invocations import Calls
from vprof.model import NONE, Int32, Int64

_NUMBERS = 1 << 10
"""Call numbers of one caller (runtime/TRACE_FORMAT.md section 2)."""

UNKNOWN = ""
"""The site of a call that nobody numbered: its caller alone tells it apart."""


def call_sites(graph: CallGraph, calls: Calls, function: Int32) -> tuple[list[str], Int32]:
    """The names of all call sites, the first one UNKNOWN, and the site of each call."""
    names = {UNKNOWN: 0}
    site = np.zeros(len(function), np.int32)
    rows = np.flatnonzero((calls.call != 0) & (calls.parent != NONE))
    if len(rows) == 0:
        return [UNKNOWN], site
    caller = function[calls.parent[rows]].astype(np.int64)
    triples, which = _distinct(caller, calls.call[rows].astype(np.int64), function[rows], len(graph.names))
    found = [_place(graph, *triple) for triple in triples]
    site[rows] = np.array([names.setdefault(place, len(names)) for place in found], np.int32)[which]
    return list(names), site


def _distinct(caller: Int64, call: Int64, callee: Int32, functions: int) -> tuple[list[tuple[int, int, int]], Int64]:
    """Each (caller, call number, callee) once, and for every row the position of its own."""
    keys, which = np.unique((caller * _NUMBERS + call) * functions + callee, return_inverse=True)
    rest, callees = np.divmod(keys, functions)
    callers, numbers = np.divmod(rest, _NUMBERS)
    return list(zip(callers.tolist(), numbers.tolist(), callees.tolist(), strict=True)), which


def _place(graph: CallGraph, caller: int, number: int, callee: int) -> str:
    """The file and line of a numbered call; UNKNOWN if the number was not set for this callee."""
    numbered = graph.numbered[caller].get(number)
    if numbered is None or not _leads_to(graph, caller, numbered[0], callee):
        return UNKNOWN
    line = numbered[1]
    same = [n for n, (f, at) in sorted(graph.numbered[caller].items()) if at == line and f == numbered[0]]
    file = PurePath(graph.places[caller].rpartition(":")[0]).name
    return f"{file}:{line}" + (f" #{same.index(number) + 1}" if len(same) > 1 else "")


def _leads_to(graph: CallGraph, caller: int, named: int, callee: int) -> bool:
    if callee in graph.meant.get(named, [named]):
        return True
    by_itself = callee in graph.calls[caller] or callee in graph.candidates[caller]
    through = not graph.sited[named] and not by_itself
    return through and callee in probed_children(graph, graph.calls, named)
