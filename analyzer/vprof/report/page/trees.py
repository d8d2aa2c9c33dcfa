"""The variance tree of a JSON report cut to what a page can show, so that its size is bounded."""

from __future__ import annotations

import heapq
from typing import Any

MOST_NODES = 2500
SMALLEST = 0.0002
"""Nodes whose shares are all below this are left out."""
MOST_PAIRS = 12
SHARES = ("share", "tail_share", "mean_share")


def pruned(tree: dict[str, Any], shares: tuple[str, ...] = SHARES) -> dict[str, Any]:
    """A copy with the heaviest nodes by these shares, connected to the root, each with its largest covariances.

    `left_out` of a node counts the nodes below it that are gone, `left_out_pairs` its covariances that are.
    """
    root, count = _without_children(tree), 1
    waiting: list[tuple[float, int, dict[str, Any], dict[str, Any]]] = []
    order = 0
    parents = [(tree, root)]
    while parents:
        node, copy = parents.pop()
        for child in node.get("children", ()):
            order += 1
            heapq.heappush(waiting, (-_weight(child, shares), order, child, copy))
        if waiting and count < MOST_NODES and -waiting[0][0] >= SMALLEST:
            _, _, child, into = heapq.heappop(waiting)
            mine = _without_children(child)
            into["children"].append(mine)
            parents.append((child, mine))
            count += 1
    for _, _, child, into in waiting:
        into["left_out"] = into.get("left_out", 0) + _size(child)
    return root


def _without_children(node: dict[str, Any]) -> dict[str, Any]:
    copy = {key: value for key, value in node.items() if key not in ("children", "cov")}
    cov = node.get("cov", {})
    largest = heapq.nlargest(MOST_PAIRS, cov, key=lambda pair: abs(cov[pair]))
    return {
        **copy,
        "cov": {pair: cov[pair] for pair in largest if cov[pair]},
        "left_out_pairs": len(cov) - len(largest),
        "children": [],
    }


def _weight(node: dict[str, Any], shares: tuple[str, ...]) -> float:
    return max(abs(float(node[share] or 0.0)) for share in shares)


def _size(node: dict[str, Any]) -> int:
    size, work = 0, [node]
    while work:
        at = work.pop()
        size += 1
        work += at.get("children", ())
    return size
