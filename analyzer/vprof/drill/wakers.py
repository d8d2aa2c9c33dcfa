"""What to switch on in threads that intervals wait for while nothing that they run is on.

    Analysis.wakers + call graph  ->  share of the variance that lies there  ->  functions of the next step

A thread's work begins in a function that nobody calls, and often stays in a loop that was entered before its probe was
switched on, so that only what is called from there is seen. So what such functions lead to is switched on with them,
those first that the intervals' own functions never reach: they cost the intervals nothing. What turns out to hold
nothing of the variance goes off again after the step, as any function does.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from vprof.program import callgraph
from vprof.tables.kinds import WAKER
from vprof.tables.model import Program
from vprof.variance.analysis import Analysis

"""Stands for these threads among the factors and functions of a step."""
MANY = 200
"""So many functions are switched on at once because they may be what a thread runs."""


@dataclass(frozen=True)
class Unmeasured:
    """Threads that were waited for while nothing of theirs was on, as a factor. `share` of the variance (additive);
    `threads`: the names of those that matter, most first."""

    share: float
    threads: list[str]
    name: str = WAKER
    kind: str = "variance"

    @property
    def sites(self) -> list[str]:
        return []


def unmeasured(analysis: Analysis) -> Unmeasured:
    """Of the wakers with a positive share."""
    chosen = [waker for waker in analysis.wakers if waker.share > 0]
    share = sum(waker.share for waker in chosen)
    return Unmeasured(share, [waker.thread for waker in chosen if waker.share >= share / 10])


def next_on_wakers(analysis: Analysis, names: list[str], roots: Collection[str], over: Collection[str]) -> list[str]:
    """The first group of functions that has something new; sorted, empty if none has. `names` of the program's
    functions, `roots` of the intervals; what is in `over` is not switched on again."""
    program = analysis.trace.program
    numbers = {name: f for f, name in enumerate(names)}
    entries = {numbers[waker.entry] for waker in analysis.wakers if waker.entry in numbers and waker.share > 0}
    threads = _Threads(program, {f for f, name in enumerate(names) if name in roots}, entries)
    for group in threads.groups():
        new = sorted(names[f] for f in group if not program.on[f] and names[f] not in over)
        if new:
            return new
    return []


class _Threads:
    """The functions of a program by how likely threads other than the intervals' own are in them. `own`: roots of the
    intervals; `entries`: functions in which wakers are known to begin."""

    def __init__(self, program: Program, own: set[int], entries: set[int]) -> None:
        self._program = program
        self._calls = program.calls if program.call_graph is None else program.call_graph
        self._own, self._entries = own, entries

    def groups(self) -> Iterator[set[int]]:
        """What known entries enter; what unknown ones lead to and the intervals never reach, as many layers of it as
        MANY allows; then layer by layer, all."""
        yield self._entered(self._entries)
        layers = list(accumulate(self._layers(), operator.or_))
        private = [layer - self._reached for layer in layers]
        yield next((group for group in reversed(private) if len(group) <= MANY), set())
        yield from private[:1]
        yield from layers

    def _layers(self) -> Iterator[set[int]]:
        """What unknown entries enter, what that enters next, and so on; each function once."""
        layer = self._entered(self._uncalled)
        seen = set[int]()
        while layer:
            yield layer
            seen |= layer
            layer = {g for f in layer for g in self._next(f)} - seen

    def _entered(self, functions: set[int]) -> set[int]:
        """These, as far as they have a site, and the functions with one that they enter next."""
        mine = {f for f in functions if self._program.can_switch(f)}
        return mine | {g for f in functions for g in self._next(f)}

    @cached_property
    def _uncalled(self) -> set[int]:
        """Functions that nobody calls: threads, callbacks, the program itself."""
        called = {callee for f, callees in enumerate(self._calls) for callee in callees if callee != f}
        defined = {f for f, callees in enumerate(self._calls) if callees or self._program.can_switch(f)}
        return defined - called - self._own - self._outside

    @property
    def _outside(self) -> set[int]:
        """Functions of the C library, which no thread of the program begins in."""
        return {f for f in range(len(self._program.functions)) if self._program.is_of_the_c_library(f)}

    @cached_property
    def _reached(self) -> set[int]:
        return callgraph.reachable(self._calls, self._own)

    def _next(self, f: int) -> set[int]:
        """Functions with a site that f enters next, looking through those without."""
        found, seen, todo = set[int](), {f}, [f]
        while todo:
            for callee in self._calls[todo.pop()]:
                if callee not in seen:
                    seen.add(callee)
                    if self._program.can_switch(callee):
                        found.add(callee)
                    else:
                        todo.append(callee)
        return found
