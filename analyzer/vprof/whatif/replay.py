"""The replay: new times for all moments of a graph (docs/algorithms.md section 11).

    Graph + Lengths (how long everything takes now) + Known (what is known before)  ->  Times

WHAT HAPPENS. Each thread goes through its moments in order. The time to the next one takes as long as `Lengths` says.
Where a thread waited, it goes on when the moment that ended the wait has come, and its delay after that; if that moment
comes before the thread arrives, it does not wait. A task is not taken up before it is made. A thread's first moment
stays, unless the thread began with a task. What is known before a window of a trace is replayed is given: `Known`.

HOW. Threads are not gone through in the order of time: a thread is followed until it needs a moment of another one that
is not known yet, which then is followed first. Those that stand in between are a stack in which no thread occurs twice:
edges go forward in time, so only moments of one time could need each other. Where they do, which no program can do, the
wait is taken for one that nobody ended. So the work is one step per moment and edge.

WHAT IS GUARANTEED. The moments of a thread stay in order; with the lengths of the trace every moment stays where it
was.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vprof.errors import InvariantError
from vprof.tables.kernels import helper, kernel, loop
from vprof.tables.model import NONE, Bool, Float, Int64
from vprof.whatif.graph import Graph

_NEVER = -1e300


class Lengths(NamedTuple):
    """In ns. `length`: of the time that ends at each moment, of no meaning where that is a wait; `more`: what the
    thread does at the moment beside, before it goes on; `delay`: of each wait. `arrives`: the time that ends at the
    moment lasts until then at least."""

    length: Float
    more: Float
    delay: Float
    arrives: Bool


class Times(NamedTuple):
    """In ns since the graph's origin: when each moment comes, and when its thread goes on from there."""

    at: Float
    after: Float


class Known(NamedTuple):
    """The times of the moments that are known: of each thread those before `next`. Other rows have no meaning."""

    times: Times
    next: Int64


def known(graph: Graph) -> Known:
    """Where moments are known, they stay as they were."""
    time = graph.time.astype(np.float64)
    return Known(Times(time, time.copy()), graph.known.copy())


def as_recorded(graph: Graph) -> Lengths:
    """Nothing is changed."""
    n = len(graph.time)
    length = np.diff(graph.time, prepend=0).astype(np.float64)
    return Lengths(length, np.zeros(n), graph.waits.delay.astype(np.float64), np.zeros(n, np.bool_))


def replay(graph: Graph, lengths: Lengths, before: Known | None = None) -> Times:
    """`before`: None if what is known stays as it was. Its tables are written."""
    before = before or known(graph)
    _replay(graph, lengths, before)
    return before.times


def check_identity(graph: Graph, arrives: Bool) -> None:
    """Raises InvariantError unless a replay without a change, also with the arrivals as they were, leaves every moment
    where it was."""
    same = as_recorded(graph)
    for lengths in (same, same._replace(arrives=arrives)) if arrives.any() else (same,):
        if not np.array_equal(replay(graph, lengths).at, graph.time.astype(np.float64)):
            raise InvariantError("a replay without a change moves something: please report this trace")


@kernel
def _replay(graph: Graph, lengths: Lengths, before: Known) -> None:
    threads = len(graph.first) - 1
    nobody = np.zeros(len(graph.waits.end), np.bool_)
    stack, stacked = np.zeros(threads + 1, np.int64), np.zeros(threads, np.bool_)
    _go(graph, lengths, before.times, nobody, _Progress(before.next, stack, stacked))


class _Progress(NamedTuple):
    """By thread its next moment that is not known. The stack: moments that are needed, each by the thread of the one
    below it. `stacked`: the threads in it."""

    next: Int64
    stack: Int64
    stacked: Bool


@loop
def _go(graph: Graph, lengths: Lengths, times: Times, nobody: Bool, progress: _Progress) -> None:
    """`nobody`: waits that are taken for such that nobody ended."""
    threads = len(graph.first) - 1
    go_on, stack, stacked = progress.next, progress.stack, progress.stacked
    for thread in range(threads):
        if go_on[thread] >= graph.until[thread]:
            continue
        stack[0], depth = graph.until[thread] - 1, 1
        stacked[thread] = True
        while depth > 0:
            target = stack[depth - 1]
            of = graph.thread[target]
            n = go_on[of]
            if n > target:
                stacked[of] = False
                depth -= 1
                continue
            need = _unknown_need(graph, n, nobody, progress)
            if need == NONE:
                _step(graph, lengths, times, nobody, n)
                go_on[of] = n + 1
            else:
                stack[depth] = need
                stacked[graph.thread[need]] = True
                depth += 1


@helper
def _unknown_need(graph: Graph, n: int, nobody: Bool, progress: _Progress) -> int:
    """A moment that has to be known before n is, and is not; NONE if there is none."""
    wait = graph.wait[n]
    if wait != NONE and not nobody[wait]:
        need = graph.waits.ended_by[wait]
        if _is_needed(graph, wait, n) and progress.next[graph.thread[need]] <= need:
            if not progress.stacked[graph.thread[need]]:
                return int(need)
            nobody[wait] = True
    for k in range(graph.made_first[n], graph.made_first[n + 1]):
        need = graph.made[k]
        if progress.next[graph.thread[need]] <= need and not progress.stacked[graph.thread[need]]:
            return int(need)
    return NONE


@helper
def _is_needed(graph: Graph, wait: int, n: int) -> bool:
    """Whether the moment, in or at the end of a wait, comes after what ended that."""
    return bool(n == graph.waits.end[wait] or graph.time[n] > graph.waits.woken[wait])


@helper
def _step(graph: Graph, lengths: Lengths, times: Times, nobody: Bool, n: int) -> None:
    """When moment n comes. REQUIRES: what it needs is known."""
    is_first = n == graph.first[graph.thread[n]]
    wait = graph.wait[n]
    before = _NEVER if is_first else times.after[n - 1]
    if wait != NONE and not nobody[wait]:
        at = max(before, _in_wait(graph, lengths, times, wait, n))
    elif is_first:
        at = np.float64(graph.time[n])
    elif wait != NONE:
        at = before + np.float64(graph.time[n] - graph.time[n - 1])
    elif lengths.arrives[n]:
        at = max(before, np.float64(graph.time[n]))
    else:
        at = before + lengths.length[n]
    for k in range(graph.made_first[n], graph.made_first[n + 1]):
        at = max(at, times.at[graph.made[k]])
    times.at[n] = at
    times.after[n] = at + lengths.more[n]


@helper
def _in_wait(graph: Graph, lengths: Lengths, times: Times, wait: int, n: int) -> float:
    """When a moment comes at which a wait ends, or which lies in one: what the thread did before it was woken, as long
    after its arrival as it was, what it did afterwards, as long after that."""
    waits = graph.waits
    start, woken = waits.start[wait], waits.woken[wait]
    arrival = _NEVER if start == NONE else times.after[start]
    if not _is_needed(graph, wait, n):
        return float(arrival + np.float64(graph.time[n] - graph.time[start]))
    ended = times.at[waits.ended_by[wait]]
    since = max(arrival, ended)
    if arrival > ended and not waits.late[wait]:
        return float(since)
    delay = lengths.delay[wait] if n == waits.end[wait] else np.float64(graph.time[n] - woken)
    return float(since + delay)
