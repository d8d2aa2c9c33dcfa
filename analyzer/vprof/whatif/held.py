"""What threads held while others waited for it: who asks for what, and when it is released.

    Graph + what each wait was for  ->  Held: by moment, what its thread asks for and what it releases

A *hold* is a thread's time with a lock, from the moment at which it asked for it. Holds are known as far as somebody
waited: who waited asked when its wait began, and who ended a wait released then. A lock is what a thread had that made
others wait: a mutex, or any object that the threads which wait for it hand on to each other, one by one.

When somebody asked who got a lock without waiting is not recorded. It had it when the next one came, so on average as
long before that as it had it afterwards; it is taken to have asked at its first moment since then, after its last wait.
A thread that had waited for the lock shortly before still has it from then. Where nobody waited, it is known of calls
that are always made with the lock (guarded.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vprof.tables.columns import i64
from vprof.tables.kernels import helper, kernel, loop
from vprof.tables.model import NONE, OBJECT_CLASSES, Bool, Float, Int64
from vprof.whatif.graph import Graph
from vprof.whatif.guarded import Called, Holds, Waited, find_guards, no_holds, with_guards

_MUTEXES = tuple(OBJECT_CLASSES.index(name) for name in ("mutex", "spin lock"))
_HANDED_ON, _ONE_BY_ONE = 0.5, 0.9
"""The least parts of an object's waits that were ended by a thread that waits for it, too, and that were the only ones
ended at their moment, if it is a lock."""
_SAME_HOLD = 2
"""A thread that waited for a lock has it still, from then, if that was no longer before the next one asked than so many
times as it had it afterwards."""


class Held(NamedTuple):
    """By moment: the holds asked for there, hold[ask_first[n]:ask_first[n + 1]]; those released there,
    freed[free_first[n]:free_first[n + 1]]. By hold: its `lock`; `is_known`, whether it is known when it is released;
    `ready`, how long its thread needs to go on when it gets the lock, ns; `shared`, whether others that share the lock
    may have it as well; `owner`, who may have it in several modes, NONE if that is not known. `locks`: how many there
    are."""

    ask_first: Int64
    hold: Int64
    free_first: Int64
    freed: Int64
    lock: Int64
    is_known: Bool
    ready: Float
    shared: Bool
    owner: Int64
    locks: int


class _Found(NamedTuple):
    """By wait: the hold of who ended it, NONE if that is not known, or was one already; the moment at which that is
    released. A hold has the number of its wait; of who got the lock without one, as many more as there are waits.
    `asked`: by wait, the moment at which who ended it asked, NONE if its hold is another wait's."""

    hold: Int64
    freed: Int64
    asked: Int64


def nothing_held(graph: Graph) -> Held:
    none, first = np.zeros(0, np.int64), np.zeros(len(graph.time) + 1, np.int64)
    return Held(first, none, first, none, none, none != NONE, np.zeros(0), none != NONE, none, 0)


def is_mutex(class_: Int64) -> Bool:
    """Whether objects of these classes are locks in any case."""
    found: Bool = np.isin(class_, _MUTEXES)
    return found


def locks(graph: Graph, candidates: Int64, object_: Int64, class_: Int64, together: Int64) -> Int64:
    """By row of `graph.waits` the lock it is for, NONE if it is for none. `candidates`: rows that may be for one.
    `object_`, `class_`: by row what it was for. `together`: by thread a number that those share who do each other's
    work."""
    found = np.full(len(graph.waits.end), NONE)
    if not len(candidates):
        return found
    waits = graph.waits
    _, of = np.unique(object_[candidates] * len(OBJECT_CLASSES) + class_[candidates], return_inverse=True)
    count = np.bincount(of)
    by = waits.ended_by[candidates]
    waiter, waker = together[graph.thread[waits.end[candidates]]], together[graph.thread[by]]
    width = int(together.max()) + 1
    handed_on = np.isin(of * width + waker, of * width + waiter)
    _, first = np.unique(of * len(graph.time) + by, return_index=True)
    is_lock = np.bincount(of, handed_on) > _HANDED_ON * count
    is_lock &= np.bincount(of[first], minlength=len(count)) > _ONE_BY_ONE * count
    is_lock[of[is_mutex(class_[candidates])]] = True
    found[candidates] = np.where(is_lock[of], of, NONE)
    return found


def find_holds(graph: Graph, lock: Int64, round_: Int64, delay: Float, usual: float, called: Called) -> Holds:
    """`lock`: of `locks`. `round_`: by moment a number that two moments of a thread share if the thread takes no task
    between them. `delay`: by wait, how long its thread needed to go on; `usual`: what most need."""
    rows = np.flatnonzero(lock != NONE)
    if not len(rows):
        return no_holds()
    rows = i64(rows[np.lexsort((graph.time[graph.waits.ended_by[rows]], lock[rows]))])
    waited = Waited(rows, lock[rows], _released(graph, rows))
    holds = _holds_waited_for(graph, waited, round_, delay, usual)
    return with_guards(graph, holds, find_guards(graph, waited, called), round_, usual)


def held_of(graph: Graph, inferred: Holds, logged: Holds, shared: Bool, owner: Int64) -> Held:
    """`inferred`: holds of which it is known from waits; `logged`: from the program itself, with mode and owner."""
    count = len(inferred.lock)
    first = int(inferred.lock.max(initial=NONE)) + 1
    lock = np.r_[inferred.lock, first + logged.lock]
    columns = zip(inferred[1:], logged[1:], strict=True)
    holds = Holds(i64(lock), *(np.concatenate(pair) for pair in columns))
    ask_first, by_asked = _by_moment(holds.asked, len(graph.time))
    known = np.flatnonzero(holds.freed != NONE)
    free_first, by_freed = _by_moment(holds.freed[known], len(graph.time))
    is_known = holds.freed != NONE
    return Held(
        ask_first,
        by_asked,
        free_first,
        i64(known[by_freed]),
        holds.lock,
        is_known,
        holds.ready,
        np.r_[np.zeros(count, np.bool_), shared],
        i64(np.r_[np.full(count, NONE), owner]),
        int(lock.max(initial=NONE)) + 1,
    )


def _holds_waited_for(graph: Graph, waited: Waited, round_: Int64, delay: Float, usual: float) -> Holds:
    found = _holds(waited, graph, round_, _last_ends(graph))
    count, rows = len(waited.row), waited.row
    extra = np.flatnonzero(found.asked != NONE)
    number = np.full(2 * count, NONE)
    number[:count] = np.arange(count)
    number[count + extra] = count + np.arange(len(extra))
    asked = np.r_[graph.waits.start[rows], found.asked[extra]]
    got = np.r_[graph.waits.end[rows], found.asked[extra]]
    freed = np.full(len(asked), NONE)
    known = np.flatnonzero(found.hold != NONE)
    freed[number[found.hold[known]]] = found.freed[known]
    lock, ready = np.r_[waited.lock, waited.lock[extra]], np.r_[delay[rows], np.full(len(extra), usual)]
    order = np.lexsort((asked, lock))
    return Holds(lock[order], asked[order], got[order], freed[order], ready[order])


def _released(graph: Graph, rows: Int64) -> Int64:
    """By wait when the thread that ended it released the lock: if it stood still at that time, before that."""
    free = graph.waits.ended_by[rows]
    inside = graph.wait[free]
    start, end = np.r_[graph.waits.start, NONE][inside], np.r_[graph.waits.end, NONE][inside]
    return i64(np.where((end > free) & (start != NONE), start, free))


def _by_moment(moment: Int64, count: int) -> tuple[Int64, Int64]:
    """Where the rows of each moment begin, and the rows by moment."""
    order = np.argsort(moment, kind="stable")
    return i64(np.searchsorted(moment[order], np.arange(count + 1))), i64(order)


def _last_ends(graph: Graph) -> Int64:
    """By moment the last one of its thread, itself included, at which a wait ended; at least the thread's first."""
    last = graph.first[graph.thread].copy()
    ends = graph.waits.end[graph.waits.end < len(last)]
    last[ends] = ends
    return i64(np.maximum.accumulate(last))


@kernel
def _holds(waited: Waited, graph: Graph, round_: Int64, last_end: Int64) -> _Found:
    n, threads = len(waited.row), len(graph.first)
    none = np.int64(NONE)
    found = _Found(np.full(n, none), np.full(n, none), np.full(n, none))
    _find_holds(waited, graph, round_, last_end, found, np.full(threads, none), np.full(threads, none))
    return found


@loop
def _find_holds(
    waited: Waited, graph: Graph, round_: Int64, last_end: Int64, found: _Found, latest: Int64, freed: Int64
) -> None:
    """`latest`: by thread its last wait for the lock; `freed`: by thread the last moment at which it released it."""
    rows, start, end = waited.row, graph.waits.start, graph.waits.end
    n = len(rows)
    for k in range(n):
        if k > 0 and waited.lock[k] != waited.lock[k - 1]:
            latest[:] = NONE
            freed[:] = NONE
        w = rows[k]
        free = waited.freed[k]
        of = graph.thread[free]
        if free > freed[of]:
            own = latest[of]
            had = free - 1
            if own != NONE:
                had = end[rows[own]]
            after = max(freed[of] + 1, graph.first[of])
            if own != NONE and _still_has(graph, w, rows[own], free, round_) and had > freed[of]:
                if start[rows[own]] < free:
                    found.hold[k], found.freed[k] = own, free
            else:
                if own != NONE:
                    after = max(after, had)
                asked = _asked(graph, w, free, after, last_end)
                if asked != NONE and round_[asked] == round_[free]:
                    found.hold[k], found.freed[k], found.asked[k] = n + k, free, asked
            freed[of] = free
        latest[graph.thread[end[w]]] = k


@helper
def _still_has(graph: Graph, w: int, own: int, free: int, round_: Int64) -> bool:
    """Whether the thread that releases a lock at moment `free`, for wait w, has it since its own wait for it."""
    if round_[graph.waits.start[own]] != round_[free]:
        return False
    came, had = graph.time[graph.waits.start[w]], graph.time[graph.waits.end[own]]
    return bool(graph.waits.end[own] >= free or came - had <= _SAME_HOLD * (graph.time[free] - came))


@helper
def _asked(graph: Graph, w: int, free: int, after: int, last_end: Int64) -> int:
    """When the thread that releases a lock at moment `free`, for wait w, asked for it; NONE if it cannot have."""
    came = graph.time[graph.waits.start[w]]
    low, high = graph.first[graph.thread[free]], free  # the last moment not after the other one came
    while high - low > 1:
        middle = (low + high) // 2
        if graph.time[middle] <= came:
            low = middle
        else:
            high = middle
    until = free
    inside = graph.wait[min(low + 1, free)]
    if inside != NONE and graph.waits.start[inside] != NONE and graph.waits.end[inside] <= free:
        until = graph.waits.start[inside]  # it waited for something else then, and had the lock
    begin = max(after, last_end[min(low, until)])
    asked = begin
    while asked < until and asked < free - 1 and graph.time[asked] < 2 * came - graph.time[free]:
        asked += 1
    asked = min(asked, until)
    return int(asked) if after <= asked < free else NONE
