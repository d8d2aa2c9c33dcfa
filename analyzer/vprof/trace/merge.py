"""Several traces of one program and one plan as one trace: functions, sites and types meet by name, all else side by
side.

Intervals of different plans are never combined (ALGORITHMS section 4). Times are kept: traces of one boot share a
clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vprof.errors import UsageError
from vprof.model import NONE, Created, Int32, Int64, Intervals, Invocations, Losses, Program, Segments, Trace, Wakeups


def merge(traces: Sequence[Trace]) -> Trace:
    """One trace as it is; raises UsageError if the traces' programs or plans differ."""
    if len(traces) == 1:
        return traces[0]
    program, function_maps = _programs([t.program for t in traces])
    sites, site_maps = _names([t.sites for t in traces])
    types, type_maps = _names([t.types for t in traces])
    thread_at = _offsets(len(t.threads) for t in traces)
    segment_at = _offsets(len(t.segments.ts) for t in traces)
    begin = np.concatenate([t.intervals.begin for t in traces])
    rank = np.empty(len(begin), np.int64)
    rank[np.argsort(begin, kind="stable")] = np.arange(len(begin))
    interval_at = _offsets(len(t.intervals.begin) for t in traces)
    label_maps = [_labels(t, rank[a:], len(begin)) for t, a in zip(traces, interval_at, strict=False)]
    parts = [
        _renumbered(t, *maps)
        for t, maps in zip(
            traces,
            zip(function_maps, site_maps, type_maps, label_maps, thread_at, segment_at, strict=False),
            strict=False,
        )
    ]
    order = np.argsort(begin, kind="stable")
    ids = [f"{i + 1}:{sid}" for i, t in enumerate(traces) for sid in t.interval_ids[: len(t.intervals.begin)]]
    joined = _join([p.intervals for p in parts], Intervals)
    return Trace(
        threads=[f"{i + 1}:{name}" for i, t in enumerate(traces) for name in t.threads],
        interval_ids=[ids[i] for i in order],
        types=types,
        sites=sites,
        program=program,
        segments=_join([p.segments for p in parts], Segments),
        invocations=_join([p.invocations for p in parts], Invocations),
        wakeups=_join([p.wakeups for p in parts], Wakeups),
        created=_join([p.created for p in parts], Created),
        intervals=Intervals(*(c[order] for c in vars(joined).values())),
        has_sync=any(t.has_sync for t in traces),
        excluded=_total([t.excluded for t in traces]),
        excluded_latencies=np.concatenate([t.excluded_latencies for t in traces]),
        recorded_ns=sum(t.recorded_ns for t in traces),
        probe_ns=max((t.probe_ns for t in traces if t.probe_ns), default=None),
        **_losses(traces),
        slices=[part for t in traces for part in t.slices],
        notes=[f"trace {i + 1}: {note}" for i, t in enumerate(traces) for note in t.notes],
    )


def _offsets(lengths) -> Int64:  # type: ignore[no-untyped-def]
    return np.concatenate(([0], np.cumsum(list(lengths)))).astype(np.int64)


def _join(parts, table: Callable):  # type: ignore[no-untyped-def,type-arg]
    return table(*(np.concatenate(columns) for columns in zip(*(vars(p).values() for p in parts), strict=True)))


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
    return _names([[f"{n}\0{p}" for n, p in zip(q.functions, q.places, strict=True)] for q in programs])


def _programs(programs: list[Program]) -> tuple[Program, list[Int64]]:
    keys, maps = function_numbers(programs)
    n = len(keys)
    height = np.zeros(n, np.int32)
    on, complete, switchable = (np.ones(n, np.int8) * NONE for _ in range(3))
    calls: list[set[int]] = [set() for _ in keys]
    graph: list[set[int]] = [set() for _ in keys]
    for q, new in zip(programs, maps, strict=True):
        np.maximum.at(height, new, q.height)
        if np.any((on[new] != NONE) & (on[new] != q.on)):
            raise UsageError("the traces were recorded with different plans: analyze them one by one")
        on[new] = q.on
        complete[new] = q.complete
        switchable[new] = 1 if q.switchable is None else q.switchable
        for joined, old in ((calls, q.calls), (graph, q.calls if q.call_graph is None else q.call_graph)):
            for f, callees in enumerate(old):
                joined[new[f]].update(int(new[c]) for c in callees)
    names, places = zip(*(k.split("\0") for k in keys), strict=True) if keys else ((), ())
    root_height = max(q.root_height for q in programs)
    merged_calls, merged_graph = ([sorted(c) for c in joined] for joined in (calls, graph))
    merged = Program(
        list(names),
        list(places),
        merged_calls,
        height,
        root_height,
        on == 1,
        complete == 1,
        switchable == 1,
        merged_graph,
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


def _renumbered(t: Trace, function, site, type_, label, thread: int, segment: int) -> Trace:  # type: ignore[no-untyped-def]
    i32 = np.int32
    return replace(
        t,
        segments=replace(
            t.segments, thread=t.segments.thread + thread, interval=label[t.segments.interval].astype(i32)
        ),
        invocations=replace(
            t.invocations,
            thread=t.invocations.thread + thread,
            interval=label[t.invocations.interval].astype(i32),
            function=function[t.invocations.function].astype(i32),
            site=np.where(t.invocations.site == NONE, NONE, site[t.invocations.site]).astype(i32),
        ),
        wakeups=replace(
            t.wakeups,
            thread=t.wakeups.thread + thread,
            waker=_moved(t.wakeups.waker, thread),
            segment=t.wakeups.segment + segment,
        ),
        created=replace(t.created, creator=_moved(t.created.creator, thread), thread=t.created.thread + thread),
        intervals=replace(
            t.intervals,
            type=type_[t.intervals.type].astype(i32),
            begin_thread=t.intervals.begin_thread + thread,
            end_thread=t.intervals.end_thread + thread,
        ),
    )


def _moved(threads: Int32, by: int) -> Int32:
    return np.where(threads == NONE, NONE, threads + by).astype(np.int32)
