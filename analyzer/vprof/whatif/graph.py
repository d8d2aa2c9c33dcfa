"""A trace as a graph that can be timed anew (docs/algorithms.md section 11).

    Stretch  ->  Graph: moments of threads, what fills the time between two of them, which moments others wait for

A *moment* is a time of a thread at which something happens: a segment begins or ends, the thread wakes another, makes a
task or takes one up, an interval or a changed call begins or ends. Moments of one thread are apart from each other, and
in order. Times are ns since the graph's `origin`; all edges go forward in time, or stay at it.

What nobody of the trace did, such as requests that were made outside, happens on one thread more, whose moments stay.
A trace may be replayed in windows (stretch.py): then a thread's first moments are those of the windows before that are
needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vprof.errors import InvariantError, TraceError
from vprof.tables.columns import i32, i64
from vprof.tables.kernels import kernel
from vprof.tables.kinds import BLOCKED, IDLE, QUEUE
from vprof.tables.lookup import grouped, values_of
from vprof.tables.model import NONE, Bool, Int32, Int64
from vprof.trace.scan import FOREVER, NEVER
from vprof.whatif.border import Ahead, Idle, undecided
from vprof.whatif.stretch import Calls, Rows, Stretch
from vprof.whatif.waits import FUTURE, MOST_NS, Line, Placed, Taken, Waits, find_waits

_DAY_NS = 86400e9


class Graph(NamedTuple):
    """Moments by (thread, time). Of the time that ends at a moment: `segment`, the row of `Segments` it belongs to,
    NONE where nothing is recorded; `wait`, the row of `waits` it belongs to. A task that was taken up at a moment n was
    made at the moments made[made_first[n]:made_first[n + 1]]."""

    thread: Int64
    time: Int64
    first: Int64  # thread -> its moments
    known: Int64  # thread -> the first of its moments that is not known before
    until: Int64  # thread -> the first of its moments that is not decided yet
    segment: Int64
    wait: Int64
    made_first: Int64
    made: Int64
    waits: Waits


@dataclass(frozen=True)
class Moments:
    """Moments by (thread, time), and the way to them. Times count from `origin`, keys from `base`. `times`: None, or
    all times that there are, whose ranks the keys count where the times themselves are too large."""

    origin: int
    base: int
    key: Int64
    threads: int
    span: int
    times: Int64 | None

    @classmethod
    def of(cls, threads: int, thread: Int64, t: Int64, origin: int | None = None) -> Moments:
        """`origin`: None: the earliest of these times. Raises TraceError if the times lie too far apart."""
        base = int(t.min()) if len(t) else 0
        origin = base if origin is None else origin
        span = int(t.max(initial=base)) - base + 2
        if span + abs(base - origin) >= MOST_NS:
            days = (span + abs(base - origin)) / _DAY_NS
            raise TraceError(f"the trace spans {days:.0f} days: it cannot be replayed")
        times = None
        if (threads + 1) * span >= 1 << 62:
            times = values_of(t)
            span = len(times) + 1
        empty = np.zeros(0, np.int64)
        key = values_of(cls(origin, base, empty, threads, span, times)._keys(thread, t))
        return cls(origin, base, key, threads, span, times)

    def _keys(self, thread: Int64 | Int32, t: Int64) -> Int64:
        """Of a time between two, where ranks count: that of the later one."""
        at = np.searchsorted(self.times, t) if self.times is not None else np.clip(t - self.base, 0, self.span - 1)
        return i64(thread) * self.span + at

    def at(self, thread: Int64 | Int32, t: Int64) -> Int64:
        """The moments at these times. REQUIRES: there are such."""
        return i64(np.searchsorted(self.key, self._keys(thread, t)))

    def before(self, thread: Int64 | Int32, t: Int64) -> Int64:
        """The last moment of the thread not after each time, NONE if it has none."""
        last = np.searchsorted(self.key, self._keys(thread, t + 1)) - 1
        found: Int64 = np.where((last >= 0) & (np.r_[self.key, 0][last] // self.span == thread), last, NONE)
        return found

    def columns(self) -> tuple[Int64, Int64]:
        """Thread and time of each, in ns since the origin."""
        thread, at = np.divmod(self.key, self.span)
        return i64(thread), i64(at + (self.base - self.origin) if self.times is None else self.times[at] - self.origin)


class Built(NamedTuple):
    """A graph of a stretch, and until when it is decided: before `until`, ns. Its moments, to find them; those at which
    `begins` and `ends` of the stretch are. `calls`: that begin before `until`; `enter` and `leave`: the moments at
    which they begin and end, as far as they lie in it. `arrives`: whether the time that ends at a moment is one in
    which a thread waits for a request to come. `kept`: moments that are needed after `until`."""

    graph: Graph
    until: int
    moments: Moments
    begin: Int64
    end: Int64
    calls: Calls
    enter: Int64
    leave: Int64
    arrives: Bool
    kept: Bool


def build(part: Stretch, is_open: bool, strict: bool) -> Built:
    """`is_open`: it matters what is waited for from outside; `strict`: how long waits last that nobody ended may be
    changed."""
    seg, made, iv, calls = part.rows, part.tasks, part.intervals, part.calls
    threads = outside = part.threads
    opens = seg.te >= part.end
    woken = (seg.waker != NONE) & (seg.woken < part.end)
    creator = np.where(made.creator == NONE, outside, made.creator)
    taken = made.ts2 < part.end
    begin_thread = np.where(part.outside[part.begins], outside, iv.begin_thread[part.begins])
    end_thread, end_at = iv.end_thread[part.ends], iv.end[part.ends]
    enters, leaves = calls.fs >= part.begin, calls.fe < part.end
    of = [part.kept[0], seg.thread, seg.thread[~opens], seg.waker[woken], creator, made.thread[taken], begin_thread]
    of += [end_thread, calls.thread[enters], calls.thread[leaves], part.marked[0]]
    at = [part.kept[1], seg.ts, seg.te[~opens], seg.woken[woken], made.ts, made.ts2[taken], iv.begin[part.begins]]
    at += [end_at, calls.fs[enters], calls.fe[leaves], part.marked[1]]
    moments = Moments.of(threads, i64(np.concatenate(of)), i64(np.concatenate(at)), part.origin)
    thread, time = moments.columns()
    first = i64(np.searchsorted(thread, np.arange(threads + 2)))
    known = _before(moments, thread, time, part.begin, first)
    if int((known - first[:-1])[:threads].sum()) != len(part.kept[0]):
        raise InvariantError("a moment before a window's border is not known: please report this trace")
    known[threads] = first[threads + 1]
    starts = moments.at(seg.thread, seg.ts)
    ends = np.where(opens, first[seg.thread + 1], moments.at(seg.thread, np.minimum(seg.te, part.end)))
    segment = _between(starts, i64(ends - opens), len(thread))
    woken_by = np.full(len(seg.ts), NONE, np.int64)
    woken_by[seg.waker != NONE] = FUTURE
    woken_by[woken] = moments.at(seg.waker[woken], seg.woken[woken])
    tasks = Taken(moments.at(made.thread[taken], made.ts2[taken]), moments.at(creator, made.ts)[taken], made.ts[taken])
    made_first, by_moment = grouped(i32(tasks.taken), len(thread))
    rows = Placed(seg.thread, seg.label, seg.state, starts, i64(ends), opens)
    line = Line(thread, time, first, known)
    wait, waits = find_waits(rows, tasks, line, woken_by)
    graph = Graph(thread, time, first, known, first[1:], segment, wait, made_first, i64(tasks.made[by_moment]), waits)
    begins, stops = moments.at(i64(begin_thread), iv.begin[part.begins]), moments.at(end_thread, end_at)
    idle = _idle(graph, seg)
    arrives = _last_outside(line, idle, begins[~part.outside[part.begins]])
    until = _until(part, graph, moments, rows, line, woken_by, idle, is_open, strict)
    graph = graph._replace(until=_before(moments, thread, time, until, first))
    kept = _kept(part, graph, moments, until, rows, i64(creator))
    mine = np.flatnonzero(calls.fs < until)
    calls, enters = Calls(*(column[mine] for column in calls)), enters[mine]
    leaves = calls.fe < until
    enter = np.where(enters, moments.at(calls.thread, calls.fs), known[calls.thread] - 1)
    leave = np.where(leaves, moments.at(calls.thread, calls.fe), graph.until[calls.thread] - 1)
    return Built(graph, until, moments, begins, stops, calls, i64(enter), i64(leave), arrives, kept)


def _before(moments: Moments, thread: Int64, time: Int64, t: int, first: Int64) -> Int64:
    """By thread its first moment not before t."""
    found: Int64 = first[:-1].copy()
    if t in (NEVER, FOREVER):
        return found if t == NEVER else i64(first[1:].copy())
    found += np.bincount(thread[time < t - moments.origin], minlength=len(found))
    return found


def _kept(part: Stretch, graph: Graph, moments: Moments, until: int, rows: Placed, creator: Int64) -> Bool:
    """Each thread's last moment; the begins of segments that go on, and the ends of such waits as far as they are over;
    where tasks were made that are not taken up yet."""
    kept = np.zeros(len(graph.time), np.bool_)
    if until == FOREVER:
        return kept
    seg, made, threads = part.rows, part.tasks, part.threads
    last = graph.until[:threads][graph.until[:threads] > graph.first[:threads]] - 1
    kept[last] = True
    goes_on = (seg.te >= until) & (seg.ts < until)
    kept[rows.start[goes_on]] = True
    woken = goes_on & (seg.waker != NONE) & (seg.woken < until)
    kept[moments.at(seg.waker[woken], seg.woken[woken])] = True
    tasks = part.waiting
    mine = (tasks.creator != NONE) & (tasks.ts < until)
    kept[moments.at(tasks.creator[mine], tasks.ts[mine])] = True
    mine = (made.creator != NONE) & (made.ts < until) & (made.ts2 >= until)
    kept[moments.at(creator[mine], made.ts[mine])] = True
    return kept


def _until(
    part: Stretch,
    graph: Graph,
    moments: Moments,
    rows: Placed,
    line: Line,
    woken_by: Int64,
    idle: Idle,
    is_open: bool,
    strict: bool,
) -> int:
    """Until when everything is decided: the end of the stretch, or the first moment of which it is not."""
    if part.end == FOREVER:
        return part.end
    first, order = grouped(i32(part.waiting.thread), part.threads)
    ahead = Ahead(part.ahead, part.begins_ahead, first, part.waiting.ts[order] - moments.origin)
    found = undecided(rows, line, woken_by, idle, ahead, is_open, strict)
    found = found[found < graph.first[1:-1]]
    return int(min(part.end, graph.time[found].min(initial=MOST_NS) + moments.origin))


@kernel
def _between(starts: Int64, ends: Int64, count: int) -> Int64:
    """By moment the row whose time ends there, or goes on; NONE if there is none."""
    row = np.full(count, NONE, np.int64)
    for s in range(len(starts)):
        for n in range(starts[s] + 1, ends[s] + 1):
            row[n] = s
    return row


def _idle(graph: Graph, seg: Rows) -> Idle:
    is_outside = np.isin(seg.state, (BLOCKED, QUEUE, IDLE)) & (seg.label == NONE)
    waits = np.r_[is_outside, True][graph.segment] & (graph.wait == NONE)
    waits[graph.first[:-1][graph.first[:-1] < len(waits)]] = False
    return Idle(np.r_[seg.label == NONE, True][graph.segment], waits)


@kernel
def _last_outside(line: Line, idle: Idle, begins: Int64) -> Bool:
    """By moment, whether the time that ends there is the last one in which its thread waited for what comes from
    outside, before an interval began."""
    found = np.zeros(len(line.thread), np.bool_)
    for begin in begins:
        thread = line.thread[begin]
        n, low = begin, max(line.known[thread], line.first[thread] + 1)
        while n >= low and idle.works[n] and not idle.waits[n]:
            n -= 1
        found[n] = found[n] or (n >= low and idle.waits[n])
    return found
