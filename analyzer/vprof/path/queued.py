"""What the thread that took a task did while it lay in the queue: with too few workers, that is who made it wait.

    queue pieces of the critical paths + that thread's stacks -> by innermost measured function: ns in each interval

The tree has no such nodes: by docs/algorithms.md section 2 a task's wait in a queue is not walked.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vprof.path.cpu_view import split_queues
from vprof.path.parts import Part
from vprof.path.pieces import Paths, Pieces
from vprof.path.places import place
from vprof.path.stacks import T_LABEL
from vprof.tables.columns import i8
from vprof.tables.kinds import P_EXEC, P_QUEUE
from vprof.tables.model import NONE, Int64


def while_queued(part: Part) -> Int64:
    """Rows (analyzed interval, function, ns). Waits for a CPU are left out."""
    paths = split_queues(part.trace, part.paths)
    queued = np.flatnonzero(paths.pieces.kind == P_QUEUE)
    pieces = Pieces(*(column[queued] for column in vars(paths.pieces).values()))
    busy = Paths(replace(pieces, kind=i8(np.full(len(queued), P_EXEC))), paths.waits)
    interval, node, ns = place(part.trace, busy, part.stacks).T
    forest = part.stacks.forest
    function = np.array(forest.function)[forest.nodes[node, T_LABEL]]
    function[node == 0] = NONE  # between tasks
    rows = np.column_stack((part.opened.positions[interval], function, ns))
    found: Int64 = rows[(rows[:, 0] != NONE) & (function != NONE)]
    return found
