"""Where time is lost to the unknown: waits that nobody is known to have ended.

    Paths + Stacks  ->  functions that waited so, and where they were called, most time first

Source: ALGORITHMS section 7. Such a wait ended by a timeout, by the kernel (I/O), or by a primitive that the descriptor
does not describe; the function, or what it calls, tells which. A wait whose waker is known but left no record is listed
by the same rule.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

import numpy as np

from vprof.critical_path import P_BLOCKED_UNKNOWN, P_UNKNOWN, Paths
from vprof.model import NONE, Trace
from vprof.path_tree import display_names
from vprof.paths import annotation_file
from vprof.stacks import Stacks


@dataclass(frozen=True)
class UnknownWait:
    """`function`: the innermost one with a probe on the waiter's stack when the wait began, "" if there was none;
    `site`: where it was called, "" where its caller does not tell its calls apart.

    `waker_known`: somebody ended the wait, but of what that thread did meanwhile nothing is recorded. `share` is of the
    time of all intervals. `advice`: what may have been waited for and what makes it known, by the names of the function
    and of what it calls; "" if these tell nothing.
    """

    function: str
    waker_known: bool
    count: int
    total_ns: int
    share: float
    advice: str = ""
    site: str = ""


_SYNC = ("syscall", "semop", "semtimedop", "sigwait", "sigwaitinfo", "flock", "lockf")
"""Functions of which a lock or a latch may be made that only a descriptor knows."""

_FROM_THREADS = ("sockets", "readiness", "data of files, pipes and sockets")
"""What other threads of the server may provide."""


def unknown_waits(trace: Trace, paths: Paths, stacks: Stacks) -> list[UnknownWait]:
    """Most time first. A wait that delayed several intervals counts in each."""
    p, w = paths.pieces, paths.waits
    of_waker = (p.kind == P_UNKNOWN) & (p.wait != NONE)
    rows = np.flatnonzero((p.kind == P_BLOCKED_UNKNOWN) | of_waker)
    wait, ns = p.wait[rows], p.stop[rows] - p.start[rows]
    call = stacks.innermost(w.thread[wait], w.start[wait])
    function = np.r_[trace.invocations.function, NONE][call]
    site = np.r_[trace.invocations.site, NONE][call]
    path_ns = int((p.stop - p.start).sum())
    names = [*display_names(trace), ""]
    program = trace.program
    found = []
    kinds = np.stack((function, site, of_waker[rows]))
    for kind in np.unique(kinds, axis=1).T:
        f, at, waker_known = int(kind[0]), int(kind[1]), bool(kind[2])
        mine = np.all(kinds == kind[:, None], axis=0)
        total = int(ns[mine].sum())
        count = len(np.unique(wait[mine]))
        known = [] if f == NONE else [program.functions[f], *(program.functions[c] for c in program.calls[f])]
        advice = "" if waker_known else _advice(names[f], known)
        place = trace.sites[at] if at != NONE else ""
        found.append(UnknownWait(names[f], waker_known, count, total, total / path_ns, advice, place))
    return sorted(found, key=lambda u: (-u.total_ns, u.function, u.site, u.waker_known))


@cache
def _waits_for() -> dict[str, str]:
    """What functions of the C library wait for (annotations/io.toml)."""
    tables = tomllib.loads(annotation_file("io").read_text(encoding="utf-8"))["external"]
    return {name: table["waits_for"] for table in tables for name in table["functions"]}


def _advice(function: str, names: list[str]) -> str:
    """`names`: the function's own and those of what it calls."""
    for callee in _SYNC:
        if callee in names:
            what = "a futex through syscall" if callee == "syscall" else callee
            return f"{what} waits for a thread: describe {function} as [[sync]] acquire, and what wakes it as release"
    for callee, what in _waits_for().items():
        if callee in names:
            describe = ": if a thread of the server provides it, describe the hand-over as [[queue]]"
            return f"{callee} waits for {what}{describe if what in _FROM_THREADS else ''}"
    return ""
