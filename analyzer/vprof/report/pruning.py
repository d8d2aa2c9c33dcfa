"""Which nodes of a large variance tree a person is shown: the heaviest ones, and never those below 1 %."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from vprof.variance.variance_tree import VarianceTree

SMALLEST = 0.01
"""Nodes below this additive share of the variance, and of the tail, are left out of any picture."""


_SAME = 0.005
"""Mean times that differ by less are the same."""


@dataclass(frozen=True)
class Pruned:
    """`threshold`: nodes of less weight are left out; `children[x]`: those of x that are shown, in the tree's order."""

    threshold: float
    children: dict[int, list[int]]


def prune(tree: VarianceTree, most: int, start: int = 0) -> Pruned:
    """Keeps about `most` nodes (more only where weights are equal) of those from `start` down, all connected to it."""
    weights = [weight(tree, x) for x in range(len(tree.paths.name))]
    heaviest = sorted((weights[x] for x in _below(tree, start)), reverse=True)
    threshold = max(SMALLEST, heaviest[most - 1] if len(heaviest) >= most else 0.0)
    children: dict[int, list[int]] = {}
    work = [start]
    while work:
        x = work.pop()
        children[x] = [c for c in tree.children[x] if weights[c] >= threshold]
        work += children[x]
    return Pruned(threshold, children)


def _below(tree: VarianceTree, start: int) -> Iterator[int]:
    """The node and all below it."""
    work = [start]
    while work:
        x = work.pop()
        yield x
        work += tree.children[x]


def same_time(tree: VarianceTree, pruned: Pruned, x: int, longest: int, between: int) -> list[int]:
    """x and the nodes below it that say the same, only children with all of their parent's time: they are shown as one.

    Their names take at most `longest` characters, with `between` for each step; one name may take more.
    """
    chain = [x]
    length = len(tree.paths.name[x])
    while x != 0:
        children = pruned.children[x]
        if len(children) != 1 or tree.mean_ns[children[0]] < (1 - _SAME) * tree.mean_ns[x]:
            break
        x = children[0]
        length += between + len(tree.paths.name[x])
        if length > longest:
            break
        chain.append(x)
    return chain


def weight(tree: VarianceTree, x: int) -> float:
    """The larger of the two shares; without variance, the share of the mean."""
    shares = [abs(float(share)) for share in (tree.share[x], tree.tail_share[x]) if not math.isnan(share)]
    return max(shares, default=float(tree.mean_share[x]))
