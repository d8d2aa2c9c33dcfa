"""Several traces of one program and one plan as one trace: functions, sites and types meet by name, all else side by
side.

Intervals of different plans are never combined (docs/algorithms.md section 4). Times are kept: traces of one boot
share a clock. Those of different hosts do not: intervals are sorted by host, then by begin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from vprof.errors import UsageError
from vprof.tables.model import (
    NONE,
    Aborted,
    Attempts,
    Created,
    Int32,
    Int64,
    Intervals,
    Invocations,
    Losses,
    ObjectHolds,
    Objects,
    Program,
    Segments,
    Trace,
    WaitSamples,
    Wakeups,
)
from vprof.trace.origins import in_order, joined

T = TypeVar("T")


def merge(traces: Sequence[Trace]) -> Trace:
    """One trace as it is; raises UsageError if the traces' programs or plans differ."""
    if len(traces) == 1:
        return traces[0]
    program, function_maps = _programs([t.program for t in traces])
    sites, site_maps = _names([t.call_sites for t in traces])
    types, type_maps = _names([t.types for t in traces])
    thread_at = _offsets(len(t.threads) for t in traces)
    stack_at = _offsets(len(t.wait_stacks) for t in traces)
    object_at = _offsets(len(t.objects.id) for t in traces)
    name_at = _offsets(len(t.object_names) for t in traces)
    segment_at = _offsets(len(t.segments.ts) for t in traces)
    hosts, host_maps, processes, process_of = joined(traces)
    order = in_order(traces)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    interval_at = _offsets(len(t.intervals.begin) for t in traces)
    label_maps = [_labels(t, rank[a:], len(order)) for t, a in zip(traces, interval_at, strict=False)]
    parts = [
        _renumbered(t, *maps)
        for t, maps in zip(
            traces,
            zip(
                function_maps,
                site_maps,
                type_maps,
                label_maps,
                host_maps,
                zip(thread_at, segment_at, stack_at, object_at, name_at, strict=True),
                strict=False,
            ),
            strict=False,
        )
    ]
    ids = [f"{i + 1}:{sid}" for i, t in enumerate(traces) for sid in t.interval_ids[: len(t.intervals.begin)]]
    intervals = _join([p.intervals for p in parts], Intervals)
    return Trace(
        threads=[f"{i + 1}:{name}" for i, t in enumerate(traces) for name in t.threads],
        interval_ids=[ids[i] for i in order],
        types=types,
        call_sites=sites,
        program=program,
        segments=_join([p.segments for p in parts], Segments),
        invocations=_join([p.invocations for p in parts], Invocations),
        wakeups=_join([p.wakeups for p in parts], Wakeups),
        created=_join([p.created for p in parts], Created),
        wait_samples=_join([p.wait_samples for p in parts], WaitSamples),
        wait_stacks=[stack for t in traces for stack in t.wait_stacks],
        objects=_join([p.objects for p in parts], Objects),
        object_names=[name for t in traces for name in t.object_names],
        hosts=hosts,
        processes=processes,
        process_of=process_of,
        holds=_join([p.holds for p in parts], ObjectHolds),
        attempts=_in_order(_join([p.attempts for p in parts], Attempts)),
        aborted=sum((t.aborted for t in traces), Aborted()),
        intervals=Intervals(*(c[order] for c in vars(intervals).values())),
        root=traces[0].root,
        has_sync=any(t.has_sync for t in traces),
        excluded=_total([t.excluded for t in traces]),
        excluded_latencies=np.concatenate([t.excluded_latencies for t in traces]),
        recorded_ns=sum(t.recorded_ns for t in traces),
        built_from=list(dict.fromkeys(source for t in traces for source in t.built_from)),
        recorded=list(dict.fromkeys(one for t in traces for one in t.recorded)),
        probe_ns=max((t.probe_ns for t in traces if t.probe_ns), default=None),
        **_losses(traces),
        strayed=[f"{i + 1}:{name}" for i, t in enumerate(traces) for name in t.strayed],
        uninterposed=list(dict.fromkeys(one for t in traces for one in t.uninterposed)),
        slices=[part for t in traces for part in t.slices],
        notes=[f"trace {i + 1}: {note}" for i, t in enumerate(traces) for note in t.notes],
    )


def _offsets(lengths: Iterable[int]) -> Int64:
    return np.concatenate(([0], np.cumsum(list(lengths)))).astype(np.int64)


def _join(parts: Sequence[Any], table: type[T]) -> T:
    columns = [column.name for column in fields(parts[0])]
    return table(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in columns})


def _total(counts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for c in counts:
        for key, n in c.items():
            total[key] = total.get(key, 0) + n
    return total


def _losses(traces: Sequence[Trace]) -> dict[str, Any]:
    """`loss` and `losses` of all. What two files of a session tell of the same loss counts once: the larger."""
    losses: Losses = {}
    for trace in traces:
        for key, count in trace.losses.items():
            losses[key] = max(count, losses.get(key, 0))
    twice = sum(sum(t.losses.values()) for t in traces) - sum(losses.values())
    loss = _total([t.loss for t in traces])
    return {"loss": {key: count - twice for key, count in loss.items()}, "losses": losses}


def _names(lists: list[list[str]]) -> tuple[list[str], list[Int64]]:
    """All names once, and for each list the new number of each old one."""
    number: dict[str, int] = {}
    maps = [np.array([number.setdefault(name, len(number)) for name in names], np.int64) for names in lists]
    return list(number), maps


def function_numbers(programs: list[Program]) -> tuple[list[str], list[Int64]]:
    """Names and places of all functions once, and for each program the new number of each of its functions."""
    return _names([[f"{n}\0{p}" for n, p in zip(q.functions, q.definitions, strict=True)] for q in programs])


def _programs(programs: list[Program]) -> tuple[Program, list[Int64]]:
    keys, maps = function_numbers(programs)
    n = len(keys)
    height = np.zeros(n, np.int32)
    group_size = np.ones(n, np.int32)
    on, complete, switchable = (np.ones(n, np.int8) * NONE for _ in range(3))
    calls: list[set[int]] = [set() for _ in keys]
    graph: list[set[int]] = [set() for _ in keys]
    unfollowed: dict[int, set[str]] = defaultdict(set)
    for q, new in zip(programs, maps, strict=True):
        np.maximum.at(height, new, q.height)
        np.maximum.at(group_size, new, 1 if q.group_size is None else q.group_size)
        if np.any((on[new] != NONE) & (on[new] != q.on)):
            raise UsageError("the traces were recorded with different plans: analyze them one by one")
        on[new] = q.on
        complete[new] = q.complete
        switchable[new] = 1 if q.switchable is None else q.switchable
        for f, places_of in q.unfollowed.items():
            unfollowed[int(new[f])].update(places_of)
        for whole, old in ((calls, q.calls), (graph, q.calls if q.call_graph is None else q.call_graph)):
            for f, callees in enumerate(old):
                whole[new[f]].update(int(new[c]) for c in callees)
    names, places = zip(*(k.split("\0") for k in keys), strict=True) if keys else ((), ())
    root_height = max(q.root_height for q in programs)
    merged_calls, merged_graph = ([sorted(c) for c in joined] for joined in (calls, graph))
    merged = Program(
        functions=list(names),
        definitions=list(places),
        calls=merged_calls,
        height=height,
        root_height=root_height,
        on=on == 1,
        complete=complete == 1,
        switchable=switchable == 1,
        call_graph=merged_graph if any(q.call_graph is not None for q in programs) else None,
        group_size=group_size,
        unfollowed={f: sorted(where) for f, where in unfollowed.items()},
    )
    return merged, maps


def _labels(trace: Trace, new: Int64, foreign: int) -> Int64:
    """New interval numbers by old one; labels without a row become foreign; the last item serves NONE."""
    n = len(trace.intervals.begin)
    most = max(int(c.max(initial=NONE)) for c in (trace.segments.interval, trace.invocations.interval))
    labels = np.full(max(n, most + 1) + 1, foreign, np.int64)
    labels[:n] = new[:n]
    labels[-1] = NONE
    return labels


def _renumbered(
    t: Trace,
    function: Int64,
    site: Int64,
    type_: Int64,
    label: Int64,
    host: Int64,
    first: tuple[int, int, int, int, int],
) -> Trace:
    """`first`: the new numbers of the trace's first thread, segment, stack, object and name of an object."""
    i32 = np.int32
    thread, segment, stack, object_, name = first
    return replace(
        t,
        segments=replace(
            t.segments,
            thread=t.segments.thread + thread,
            interval=label[t.segments.interval].astype(i32),
            object=_moved(t.segments.object, object_),
        ),
        invocations=replace(
            t.invocations,
            thread=t.invocations.thread + thread,
            interval=label[t.invocations.interval].astype(i32),
            function=function[t.invocations.function].astype(i32),
            call_site=np.where(t.invocations.call_site == NONE, NONE, site[t.invocations.call_site]).astype(i32),
        ),
        wakeups=replace(
            t.wakeups,
            thread=t.wakeups.thread + thread,
            waker=_moved(t.wakeups.waker, thread),
            segment=t.wakeups.segment + segment,
        ),
        created=replace(t.created, creator=_moved(t.created.creator, thread), thread=t.created.thread + thread),
        attempts=replace(
            t.attempts,
            interval=label[t.attempts.interval].astype(i32),
            thread=t.attempts.thread + thread,
            next_thread=t.attempts.next_thread + thread,
        ),
        wait_samples=replace(
            t.wait_samples,
            interval=label[t.wait_samples.interval].astype(i32),
            stack=(t.wait_samples.stack + stack).astype(i32),
            object=_moved(t.wait_samples.object, object_),
        ),
        objects=replace(t.objects, name=_moved(t.objects.name, name), host=host[t.objects.host].astype(i32)),
        holds=replace(t.holds, object=_moved(t.holds.object, object_)),
        intervals=replace(
            t.intervals,
            type=type_[t.intervals.type].astype(i32),
            begin_thread=t.intervals.begin_thread + thread,
            end_thread=t.intervals.end_thread + thread,
        ),
    )


def _in_order(attempts: Attempts) -> Attempts:
    order = np.lexsort((attempts.begin, attempts.interval))
    return Attempts(**{name: column[order] for name, column in vars(attempts).items()})


def _moved(numbers: Int32, by: int) -> Int32:
    return np.where(numbers == NONE, NONE, numbers + by).astype(np.int32)
