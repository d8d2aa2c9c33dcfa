"""The simulation: new times for all moments of a graph, CPUs, locks and tasks given to who comes first.

    Graph + Plan (resources.py)  ->  Times

WHAT HAPPENS. Threads go through their moments as in replay.py, with three differences. Who executes needs a CPU
(machine.py). Who asks for a lock gets it when those have released it who asked before. Who has done a task of a pool
takes the pool's task that was made first, whichever thread took that in the trace: it goes on with what that thread
did then. All other waits end when that moment has come which ended them.

HOW. Events by time. A thread that needs a moment which has not come is in that moment's list; who waits for a lock, in
the lock's; who waits for a task, in the pool's. If threads came to wait for each other in a circle, one of them does
not wait for its lock (circles.py). If nothing goes on any more, the first one that waits does.

WHAT IS GUARANTEED. The moments between two tasks stay in order. With CPUs for all, no locks and no pools, nobody off a
CPU and all delays kept, all times are those of replay.py.
"""

from __future__ import annotations

import numpy as np

from vprof.tables.kernels import helper, kernel, loop
from vprof.tables.model import NONE
from vprof.whatif.circles import first_stuck, in_circle, let_go, need
from vprof.whatif.graph import Graph
from vprof.whatif.held import Held
from vprof.whatif.machine import (
    COMES,
    GOES_ON,
    HAS_RUN,
    IS_READY,
    NOBODY,
    Machine,
    execute,
    give_cpus,
    has_run,
    is_over,
    leave,
    pop,
    push,
    want,
)
from vprof.whatif.pools import Pools
from vprof.whatif.replay import Known, Times, known
from vprof.whatif.standing import (
    NOT_MADE,
    NOTHING,
    PASSES,
    Plan,
    Search,
    State,
    append,
    ask,
    give_back,
    goes_along,
    has_turn,
    take,
)

_NEVER = -1e300


def simulate(graph: Graph, plan: Plan, cpus: int, before: Known | None = None) -> Times:
    """`before`: as for `replay`. Moments that do not come, since what they need does not: NaN."""
    before = before or known(graph)
    new = np.arange(len(graph.time)) >= before.next[graph.thread]
    before.times.at[new], before.times.after[new] = np.nan, np.nan
    _simulate(graph, plan, cpus, before)
    return before.times


@kernel
def _simulate(graph: Graph, plan: Plan, cpus: int, before: Known) -> None:
    threads, moments = len(graph.first) - 1, len(graph.time)
    locks, pools, holds = plan.held.locks + 1, plan.pools.pools + 1, len(plan.held.lock)
    machine = Machine(
        np.zeros(threads, np.int64),
        np.zeros(threads, np.int64),
        np.zeros(threads),
        np.zeros(threads),
        np.zeros(threads, np.bool_),
        np.zeros(threads),
        np.zeros(threads),
        np.zeros(threads, np.int64),
        np.zeros(threads, np.int64),
        np.array([0, 0, 0, cpus, 0]),
    )
    state = State(
        before.next,
        np.full(threads, NOBODY),
        np.zeros(threads, np.bool_),
        np.zeros(threads, np.bool_),
        np.full(threads, NOBODY),
        np.full(threads, NOBODY),
        np.full(locks, NOBODY),
        np.full(holds, NOBODY),
        np.full(holds, NOBODY),
        np.zeros(holds, np.bool_),
        np.full(moments, NOBODY),
        np.full(locks, NOBODY),
        np.full(locks, NOBODY),
        np.full(pools, NOBODY),
        np.full(pools, NOBODY),
        np.full(threads, NOBODY),
        np.full(pools, NOBODY),
        np.full(pools, NOBODY),
        np.full(len(plan.pools.entry), NOBODY),
        np.full(len(plan.pools.entry), NOT_MADE),
        np.zeros(len(graph.waits.end), np.bool_),
        Search(
            np.zeros(1, np.int64), np.zeros(threads, np.int64), np.zeros(threads, np.int64), np.zeros(threads, np.int64)
        ),
    )
    _go(graph, plan, before.times, machine, state)


@loop
def _go(graph: Graph, plan: Plan, times: Times, m: Machine, s: State) -> None:
    _begin(graph, plan, times, m, s)
    now = 0.0
    while True:
        if is_over(m):
            thread = first_stuck(graph, plan, s)
            if thread == NONE:
                break
            let_go(graph, plan, s, thread)
            push(m, now, thread, GOES_ON)
        now = m.at[0]
        thread = pop(m)
        event = m.event[thread]
        if event == HAS_RUN and has_run(m, now, thread):
            event = GOES_ON if s.resumes[thread] else COMES
            s.resumes[thread] = False
        if event == IS_READY:
            want(m, thread)
        elif event == COMES:
            _come(graph, plan, times, m, s, now, thread)
        elif event == GOES_ON:
            _go_on(graph, plan, times, m, s, now, thread)
        give_cpus(m, now)


@helper
def _begin(graph: Graph, plan: Plan, times: Times, m: Machine, s: State) -> None:
    """A thread's first moment stays, unless something ended a wait there; who is known goes on."""
    for thread in range(len(s.next)):
        n = s.next[thread]
        if n < graph.until[thread] and n > graph.first[thread]:
            push(m, times.after[n - 1], thread, GOES_ON)
        elif n < graph.until[thread] and plan.wait[n] == NONE:
            push(m, np.float64(graph.time[n]), thread, COMES)
        elif n < graph.until[thread]:
            push(m, _NEVER, thread, GOES_ON)


@helper
def _come(graph: Graph, plan: Plan, times: Times, m: Machine, s: State, now: float, thread: int) -> None:
    """The thread's next moment comes, once the task is made that is taken up there: what it held is released, who
    needed the moment goes on, tasks that it makes are taken or wait."""
    n = s.next[thread]
    for k in range(graph.made_first[n], graph.made_first[n + 1]):
        if np.isnan(times.at[graph.made[k]]):
            s.is_there[thread] = True
            _need(graph, plan, m, s, now, thread, graph.made[k])
            return
    s.is_there[thread] = False
    times.at[n] = now
    times.after[n] = now + plan.more[n]
    s.next[thread] = n + 1
    other = s.needs[n]
    s.needs[n] = NONE
    while other != NONE:
        behind = s.following[other]
        s.needed[other] = NONE
        push(m, now, other, COMES if s.is_there[other] else GOES_ON)
        other = behind
    held = plan.held
    for k in range(held.free_first[n], held.free_first[n + 1]):
        _release(held, m, s, now, held.freed[k])
    pools = plan.pools
    for k in range(pools.made_first[n], pools.made_first[n + 1]):
        _make(pools, m, s, now, pools.made[k])
    s.asks[thread] = held.ask_first[n]
    push(m, times.after[n], thread, GOES_ON)


@helper
def _release(held: Held, m: Machine, s: State, now: float, hold: int) -> None:
    """It goes to those who asked first. Nothing happens if somebody else has the lock, which went to one more to end a
    circle."""
    if not give_back(held, s, hold):
        return
    lock = held.lock[hold]
    while s.asking[lock] != NONE and goes_along(held, s, held.hold[s.asks[s.asking[lock]]]):
        thread = s.asking[lock]
        s.asking[lock] = s.following[thread]
        ready = held.ready[held.hold[s.asks[thread]]]
        take(held, s, thread)
        s.resumes[thread] = True
        m.left[thread] = 0.0
        push(m, now + ready, thread, IS_READY)


@helper
def _make(pools: Pools, m: Machine, s: State, now: float, task: int) -> None:
    pool = pools.of[task]
    thread = s.idle[pool]
    if thread != NONE:
        s.idle[pool] = s.following[thread]
        s.next[thread], s.asks[thread], s.taken_by[task] = pools.entry[task], NONE, thread
        s.resumes[thread] = True
        m.left[thread] = 0.0
        push(m, now + pools.ready[task], thread, IS_READY)
        return
    s.taken_by[task] = NOBODY
    append(s.ready, s.last_ready, s.behind, pool, task)


@helper
def _go_on(graph: Graph, plan: Plan, times: Times, m: Machine, s: State, now: float, thread: int) -> None:
    """What the thread does until its next moment."""
    if s.asks[thread] != NONE and not _has_all(graph, plan, m, s, thread):
        return
    n = s.next[thread]
    wait = plan.wait[n]
    if wait != NONE and s.nobody[wait]:
        leave(m, thread)
        push(m, now + np.float64(graph.time[n] - graph.time[n - 1]), thread, COMES)
    elif wait != NONE and _is_ended(graph, wait, n) and np.isnan(times.at[graph.waits.ended_by[wait]]):
        _need(graph, plan, m, s, now, thread, graph.waits.ended_by[wait])
    elif wait != NONE:
        _end_wait(graph, plan, times, m, n, now, thread)
    elif plan.does[n] == PASSES:
        leave(m, thread)
        push(m, max(now, np.float64(graph.time[n])) if plan.arrives[n] else now + plan.length[n], thread, COMES)
    elif plan.does[n] == NOTHING or plan.length[n] <= 0:
        push(m, now, thread, COMES)
    else:
        execute(m, now, thread, plan.length[n])


@helper
def _need(graph: Graph, plan: Plan, m: Machine, s: State, now: float, thread: int, moment: int) -> None:
    """The thread waits for a moment to come."""
    need(m, s, thread, moment)
    other = in_circle(graph, plan, s, thread)
    if other != NONE:
        let_go(graph, plan, s, other)
        push(m, now, other, GOES_ON)


@helper
def _has_all(graph: Graph, plan: Plan, m: Machine, s: State, thread: int) -> bool:
    """Whether the thread gets all locks that it asks for at its last moment, and if it takes a task there, one of
    those, and has anything to do then."""
    last = s.next[thread] - 1
    held = plan.held
    while s.asks[thread] < held.ask_first[last + 1]:
        hold = held.hold[s.asks[thread]]
        s.waits_for[thread] = held.lock[hold]
        if not has_turn(held, s, hold) and in_circle(graph, plan, s, thread) == NONE:
            leave(m, thread)
            ask(held, s, thread)
            return False
        take(held, s, thread)
    s.asks[thread] = NONE
    pool = plan.pools.at[last]
    if pool == NONE:
        if s.next[thread] < graph.until[graph.thread[last]]:
            return True
        leave(m, thread)
        return False
    return _takes_task(plan.pools, m, s, thread, pool)


@helper
def _takes_task(pools: Pools, m: Machine, s: State, thread: int, pool: int) -> bool:
    task = s.ready[pool]
    if task != NONE:
        s.ready[pool] = s.behind[task]
        s.next[thread], s.taken_by[task] = pools.entry[task], thread
        return True
    leave(m, thread)
    append(s.idle, s.last_idle, s.following, pool, thread)
    return False


@helper
def _is_ended(graph: Graph, wait: int, n: int) -> bool:
    """Whether the moment, in or at the end of a wait, comes after what ended that."""
    return bool(n == graph.waits.end[wait] or graph.time[n] > graph.waits.woken[wait])


@helper
def _end_wait(graph: Graph, plan: Plan, times: Times, m: Machine, n: int, now: float, thread: int) -> None:
    """The thread's next moment ends a wait or lies in it, and what ended that has come."""
    wait, waits = plan.wait[n], graph.waits
    start = waits.start[wait]
    arrival = _NEVER if start == NONE else times.after[start]
    if not _is_ended(graph, wait, n):
        leave(m, thread)
        push(m, max(now, arrival + np.float64(graph.time[n] - graph.time[start])), thread, COMES)
        return
    ended = times.at[waits.ended_by[wait]]
    if arrival > ended and not waits.late[wait]:
        push(m, now, thread, COMES)
        return
    leave(m, thread)
    delay = plan.delay[wait]
    if n != waits.end[wait]:
        delay = min(delay, np.float64(graph.time[n] - waits.woken[wait]))
        push(m, max(now, max(arrival, ended) + delay), thread, COMES)
        return
    m.left[thread] = 0.0
    push(m, max(now, max(arrival, ended) + delay), thread, IS_READY)
