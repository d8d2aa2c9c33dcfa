"""What threads compete for in a trace: CPUs, locks, tasks of shared queues; and how long all takes beside that.

    Graph + Segments  ->  Resources;  + Lengths (under a change)  ->  Plan, to be simulated

A wait for a CPU comes about anew as far as the program's own threads had all CPUs meanwhile. The rest of it is other
programs' doing, and stays: a thread that was taken off its CPU, or was woken, needs that long again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.errors import InvariantError
from vprof.tables.columns import i64
from vprof.tables.kinds import EXEC, PREEMPTED
from vprof.tables.model import NONE, Bool, Float, Int64, Segments
from vprof.whatif.graph import Built, Graph
from vprof.whatif.guarded import Called
from vprof.whatif.held import Held, find_holds, held_of, is_mutex, locks
from vprof.whatif.logged import Logged, Waited, find_waited, holds_of, nothing_logged
from vprof.whatif.overlap import Overlap
from vprof.whatif.pools import Pools, find_pools
from vprof.whatif.replay import Lengths
from vprof.whatif.standing import EXECUTES, NOTHING, PASSES, Plan
from vprof.whatif.stretch import Rows

_LEAST_NS = 1000
"""A wait for a CPU that is this short beside the program's own part counts as that."""


@dataclass(frozen=True)
class Resources:
    """By moment as in `Plan`, but for lengths: `stays`, the part of the time that ends there which is no wait for the
    program's own threads; `executes`, whether a thread executed then, for itself or a round that begins with it. By
    wait: `delay`. `guessed`: how many waits were for locks, no mutexes, of which it is not told who has them."""

    graph: Graph
    does: Int64
    wait: Int64
    stays: Float
    executes: Bool
    delay: Float
    held: Held
    pools: Pools
    guessed: int


def resources(built: Built, rows: Rows, seg: Segments, cpus: int, told: Logged | None = None) -> Resources:
    """`told`: locks of which the program told, with whose moments the graph is made. REQUIRES: a graph of a whole
    trace, whose segments these are."""
    graph = built.graph
    if len(rows.ts) != len(seg.ts):
        raise InvariantError("the segments of a whole trace are not those of its graph: please report this trace")
    state = np.r_[rows.state, -1][graph.segment]
    works = np.r_[rows.label, NONE][graph.segment] != NONE
    before = _before(graph)
    own = (graph.wait == NONE) & (before != NONE)
    executes = (state == EXEC) & own & ~_is_open(graph, works)
    busy = Overlap(graph.time[before[executes]], graph.time[executes], cpus)  # the program has all CPUs
    delay = np.maximum(graph.waits.delay - busy.between(graph.waits.woken, graph.time[graph.waits.end]), 0.0)
    stays, length = np.ones(len(state)), graph.time - graph.time[before]
    preempted = np.flatnonzero((state == PREEMPTED) & own)
    others = length[preempted] - busy.between(graph.time[before[preempted]], graph.time[preempted])
    stays[preempted] = others / length[preempted]
    does = np.where(executes, EXECUTES, PASSES)
    does[preempted[others < _LEAST_NS]] = NOTHING
    told = told or nothing_logged()
    waited = find_waited(built, told, i64(state), busy)
    return _with_rivals(built, seg, works, i64(does), stays, executes, delay, told, waited)


def _with_rivals(
    built: Built,
    seg: Segments,
    works: Bool,
    does: Int64,
    stays: Float,
    executes: Bool,
    delay: Float,
    told: Logged,
    waited: Waited,
) -> Resources:
    """With locks and queues, and without the waits for them. `works`: by moment, whether the time that ends there was
    for an interval. Changes `does`."""
    graph, called = built.graph, Called(built.calls.function, built.enter, built.leave)
    wait, waits = graph.wait.copy(), graph.waits
    usual = float(np.median(delay)) if len(delay) else 0.0
    object_, class_ = _waited_for(graph, seg)
    pools = find_pools(graph, works, object_[wait], is_mutex(class_)[wait], delay, usual)
    between = _covered(graph, pools.entry, pools.taken)
    between |= waited.of != NONE
    wait[between], does[between] = NONE, NOTHING
    does[pools.taken] = EXECUTES
    together = _together(graph, pools)
    is_kept = (wait[waits.end] != NONE) & (waits.start != NONE)
    candidates = np.flatnonzero((object_[:-1] != NONE) & ~waits.by_task & is_kept)
    lock = locks(graph, i64(candidates), object_[:-1], class_[:-1], together)
    rounds = i64(np.cumsum(np.r_[0, pools.at[:-1] != NONE]))
    inferred = find_holds(graph, lock, rounds, delay, usual, called)
    held = held_of(graph, inferred, holds_of(built, told, waited, usual), told.shared, told.owner)
    among = (lock == NONE) & is_kept & (together[graph.thread[waits.end]] == together[graph.thread[waits.ended_by]])
    for those, instead in ((lock != NONE, NOTHING), (among, PASSES)):
        of = _covered(graph, waits.start[those] + 1, waits.end[those])
        wait[of], does[of] = NONE, instead
    guessed = int(np.count_nonzero((lock != NONE) & ~is_mutex(class_[:-1])))
    return Resources(graph, does, wait, stays, executes, delay, held, pools, guessed)


def plan(of: Resources, lengths: Lengths) -> Plan:
    """`lengths`: of what executes, and of what waits for nobody of the program."""
    length = lengths.length * of.stays
    done = np.r_[0.0, np.cumsum(np.where(of.executes, length, 0.0))]
    length[of.pools.taken] = done[of.pools.taken + 1] - done[of.pools.entry]
    return Plan(of.does, of.wait, length, lengths.arrives, lengths.more, of.delay, of.held, of.pools)


def _before(graph: Graph) -> Int64:
    """By moment the one before it, NONE if it is its thread's first."""
    before = np.arange(len(graph.time)) - 1
    before[graph.first[:-1][graph.first[:-1] < len(before)]] = NONE
    return i64(before)


def _waited_for(graph: Graph, seg: Segments) -> tuple[Int64, Int64]:
    """By wait what it was for: the object, NONE if that is not known, and its class. The last row is of no wait."""
    of = graph.segment[np.minimum(graph.waits.end, len(graph.segment) - 1)]
    object_, class_ = np.r_[i64(seg.object), NONE][of], np.r_[i64(seg.object_class), 0][of]
    return i64(np.r_[object_, NONE]), i64(np.r_[class_, 0])


def _together(graph: Graph, pools: Pools) -> Int64:
    """By thread a number: the same one for those of a pool."""
    threads = len(graph.first) - 1
    found = np.arange(threads)
    found[graph.thread[pools.taken]] = threads + pools.of
    return i64(found)


def _is_open(graph: Graph, works: Bool) -> Bool:
    """By moment, whether it is its thread's last one, and the thread worked for nobody: what it did from its last
    record to the end is not known."""
    found = np.zeros(len(works), np.bool_)
    found[graph.first[1:][graph.first[1:] > graph.first[:-1]] - 1] = True
    found &= ~works
    return found


def _covered(graph: Graph, first: Int64, last: Int64) -> Bool:
    """The moments from each first to each last one."""
    count = np.zeros(len(graph.time) + 1, np.int64)
    np.add.at(count, first, 1)
    np.add.at(count, last + 1, -1)
    found: Bool = np.cumsum(count[:-1]) > 0
    return found
