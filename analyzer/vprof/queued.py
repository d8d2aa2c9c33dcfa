"""What the thread that took a task did while it lay in the queue: with too few workers, that is who made it wait.

    queue pieces of the critical paths + that thread's stacks -> by innermost measured function: ns in each interval

The tree has no such nodes: by ALGORITHMS section 2 a task's wait in a queue is not walked.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vprof.columns import i8
from vprof.cpu_view import split_queues
from vprof.critical_path import P_EXEC, P_QUEUE, Paths, Pieces, critical_paths
from vprof.model import Int64, Trace
from vprof.path_tree import display_names
from vprof.places import place
from vprof.stacks import T_LABEL, build_stacks


def while_queued(trace: Trace, rows: Int64) -> dict[str, Int64]:
    """By function: the time in each of the intervals `rows`. Waits for a CPU are left out."""
    paths = split_queues(trace, critical_paths(trace))
    queued = np.flatnonzero(paths.pieces.kind == P_QUEUE)
    pieces = Pieces(*(column[queued] for column in vars(paths.pieces).values()))
    busy = Paths(replace(pieces, kind=i8(np.full(len(queued), P_EXEC))), paths.waits)
    stacks = build_stacks(trace)
    interval, node, ns = place(trace, busy, stacks).T
    names = display_names(trace)
    function = np.array(stacks.forest.function)[stacks.forest.nodes[node, T_LABEL]]
    function[node == 0] = -1  # between tasks
    found = {}
    for f in np.unique(function[function >= 0]).tolist():
        mine = function == f
        found[names[f]] = np.zeros(len(rows), np.int64)
        np.add.at(found[names[f]], np.searchsorted(rows, interval[mine]), ns[mine])
    return found
