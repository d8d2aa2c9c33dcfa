"""What to switch on to see the waits that matter, known by their call stacks before any probe is on.

    Analysis.where_it_waits  ->  where the ways to waits that matter end or part, and the ways to where others end such
    waits, with the last callers  ->  the next step

So one step leads from the root to the function that waits, instead of one call further each time. Functions in between,
which all of such a way passes through, stay off: they would tell nothing more, and cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vprof.path.path_tree import display_names
from vprof.tables.kinds import L_BODY
from vprof.tables.model import NONE
from vprof.tables.naming import without_place
from vprof.variance.analysis import Analysis
from vprof.variance.wait_stacks import Stack

STACKS = "[waits]"
"""Stands for these stacks among the functions of a step."""
_OFTEN = 0.1
"""Where others end waits matters if it is in this part of such stacks."""
_PASSED = 0.9
"""A function from which this part of its waits is in one of its callees is passed through."""
_CALLERS = 3
_COVERS = 0.75
"""A function's children are left alone while waits further down hold this part of its share."""
_ENOUGH = 100
"""Samples of waits after which it is clear where to go on."""


@dataclass(frozen=True)
class Seen:
    """Stacks of waits, as a factor. `share` of the variance (additive) of all that were seen."""

    share: float
    name: str = STACKS
    kind: str = "variance"

    @property
    def sites(self) -> list[str]:
        return []


def next_on_paths(analysis: Analysis, names: Sequence[str], roots: Collection[str], over: Collection[str]) -> list[str]:
    """Functions that are not on yet and lead to waits that matter, or to where others end waits; sorted. `names` of the
    program's functions, `roots` of the intervals, above which nothing tells more; what is in `over` is not switched on
    again."""
    where, program = analysis.where_it_waits, analysis.trace.program
    by_name = _sited(analysis)
    waits = [(_below(wait.functions, roots), wait.share) for wait in where.waits]
    waiting = telling(waits, by_name, analysis.least_share)
    if not waiting:
        return []
    ending = telling(where.releases.items(), by_name, _OFTEN * where.releases_seen)
    chosen = {names[f] for name in waiting | ending for f in by_name[name] if not program.on[f]}
    return sorted(chosen - set(over))


def is_clear(analysis: Analysis, names: Sequence[str], roots: Collection[str], over: Collection[str]) -> bool:
    """Whether enough waits were seen to tell where to go on, and there is something to switch on."""
    samples = sum(wait.samples for wait in analysis.where_it_waits.waits)
    return samples >= _ENOUGH and not analysis.no_ranking and bool(next_on_paths(analysis, names, roots, over))


def covered(analysis: Analysis, function: str, share: float) -> bool:
    """Whether waits in functions below this one, as stacks have them, explain most of its `share` of the variance: they
    lead further than its children. Waits in itself may be in children that were inlined; and what it executes outside
    of functions that are on, as a waker too, is in no stack."""
    if _executed(analysis, function) > (1 - _COVERS) * share:
        return False
    name, known, below = without_place(function), _sited(analysis), 0.0
    for wait in analysis.where_it_waits.waits:
        path = [one for one in wait.functions if one in known]
        below += wait.share if name in path[:-1] and path[-1] != name else 0.0
    return below >= _COVERS * share > 0


def _executed(analysis: Analysis, function: str) -> float:
    """The share of a function's own time, wherever it is."""
    paths, names = analysis.tree.paths, display_names(analysis.trace)
    own = np.flatnonzero(paths.pseudo == L_BODY)
    callers = paths.function[paths.parent[own]].tolist()
    return float(
        sum(analysis.tree.share[x] for x, f in zip(own, callers, strict=True) if f != NONE and names[f] == function)
    )


def _sited(analysis: Analysis) -> dict[str, list[int]]:
    """By name: the functions that can be switched."""
    program = analysis.trace.program
    by_name = defaultdict(list)
    for f, name in enumerate(program.functions):
        if program.can_switch(f):
            by_name[name].append(f)
    return by_name


def _below(stack: Stack, roots: Collection[str]) -> Stack:
    """The stack from its first root on."""
    of_roots = {without_place(root) for root in roots}
    first = next((i for i, name in enumerate(stack) if name in of_roots), 0)
    return stack[first:]


def telling(stacks: Iterable[tuple[Stack, float]], known: Collection[str], least: float) -> set[str]:
    """Functions of `known` that hold at least this much of the stacks' weights and are not passed through; and where a
    way ends, the last of its callers, which say what a helper that waits for many was called for."""
    weight: dict[str, float] = defaultdict(float)
    onward: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    callers: dict[str, set[str]] = defaultdict(set)
    for stack, own in stacks:
        path = [name for name in stack if name in known]
        for name, i in {name: i for i, name in enumerate(path)}.items():
            weight[name] += own
            if i + 1 < len(path):
                onward[name][path[i + 1]] += own
            else:
                callers[name].update(path[max(0, i - _CALLERS) : i])
    heavy = {name for name, own in weight.items() if own >= least > 0}
    found = {name for name in heavy if max(onward[name].values(), default=0.0) < _PASSED * weight[name]}
    return found | {caller for name in found for caller in callers[name]} & heavy
