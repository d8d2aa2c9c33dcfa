"""Where the intervals wait, by call stacks, as far as probes do not show it: rows and paths for the terminal."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from vprof.variance.analysis import Analysis
from vprof.variance.wait_stacks import Stack, WaitStack

_MOST = 3
_MOST_FRAMES = 6


@dataclass(frozen=True)
class Place:
    """A function that waits, or the innermost one with a site above it. `share` of the variance, `total_ns` in all
    intervals; `path`: the stack that holds most of it."""

    function: str
    share: float
    total_ns: int
    path: str


def places(analysis: Analysis) -> list[Place]:
    """Those that matter and are off, greatest share first; empty where nothing is ranked."""
    if analysis.no_ranking:
        return []
    program = analysis.trace.program
    sited = {name for f, name in enumerate(program.functions) if program.can_switch(f)}
    on = {name for f, name in enumerate(program.functions) if program.on[f]}
    groups: dict[str, list[WaitStack]] = defaultdict(list)
    for wait in analysis.where_it_waits.waits:
        known = [name for name in wait.functions if name in sited]
        if known:
            groups[known[-1]].append(wait)
    found = [
        Place(name, sum(w.share for w in waits), sum(w.total_ns for w in waits), _path(waits[0].functions))
        for name, waits in groups.items()
        if name not in on
    ]
    matter = [place for place in found if place.share >= analysis.least_share]
    return sorted(matter, key=lambda place: (-place.share, place.function))[:_MOST]


def _path(stack: Stack) -> str:
    shown = stack if len(stack) <= _MOST_FRAMES else (stack[0], "…", *stack[1 - _MOST_FRAMES :])
    return " > ".join(shown)
