"""Threads that serve one queue of tasks: a free one may take the next task, whichever it was in the trace.

    Graph + Segments  ->  Pools, and which moments are no work any more

A thread that works for a pool goes through *rounds*: it takes a task up, does it, and then waits for the next one. A
round's last moment is the begin of that wait; where there is none, the moment before the task is taken up. Between that
and the task nothing is left but what it executed there, which the next round begins with.

Threads that wait for tasks at the same object, such as a condition variable, share a queue, from which tasks are taken
in the order in which they were made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from vprof.tables.columns import i32, i64
from vprof.tables.kernels import kernel, loop
from vprof.tables.lookup import grouped
from vprof.tables.model import NONE, Bool, Float, Int64
from vprof.whatif.graph import Graph

_FEWEST = 10
"""A thread that took fewer tasks serves no pool."""


class Pools(NamedTuple):
    """By moment: `at`, the pool whose next task its thread takes there, NONE if it goes on; the tasks made there,
    made[made_first[n]:made_first[n + 1]]. By task: `entry`, the first moment of its round, ascending; `taken`, the
    moment at which it is taken up; `of`, its pool, of so many `pools`; `ready`, how long an idle thread needs to get
    ready, ns."""

    at: Int64
    made_first: Int64
    made: Int64
    entry: Int64
    taken: Int64
    of: Int64
    ready: Float
    pools: int


class _Rounds(NamedTuple):
    """By task that is taken up by a thread of a pool: the moment `taken`, the one before its round, `end`; the moment
    `made`. `waits`: whether the thread waited for it; `what`, at which object, NONE if that is not known."""

    taken: Int64
    end: Int64
    made: Int64
    waits: Bool
    what: Int64


def no_pools(graph: Graph) -> Pools:
    none, n = np.zeros(0, np.int64), len(graph.time)
    return Pools(np.full(n, NONE), np.zeros(n + 1, np.int64), none, none, none, none, np.zeros(0), 0)


def find_pools(graph: Graph, works: Bool, object_: Int64, is_lock: Bool, delay: Float, usual: float) -> Pools:
    """By moment, of the time that ends there: `works`, whether it was for an interval; `object_`, what was waited for,
    and whether that `is_lock`. `delay`: by wait, how long its thread needed to get ready; `usual`, what most need."""
    rounds = _rounds(graph, works, object_, is_lock)
    if not len(rounds.taken):
        return no_pools(graph)
    of_thread, count = _pools_of(graph, rounds)
    n = len(graph.time)
    at = np.full(n, NONE)
    of = of_thread[graph.thread[rounds.taken]]
    at[rounds.end] = of
    ends = graph.first[1:][:-1] - 1
    serve = np.flatnonzero(of_thread[: len(ends)] != NONE)
    at[ends[serve]] = of_thread[serve]
    made_first, made = grouped(i32(rounds.made), n)
    ready = np.full(len(of), usual)
    last = graph.wait[np.minimum(rounds.end + 1, n - 1)]
    waited = rounds.waits & (last != NONE)
    ready[waited] = delay[last[waited]]
    return Pools(at, made_first, i64(made), rounds.end + 1, rounds.taken, of, ready, count)


def _rounds(graph: Graph, works: Bool, object_: Int64, is_lock: Bool) -> _Rounds:
    taken = np.flatnonzero(np.diff(graph.made_first) > 0)
    thread = graph.thread[taken]
    count = np.bincount(thread, minlength=len(graph.first))
    taken = taken[(count[thread] >= _FEWEST) & (thread < len(graph.first) - 2)]
    end, waits, what = _round_ends(i64(taken), graph, works, object_, is_lock)
    known = end != NONE
    return _Rounds(i64(taken[known]), end[known], _made_last(graph, i64(taken[known])), waits[known], what[known])


def _made_last(graph: Graph, taken: Int64) -> Int64:
    """The moments at which these tasks were made, of several that were taken up together the last one."""
    first, last = graph.made_first[taken], graph.made_first[taken + 1]
    made = graph.made[first]
    for k in np.flatnonzero(last - first > 1):
        together = graph.made[first[k] : last[k]]
        made[k] = together[np.argmax(graph.time[together])]
    return i64(made)


@kernel
def _round_ends(taken: Int64, graph: Graph, works: Bool, object_: Int64, is_lock: Bool) -> tuple[Int64, Bool, Int64]:
    """By task the last moment of the round before it, NONE if none is known; `waits` and `what` of `_Rounds`."""
    end, waits, what = np.full(len(taken), NONE), np.zeros(len(taken), np.bool_), np.full(len(taken), NONE)
    _find_ends(taken, graph, works, object_, is_lock, end, waits, what)
    return end, waits, what


@loop
def _find_ends(
    taken: Int64, graph: Graph, works: Bool, object_: Int64, is_lock: Bool, end: Int64, waits: Bool, what: Int64
) -> None:
    wait, start = graph.wait, graph.waits.start
    for k in range(len(taken)):
        n = taken[k]
        low = max(graph.first[graph.thread[n]], graph.known[graph.thread[n]])
        idle = n - 1  # the time after it is for nobody
        while idle > low and not works[idle] and graph.made_first[idle + 1] == graph.made_first[idle]:
            idle -= 1
        if idle < low:
            continue
        last = n
        while last > idle and wait[last] == NONE:
            last -= 1
        if last == idle:
            end[k] = n - 1
            continue
        waits[k] = True
        begin = last
        while begin > idle and wait[begin] != NONE:
            if not is_lock[begin]:
                what[k] = object_[begin]
            begin = max(idle, start[wait[begin]])
        for m in range(idle + 1, begin + 1):
            if what[k] != NONE and wait[m] != NONE and object_[m] == what[k] and start[wait[m]] >= idle:
                begin = start[wait[m]]
                break
        end[k] = begin


def _pools_of(graph: Graph, rounds: _Rounds) -> tuple[Int64, int]:
    """By thread its pool, NONE if it serves none, and how many there are."""
    threads = len(graph.first) - 1
    server = graph.thread[rounds.taken]
    known = rounds.what != NONE
    size = threads + int(rounds.what.max(initial=NONE)) + 1
    waits = (np.ones(known.sum()), (server[known], threads + rounds.what[known]))
    together = connected_components(coo_array(waits, shape=(size, size)), directed=False)[1][:threads]
    of = np.full(threads, NONE)
    numbers, of[server] = np.unique(together[server], return_inverse=True)
    return i64(of), len(numbers)
