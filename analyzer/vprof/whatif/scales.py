"""What a change makes longer or shorter: the time of each call of a function, each segment of a state, each delay.

    Graph + changes  ->  Items: what is changed, and how long each of it took;  + Items of all traces  ->  Lengths

A function's own time is what its thread executed in it, and what it waited in it for nobody of the program (disks,
sleep, waits of which nobody is known to have ended them); callees count unless they are changed themselves. Waits that
other threads ended follow from what those do. Waits for a CPU stay, or, if they are to scale, a thread that was taken
off its CPU in a changed call stays off it as much shorter or longer as the call's own time gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vprof.errors import UsageError
from vprof.tables.columns import floats, i64
from vprof.tables.kernels import helper, kernel, loop
from vprof.tables.kinds import BLOCKED, DISK, EXEC, FAULT, MEMORY, OFF_CPU, PREEMPTED, QUEUE, SLEEP
from vprof.tables.model import NONE, Bool, Float, Int64, Trace
from vprof.whatif.changes import GAP, SCHED, STATES, UNKNOWN, Resolved
from vprof.whatif.graph import Built, Graph, build
from vprof.whatif.model import USUAL, Model
from vprof.whatif.replay import Lengths, as_recorded

_OF_A_FUNCTION = (EXEC, DISK, FAULT, OFF_CPU, SLEEP, MEMORY)


class Items(NamedTuple):
    """What is changed. By item: `change`, its number; `ns` it took; `start`, the moment it began at. `of`: by moment
    the item with which the time that ends there gets longer or shorter, NONE if it stays: time that the item took, or
    time off the CPU that scales with it. `delays`: by change of `[sched]`, the waits
    whose delays are items (there is one such change at most)."""

    change: Int64
    ns: Float
    start: Int64
    of: Int64
    delays: tuple[int, Int64] | None


class Prepared(NamedTuple):
    """One trace, ready to be replayed under some changes."""

    trace: Trace
    built: Built
    items: Items


def prepare(trace: Trace, changes: Sequence[Resolved], model: Model = USUAL) -> Prepared:
    """The graph of a trace, with the moments of what is changed."""
    of_function = np.full(len(trace.program.functions), NONE, np.int64)
    for c, change in enumerate(changes):
        if change.key is not None and (f := change.function(trace)) is not None:
            of_function[f] = c
    calls = np.flatnonzero(of_function[trace.invocations.function] != NONE)
    built = build(trace, calls)
    number = i64(of_function[trace.invocations.function[calls]])
    return Prepared(trace, built, _items(trace, built, changes, model, calls, number))


def _items(trace: Trace, built: Built, changes: Sequence[Resolved], model: Model, calls: Int64, change: Int64) -> Items:
    """`calls`: of changed functions; `change`: of each."""
    graph, inv = built.graph, trace.invocations
    enter = built.moments.at(inv.thread[calls], inv.fs[calls])
    leave = built.moments.at(inv.thread[calls], inv.fe[calls])
    of, outermost = _innermost(_Calls(i64(inv.thread[calls]), enter, leave, i64(inv.depth[calls]), change), graph)
    took = np.where(_is_of_a_function(graph, trace), of, NONE)
    scaled = np.where(_had_no_cpu(graph, trace) & model.scales_cpu, of, NONE)
    started = [enter]
    numbers = [np.where(outermost, change, NONE)]
    delays = None
    for c, resolved in enumerate(changes):
        if resolved.key is None and resolved.change.name == SCHED:
            delays = c, np.flatnonzero(~graph.waits.by_task)
        elif resolved.key is None:
            node, first = _of_node(graph, trace, resolved.change.name)
            count = sum(map(len, numbers))
            took = np.where(node != NONE, node + count, took)
            started.append(first)
            numbers.append(np.full(len(first), c))
    numbers_of = i64(np.concatenate(numbers))
    length = np.diff(graph.time, prepend=0).astype(np.float64)
    mine = took != NONE
    ns = floats(np.bincount(took[mine], length[mine], len(numbers_of)))
    return Items(numbers_of, ns, i64(np.concatenate(started)), i64(np.where(mine, took, scaled)), delays)


def _had_no_cpu(graph: Graph, trace: Trace) -> Bool:
    """By moment, whether the time that ends there is one in which its thread could run, and did not."""
    had_none: Bool = np.r_[trace.segments.state == PREEMPTED, False][graph.segment]
    return had_none


def _is_of_a_function(graph: Graph, trace: Trace) -> Bool:
    """By moment, whether the time that ends there is a function's own."""
    seg = trace.segments
    own = np.isin(seg.state, _OF_A_FUNCTION) | (np.isin(seg.state, (BLOCKED, QUEUE)) & (seg.interval != NONE))
    goes: Bool = np.r_[own, False][graph.segment] & (graph.wait == NONE)
    return goes


def _of_node(graph: Graph, trace: Trace, name: str) -> tuple[Int64, Int64]:
    """By moment the item to which the time that ends there belongs, NONE if none, and the moments at which the items
    begin: a segment, or a time of a thread of which nothing is recorded, is one."""
    state = np.r_[trace.segments.state, np.int8(-1)][graph.segment]
    inner = np.ones(len(state), np.bool_)
    inner[graph.first[:-1][graph.first[:-1] < len(inner)]] = False
    if name in STATES:
        chosen = state == STATES[name]
    elif name == UNKNOWN:
        chosen = np.isin(state, (BLOCKED, QUEUE))
    else:
        assert name == GAP
        chosen = (state == -1) & (graph.thread < len(trace.threads))
    chosen &= inner & (graph.wait == NONE)
    rows = np.flatnonzero(chosen)
    new = np.r_[True, (np.diff(rows) > 1) | (np.diff(graph.segment[rows]) != 0)][: len(rows)]
    of = np.full(len(state), NONE, np.int64)
    of[rows] = np.cumsum(new) - 1
    return of, i64(rows[new] - 1)


def lengths(prepared: Sequence[Prepared], changes: Sequence[Resolved], model: Model) -> list[Lengths]:
    """How long everything takes with the changes; calls of all traces count for a constant. Raises UsageError if a
    change changes nothing."""
    found = [as_recorded(one.built.graph) for one in prepared]
    if model.is_open:
        found = [one._replace(arrives=p.built.arrives) for one, p in zip(found, prepared, strict=True)]
    for c, resolved in enumerate(changes):
        took = [_took(one, c) for one in prepared]
        every = np.concatenate(took)
        if not every.any():
            raise UsageError(_nothing(resolved, len(every)))
        for one, ns, to in zip(prepared, took, found, strict=True):
            _change(one, c, ns, resolved.change.apply(ns, every), to)
    return found


def _took(one: Prepared, c: int) -> Float:
    """How long each item of the change took."""
    items = one.items
    if items.delays is not None and items.delays[0] == c:
        return one.built.graph.waits.delay[items.delays[1]].astype(np.float64)
    took: Float = items.ns[items.change == c]
    return took


def _change(one: Prepared, c: int, ns: Float, new: Float, to: Lengths) -> None:
    """Writes into `to` that the items of the change take `new`, not `ns`. What took nothing has nothing that could get
    longer: the thread then does that much at its begin."""
    items = one.items
    if items.delays is not None and items.delays[0] == c:
        to.delay[items.delays[1]] = new
        return
    factor = np.ones(len(items.change) + 1)
    mine = items.change == c
    factor[:-1][mine] = np.divide(new, ns, out=np.ones(len(ns)), where=ns > 0)
    to.length[:] *= factor[items.of]
    np.add.at(to.more, items.start[mine][ns == 0], new[ns == 0])


def _nothing(resolved: Resolved, count: int) -> str:
    name = resolved.change.name
    if resolved.key is None:
        return f"this trace has no time of {name} to change"
    calls = f"{count} calls" if count > 1 else "call"
    return (
        f"{name} only waits for other threads or a CPU in its {calls}: change what ends the waits "
        f"(vprof analyze --explain {name})"
    )


class _Calls(NamedTuple):
    """Calls of changed functions by (thread, begin, depth); `change`: of the function."""

    thread: Int64
    enter: Int64
    leave: Int64
    depth: Int64
    change: Int64


@kernel
def _innermost(calls: _Calls, graph: Graph) -> tuple[Int64, Bool]:
    """By moment the call to which the time belongs that ends there: the innermost one, or of the calls around it of
    the same function the outermost. And which calls lie in no other of the same function."""
    n = len(calls.thread)
    of, outermost = np.full(len(graph.time), NONE, np.int64), np.zeros(n, np.bool_)
    _assign(calls, of, outermost, np.empty(n, np.int64), np.empty(n, np.int64))
    return of, outermost


@loop
def _assign(calls: _Calls, of: Int64, outermost: Bool, around: Int64, counts_for: Int64) -> None:
    """`around`: the call around each; `counts_for`: the outermost one of its function around it."""
    top, since = NONE, 0
    for i in range(len(calls.thread) + 1):
        end = i == len(calls.thread)
        while top != NONE and (end or calls.thread[top] != calls.thread[i] or _is_over(calls, top, i)):
            _paint(of, since, calls.leave[top], counts_for[top])
            since = max(since, calls.leave[top])
            top = around[top]
        if end:
            break
        if top != NONE:
            _paint(of, since, calls.enter[i], counts_for[top])
        since = calls.enter[i]
        around[i], counts_for[i] = top, i
        outer = top
        while outer != NONE:
            if calls.change[outer] == calls.change[i]:
                counts_for[i] = counts_for[outer]
                break
            outer = around[outer]
        outermost[i] = counts_for[i] == i
        top = i


@helper
def _is_over(calls: _Calls, top: int, i: int) -> bool:
    """As in path/stacks.py: at equal times the depth tells which call lies in which."""
    enter, leave, depth = calls.enter, calls.leave, calls.depth
    return bool(leave[top] <= enter[i] and not (leave[i] <= leave[top] and depth[i] > depth[top]))


@helper
def _paint(of: Int64, since: int, until: int, call: int) -> None:
    for m in range(since + 1, until + 1):
        of[m] = call
