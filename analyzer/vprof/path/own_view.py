"""The tree cut at `[blocked]` and `[busy]`: waits count where they are waited, nobody asks for whom (`--own`).

    Forest  ->  by node: where its own time counts

Source: docs/algorithms.md section 3, the papers' tables of a thread's own functions. Every time above a wait stays what
it was.
"""

from __future__ import annotations

import numpy as np

from vprof.path.stacks import T_LABEL, T_PARENT, Forest
from vprof.tables.kernels import kernel
from vprof.tables.kinds import MEANWHILE
from vprof.tables.model import Int64


def without_wakers(forest: Forest) -> Int64:
    """The outermost of these at or above each node, else the node itself."""
    return _outermost_waits(forest.nodes)


@kernel
def _outermost_waits(nodes: Int64) -> Int64:
    into = np.arange(len(nodes))
    for x in range(1, len(into)):  # parents come before their children
        above = into[nodes[x, T_PARENT]]
        if nodes[above, T_LABEL] in MEANWHILE:
            into[x] = above
    return into
