"""Threads of a simulation that wait for each other, so that none of them would ever go on; and which one does.

Locks are given to who asks first, which may not be who got them in the trace, and when they were asked for is an
estimate for some. So threads may come to wait for each other in a circle that the trace did not have: for a lock that
another one has, or for a moment of another one. Then one of those that wait for a lock gets it as well.
"""

from __future__ import annotations

import numpy as np

from vprof.tables.kernels import helper
from vprof.tables.model import NONE
from vprof.whatif.graph import Graph
from vprof.whatif.machine import NOBODY, Machine, leave
from vprof.whatif.standing import Plan, State, drop, take


@helper
def need(m: Machine, s: State, thread: int, moment: int) -> None:
    """The thread waits for a moment to come."""
    leave(m, thread)
    s.following[thread] = s.needs[moment]
    s.needs[moment] = thread
    s.needed[thread] = moment


@helper
def in_circle(graph: Graph, s: State, thread: int) -> int:
    """If the thread waits for another one, and so on until one waits for it: the last on this way that waits for a
    lock. NONE if there is no such circle."""
    found, other = NOBODY, np.int64(thread)
    for _ in range(len(s.next)):
        lock, moment = s.waits_for[other], s.needed[other]
        if lock != NONE and s.hold[lock] != NONE:
            found = other
            other = s.holder[lock]
        elif lock == NONE and moment != NONE:
            other = graph.thread[moment]
            if not _comes_to(graph, s, other, moment):
                return NONE
        else:
            return NONE
        if other == thread:
            return int(found)
    return NONE


@helper
def _comes_to(graph: Graph, s: State, thread: int, moment: int) -> bool:
    """Whether the thread itself, which may have another's task, comes to a moment."""
    n = s.next[thread]
    return bool(n <= moment and graph.thread[n] == thread)


@helper
def first_stuck(graph: Graph, plan: Plan, s: State) -> int:
    """Nothing happens any more: of the threads that wait for a lock the one whose next moment was first, or if there
    are none, of those that need a moment; NONE if there are none of these either."""
    found = NOBODY
    for thread in range(len(s.next)):
        if s.waits_for[thread] != NONE and (found == NONE or graph.time[s.next[thread]] < graph.time[s.next[found]]):
            found = np.int64(thread)
    if found != NONE:
        return int(found)
    for thread in range(len(s.next)):
        n = s.next[thread]
        if n >= len(graph.time) or plan.wait[n] == NONE or s.nobody[plan.wait[n]] or s.is_there[thread]:
            continue
        is_first = found == NONE or graph.time[n] < graph.time[s.next[found]]
        if is_first and _is_in(s, graph.waits.ended_by[plan.wait[n]], thread):
            found = np.int64(thread)
    return int(found)


@helper
def _is_in(s: State, moment: int, thread: int) -> bool:
    other = s.needs[moment]
    while other != NONE and other != thread:
        other = s.following[other]
    return bool(other == thread)


@helper
def let_go(graph: Graph, plan: Plan, s: State, thread: int) -> None:
    """It gets the lock that it waits for, or nobody is known to have ended its wait any more."""
    lock = s.waits_for[thread]
    if lock == NONE:
        wait = plan.wait[s.next[thread]]
        s.nobody[wait] = True
        s.needed[thread] = NONE
        drop(s.needs, s.following, graph.waits.ended_by[wait], thread)
        return
    before = drop(s.asking, s.following, lock, thread)
    if s.last_asking[lock] == thread:
        s.last_asking[lock] = before
    take(plan.held, s, thread)
