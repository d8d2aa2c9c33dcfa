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
from vprof.whatif.pools import Pools
from vprof.whatif.standing import NOT_MADE, Plan, State, drop, same_owner, take

_FOUND = -1
"""Instead of the depth of a stack."""
_WHO_TAKES = -2
"""Instead of a thread: any that takes tasks of a pool."""


@helper
def need(m: Machine, s: State, thread: int, moment: int) -> None:
    """The thread waits for a moment to come."""
    leave(m, thread)
    s.following[thread] = s.needs[moment]
    s.needs[moment] = thread
    s.needed[thread] = moment


@helper
def in_circle(graph: Graph, plan: Plan, s: State, thread: int) -> int:
    """If the thread waits for another one, and so on until one waits for it: the last on this way that waits for a
    lock. If all that it waits for in the end is a task that nobody has taken, and all who might take it wait for each
    other: one of these that waits for a lock. NONE if there is neither."""
    found, for_takers = s.search, False
    depth = _begin(s, thread)
    while depth > 0:
        one = found.stack[depth - 1]
        depth -= 1
        if s.waits_for[one] != NONE:
            depth = _look_at_holders(plan.held, s, thread, one, depth)
        elif s.needed[one] != NONE:
            other = _who_comes_to(graph, plan.pools, s, s.needed[one])
            for_takers = for_takers or other == _WHO_TAKES
            if other >= 0:
                depth = _look_at(s, thread, one, other, depth)
        if depth == _FOUND:
            while s.waits_for[one] == NONE and one != thread:
                one = found.via[one]
            return int(one) if s.waits_for[one] != NONE else NONE
    return _among_stuck(graph, plan, s, thread) if for_takers else NONE


@helper
def _among_stuck(graph: Graph, plan: Plan, s: State, thread: int) -> int:
    """If nobody that the thread waits for will ever go on, nor whom those wait for, whoever may take a task among them:
    one of them that waits for a lock. NONE else."""
    waits = NOBODY
    depth = _begin(s, thread)
    while depth > 0:
        one = s.search.stack[depth - 1]
        depth -= 1
        if s.waits_for[one] != NONE:
            if s.hold[s.waits_for[one]] == NONE:
                return NONE
            waits = one
            depth = _look_at_holders(plan.held, s, NONE, one, depth)
        elif s.needed[one] != NONE:
            other = _who_comes_to(graph, plan.pools, s, s.needed[one])
            if other == NONE:
                return NONE
            if other == _WHO_TAKES:
                depth = _look_at_takers(graph, plan.pools, s, one, depth)
            else:
                depth = _look_at(s, NONE, one, other, depth)
        else:
            return NONE
    return int(waits)


@helper
def _begin(s: State, thread: int) -> int:
    """A search. Returns the depth of the stack."""
    s.search.number[0] += 1
    s.search.stack[0] = thread
    s.search.seen[thread] = s.search.number[0]
    return 1


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
def _look_at_takers(graph: Graph, pools: Pools, s: State, one: int, depth: int) -> int:
    """As above, of those who may take the task that thread `one` waits for."""
    pool = pools.of[_task_of(graph, pools, s.needed[one])]
    for other in range(len(s.next)):
        last = graph.first[other + 1] - 1
        if last >= graph.first[other] and pools.at[last] == pool:
            depth = _look_at(s, NONE, one, other, depth)
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
def _who_comes_to(graph: Graph, pools: Pools, s: State, moment: int) -> int:
    """The thread that comes to a moment: whoever took the task that it belongs to, its own if there is no such task, or
    who makes the task. _WHO_TAKES if that is made, and nobody has taken it; NONE if it is not known."""
    task = _task_of(graph, pools, moment)
    if task != NONE and s.taken_by[task] == NOT_MADE:
        moment = graph.made[graph.made_first[pools.taken[task]]]
        task = _task_of(graph, pools, moment)
        if task != NONE and s.taken_by[task] < 0:
            return NONE
    thread = graph.thread[moment]
    if task != NONE:
        thread = s.taken_by[task]
    if thread == NONE:
        return _WHO_TAKES
    n = s.next[thread]
    return int(thread) if n <= moment and graph.thread[n] == graph.thread[moment] else NONE


@helper
def _task_of(graph: Graph, pools: Pools, moment: int) -> int:
    """The task that a moment belongs to, NONE if there is none."""
    task = np.searchsorted(pools.entry, moment, side="right") - 1
    return int(task) if task >= 0 and graph.thread[pools.entry[task]] == graph.thread[moment] else NONE


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
