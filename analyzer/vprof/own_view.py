"""The tree cut at `[blocked]`: waits count where they are waited, nobody asks who ended them (`--own`).

    PathTree  ->  PathTree whose `[blocked]` nodes are leaves

Source: ALGORITHMS section 3, the papers' tables of a thread's own functions. Every time above a wait stays what it was.
"""

from __future__ import annotations

import numpy as np

from vprof.columns import i32
from vprof.model import Int64
from vprof.path_tree import PathTree
from vprof.stacks import L_BLOCKED


def without_wakers(tree: PathTree) -> PathTree:
    """The time below each outermost `[blocked]` moves to that node itself."""
    into = _outermost_waits(tree)
    kept = into == np.arange(len(into))
    number = np.cumsum(kept) - 1
    own = number[into[tree.own_node]]
    order = np.lexsort((own, tree.own_interval))
    interval, node, ns = tree.own_interval[order], own[order], tree.own_ns[order]
    first = np.flatnonzero(np.r_[True, (np.diff(interval) != 0) | (np.diff(node) != 0)]) if len(node) else node
    totals = kept[tree.node]
    parent = tree.parent[kept]
    parent[1:] = number[parent[1:]]
    return PathTree(
        parent,
        tree.function[kept],
        tree.site[kept],
        tree.pseudo[kept],
        tree.inner[kept],
        [tree.name[x] for x in np.flatnonzero(kept)],
        interval[first],
        i32(node[first]),
        np.add.reduceat(ns, first) if len(first) else ns,
        tree.interval[totals],
        i32(number[tree.node[totals]]),
        tree.total_ns[totals],
        tree.folded,
        tree.calls[kept],
    )


def _outermost_waits(tree: PathTree) -> Int64:
    """By node: the outermost `[blocked]` at or above it, else itself."""
    into = np.arange(len(tree.parent))
    blocked = tree.pseudo == L_BLOCKED
    for x in range(1, len(into)):  # parents come before their children
        above = into[tree.parent[x]]
        if blocked[above]:
            into[x] = above
    return into
