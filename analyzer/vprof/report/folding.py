"""Waits for somebody who waits for somebody ..., in the same function each time: shown as one, "chain of 5".

    pruned tree -> the same, in which the first wait of such a chain has all that stands out further down the chain

So a queue for one lock is a row, and who holds it at the end is right below it. Shares, times and spreads stay those of
the first wait, which contains the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from vprof.report.pruning import Pruned, weight
from vprof.tables.kinds import MEANWHILE
from vprof.tables.naming import without_place
from vprof.variance.variance_tree import VarianceTree

FEWEST = 3
"""So many waits, one in the other, are a chain."""


@dataclass(frozen=True)
class Folded:
    """`chains[x]`: how many waits, one in the other, node x stands for. `deepest`: so many waits lie within each other
    on one way of the whole picture."""

    pruned: Pruned
    chains: dict[int, int]
    deepest: int


def fold(tree: VarianceTree, pruned: Pruned) -> Folded:
    """REQUIRES: `pruned` starts at the tree's root."""
    children, chains = {x: list(below) for x, below in pruned.children.items()}, dict[int, int]()
    work = [0]
    while work:
        x = work.pop()
        if _is_wait(tree, x):
            chain = _chain(tree, pruned, x)
            if len(chain) >= FEWEST:
                chains[x] = len(chain)
                _fold(tree, children, chain)
        work += children[x]
    return Folded(replace(pruned, children=children), chains, _deepest(tree, pruned))


def _is_wait(tree: VarianceTree, x: int) -> bool:
    return tree.paths.pseudo[x] in MEANWHILE


def _waits_in(tree: VarianceTree, x: int) -> tuple[int, str]:
    """What kind of wait it is, and the function that waits."""
    return int(tree.paths.pseudo[x]), without_place(tree.paths.name[int(tree.paths.parent[x])])


def _chain(tree: VarianceTree, pruned: Pruned, x: int) -> list[int]:
    """x, the heaviest wait below it that is the same, and so on."""
    chain = [x]
    while True:
        below, work = list[int](), list(pruned.children[chain[-1]])
        while work:
            node = work.pop()
            if _is_wait(tree, node):
                below.append(node)
            else:
                work += pruned.children[node]
        same = [node for node in below if _waits_in(tree, node) == _waits_in(tree, x)]
        if not same:
            return chain
        chain.append(max(same, key=lambda node: weight(tree, node)))


def _fold(tree: VarianceTree, children: dict[int, list[int]], chain: list[int]) -> None:
    """Takes the second wait out of what is below the first, which gets what branches off further down, and what is
    below the last."""
    first, second = chain[:2]
    children[int(tree.paths.parent[second])].remove(second)
    for above, wait in pairwise(chain[1:]):
        x = wait
        while x != above:
            parent = int(tree.paths.parent[x])
            children[first] += [sibling for sibling in children[parent] if sibling != x]
            x = parent
    children[first] += children[chain[-1]]


def _deepest(tree: VarianceTree, pruned: Pruned) -> int:
    deepest, work = 0, [(0, 0)]
    while work:
        x, waits = work.pop()
        waits += _is_wait(tree, x)
        deepest = max(deepest, waits)
        work += [(below, waits) for below in pruned.children[x]]
    return deepest
