"""What a node of the variance tree is to the interval, as pictures and the terminal colour it."""

from __future__ import annotations

from vprof.tables.kinds import L_ABORTED, L_BODY, MEANWHILE
from vprof.tables.model import NONE
from vprof.variance.variance_tree import VarianceTree

ROOT, WORK, WAIT, OTHERS = "root", "work", "wait", "others"
"""The root; work for the interval; waiting; other work, which it waited for."""


def roles(tree: VarianceTree) -> list[str]:
    """By node; what lies below a wait is what others did."""
    found: list[str] = []
    paths = tree.paths
    for x, parent in enumerate(paths.parent.tolist()):
        if x == 0:
            found.append(ROOT)
        elif int(paths.pseudo[x]) not in (NONE, L_BODY, L_ABORTED):
            found.append(WAIT)
        else:
            others = found[parent] == OTHERS or int(paths.pseudo[parent]) in MEANWHILE
            found.append(OTHERS if others else WORK)
    return found
