"""Call sites: where in its caller a function was called, for calls of one function that stand at several places.

    numbered calls of the units + (caller, call number, callee) of every invocation -> a place "file:line" for it
    low bits of a return address in its place, and the caller's machine code -> the same (program/returns.py)

Source: docs/algorithms.md section 3 (frames are told apart by call site); runtime/abi/PROBE_ABI.md "Call numbers". A
caller sets its number before a numbered call and leaves it until the next one, so a number only counts for a callee
that it was given for: the function called there, or, if that has no probe, one that it enters.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from vprof.program.callgraph import CallGraph, probed_children
from vprof.tables.kernels import kernel
from vprof.tables.lookup import distinct
from vprof.tables.model import NONE, Int32, Int64, UInt16
from vprof.trace.invocations import Calls

if TYPE_CHECKING:
    from vprof.program.returns import Returns

_NUMBERS = 1 << 10
"""Call numbers of one caller (runtime/TRACE_FORMAT.md section 2)."""

UNKNOWN = ""
"""The site of a call that nobody numbered: its caller alone tells it apart."""


class CallSites:
    """Grows with every window of calls. `names` of the call sites, the first one UNKNOWN; `nested`: (caller, callee) of
    calls that lay directly in another; `entries`: functions with calls that lay in none."""

    def __init__(self, graph: CallGraph, returns: Returns | None = None) -> None:
        self.names = [UNKNOWN]
        self.nested: set[tuple[int, int]] = set()
        self.entries: set[int] = set()
        self._graph, self._returns = graph, returns
        self._numbers = {UNKNOWN: 0}
        self._sites: dict[int, int] = {}

    def of(self, calls: Calls, function: Int32) -> Int32:
        """The site of each call."""
        keys, which = distinct(_keys(calls.parent, function, calls.call, len(self._graph.names)))
        for key in keys.tolist():
            if key not in self._sites:
                self._sites[key] = self._meet(key)
        found: Int32 = np.array([self._sites[key] for key in keys.tolist()], np.int32)[which]
        return found

    def learn(self, names: list[str], nested: set[tuple[int, int]], entries: set[int]) -> None:
        """What others met in other windows."""
        for place in names:
            self._number(place)
        self.nested |= nested
        self.entries |= entries

    def _number(self, place: str) -> int:
        if place not in self._numbers:
            self._numbers[place] = len(self.names)
            self.names.append(place)
        return self._numbers[place]

    def _meet(self, key: int) -> int:
        rest, callee = divmod(key, len(self._graph.names))
        caller, number = divmod(rest, _NUMBERS)
        if caller == len(self._graph.names):
            self.entries.add(callee)
            return 0
        self.nested.add((caller, callee))
        if self._returns is not None and not self._graph.numbered[caller]:
            return self._number(self._returns.place(caller, number, callee, self._graph.names[callee]))
        return self._number(_place(self._graph, caller, number, callee))


@kernel
def _keys(parent: Int64, function: Int32, call: UInt16, functions: int) -> Int64:
    """(caller, call number, callee) of each call as one number. A call that lies in none has the caller
    `functions`."""
    keys = np.empty(len(parent), np.int64)
    for i in range(len(parent)):
        caller = functions if parent[i] == NONE else np.int64(function[parent[i]])
        keys[i] = (caller * _NUMBERS + np.int64(call[i])) * functions + np.int64(function[i])
    return keys


def _place(graph: CallGraph, caller: int, number: int, callee: int) -> str:
    """The file and line of a numbered call; UNKNOWN if the number was not set for this callee."""
    numbered = graph.numbered[caller].get(number)
    if number == 0 or numbered is None or not _leads_to(graph, caller, numbered[0], callee):
        return UNKNOWN
    line = numbered[1]
    same = [n for n, (f, at) in sorted(graph.numbered[caller].items()) if at == line and f == numbered[0]]
    file = PurePath(graph.definitions[caller].rpartition(":")[0]).name
    return f"{file}:{line}" + (f" #{same.index(number) + 1}" if len(same) > 1 else "")


def _leads_to(graph: CallGraph, caller: int, named: int, callee: int) -> bool:
    if callee in graph.meant.get(named, [named]):
        return True
    by_itself = callee in graph.calls[caller] or callee in graph.candidates[caller]
    through = not graph.sited[named] and not by_itself
    return through and callee in probed_children(graph, graph.calls, named)
