"""Where time is lost to the unknown: waits that nobody is known to have ended.

    Paths + Stacks  ->  functions that waited so, most time first

Source: ALGORITHMS section 7. Such a wait ended by a timeout, by the kernel (I/O), or by a primitive that the descriptor
does not describe; the function tells which. A wait whose waker is known but left no record is listed by the same rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.critical_path import P_BLOCKED_UNKNOWN, P_UNKNOWN, Paths
from vprof.model import NONE, Trace
from vprof.path_tree import display_names
from vprof.stacks import Stacks


@dataclass(frozen=True)
class UnknownWait:
    """`function`: the innermost one with a probe on the waiter's stack when the wait began, "" if there was none.

    `waker_known`: somebody ended the wait, but of what that thread did meanwhile nothing is recorded. `share` is of the
    time of all intervals.
    """

    function: str
    waker_known: bool
    count: int
    total_ns: int
    share: float


def unknown_waits(trace: Trace, paths: Paths, stacks: Stacks) -> list[UnknownWait]:
    """Most time first. A wait that delayed several intervals counts in each."""
    p, w = paths.pieces, paths.waits
    of_waker = (p.kind == P_UNKNOWN) & (p.wait != NONE)
    rows = np.flatnonzero((p.kind == P_BLOCKED_UNKNOWN) | of_waker)
    wait, ns = p.wait[rows], p.stop[rows] - p.start[rows]
    call = stacks.innermost(w.thread[wait], w.start[wait])
    function = np.where(call != NONE, np.r_[trace.invocations.function, NONE][call], NONE)
    path_ns = int((p.stop - p.start).sum())
    names = [*display_names(trace), ""]
    found = []
    for key in np.unique(2 * (function + 1) + of_waker[rows]).tolist():
        f, waker_known = key // 2 - 1, bool(key % 2)
        mine = (function == f) & (of_waker[rows] == waker_known)
        total = int(ns[mine].sum())
        count = len(np.unique(wait[mine]))
        found.append(UnknownWait(names[f], waker_known, count, total, total / path_ns))
    return sorted(found, key=lambda u: (-u.total_ns, u.function, u.waker_known))
