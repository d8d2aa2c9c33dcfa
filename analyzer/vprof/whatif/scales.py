"""What a change makes longer or shorter: the time of each call of a function, each segment of a state, each delay.

    Graph + changes  ->  Items: what is changed, and how long each of it took  ->  Totals of all windows and traces
    Items + Totals  ->  Lengths

A function's own time is what its thread executed in it, and what it waited in it for nobody of the program (disks,
sleep, waits of which nobody is known to have ended them); callees count unless they are changed themselves. Waits that
other threads ended follow from what those do. Waits for a CPU stay, or scale with the changed calls they interrupt.

What makes calls alike concerns those made for intervals, if any were: a server waits for its clients, and between its
rounds, in the same functions, for as long as it has nothing to do, and that is no time that a call should take.
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
from vprof.whatif.changes import ALIKE, GAP, SCHED, STATES, UNKNOWN, Resolved, not_called
from vprof.whatif.graph import Built, Graph
from vprof.whatif.replay import Lengths, as_recorded
from vprof.whatif.stretch import Rows, Stretch

_LITTLE = 0.02
"""Of a function's time: what it does itself is no more than this where it does nothing but wait for others."""
_OF_A_FUNCTION = (EXEC, DISK, FAULT, OFF_CPU, SLEEP, MEMORY)


class Items(NamedTuple):
    """What is changed. By item: `change`, its number, NONE for a call inside another one of its function; `ns` it took
    in this window; `start`, the moment it began at, NONE: in a window before; `inside`, whether for an interval;
    `span`, from the call's begin to its end, with what others decide of it, 0 of a call that began before and of what
    is no call. `of`: by moment the item with which the time that ends there gets longer or shorter, NONE if it stays:
    time that the item took, or, where `off_cpu`, time off the CPU that scales with it. `delays`: by change of
    `[sched]`, the waits whose delays are items (there is one such change at most). `crossing`: items that are in other
    windows, too, and by which key."""

    change: Int64
    ns: Float
    start: Int64
    inside: Bool
    span: Int64
    of: Int64
    off_cpu: Bool
    delays: tuple[int, Int64] | None
    crossing: list[tuple[int, Key, bool]]


Key = tuple[int, int, int]
"""A call: its thread, when it was entered, its depth; or a segment: its thread, when it began, NONE."""


class Prepared(NamedTuple):
    """One window, ready to be replayed under some changes."""

    part: Stretch
    built: Built
    items: Items


def numbers_of(changes: Sequence[Resolved], trace: Trace) -> Int64:
    """By function of the trace the change of it, NONE if it is not changed."""
    found = np.full(len(trace.program.functions), NONE, np.int64)
    for c, change in enumerate(changes):
        if change.key is not None and (f := change.function(trace)) is not None:
            found[f] = c
    return found


def prepare(
    part: Stretch, built: Built, changes: Sequence[Resolved], number: Int64, scales_cpu: bool = False
) -> Prepared:
    """With the moments of what is changed. `number`: of `numbers_of`. `scales_cpu`: a thread that was taken off its CPU
    in a changed call stays off it as much shorter or longer as the call's own time gets."""
    graph, calls = built.graph, built.calls
    mine = np.flatnonzero(number[calls.function] != NONE)
    thread, depth, change = calls.thread[mine], calls.depth[mine], i64(number[calls.function[mine]])
    enter = built.enter[mine]
    of, outermost = _innermost(_Calls(thread, enter, built.leave[mine], depth, change), graph)
    is_new = _is_new(graph)
    took = np.where(_is_of_a_function(graph, part.rows) & is_new, of, NONE)
    scaled = np.where(_had_no_cpu(graph, part.rows) & is_new & scales_cpu, of, NONE)
    began, goes_on = calls.fs[mine] >= part.begin, calls.fe[mine] >= built.until
    started = [np.where(began, enter, NONE)]
    numbers, labels = [np.where(outermost, change, NONE)], [calls.label[mine]]
    span = np.where(outermost & began, calls.fe[mine] - calls.fs[mine], 0)
    crossing = _crossing(np.flatnonzero(outermost & (goes_on | ~began)), 0, thread, calls.fs[mine], depth, goes_on)
    delays = None
    for c, resolved in enumerate(changes):
        if resolved.key is None and resolved.change.name == SCHED:
            end = graph.waits.end
            ends = np.r_[is_new, False][end] & ~graph.waits.by_task
            delays = c, np.flatnonzero(ends)
        elif resolved.key is None:
            node, first = _of_node(graph, part, is_new, resolved.change.name)
            count = sum(map(len, numbers))
            took = np.where(node != NONE, node + count, took)
            started.append(first)
            labels.append(np.r_[part.rows.label, NONE][graph.segment[first + 1]])
            numbers.append(np.full(len(first), c))
            crossing += _crossing_rows(part, built, graph.segment[first + 1], count)
    of_items = i64(np.concatenate(numbers))
    length = np.diff(graph.time, prepend=0).astype(np.float64)
    is_mine = took != NONE
    ns = floats(np.bincount(took[is_mine], length[is_mine], len(of_items)))
    inside = np.concatenate(labels) != NONE
    of_moments = i64(np.where(is_mine, took, scaled))
    start, span = i64(np.concatenate(started)), np.r_[span, np.zeros(len(of_items) - len(span), np.int64)]
    items = Items(of_items, ns, start, inside, span, of_moments, ~is_mine & (of_moments != NONE), delays, crossing)
    return Prepared(part, built, items)


def _is_new(graph: Graph) -> Bool:
    """By moment, whether it is replayed in this stretch."""
    n = np.arange(len(graph.time))
    found: Bool = (n >= graph.known[graph.thread]) & (n < graph.until[graph.thread])
    return found


def _crossing(
    rows: Int64, first: int, thread: Int64, since: Int64, depth: Int64, goes_on: Bool
) -> list[tuple[int, Key, bool]]:
    """`first`: the item of the first row."""
    columns = (rows + first, thread[rows], since[rows], depth[rows], goes_on[rows])
    return [(k, (t, s, d), on) for k, t, s, d, on in zip(*(column.tolist() for column in columns), strict=True)]


def _crossing_rows(part: Stretch, built: Built, segment: Int64, first: int) -> list[tuple[int, Key, bool]]:
    """`segment`: of each item, NONE where nothing is recorded."""
    rows = part.rows
    goes_on = (rows.te >= built.until)[segment]
    crosses = np.flatnonzero((segment != NONE) & (goes_on | (rows.ts < part.begin)[segment]))
    no_depth = np.full(len(segment), NONE, np.int64)
    return _crossing(crosses, first, rows.thread[segment], rows.ts[segment], no_depth, goes_on)


def _had_no_cpu(graph: Graph, seg: Rows) -> Bool:
    """By moment, whether the time that ends there is one in which its thread could run, and did not."""
    had_none: Bool = np.r_[seg.state == PREEMPTED, False][graph.segment]
    return had_none


def _is_of_a_function(graph: Graph, seg: Rows) -> Bool:
    """By moment, whether the time that ends there is a function's own."""
    own = np.isin(seg.state, _OF_A_FUNCTION) | (np.isin(seg.state, (BLOCKED, QUEUE)) & (seg.label != NONE))
    goes: Bool = np.r_[own, False][graph.segment] & (graph.wait == NONE)
    return goes


def _of_node(graph: Graph, part: Stretch, is_new: Bool, name: str) -> tuple[Int64, Int64]:
    """By moment the item to which the time that ends there belongs, NONE if none, and the moments at which the items
    begin: a segment, or a time of a thread of which nothing is recorded, is one."""
    state = np.r_[part.rows.state, -1][graph.segment]
    inner = np.ones(len(state), np.bool_)
    inner[graph.first[:-1][graph.first[:-1] < len(inner)]] = False
    if name in STATES:
        chosen = state == STATES[name]
    elif name == UNKNOWN:
        chosen = np.isin(state, (BLOCKED, QUEUE))
    else:
        assert name == GAP
        chosen = (state == -1) & (graph.thread < part.threads)
    chosen &= inner & is_new & (graph.wait == NONE)
    rows = np.flatnonzero(chosen)
    new = np.r_[True, (np.diff(rows) > 1) | (np.diff(graph.segment[rows]) != 0)][: len(rows)]
    of = np.full(len(state), NONE, np.int64)
    of[rows] = np.cumsum(new) - 1
    return of, i64(rows[new] - 1)


class Totals:
    """How long the items of some changes took, in all windows of all traces: what a constant or a median is made of.
    Call by call of those that cross borders."""

    def __init__(self, changes: Sequence[Resolved]) -> None:
        self.changes = changes
        keeps = [one.change.rule == "median" for one in changes]
        self._of = [{inside: _Took(keep) for inside in (False, True)} for keep in keeps]
        self._open: dict[tuple[int, Key], float] = {}
        self.crossing: dict[tuple[int, Key], float] = {}
        """By number of the trace and call: how long it took in all windows."""

    def merge(self, other: Totals) -> None:
        """Adds what others found in other traces."""
        for mine, theirs in zip(self._of, other._of, strict=True):
            for inside, took in mine.items():
                took.merge(theirs[inside])
        self._open |= other._open
        self.crossing |= other.crossing

    def add(self, trace: int, one: Prepared) -> None:
        """`trace`: its number."""
        items = one.items
        partial = np.zeros(len(items.change), np.bool_)
        for k, key, goes_on in items.crossing:
            partial[k] = True
            ns = self._open.pop((trace, key), 0.0) + float(items.ns[k])
            if goes_on:
                self._open[trace, key] = ns
                continue
            self.crossing[trace, key] = ns
            self._of[int(items.change[k])][bool(items.inside[k])].add(np.array([ns]))
        for c, took in enumerate(self._of):
            if items.delays is not None and items.delays[0] == c:
                took[True].add(_delays(one, items.delays[1]))
                continue
            for inside in (False, True):
                mine = (items.change == c) & (items.inside == inside)
                took[inside].add(items.ns[mine & ~partial])
                took[inside].span += int(items.span[mine].sum())

    def are_inside(self, c: int) -> bool:
        """Whether what is made alike are items for intervals alone, since there are some."""
        return self.changes[c].change.rule in ALIKE and self._of[c][True].count > 0

    def typical(self, c: int) -> Float:
        """What a change makes all alike: the mean, or the median."""
        took = self._of[c][self.are_inside(c)]
        if self.changes[c].change.rule == "median":
            return np.array([np.median(np.concatenate(took.every))])
        return np.array([took.ns / max(took.count, 1)])

    def check(self, trace: Trace) -> None:
        """Raises UsageError if a change changes nothing. `trace`: all merged, concluded."""
        for c, resolved in enumerate(self.changes):
            counted = self._counted(c)
            if not any(took.ns for took in counted):
                raise UsageError(_nothing(resolved, sum(took.count for took in counted), trace))

    def why_little(self) -> str:
        """Why these changes cannot tell what a function is worth, or "": it waits nearly always, and what ends the
        waits is not changed."""
        names = []
        for c, resolved in enumerate(self.changes):
            took = self._of[c][self._of[c][True].count > 0]
            if resolved.key is None or took.ns >= _LITTLE * took.span:
                return ""
            names.append(resolved.change.name)
        if not names:
            return ""
        who = f"{' and '.join(names)} {'wait' if len(names) > 1 else 'waits'}"
        return (
            f"{who} for other threads or a CPU in more than {1 - _LITTLE:.0%} of the time: change what ends the waits "
            f"(vprof analyze --explain {names[0]})"
        )

    def _counted(self, c: int) -> list[_Took]:
        return [took for inside, took in self._of[c].items() if inside or not self.are_inside(c)]


class _Took:
    """How long some items took; `span`: with what others decide of it. `every`: each of them, for `keeps` alone."""

    def __init__(self, keeps: bool) -> None:
        self.count, self.ns, self.span, self.keeps = 0, 0.0, 0, keeps
        self.every: list[Float] = []

    def add(self, ns: Float) -> None:
        self.count += len(ns)
        self.ns += float(ns.sum())
        if self.keeps:
            self.every.append(ns)

    def merge(self, other: _Took) -> None:
        self.count, self.ns, self.span = self.count + other.count, self.ns + other.ns, self.span + other.span
        self.every += other.every


def lengths(trace: int, one: Prepared, totals: Totals, is_open: bool) -> Lengths:
    """How long everything takes with the changes. REQUIRES: `totals` have all, unless every change multiplies."""
    found = as_recorded(one.built.graph)
    if is_open:
        found = found._replace(arrives=one.built.arrives)
    whole = one.items.ns.copy()
    for k, key, _ in one.items.crossing:
        whole[k] = totals.crossing.get((trace, key), whole[k])
    for c in range(len(totals.changes)):
        _change(one, c, whole, totals, found)
    return found


def _delays(one: Prepared, waits: Int64) -> Float:
    return one.built.graph.waits.delay[waits].astype(np.float64)


def _change(one: Prepared, c: int, whole: Float, totals: Totals, to: Lengths) -> None:
    """Writes into `to` what the change makes of its items, which took `whole`. What took nothing has nothing that could
    get longer: the thread then does that much at its begin."""
    items, change = one.items, totals.changes[c].change
    typical = totals.typical(c) if change.rule in ALIKE else np.zeros(0)
    if items.delays is not None and items.delays[0] == c:
        waits = items.delays[1]
        to.delay[waits] = change.apply(_delays(one, waits), typical)
        return
    factor = np.ones(len(items.change) + 1)
    mine = items.change == c
    if totals.are_inside(c):
        mine &= items.inside
    ns, start = whole[mine], items.start[mine]
    new = change.apply(ns, typical)
    factor[:-1][mine] = np.divide(new, ns, out=np.ones(len(ns)), where=ns > 0)
    ratio = factor[items.of]
    if change.rule != "times":
        # A call of a moment that lost its CPU would lose it for hours. How much oftener a longer one does is not known.
        ratio[items.off_cpu] = np.minimum(ratio[items.off_cpu], 1.0)
    to.length[:] *= ratio
    at_begin = (ns == 0) & (start != NONE)
    np.add.at(to.more, start[at_begin], new[at_begin])


def _nothing(resolved: Resolved, count: int, trace: Trace) -> str:
    name = resolved.change.name
    if resolved.key is None:
        return f"this trace has no time of {name} to change"
    if not count:
        return not_called(resolved, trace)
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
