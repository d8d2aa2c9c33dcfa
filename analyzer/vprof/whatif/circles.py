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
from vprof.whatif.held import Held
from vprof.whatif.machine import NOBODY, Machine, leave
from vprof.whatif.standing import Plan, State, drop, same_owner, take

_FOUND = -1
"""Instead of the depth of a stack."""


@helper
def need(m: Machine, s: State, thread: int, moment: int) -> None:
    """The thread waits for a moment to come."""
    leave(m, thread)
    s.following[thread] = s.needs[moment]
    s.needs[moment] = thread
    s.needed[thread] = moment


@helper
def in_circle(graph: Graph, held: Held, s: State, thread: int) -> int:
    """If the thread waits for another one, and so on until one waits for it: the last on this way that waits for a
    lock. NONE if there is no such circle."""
    found = s.search
    found.number[0] += 1
    found.stack[0] = thread
    depth = 1
    while depth > 0:
        one = found.stack[depth - 1]
        depth -= 1
        if s.waits_for[one] != NONE:
            depth = _look_at_holders(held, s, thread, one, depth)
        elif s.needed[one] != NONE:
            other = graph.thread[s.needed[one]]
            if _comes_to(graph, s, other, s.needed[one]):
                depth = _look_at(s, thread, one, other, depth)
        if depth == _FOUND:
            while s.waits_for[one] == NONE and one != thread:
                one = found.via[one]
            return int(one) if s.waits_for[one] != NONE else NONE
    return NONE


@helper
def _look_at_holders(held: Held, s: State, thread: int, one: int, depth: int) -> int:
    """Those of others that have the lock which thread `one` waits for are to be looked at. Returns the new depth of the
    stack, or _FOUND."""
    mine = held.hold[s.asks[one]]
    hold = s.hold[s.waits_for[one]]
    while hold != NONE and depth != _FOUND:
        if not same_owner(held, mine, hold):
            depth = _look_at(s, thread, one, s.holder[hold], depth)
        hold = s.beside[hold]
    return depth


@helper
def _look_at(s: State, thread: int, one: int, other: int, depth: int) -> int:
    """As above, of a thread that `one` waits for."""
    found = s.search
    if other == thread:
        return _FOUND
    if found.seen[other] != found.number[0]:
        found.seen[other], found.via[other] = found.number[0], one
        found.stack[depth] = other
        depth += 1
    return depth


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
