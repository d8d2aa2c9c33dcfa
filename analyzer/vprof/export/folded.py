"""Folded stacks, one line each with its nanoseconds: what flamegraph.pl, inferno and speedscope read.

The time is that on the critical paths of all intervals: lines add up to the sum of their latencies. What a waker did is
below the `[blocked]` of the function that waited for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from vprof.report.page.plain import plain
from vprof.variance.analysis import Analysis


def folded(analysis: Analysis) -> Iterator[str]:
    """Lines without their ends, heaviest subtrees in no special order. A `;` in a name becomes a comma."""
    tree = analysis.tree
    time = tree.summed.time()
    names = [plain(name).replace(";", ",") for name in tree.paths.name]
    stacks: list[tuple[int, str]] = [(0, names[0])]
    while stacks:
        x, stack = stacks.pop()
        kids = tree.children[x]
        own = int(time[x] - sum(time[child] for child in kids))
        if own:
            yield f"{stack} {own}"
        stacks += [(child, f"{stack};{names[child]}") for child in kids]
