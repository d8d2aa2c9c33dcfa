"""Threads that intervals waited for while no function of theirs was on: which they are, and what is known of each.

    Paths + Stacks  ->  by thread: its time in waits of the intervals outside calls with a probe; where it ended them

Such time lies at `[waker]`, or in a wait of that thread's own, at `[blocked]` > `[unknown]`: the tree does not tell
whose it is. A drill-down switches on what these threads run (drill/wakers.py), and reports name them. All is of the
time from an interval's begin to the end of its wait, and in whole numbers: so the result does not depend on windows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from vprof.path.path_tree import display_names
from vprof.path.pieces import Paths
from vprof.path.stacks import Stacks
from vprof.program import callgraph
from vprof.tables.columns import i64
from vprof.tables.kinds import P_BLOCKED_UNKNOWN, P_DISK, P_EXEC, P_FAULT, P_MEMORY, P_SLEEP, P_UNKNOWN
from vprof.tables.lookup import values_of
from vprof.tables.model import NONE, Bool, Int32, Int64, Program, Trace
from vprof.variance.moments import covariances

_SPENT = (P_EXEC, P_FAULT, P_DISK, P_SLEEP, P_MEMORY, P_UNKNOWN)
"""Pieces of a waker's own time; its waits for a CPU are nobody's work."""
_DESCRIBED = 8
"""Of so many wakers the entry function is looked for."""
_NEVER = np.iinfo(np.int64).min
_MOST_SEEN = 16
"""So many functions of a thread are enough to tell which entry function leads to all of them."""


@dataclass(frozen=True, kw_only=True)
class Waker:
    """A thread that intervals waited for. `share` of the variance of latencies (additive), and `total_ns`: what it did
    meanwhile outside functions that were on, its own waits included, waits for a CPU apart.

    `released_in`: the innermost function that was on when it ended most of these waits; `released_after`: where none
    was on, the outermost one that it had left last. "": not known. `seen`: the outermost functions that it was seen in.
    `entry`: the only function that nobody calls and that leads to all of these, "" if there is no such one.
    """

    thread: str
    share: float
    total_ns: int
    released_in: str
    released_after: str
    seen: list[str]
    entry: str


class WakerSums:
    """Grows with every `add`. Memory: some numbers for each thread and function seen on it."""

    def __init__(self) -> None:
        self._time: Counter[int] = Counter()
        self._product: dict[int, int] = {}
        self._rounded: dict[int, float] = {}
        self._ended: Counter[tuple[int, int, bool]] = Counter()
        self._seen: dict[int, set[int]] = {}

    def add(
        self,
        trace: Trace,
        paths: Paths,
        stacks: Stacks,
        analyzed: Int64,
        functions: Int64 | None = None,
        first_thread: int = 0,
    ) -> None:
        """`analyzed`: by interval of the trace, NONE if it is not. `functions`: the numbers here of the trace's
        functions, None if they are the same; `first_thread`: the number here of its first thread."""
        outer = _Outermost(trace, stacks)
        number = i64(np.arange(len(trace.program.functions))) if functions is None else functions
        self._add_times(trace, paths, outer, analyzed, first_thread)
        of = paths.waits.interval
        rows = np.flatnonzero((paths.waits.waker != NONE) & (analyzed[of] != NONE))
        begin = trace.intervals.begin[of[rows]]
        self._add_ends(trace, paths, stacks, outer, number, rows, begin, first_thread)
        mine = outer.between(paths.waits.waker[rows], begin, paths.waits.ended[rows])
        called = len(trace.program.functions)
        for row in values_of(outer.thread[mine].astype(np.int64) * called + outer.function[mine]).tolist():
            thread, function = divmod(row, called)
            self._seen.setdefault(first_thread + thread, set()).add(int(number[function]))

    def _add_times(self, trace: Trace, paths: Paths, outer: _Outermost, analyzed: Int64, first_thread: int) -> None:
        p = paths.pieces
        parent = np.r_[paths.waits.parent, NONE]
        of_waker = (np.isin(p.kind, _SPENT) & (p.wait != NONE)) | (
            (p.kind == P_BLOCKED_UNKNOWN) & (parent[p.wait] != NONE)
        )
        rows = np.flatnonzero(of_waker & (analyzed[p.interval] != NONE))
        ns = p.stop[rows] - p.start[rows] - outer.within(p.thread[rows], p.start[rows], p.stop[rows])
        latency = (trace.intervals.end - trace.intervals.begin)[p.interval[rows]]
        threads, of = np.unique(p.thread[rows], return_inverse=True)
        time, product = np.zeros((2, len(threads)), np.int64)
        rounded = np.zeros(len(threads))
        np.add.at(time, of, ns)
        np.add.at(product, of, ns * latency)
        np.add.at(rounded, of, ns.astype(np.float64) * latency)
        for i, thread in enumerate(threads.tolist()):
            here = first_thread + thread
            self._time[here] += int(time[i])
            self._product[here] = _wrapped(self._product.get(here, 0) + int(product[i]))
            self._rounded[here] = self._rounded.get(here, 0.0) + float(rounded[i])

    def _add_ends(
        self,
        trace: Trace,
        paths: Paths,
        stacks: Stacks,
        outer: _Outermost,
        number: Int64,
        rows: Int64,
        begin: Int64,
        first_thread: int,
    ) -> None:
        """Of the waits in `rows`, whose intervals began at `begin`."""
        w = paths.waits
        begin, rows = begin[w.segment[rows] != NONE], rows[w.segment[rows] != NONE]
        waker, ended = w.waker[rows], w.ended[rows]
        call = stacks.innermost(waker, ended)
        last = outer.last(waker, ended, begin)
        function = np.r_[trace.invocations.function, NONE]
        where = np.where(call != NONE, function[call], np.r_[outer.function, NONE][last])
        known = np.flatnonzero(where != NONE)
        key = (i64(waker[known]) * len(number) + where[known]) * 2 + (call[known] != NONE)
        ends, of = np.unique(key, return_inverse=True)
        ns = np.zeros(len(ends), np.int64)
        np.add.at(ns, of, (w.stop - w.start)[rows[known]])
        for end, total in zip(ends.tolist(), ns.tolist(), strict=True):
            thread, f = divmod(end >> 1, len(number))
            self._ended[first_thread + thread, int(number[f]), bool(end & 1)] += total

    def merge(self, other: WakerSums) -> None:
        self._time.update(other._time)
        for thread, product in other._product.items():
            self._product[thread] = _wrapped(self._product.get(thread, 0) + product)
            self._rounded[thread] = self._rounded.get(thread, 0.0) + other._rounded[thread]
        self._ended.update(other._ended)
        for thread, seen in other._seen.items():
            self._seen.setdefault(thread, set()).update(seen)

    def wakers(self, trace: Trace, latency: Int64) -> list[Waker]:
        """Greatest share first, without those that were always in functions that were on. `trace`: the concluded
        bare traces, merged; `latency` of the analyzed intervals."""
        threads = [thread for thread, ns in self._time.items() if ns]
        variance = float(latency.var()) if len(latency) else 0.0
        if not threads or variance <= 0:
            return []
        shared = covariances(
            np.array([self._product[thread] for thread in threads], np.int64),
            np.array([self._rounded[thread] for thread in threads], np.float64),
            np.array([self._time[thread] for thread in threads], np.int64),
            np.full(len(threads), latency.sum()),
            len(latency),
        )
        rows = zip(threads, (shared / variance).tolist(), strict=True)
        ordered = sorted(rows, key=lambda row: (-row[1], trace.threads[row[0]], row[0]))
        names, entries = display_names(trace), _Entries(trace.program)
        found = []
        for rank, (thread, share) in enumerate(ordered):
            seen = sorted(self._seen.get(thread, ()))
            entry = entries.of(seen) if rank < _DESCRIBED else NONE
            ends = [(ns, f, inside) for (whose, f, inside), ns in self._ended.items() if whose == thread]
            _, f, inside = max(ends, key=lambda end: (end[0], -end[1], end[2]), default=(0, NONE, False))
            released = names[f] if f != NONE else ""
            found.append(
                Waker(
                    thread=trace.threads[thread],
                    share=share,
                    total_ns=self._time[thread],
                    released_in=released if inside else "",
                    released_after="" if inside else released,
                    seen=sorted(names[f] for f in seen),
                    entry=names[entry] if entry != NONE else "",
                )
            )
        return found


class _Outermost:
    """The outermost calls of each thread, by thread and time."""

    def __init__(self, trace: Trace, stacks: Stacks) -> None:
        inv = trace.invocations
        rows = np.flatnonzero(stacks.timeline.frames.around == NONE)
        self.thread, self.function = inv.thread[rows], inv.function[rows]
        self._start, self._stop = inv.fs[rows], inv.fe[rows]
        self._before = np.r_[0, np.cumsum(self._stop - self._start)]
        self._from = int(self._start.min(initial=0))
        self._length = int(self._stop.max(initial=0)) - self._from + 2
        self._key = self._at(self.thread, self._start)

    def _at(self, thread: Int32, t: Int64) -> Int64:
        return i64(thread) * self._length + np.clip(t - self._from, -1, self._length - 2) + 1

    def _not_before(self, thread: Int32, t: Int64) -> Int64:
        """The thread's first one that began at t or later, or what follows its own."""
        return i64(np.searchsorted(self._key, self._at(thread, t)))

    def _before_row(self, thread: Int32, row: Int64) -> Int64:
        """The one before a row, NONE if it is another thread's."""
        found: Int64 = np.where((row > 0) & (np.r_[self.thread, NONE][row - 1] == thread), row - 1, NONE)
        return found

    def last(self, thread: Int32, t: Int64, begin: Int64) -> Int64:
        """The thread's last one that began before t, NONE if none did, or if that one had ended by `begin`."""
        row = self._before_row(thread, self._not_before(thread, t))
        found: Int64 = np.where(np.r_[self._stop, _NEVER][row] > begin, row, NONE)
        return found

    def between(self, thread: Int32, begin: Int64, end: Int64) -> Bool:
        """Which of all lie, with a part of them, within a [begin, end] of their thread."""
        after = self._not_before(thread, begin)
        before = self._before_row(thread, after)
        first = np.where((before != NONE) & (np.r_[self._stop, 0][before] > begin), before, after)
        last = self._before_row(thread, self._not_before(thread, end))
        some = (last != NONE) & (first <= last)
        changes = np.zeros(len(self.thread) + 1, np.int64)
        np.add.at(changes, first[some], 1)
        np.add.at(changes, last[some] + 1, -1)
        within: Bool = np.cumsum(changes)[:-1] > 0
        return within

    def within(self, thread: Int32, start: Int64, stop: Int64) -> Int64:
        """How much of [start, stop] the thread spent in them."""
        return self._until(thread, stop) - self._until(thread, start)

    def _until(self, thread: Int32, t: Int64) -> Int64:
        row = self._not_before(thread, t)
        last = self._before_row(thread, row)
        rest: Int64 = np.where(last != NONE, np.maximum(np.r_[self._stop, 0][last] - t, 0), 0)
        spent: Int64 = self._before[row] - rest
        return spent


def _wrapped(value: int) -> int:
    """Modulo 2^64, as a signed number."""
    return (value + 2**63) % 2**64 - 2**63


class _Entries:
    """Functions that nobody calls: threads, callbacks and programs begin in one."""

    def __init__(self, program: Program) -> None:
        self._calls = program.calls if program.call_graph is None else program.call_graph
        self._callers: callgraph.Graph | None = None

    def of(self, seen: Collection[int]) -> int:
        """The only one that leads to all of these functions, NONE if there is none or there are several."""
        if not seen:
            return NONE
        if self._callers is None:
            self._callers = callgraph.reversed_graph(self._calls)
        above = [callgraph.reachable(self._callers, [f]) for f in sorted(seen)[:_MOST_SEEN]]
        common = [f for f in set.intersection(*above) if not self._callers[f]]
        return common[0] if len(common) == 1 else NONE
