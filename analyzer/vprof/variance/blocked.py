"""What blocked time was for, and where it is lost to the unknown: waits that nobody is known to have ended.

    Paths + Stacks  ->  causes and their time; functions that waited for the unknown, and where they were called

Source: docs/algorithms.md section 7. Such a wait ended by a timeout, by the kernel (I/O), or by a primitive that the
descriptor does not describe; the function, or what it calls, tells which. A wait whose waker is known but left no
record is listed by the same rule.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache

import numpy as np

from vprof.installed import annotation_file
from vprof.path.path_tree import display_names
from vprof.path.pieces import BUSY, Paths
from vprof.path.stacks import Stacks
from vprof.tables.kinds import P_BLOCKED_UNKNOWN, P_DISK, P_FAULT, P_MEMORY, P_SLEEP, P_UNKNOWN
from vprof.tables.lookup import distinct, values_of
from vprof.tables.model import NONE, OBJECT_CLASSES, Int32, Int64, Trace


@dataclass(frozen=True, kw_only=True)
class UnknownWait:
    """`function`: the innermost one with a probe on the waiter's stack when the wait began, "" if there was none;
    `site`: where it was called, "" where its caller does not tell its calls apart.

    `waker_known`: somebody ended the wait, but of what that thread did meanwhile nothing is recorded. `share` is of the
    time of all intervals. `advice`: what may have been waited for and what makes it known, by the names of the function
    and of what it calls; "" if these tell nothing. `object`: of OBJECT_CLASSES, "" where no wait was recorded.
    `thread`: the one that the interval waited for, and whose time this is; "": the interval's own.
    """

    function: str
    waker_known: bool
    count: int
    total_ns: int
    share: float
    advice: str = ""
    site: str = ""
    object: str = ""
    thread: str = ""


ENDED, STORAGE, TIME, MEMORY, UNKNOWN = "ended by a known thread", "storage", "time", "memory map", "unknown"
"""Causes of blocked time. Others are what an external function waits for, and _OUTSIDE."""

_DESCRIPTOR = OBJECT_CLASSES[11]
_OUTSIDE = f"a {_DESCRIPTOR} whose other end is not in the profile"


_SYNC = ("syscall", "semop", "semtimedop", "sigwait", "sigwaitinfo", "flock", "lockf")
"""Functions of which a lock or a latch may be made that only a descriptor knows."""

_ALLOCATOR = ("malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "operator new")
"""Functions that take locks which no wrapper sees, since the C library takes them itself."""

_FROM_THREADS = ("sockets", "readiness", "data of files, pipes and sockets")
"""What other threads of the server may provide."""


class BlockedSums:
    """What intervals waited for, and the waits that nobody is known to have ended; grows with every `add`."""

    def __init__(self) -> None:
        self._waits: dict[tuple[int, str, bool, int, int], tuple[int, int]] = {}
        self._causes: Counter[str] = Counter()
        self._path_ns = 0

    def add(
        self, trace: Trace, paths: Paths, stacks: Stacks, functions: Int64 | None = None, first_thread: int = 0
    ) -> None:
        """`functions`: the numbers here of the trace's functions, None if they are the same; `first_thread`: the number
        here of its first thread."""
        p = paths.pieces
        self._path_ns += int((p.stop - p.start).sum())
        self._causes.update(_causes(trace, paths, stacks))
        of_waker = (p.kind == P_UNKNOWN) & (p.wait != NONE)
        rows = np.flatnonzero((p.kind == P_BLOCKED_UNKNOWN) | of_waker)
        wait, ns = p.wait[rows], p.stop[rows] - p.start[rows]
        nested = of_waker[rows] | (np.r_[paths.waits.parent, NONE][wait] != NONE)
        thread = np.where(nested, p.thread[rows], NONE).astype(np.int64)
        call = _call(paths, stacks, wait)
        function, site = np.r_[trace.invocations.function, NONE][call], np.r_[trace.invocations.call_site, NONE][call]
        classes, sites, threads = len(OBJECT_CLASSES), len(trace.call_sites) + 1, len(trace.threads) + 1
        kind = ((function.astype(np.int64) + 1) * sites + site + 1) * 2 + of_waker[rows]
        kinds, of = distinct((kind * classes + _class(trace, paths, wait)) * threads + thread + 1)
        each = values_of(of * (len(paths.waits.start) + 1) + wait) // (len(paths.waits.start) + 1)
        counts, totals = np.bincount(each, minlength=len(kinds)), _sums(of, ns, len(kinds))
        for kind, count, total in zip(kinds.tolist(), counts.tolist(), totals.tolist(), strict=True):
            kind, whose = divmod(kind, threads)
            kind, object_class = divmod(kind, classes)
            kind, waker_known = divmod(kind, 2)
            f, at = (number - 1 for number in divmod(kind, sites))
            number = f if f == NONE or functions is None else int(functions[f])
            thread_here = first_thread + whose - 1 if whose else NONE
            key = (number, trace.call_sites[at] if at != NONE else "", bool(waker_known), object_class, thread_here)
            count_before, total_before = self._waits.get(key, (0, 0))
            self._waits[key] = count_before + count, total_before + total

    def merge(self, other: BlockedSums) -> None:
        for key, (count, total) in other._waits.items():
            count_before, total_before = self._waits.get(key, (0, 0))
            self._waits[key] = count_before + count, total_before + total
        self._causes.update(other._causes)
        self._path_ns += other._path_ns

    def unknown(self, trace: Trace) -> list[UnknownWait]:
        """Most time first. A wait that delayed several intervals counts in each."""
        names = [*display_names(trace), ""]
        program = trace.program
        found = []
        for (f, site, waker_known, class_, number), (count, total) in self._waits.items():
            thread = trace.threads[number] if number != NONE else ""
            known = [] if f == NONE else [program.functions[f], *(program.functions[c] for c in program.calls[f])]
            object_class = OBJECT_CLASSES[class_]
            advice = "" if waker_known else _advice(names[f], known, object_class)
            share = total / self._path_ns
            found.append(
                UnknownWait(
                    function=names[f],
                    waker_known=waker_known,
                    count=count,
                    total_ns=total,
                    share=share,
                    advice=advice,
                    site=site,
                    object=object_class,
                    thread=thread,
                )
            )
        return sorted(found, key=lambda u: (-u.total_ns, u.function, u.site, u.waker_known, u.object, u.thread))

    def by_cause(self) -> dict[str, int]:
        """What the intervals waited for: ns by cause, most first, without what is 0.

        All of a wait that somebody ended counts as such, but for the parts of it in which that thread waited itself.
        What the interval's own thread executed for others is no waiting.
        """
        totals = sorted(self._causes.items(), key=lambda entry: (-entry[1], entry[0]))
        return {cause: total for cause, total in totals if total}


def _causes(trace: Trace, paths: Paths, stacks: Stacks) -> Counter[str]:
    p = paths.pieces
    ns = p.stop - p.start
    storage, sleep, memory = (p.kind == P_DISK) | (p.kind == P_FAULT), p.kind == P_SLEEP, p.kind == P_MEMORY
    nobody = p.kind == P_BLOCKED_UNKNOWN
    unrecorded = (p.kind == P_UNKNOWN) & (p.wait != NONE)
    totals: Counter[str] = Counter()
    totals[STORAGE] = int(ns[storage].sum())
    totals[TIME] = int(ns[sleep].sum())
    totals[MEMORY] = int(ns[memory].sum())
    totals[UNKNOWN] = int(ns[unrecorded].sum())
    waits = (p.wait != NONE) & (np.r_[paths.waits.anchored, 0][p.wait] != BUSY)
    totals[ENDED] = int(ns[waits & ~storage & ~sleep & ~memory & ~nobody & ~unrecorded].sum())
    wait = p.wait[nobody]
    function = np.r_[trace.invocations.function, NONE][_call(paths, stacks, wait)].astype(np.int64)
    pairs, of = distinct((function + 1) * len(OBJECT_CLASSES) + _class(trace, paths, wait))
    for pair, total in zip(pairs.tolist(), _sums(of, ns[nobody], len(pairs)).tolist(), strict=True):
        f, c = divmod(pair, len(OBJECT_CLASSES))
        totals[_cause(trace.program.functions[f - 1] if f else "", OBJECT_CLASSES[c])] += total
    return totals


def _sums(of: Int64, ns: Int64, n: int) -> Int64:
    """By kind, in whole nanoseconds."""
    total = np.zeros(n, np.int64)
    np.add.at(total, of, ns)
    return total


def _cause(function: str, object_class: str) -> str:
    if object_class == _DESCRIPTOR:
        return _OUTSIDE
    return UNKNOWN if object_class else _waits_for().get(function, UNKNOWN)


def _call(paths: Paths, stacks: Stacks, wait: Int32) -> Int64:
    """The innermost call with a probe when each wait began, or NONE."""
    return stacks.innermost(paths.waits.thread[wait], paths.waits.start[wait])


def _class(trace: Trace, paths: Paths, wait: Int32) -> Int32:
    """Index into OBJECT_CLASSES of each wait."""
    segment = paths.waits.segment[wait]
    return np.where(segment != NONE, np.r_[trace.segments.object_class, 0][segment], 0).astype(np.int32)


@cache
def _waits_for() -> dict[str, str]:
    """What functions of the C library wait for (annotations/io.toml)."""
    tables = tomllib.loads(annotation_file("io").read_text(encoding="utf-8"))["external"]
    return {name: table["waits_for"] for table in tables for name in table["functions"]}


def _advice(function: str, names: list[str], object_class: str) -> str:
    """`names`: the function's own and those of what it calls."""
    if object_class == _DESCRIPTOR:
        return f"{_OUTSIDE}: a client, the network; or a timeout ended the wait"
    for callee in _SYNC:
        if callee in names:
            what = "a futex through syscall" if callee == "syscall" else callee
            return f"{what} waits for a thread: describe {function} as [[sync]] acquire, and what wakes it as release"
    for callee, what in _waits_for().items():
        if callee in names:
            describe = ": if a thread of the server provides it, describe the hand-over as [[queue]]"
            return f"{callee} waits for {what}{describe if what in _FROM_THREADS else ''}"
    for callee in _ALLOCATOR:
        if callee in names and not object_class:
            return (
                f"{callee} may wait for a lock inside the C library, while another thread allocates, frees or trims "
                "(malloc_trim): no record says which thread"
            )
    return ""
