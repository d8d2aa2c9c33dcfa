"""The tree without waits for a CPU: a drill-down looks for causes in the program, and who took the CPU is none.

    Paths -> [split_queues] -> Paths -> PathTree -> [without_cpu_waits] -> PathTree

A function that is preempted varies, and so do all that wait for it: on a busy machine every tree is full of functions
whose variance is nothing but that. So `[preempted]`, `[sched]` and `[off cpu]`, wherever they lie, are taken out and
hung below the root, a node for each kind; what is left of a function is what it would vary by with a CPU of its own.
The root's times stay the latencies, and the shares go on adding up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vprof.columns import i8, i32, i64
from vprof.critical_path import P_QUEUE, P_SCHED, Paths, Pieces
from vprof.model import BLOCKED, NONE, OFF_CPU, PREEMPTED, Int32, Int64, Trace
from vprof.path_tree import PathTree, with_ancestors
from vprof.places import sum_upwards
from vprof.stacks import CPU_WAITS, L_BODY, PSEUDO
from vprof.variance_tree import VarianceTree


def without_cpu_waits(tree: PathTree) -> PathTree:
    """Waits for a CPU hang below the root. What has no time without them goes, and a body that is
    all of its function."""
    n = len(tree.parent)
    into = np.arange(n)
    for number, kind in enumerate(CPU_WAITS):
        into[tree.pseudo == kind] = n + number
    parent = np.r_[tree.parent, np.zeros(len(CPU_WAITS), np.int32)]
    into = _without_lonely_bodies(tree, parent, into)
    interval, node, ns = _added(i64(tree.own_interval), into[tree.own_node], tree.own_ns)
    kept = with_ancestors(node, parent)
    renumbered = np.cumsum(kept) - 1
    parent = renumbered[parent[kept]]
    parent[0] = NONE
    node = renumbered[node]
    total = sum_upwards(i64(np.stack((interval, node, ns))), i64(parent))
    order = np.lexsort((total[:, 1], total[:, 0]))
    none = np.full(len(CPU_WAITS), NONE, np.int32)
    names = [*tree.name, *(PSEUDO[kind] for kind in CPU_WAITS)]
    return replace(
        tree,
        parent=i32(parent),
        function=np.r_[tree.function, none][kept],
        site=np.r_[tree.site, none][kept],
        pseudo=i32(np.r_[tree.pseudo, CPU_WAITS][kept]),
        inner=np.r_[tree.inner, np.zeros(len(CPU_WAITS), np.bool_)][kept],
        name=[names[x] for x in np.flatnonzero(kept)],
        own_interval=i32(interval),
        own_node=i32(node),
        own_ns=i64(ns),
        interval=i32(total[order, 0]),
        node=i32(total[order, 1]),
        total_ns=i64(total[order, 2]),
        calls=np.r_[tree.calls, np.zeros(len(CPU_WAITS), tree.calls.dtype)][kept],
    )


def _without_lonely_bodies(tree: PathTree, parent: Int64, into: Int64) -> Int64:
    """`into`, with a body's time at its function where nothing else is left below that."""
    used = with_ancestors(into[tree.own_node], parent)
    used[0] = False
    children = np.bincount(parent[used], minlength=len(parent))
    lonely = (tree.pseudo == L_BODY) & (children[parent[: len(into)]] == 1)
    return np.where(lonely & (into == np.arange(len(into))), parent[: len(into)], into)


def cpu_ns(tree: PathTree, rows: Int64) -> Int64:
    """How long each of the intervals `rows`, ascending, waited for a CPU. REQUIRES: as `cpu_share`."""
    mine = np.flatnonzero(np.isin(tree.pseudo[tree.own_node], CPU_WAITS) & np.isin(tree.own_interval, rows))
    sums = np.zeros(len(rows), np.int64)
    np.add.at(sums, np.searchsorted(rows, tree.own_interval[mine]), tree.own_ns[mine])
    return sums


def cpu_share(tree: VarianceTree) -> dict[str, float]:
    """By kind of wait for a CPU: its share of the variance. REQUIRES: the tree is one of `without_cpu_waits`."""
    nodes = np.flatnonzero(np.isin(tree.paths.pseudo, CPU_WAITS) & (tree.paths.parent == 0))
    shares: dict[str, float] = {}
    for x in nodes.tolist():
        shares[tree.paths.name[x]] = shares.get(tree.paths.name[x], 0.0) + float(np.nan_to_num(tree.share[x]))
    return shares


def _added(interval: Int64, node: Int64, ns: Int64) -> tuple[Int64, Int64, Int64]:
    """Sorted by interval and node, each pair once."""
    order = np.lexsort((node, interval))
    interval, node, ns = interval[order], node[order], ns[order]
    first = np.flatnonzero(np.r_[True, (np.diff(interval) != 0) | (np.diff(node) != 0)]) if len(node) else node
    return interval[first], node[first], np.add.reduceat(ns, first) if len(first) else ns


def split_queues(trace: Trace, paths: Paths) -> Paths:
    """While a task lies in a queue, somebody who would take it may be awake for it and have no CPU: that part waits for
    a CPU, and is `sched` here; in ALGORITHMS section 2 all of it is `queue`.

    It counts while any thread that takes tasks, and works for nobody, is so; while the thread that took the task is, by
    whatever it was kept busy, or a thread that woke it; and while the one is that puts it into the queue.
    """
    p = paths.pieces
    mine = np.flatnonzero(p.kind == P_QUEUE)
    if not len(mine):
        return paths
    piece, since, until = _lacking_a_cpu(trace, _Windows(p.thread[mine], p.interval[mine], p.start[mine], p.stop[mine]))
    # What is left of a piece lies between its begin, the ends and the begins of these parts, and its end, in turn.
    which = np.r_[np.arange(len(mine)), piece]
    begin, end = np.r_[p.start[mine], until], np.r_[p.stop[mine], since]
    first, last = np.lexsort((begin, which)), np.lexsort((end, which))
    others = np.flatnonzero(p.kind != P_QUEUE)
    of = np.r_[others, mine[piece], mine[which[first]]]
    kind = np.r_[p.kind[others], np.full(len(piece), P_SCHED), np.full(len(which), P_QUEUE)]
    begin, end = np.r_[p.start[others], since, begin[first]], np.r_[p.stop[others], until, end[last]]
    order = np.lexsort((begin, p.interval[of]))
    order = order[begin[order] < end[order]]
    of = of[order]
    pieces = Pieces(p.interval[of], i8(kind[order]), p.thread[of], i64(begin[order]), i64(end[order]), p.wait[of])
    return replace(paths, pieces=pieces)


class _Windows(NamedTuple):
    """Times in which a task lay in a queue; `thread` took it then."""

    thread: Int32
    interval: Int32
    start: Int64
    stop: Int64


def _lacking_a_cpu(trace: Trace, windows: _Windows) -> tuple[Int64, Int64, Int64]:
    """(window, since, until) of their parts that count as waits for a CPU: sorted, and apart from each other."""
    seg, wakes = trace.segments, trace.wakeups
    woken = seg.te.copy()
    order = np.argsort(wakes.t, kind="stable")
    woken[wakes.segment[order]] = wakes.t[order]  # the last wake-up counts
    since = np.where(seg.state == BLOCKED, np.maximum(woken, seg.ts), seg.ts)
    rows = np.flatnonzero(np.isin(seg.state, (BLOCKED, PREEMPTED, OFF_CPU)) & (since < seg.te))
    since, until, thread, interval = since[rows], seg.te[rows], seg.thread[rows], seg.interval[rows]
    idle = np.isin(thread, trace.created.thread) & (interval == NONE)
    every = np.arange(len(windows.start))
    by_wake = _Spans(seg.thread[wakes.segment], wakes.t, wakes.t + 1)
    of, wake = by_wake.meeting(windows.thread, windows.start, windows.stop)
    waker = wakes.waker[wake]
    anybody = np.zeros(len(every), np.int64)
    by_thread = _Spans(thread, since, until)
    parts = [
        (_Spans(np.zeros(np.count_nonzero(idle), np.int64), since[idle], until[idle]), every, anybody),
        (by_thread, every, i64(windows.thread)),
        (by_thread, of, i64(waker)),
        (_Spans(interval, since, until), every, i64(windows.interval)),
    ]
    found = [_cut(spans, window, key, windows) for spans, window, key in parts]
    return _union(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


class _Spans:
    """Spans of time by a key, of which those that meet windows of time are looked up. No key is below NONE."""

    def __init__(self, key: Int32 | Int64, start: Int64, stop: Int64) -> None:
        self.start, self.stop = start, stop
        self._from = int(start.min(initial=0))
        self._length = int(stop.max(initial=0)) - self._from + 1
        self._order = np.lexsort((start, key))
        self._starts = self._at(key[self._order], start[self._order])
        self._reach = np.maximum.accumulate(self._at(key[self._order], stop[self._order]))

    def _at(self, key: Int32 | Int64, t: Int64) -> Int64:
        """Times of one key behind those of the keys below it."""
        return i64(key) * self._length + np.clip(t - self._from, 0, self._length - 1)

    def meeting(self, key: Int32 | Int64, start: Int64, stop: Int64) -> tuple[Int64, Int64]:
        """(window, span): those of a window's key that may meet it; all that do are among them."""
        first = np.searchsorted(self._reach, self._at(key, start))
        count = np.maximum(np.searchsorted(self._starts, self._at(key, stop), "right") - first, 0)
        window = np.repeat(np.arange(len(start)), count)
        return window, self._order[np.arange(len(window)) - np.repeat(np.cumsum(count) - count - first, count)]


def _cut(spans: _Spans, window: Int64, key: Int64, windows: _Windows) -> tuple[Int64, Int64, Int64]:
    """(window, start, stop) of what the spans of these keys cover of these windows."""
    row, span = spans.meeting(key, windows.start[window], windows.stop[window])
    of = window[row]
    start, stop = np.maximum(spans.start[span], windows.start[of]), np.minimum(spans.stop[span], windows.stop[of])
    some = start < stop
    return of[some], start[some], stop[some]


def _union(of: Int64, start: Int64, stop: Int64) -> tuple[Int64, Int64, Int64]:
    """What these cover by `of`: in order, apart from each other."""
    if not len(of):
        return of, start, stop
    order = np.lexsort((start, of))
    of, start, stop = of[order], start[order], stop[order]
    begin, length = start.min(), stop.max() - start.min() + 1
    reach = np.maximum.accumulate(of * length + stop - begin)
    first = np.flatnonzero(np.r_[True, (of * length + start - begin)[1:] > reach[:-1]])
    last = np.r_[first[1:] - 1, len(of) - 1]
    return of[first], start[first], reach[last] - of[last] * length + begin
