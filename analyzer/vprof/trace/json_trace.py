"""Reads a JSON trace: the papers' tuples, times in ns (runtime/TRACE_FORMAT.md section 7) -> model.Trace.

    {"intervals": [{"sid": "t0", "type": "pay", "begin": {"tid": 1, "t": 0}, "end": {"tid": 1, "t": 9}, "ignore": false,
                    "attempts": [{"end": {"tid": 1, "t": 3}, "next": {"tid": 1, "t": 5}}]}],
     "segments":  [[tid, sid | null, ts, te, state]],         "exec", "blocked" ...: kinds.STATE_NAMES
                                                optionally a sixth item: the object waited for
     "functions": [[tid, sid | null, name, call site, fs, fe]],          optionally a seventh item: depth
     "wakeups":   [[tid, waker tid, t]],        optionally a fourth item (object): not used; and a fifth: since when
     "created":   [[creator tid, ts, consumer tid, ts2]],                optionally a fifth item: task, not used
     "root": "main", "heights": {"main": 1, "f": 0}}

`attempts` of an interval were aborted: where each ended, and where the next began, the last of which is no item.
Only `intervals`, `segments` and `functions` are required; without `heights` they are derived from the calls seen. All
functions of such a trace count as measured. Unknown keys are ignored. Whatever contradicts the model is a TraceError
that names the item.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from vprof.errors import TraceError
from vprof.program.heights import acyclic, heights
from vprof.tables.columns import i8, i32
from vprof.tables.kinds import BLOCKED, QUEUE, STATE_NAMES
from vprof.tables.model import (
    NONE,
    SINCE_ALWAYS,
    Attempts,
    Intervals,
    Invocations,
    Objects,
    Program,
    Segments,
    Trace,
)
from vprof.trace.json_links import link_created, link_wakeups
from vprof.trace.origins import folder_of

Row = list[Any]


class _Names:
    """Numbers things in order of first appearance."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}

    def __getitem__(self, name: object) -> int:
        return self.number.setdefault(str(name), len(self.number))

    def all(self) -> list[str]:
        return list(self.number)


def load_json(path: Path) -> Trace:
    """Raises TraceError in one line when the file is not such a trace."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as e:
        raise TraceError(f"{path}: not JSON: {e}") from e
    except RecursionError as e:
        raise TraceError(f"{path}: not a trace: nested too deeply") from e
    try:
        return replace(trace_from_dict(data), hosts=[folder_of(path)])
    except TraceError as e:
        raise TraceError(f"{path}: {e}") from e


def trace_from_dict(data: Any) -> Trace:
    """The trace of a parsed JSON document; errors as load_json, without the file's name."""
    if not isinstance(data, dict):
        raise TraceError("not a trace: the document is not an object")
    for key in ("intervals", "segments", "functions"):
        if key not in data:
            raise TraceError(f'not a trace: the key "{key}" is missing')
    threads, labels, types, sites, functions = _Names(), _Names(), _Names(), _Names(), _Names()
    notes: list[str] = []
    intervals = _intervals(_list(data, "intervals"), threads, labels, types)
    objects = _Names()
    segments = _segments(_list(data, "segments"), threads, labels, objects, notes)
    invocations = _invocations(_list(data, "functions"), threads, labels, functions, sites)
    woken = _list(data, "wakeups")
    pairs = _pairs(woken, "wakeups", (0, 1), (2,), threads)
    since = [_since(row, f"wakeups[{i}]") for i, row in enumerate(woken)]
    wakeups = link_wakeups([(*row, s) for row, s in zip(pairs, since, strict=True)], segments, notes)
    created = link_created(_pairs(_list(data, "created"), "created", (0, 2), (1, 3), threads), segments, notes)
    program = _program(data, functions, invocations)
    n = len(intervals.begin)
    return Trace(
        threads=threads.all(),
        interval_ids=labels.all()[:n],
        types=types.all(),
        call_sites=sites.all(),
        program=program,
        segments=segments,
        invocations=invocations,
        wakeups=wakeups,
        created=created,
        objects=_objects(objects),
        object_names=objects.all(),
        intervals=intervals,
        attempts=_attempts(_list(data, "intervals"), intervals, threads, labels),
        has_sync=bool(len(wakeups.t) or len(created.ts) or np.any(np.isin(segments.state, (BLOCKED, QUEUE)))),
        notes=notes,
    )


def _list(data: dict[str, Any], key: str) -> list[Any]:
    value = data.get(key, [])
    if not isinstance(value, list):
        raise TraceError(f'"{key}" is not a list')
    return value


def _int(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TraceError(f"{where}: {value!r} is not an integer")
    if not -(2**62) < value < 2**62:
        raise TraceError(f"{where}: {value} does not fit")
    return value


def _name(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TraceError(f"{where}: {value!r} is not a name")
    return str(value)


def _row(value: Any, where: str, length: int) -> Row:
    if not isinstance(value, list) or len(value) < length:
        raise TraceError(f"{where}: expected a list of {length} items, got {json.dumps(value)[:60]}")
    return value


def _point(item: Any, key: str, where: str) -> tuple[str, int]:
    value = item.get(key) if isinstance(item, dict) else None
    if not isinstance(value, dict) or "tid" not in value or "t" not in value:
        raise TraceError(f'{where}: "{key}" is not {{"tid": ..., "t": ...}}')
    return _name(value["tid"], where), _int(value["t"], where)


def _intervals(items: list[Any], threads: _Names, labels: _Names, types: _Names) -> Intervals:
    rows = []
    for i, item in enumerate(items):
        where = f"intervals[{i}]"
        begin, end = _point(item, "begin", where), _point(item, "end", where)
        if "sid" not in item:
            raise TraceError(f'{where}: "sid" is missing')
        sid, ignore = _name(item["sid"], where), item.get("ignore", False)
        if not isinstance(ignore, bool):
            raise TraceError(f'{where}: "ignore" is {ignore!r}, not true or false')
        kind = _name(item["type"], where) if item.get("type") is not None else ""
        if end[1] < begin[1]:
            raise TraceError(f"{where} ({sid}): ends at {end[1]}, before its begin at {begin[1]}")
        rows.append((begin[1], sid, kind, begin[0], end[0], end[1], ignore))
    rows.sort(key=lambda r: r[0])
    for i, row in enumerate(rows):
        if labels[row[1]] != i:
            raise TraceError(f'two intervals have the sid "{row[1]}"')
    return Intervals(
        np.array([types[r[2]] for r in rows], np.int32),
        np.array([threads[r[3]] for r in rows], np.int32),
        np.array([r[0] for r in rows], np.int64),
        np.array([threads[r[4]] for r in rows], np.int32),
        np.array([r[5] for r in rows], np.int64),
        np.array([r[6] for r in rows], np.bool_),
    )


def _attempts(items: list[Any], intervals: Intervals, threads: _Names, labels: _Names) -> Attempts:
    rows = []
    for i, item in enumerate(items):
        number = labels[_name(item["sid"], "sid")]
        t = int(intervals.begin[number])
        for k, attempt in enumerate(_list(item, "attempts")):
            where = f"intervals[{i}].attempts[{k}]"
            end, after = _point(attempt, "end", where), _point(attempt, "next", where)
            if not t <= end[1] <= after[1] <= intervals.end[number]:
                raise TraceError(f"{where}: ends at {end[1]}, before {after[1]}: not in the order of time")
            rows.append((number, threads[end[0]], t, end[1], threads[after[0]], after[1]))
            t = after[1]
    of, thread, begin, stop, after_thread, after_t = (
        np.array(sorted(rows, key=lambda row: row[0]), np.int64).reshape(-1, 6).T
    )
    return Attempts(
        interval=i32(of), thread=i32(thread), begin=begin, end=stop, next_thread=i32(after_thread), next_begin=after_t
    )


def _segments(items: list[Any], threads: _Names, labels: _Names, objects: _Names, notes: list[str]) -> Segments:
    rows = []
    for i, item in enumerate(items):
        where = f"segments[{i}]"
        tid, sid, ts, te, state = _row(item, where, 5)[:5]
        if state not in STATE_NAMES:
            raise TraceError(f"{where}: state {state!r} is none of {', '.join(STATE_NAMES)}")
        if _int(te, where) < _int(ts, where):
            raise TraceError(f"{where}: ends at {te}, before its start at {ts}")
        label = NONE if sid is None else labels[_name(sid, where)]
        given = item[5] if len(item) > 5 else None
        what = NONE if given is None else objects[_name(given, where)]
        rows.append((threads[_name(tid, where)], ts, te, label, STATE_NAMES.index(state), what))
    real = sorted(r for r in rows if r[2] > r[1])
    if len(real) < len(rows):
        notes.append(f"{len(rows) - len(real)} segments of zero length left out")
    for a, b in pairwise(real):
        if a[0] == b[0] and a[2] > b[1]:
            raise TraceError(
                f"segments of thread {threads.all()[a[0]]} overlap: one ends at {a[2]}, one starts at {b[1]}"
            )
    c = np.array(real, np.int64).reshape(-1, 6).T
    return Segments(
        thread=i32(c[0]),
        interval=i32(c[3]),
        ts=c[1],
        te=c[2],
        state=i8(c[4]),
        object_class=np.zeros(len(real), np.int8),
        object=i32(c[5]),
    )


def _objects(names: _Names) -> Objects:
    n = len(names.all())
    name, host = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    return Objects(class_=np.zeros(n, np.int8), id=np.zeros(n, np.int64), name=name, host=host)


def _invocations(items: list[Any], threads: _Names, labels: _Names, functions: _Names, sites: _Names) -> Invocations:
    """Calls over exactly the same time nest by depth if given, else by call site ("p:4" lies in p), else as listed."""
    rows = []
    for i, item in enumerate(items):
        where = f"functions[{i}]"
        tid, sid, name, site, fs, fe = _row(item, where, 6)[:6]
        if _int(fe, where) < _int(fs, where):
            raise TraceError(f"{where} ({name}): ends at {fe}, before its start at {fs}")
        given = _int(item[6], where) if len(item) > 6 else None
        label = NONE if sid is None else labels[_name(sid, where)]
        place = "" if site is None else _name(site, where)
        rows.append((threads[_name(tid, where)], fs, -fe, given, i, label, _name(name, where), place))
    rows.sort(key=lambda r: (r[0], r[1], r[2], r[3] or 0, r[4]))
    _order_twins(rows)
    depths = _depths(rows, threads)
    return Invocations(
        thread=np.array([r[0] for r in rows], np.int32),
        interval=np.array([r[5] for r in rows], np.int32),
        function=np.array([functions[r[6]] for r in rows], np.int32),
        call_site=np.array([sites[r[7]] for r in rows], np.int32),
        fs=np.array([r[1] for r in rows], np.int64),
        fe=np.array([-r[2] for r in rows], np.int64),
        depth=np.array(depths, np.int32),
    )


def _order_twins(rows: list[Any]) -> None:
    """Among calls of one thread over the same time without depths, moves callers before the calls they make."""
    i = 0
    while i < len(rows):
        j = i + 1
        while j < len(rows) and rows[j][:4] == (*rows[i][:3], None):
            j += 1
        pending = rows[i:j]
        for k in range(i, j):
            outer = [r for r in pending if not any(r[7].rpartition(":")[0] == o[6] for o in pending if o is not r)]
            rows[k] = (outer or pending)[0]
            pending.remove(rows[k])
        i = j


def _depths(rows: list[Any], threads: _Names) -> list[int]:
    """Depth of each sorted call, checked to nest."""
    depths: list[int] = []
    open_ends: list[int] = []
    for i, r in enumerate(rows):
        if i and rows[i - 1][0] != r[0]:
            open_ends = []
        fs, fe = r[1], -r[2]
        while open_ends and open_ends[-1] <= fs and not (fe == open_ends[-1] and r[3] == len(open_ends)):
            open_ends.pop()
        if open_ends and fe > open_ends[-1]:
            raise TraceError(f"calls do not nest on thread {threads.all()[r[0]]}: {r[6]} from {fs} to {fe}")
        depths.append(len(open_ends))
        open_ends.append(fe)
    return depths


def _pairs(
    items: list[Any], key: str, tids: tuple[int, int], times: tuple[int, ...], threads: _Names
) -> list[tuple[int, ...]]:
    """Rows of wakeups or created: thread numbers at `tids`, times at `times`, in the order of the file."""
    width = len(tids) + len(times)
    out = []
    for i, item in enumerate(items):
        where = f"{key}[{i}]"
        row = _row(item, where, width)[:width]
        out.append(tuple(threads[_name(v, where)] if j in tids else _int(v, where) for j, v in enumerate(row)))
    return out


def _since(row: Any, where: str) -> int:
    """Since when the waker of a checked row is to blame: its fifth item."""
    given = row[4] if len(row) > 4 else None
    if given is None:
        return SINCE_ALWAYS
    if _int(given, where) >= row[2]:
        raise TraceError(f"{where}: the waker is to blame since {given}, but acted at {row[2]}")
    return int(given)


def _program(data: dict[str, Any], functions: _Names, inv: Invocations) -> Program:
    given = data.get("heights")
    if given is not None and not isinstance(given, dict):
        raise TraceError('"heights" is not an object of function names and numbers')
    seen = set(functions.all())
    for name, value in (given or {}).items():
        _int(value, f'heights["{name}"]')
        _ = functions[name]
    if given is not None and (missing := sorted(seen - set(given))):
        raise TraceError(f'"heights" has no entry for {", ".join(missing[:5])}')
    names = functions.all()
    calls = _observed_calls(inv, len(names))
    height = heights(acyclic(calls, names)).tolist() if given is None else [given[n] for n in names]
    root = data.get("root")
    if root is not None and given is not None and root not in given:
        raise TraceError(f'"root" {root!r} has no entry in "heights"')
    top = height[functions[root]] if root in functions.number else max(height, default=0)
    everything = np.ones(len(names), np.bool_)
    return Program(
        functions=names,
        definitions=[""] * len(names),
        calls=calls,
        height=np.array(height, np.int32),
        root_height=top,
        on=everything,
        complete=everything,
    )


def _observed_calls(inv: Invocations, n: int) -> list[list[int]]:
    callees: list[set[int]] = [set() for _ in range(n)]
    stack: list[int] = []
    for i in range(len(inv.fs)):
        if i and inv.thread[i] != inv.thread[i - 1]:
            stack = []
        del stack[inv.depth[i] :]
        if stack and stack[-1] != inv.function[i]:
            callees[stack[-1]].add(int(inv.function[i]))
        stack.append(int(inv.function[i]))
    return [sorted(c) for c in callees]
