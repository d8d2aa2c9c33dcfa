"""Calls that are made with a lock: in them who has the lock is known, also where nobody waits for it.

    waits for locks + calls  ->  Guards: of each lock the calls that are made with it
    Guards + holds that somebody waited for  ->  holds, those of the other calls as well

Whether a function is called with a lock is seen while somebody waits for that: the lock is had then by the thread that
ended the wait. If whoever is in the function at such times, and does not wait for the lock itself, is nearly always the
one that has it, all its calls are made with it. So they are if the function takes the lock itself, and does little
before that and little after releasing it. Two threads are then hardly ever in the function at once, also when nobody
waits: a function that is called with some lock of many, most often with one, is told apart by that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vprof.tables.columns import i64
from vprof.tables.kernels import kernel
from vprof.tables.model import NONE, Bool, Float, Int64
from vprof.whatif.graph import Graph
from vprof.whatif.overlap import Overlap

_LEAST = 20
"""A function is called with a lock if at least so many of its calls were seen to be made with it."""
_MOST = 8
"""Only so many locks, which were seen most often, are considered for a function."""
_SURE = 0.9
"""The part of the time in a function, while somebody waits for the lock, in which its thread has the lock. Less than
all, since of two that had it during one wait, one by one, only the last is known."""
_AT_ONCE = 0.02
"""The most of the time that somebody is in the function in which two threads are, neither waiting for the lock. In the
demo's engine it is 0.0000 for those called with one lock, and 0.09 and more for one with a lock for each row."""


class Called(NamedTuple):
    """Calls by (thread, begin): the function, the moments at which it is entered and left."""

    function: Int64
    enter: Int64
    leave: Int64


class Waited(NamedTuple):
    """Waits for locks by (lock, when they were ended): rows of `graph.waits`; the moment at which the lock was
    released, by the thread that had it."""

    row: Int64
    lock: Int64
    freed: Int64


class Guards(NamedTuple):
    """Calls with a lock by (lock, begin), none in another one."""

    lock: Int64
    enter: Int64
    leave: Int64


class Holds(NamedTuple):
    """By (lock, `asked`): the moment at which a thread asks for a lock, that at which it goes on with it, which is the
    same if it had not to wait, and that at which it releases it, NONE if that is not known. `ready`: how long the
    thread needs to go on when it gets the lock, ns."""

    lock: Int64
    asked: Int64
    got: Int64
    freed: Int64
    ready: Float


def no_holds() -> Holds:
    none = np.zeros(0, np.int64)
    return Holds(none, none, none, none, np.zeros(0))


class _Watched(NamedTuple):
    """Times in which somebody waits for a lock, by (lock, time): who has it."""

    lock: Int64
    thread: Int64
    begin: Int64
    end: Int64


def find_guards(graph: Graph, waited: Waited, called: Called) -> Guards:
    watched, found = _watched(graph, waited), [np.zeros((3, 0), np.int64)]
    for function in np.unique(called.function):
        mine = called.function == function
        enter, leave = called.enter[mine], called.leave[mine]
        for lock in _often_with(graph, watched, waited, enter, leave):
            if _is_with(graph, watched, waited, lock, enter, leave):
                found.append(np.array([np.full(len(enter), lock), enter, leave]))
    lock, enter, leave = np.concatenate(found, axis=1)
    order = np.lexsort((-leave, enter, lock))
    lock, enter, leave = lock[order], enter[order], leave[order]
    outer = _outer(lock, enter, leave)
    return Guards(lock[outer], enter[outer], leave[outer])


def with_guards(graph: Graph, holds: Holds, guards: Guards, round_: Int64, usual: float) -> Holds:
    """`round_`: by moment a number that two moments of a thread share if the thread takes no task between them.
    `usual`: how long a thread needs to go on, ns."""
    asked, freed, is_new = _fit(holds, guards, graph.thread, graph.time, round_)
    enter, count = guards.enter[is_new], int(is_new.sum())
    lock = np.r_[holds.lock, guards.lock[is_new]]
    asked, got = np.r_[asked, enter], np.r_[np.where(holds.got == holds.asked, asked, holds.got), enter]
    freed, ready = np.r_[freed, guards.leave[is_new]], np.r_[holds.ready, np.full(count, usual)]
    order = np.lexsort((asked, lock))
    return Holds(lock[order], asked[order], got[order], freed[order], ready[order])


def _watched(graph: Graph, waited: Waited) -> _Watched:
    """From when somebody came, or the lock was handed on before, until it was released."""
    end = graph.time[waited.freed]
    begin = graph.time[graph.waits.start[waited.row]]
    same = np.r_[False, waited.lock[1:] == waited.lock[:-1]]
    before = np.r_[0, end[:-1]][: len(end)]
    begin = np.where(same, np.maximum(begin, before), begin)
    return _Watched(waited.lock, graph.thread[waited.freed], begin, np.maximum(begin, end))


def _often_with(graph: Graph, watched: _Watched, waited: Waited, enter: Int64, leave: Int64) -> Int64:
    """The locks that were released in or after such a call for which somebody waited in it."""
    at = np.searchsorted(enter, waited.freed, side="right") - 1
    inside = (at >= 0) & (graph.thread[enter[at]] == watched.thread)
    inside &= graph.time[leave[at]] > watched.begin
    locks, count = np.unique(watched.lock[inside], return_counts=True)
    often = np.flatnonzero(count >= _LEAST)
    return i64(locks[often[np.argsort(-count[often], kind="stable")][:_MOST]])


def _is_with(graph: Graph, watched: _Watched, waited: Waited, lock: int, enter: Int64, leave: Int64) -> bool:
    """Whether calls are made with a lock."""
    first, last = np.searchsorted(watched.lock, [lock, lock + 1])
    _, holder, begin, end = (column[first:last] for column in watched)
    rows = waited.row[first:last]
    rows = rows[np.argsort(graph.waits.start[rows])]
    start = graph.waits.start[rows]
    stop = graph.time[np.minimum(graph.waits.end[rows], len(graph.time) - 1)]
    at = np.searchsorted(start, leave) - 1
    waits = (at >= 0) & (start[at] >= enter)
    since, until = np.where(waits, stop[at], graph.time[enter]), graph.time[leave]
    since = np.minimum(since, until)
    span, thread = int(graph.time.max()) + 1, graph.thread[enter]
    own = Overlap(holder * span + begin, holder * span + end, 1).between(thread * span + since, thread * span + until)
    all_ = Overlap(begin, end, 1).between(since, until)
    is_seen = (own > 0).sum() >= _LEAST and own.sum() >= _SURE * all_.sum()
    return bool(is_seen and _one_by_one(since, until))


def _one_by_one(begin: Int64, end: Int64) -> bool:
    """Whether threads are in their calls one after the other."""
    first, last = i64([begin.min()]), i64([end.max()])
    one, two = (float(Overlap(begin, end, least).between(first, last)[0]) for least in (1, 2))
    return two <= _AT_ONCE * one


@kernel
def _outer(lock: Int64, enter: Int64, leave: Int64) -> Bool:
    """The calls that are not within another one of their lock."""
    found = np.ones(len(lock), np.bool_)
    until = np.int64(NONE)
    for k in range(len(lock)):
        if k > 0 and lock[k] == lock[k - 1] and enter[k] < until:
            found[k] = False
        else:
            until = leave[k]
    return found


@kernel
def _fit(holds: Holds, guards: Guards, thread: Int64, time: Int64, round_: Int64) -> tuple[Int64, Int64, Bool]:
    """When each lock is asked for and released if that is so in all guards; which of these are holds of their own. Who
    waited for the lock has it until the guard's end, if the guard begins soon: no later than it lasts."""
    asked, freed = holds.asked.copy(), holds.freed.copy()
    is_new = np.zeros(len(guards.lock), np.bool_)
    k, count = 0, len(holds.lock)  # the first hold that is asked for after the guard's begin
    for g in range(len(guards.lock)):
        lock, enter, leave = guards.lock[g], guards.enter[g], guards.leave[g]
        while k < count and (holds.lock[k] < lock or (holds.lock[k] == lock and holds.asked[k] <= enter)):
            k += 1
        if round_[enter] != round_[leave] or enter == leave:
            continue
        if k > 0 and holds.lock[k - 1] == lock and thread[holds.asked[k - 1]] == thread[enter]:
            if freed[k - 1] > enter:
                continue
            got = holds.got[k - 1]
            is_soon = got <= enter and time[enter] - time[got] <= time[leave] - time[enter]
            if freed[k - 1] == NONE and is_soon and round_[got] == round_[enter]:
                freed[k - 1] = leave
                continue
        if k < count and holds.lock[k] == lock and holds.asked[k] < leave and thread[holds.asked[k]] == thread[enter]:
            if holds.got[k] == holds.asked[k]:
                asked[k] = enter
            if freed[k] == NONE and holds.got[k] < leave:
                freed[k] = leave
        else:
            is_new[g] = True
    return asked, freed, is_new
