"""Scripts from recorded traces: what each transaction did between its locks, and which it took.

    LockTrace + Taken (history.py)  ->  Script: work and lock steps, born as recorded, and what was measured

Whatever is no wait for a lock is work, as long as it was: execution, other waits, a queue, a CPU that was not there.
A thread whose transactions never overlap is a client that thinks as long as it did: its next one begins so long after
the last one, whenever that ends. (In an open replay each begins when it did.)
Locks that are given back before a transaction has taken its last are not of the replay's kind (strict two-phase
locking): they are left out, and waits for them are work, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.scheduling.history import Taken
from vprof.scheduling.script import Script, Traced
from vprof.tables.columns import i64
from vprof.tables.lookup import distinct
from vprof.tables.model import NONE, Bool, Int64
from vprof.trace.locks import LockTrace


@dataclass(frozen=True)
class FromTrace:
    """`early`: locks of the transactions that were left out, `waited_early`: those of them that were waited for;
    `left_out`: their part of the time that all locks were waited for."""

    script: Script
    early: int
    waited_early: int
    left_out: float


def script_of(trace: LockTrace, taken: Taken, policy: str, is_open: bool = False) -> FromTrace:
    """`policy`: the one by which the recorded program decides."""
    count = len(trace.end)
    mine = np.flatnonzero((taken.owner < count) & (taken.owner != NONE))
    mine = mine[taken.requested[mine] >= trace.attempt[taken.owner[mine]]]
    mine = mine[np.lexsort((taken.granted[mine], taken.requested[mine], taken.owner[mine]))]
    early = _given_back_early(taken, mine, count)
    kept = mine[~early]
    latency = (trace.end - trace.begin).astype(np.float64)
    traced = Traced(policy, float(latency.mean()), float(latency.var()))
    waited_ns = taken.free[mine] - taken.requested[mine]
    left_out = float(waited_ns[early].sum() / waited_ns.sum()) if waited_ns.any() else 0.0
    script = _script(trace, taken, kept, traced, is_open)
    return FromTrace(script, int(early.sum()), int(taken.waited[mine[early]].sum()), left_out)


def _given_back_early(taken: Taken, mine: Int64, count: int) -> Bool:
    """Before the last grant of its owner."""
    last = np.full(count, NONE, np.int64)
    np.maximum.at(last, taken.owner[mine], taken.granted[mine])
    found: Bool = taken.released[mine] < last[taken.owner[mine]]
    return found


def _script(trace: LockTrace, taken: Taken, kept: Int64, traced: Traced, is_open: bool) -> Script:
    """`kept`: the locks, by owner and time."""
    count, owner = len(trace.end), taken.owner[kept]
    ids, thing = distinct(taken.object[kept])
    let_go = trace.end.copy()
    np.minimum.at(let_go, owner, taken.released[kept])
    first = np.r_[0, np.cumsum(np.bincount(owner, minlength=count) + 1)]
    size = int(first[-1])
    of_lock = np.ones(size, np.bool_)
    of_lock[first[1:] - 1] = False
    since, until = np.empty(size, np.int64), np.empty(size, np.int64)
    since[first[:-1]] = trace.attempt
    since[np.flatnonzero(of_lock) + 1] = taken.free[kept]
    until[of_lock], until[~of_lock] = taken.requested[kept], let_go
    lock = np.full(size, NONE, np.int64)
    lock[of_lock] = 2 * thing + taken.mode[kept]
    work = i64(np.maximum(until - since, 0))
    names = [str(number) for number in ids.view(np.uint64).tolist()]
    follows = None if is_open or trace.thread is None else _follows(trace, trace.thread)
    if follows is not None and (follows == NONE).all():
        follows = None
    gap = None if follows is None else np.where(follows == NONE, 0, trace.begin - let_go[follows])
    tail = i64(trace.end - let_go)
    return Script(
        i64(first), work, lock, len(ids), names, trace.begin, traced=traced, tail=tail, follows=follows, gap=gap
    )


def _follows(trace: LockTrace, thread: Int64) -> Int64:
    """By transaction: the one before it on its thread, NONE if there is none or the thread's overlap."""
    order = np.lexsort((trace.begin, thread))
    before, after = order[:-1], order[1:]
    same = (thread[before] == thread[after]) & (thread[after] != NONE)
    overlapping = np.unique(thread[after[same & (trace.begin[after] < trace.end[before])]])
    counts = same & ~np.isin(thread[after], overlapping)
    found = np.full(len(thread), NONE, np.int64)
    found[after[counts]] = before[counts]
    return found
