"""What the intervals waited for, object by object: its share of the variance, who waits, who has it meanwhile.

    Paths + Stacks  ->  by object: time of the intervals, functions that waited, functions of those who had it
    segments of all threads, holds  ->  by object: waits, how many at once, how long it was held

An interval's time in an object is what its critical path spends in waits for it, its own or those of threads that it
waits for; a wait within another one for the same object counts once, one within a wait for another object for both. So
shares are additive in time, but those of objects that are waited for by each other's holders overlap. All sums are
whole numbers, and so do not depend on windows. Memory: some numbers for each object, and for each function at it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vprof.path.parts import Opened, Part
from vprof.path.path_tree import display_names
from vprof.path.pieces import Paths
from vprof.path.stacks import Stacks, Timeline, step_at
from vprof.tables.columns import i64
from vprof.tables.kernels import kernel, loop, roomy
from vprof.tables.kinds import BLOCKED, P_BLOCKED_UNKNOWN, P_GAP, P_QUEUE, P_SCHED, P_UNKNOWN
from vprof.tables.lookup import distinct
from vprof.tables.model import NONE, OBJECT_CLASSES, Bool, Int64, Trace
from vprof.tables.objects import Key, described, key_of, title, where
from vprof.trace.window import Window
from vprof.variance.moments import covariances

_NOT_HELD = (P_SCHED, P_BLOCKED_UNKNOWN, P_UNKNOWN, P_GAP, P_QUEUE)
"""Pieces in a wait in which nobody is known to do anything."""
_MOST = 100
"""Objects that are told; `AllObjects` says how many there are."""
_MOST_FUNCTIONS = 5
_MOST_STACKS = 3
_LOCKS = [OBJECT_CLASSES.index(one) for one in ("mutex", "read-write lock", "spin lock", "file lock")]
"""Classes of what is held by whoever has waited for it; of semaphores that is not sure."""


@dataclass(frozen=True)
class AtObject:
    """What functions did at an object, and for how long in all intervals."""

    function: str
    total_ns: int


@dataclass(frozen=True)
class StackAtObject:
    """Where intervals waited, the outermost function first: an estimate, from samples."""

    functions: tuple[str, ...]
    total_ns: int


@dataclass(frozen=True, kw_only=True)
class WaitedObject:
    """`object_class`: of OBJECT_CLASSES; `id`: hexadecimal, "" if it has a `name`; `host`: whose it is, "" if it has a
    name or there is only one. `share` of the variance of latencies
    (additive), `total_ns` of all intervals, of which so many `intervals` waited for it. `waiters`: the innermost
    functions that were on ("": none was); `stacks`: where, whatever was on; `holders`: what those did that were waited
    for. `waits` are those of all threads, `waited_ns` long together, in `queued_ns` at least one of them; so
    `queue_mean` waited at once, and at most `queue_max`. `holds`: how many times it was released while somebody waited
    and it is known since when the thread had it, `hold_mean_ns` in the mean (None: of none)."""

    object_class: str
    id: str
    name: str
    host: str
    share: float
    total_ns: int
    intervals: int
    waiters: list[AtObject]
    stacks: list[StackAtObject]
    holders: list[AtObject]
    waits: int
    waited_ns: int
    queued_ns: int
    queue_mean: float
    queue_max: int
    holds: int
    hold_mean_ns: float | None

    @property
    def title(self) -> str:
        return title(self.object_class, self.id, self.name, self.host)


@dataclass(frozen=True)
class AllObjects:
    """The `objects` with the greatest shares, greatest first, of `count` that were waited for."""

    objects: list[WaitedObject]
    count: int


_TIME, _PRODUCT, _INTERVALS, _WAITS, _WAITED, _QUEUED, _QUEUE_MAX, _HOLDS, _HELD = range(9)
_COLUMNS = 9


class ObjectSums:
    """Grows with every `add` and `count`."""

    def __init__(self) -> None:
        self._number: dict[Key, int] = {}
        self._sums = np.zeros((64, _COLUMNS), np.int64)
        self._rounded = np.zeros(64)
        self._waiters: Counter[tuple[int, int]] = Counter()
        self._holders: Counter[tuple[int, int]] = Counter()
        self._stacks: Counter[tuple[int, tuple[str, ...]]] = Counter()
        self._ids: dict[Key, tuple[int, str]] = {}

    def count(self, opened: Opened) -> None:
        """The waits and holds that end in the window, and how many waited at once in it."""
        trace, window = opened.trace, opened.window
        if not len(trace.objects.id):
            return
        number = self._numbers(trace)
        waits, waited, queued, most = queues(trace, window)
        for column, values in ((_WAITS, waits), (_WAITED, waited), (_QUEUED, queued)):
            np.add.at(self._sums[:, column], number, values)
        np.maximum.at(self._sums[:, _QUEUE_MAX], number, most)
        held = number[trace.holds.object]
        np.add.at(self._sums[:, _HOLDS], held, 1)
        np.add.at(self._sums[:, _HELD], held, trace.holds.ns)

    def add(self, part: Part) -> None:
        trace, analyzed, waits = part.trace, part.opened.positions, part.paths.waits
        if not len(trace.objects.id):
            return
        number = self._numbers(trace)
        object_ = i64(np.r_[trace.segments.object, NONE][waits.segment])
        mine = (object_ != NONE) & (analyzed[waits.interval] != NONE)
        rows = np.flatnonzero(mine & _outermost(i64(waits.parent), object_))
        of, interval = number[object_[rows]], waits.interval[rows]
        ns = waits.stop[rows] - waits.start[rows]
        latency = (trace.intervals.end - trace.intervals.begin)[interval]
        np.add.at(self._sums[:, _TIME], of, ns)
        np.add.at(self._sums[:, _PRODUCT], of, ns * latency)  # modulo 2^64
        np.add.at(self._rounded, of, ns.astype(np.float64) * latency)
        each, _ = distinct(of * len(trace.intervals.begin) + interval)
        np.add.at(self._sums[:, _INTERVALS], each // len(trace.intervals.begin), 1)
        calls = np.r_[trace.invocations.function, NONE]
        function = calls[part.stacks.innermost(waits.thread[rows], waits.start[rows])]
        self._tally(self._waiters, part, of, function, ns)
        self._tally(self._holders, part, *_of_holders(part.paths, part.stacks, calls, number, object_, mine))
        self._sample(trace, analyzed, number)

    def merge(self, other: ObjectSums) -> None:
        number = self._numbered(list(other._number))
        for key, id_ in other._ids.items():
            self._identify(key, id_)
        theirs = other._sums[: len(number)]
        most = np.maximum(self._sums[number, _QUEUE_MAX], theirs[:, _QUEUE_MAX])
        self._sums[number] += theirs
        self._sums[number, _QUEUE_MAX] = most
        self._rounded[number] += other._rounded[: len(number)]
        of = number.tolist()
        self._waiters.update({(of[object_], f): ns for (object_, f), ns in other._waiters.items()})
        self._holders.update({(of[object_], f): ns for (object_, f), ns in other._holders.items()})
        self._stacks.update({(of[object_], stack): ns for (object_, stack), ns in other._stacks.items()})

    def _numbers(self, trace: Trace) -> Int64:
        """The numbers here of the trace's objects."""
        keys = [key_of(trace, row) for row in range(len(trace.objects.id))]
        rows = zip(keys, trace.objects.id.tolist(), trace.objects.host.tolist(), strict=True)
        for key, id_, host in rows:
            if key[2]:
                self._identify(key, (id_, trace.hosts[host]))
        return self._numbered(keys)

    def _identify(self, key: Key, id_: tuple[int, str]) -> None:
        """An object that is told apart by its name may have several ids: then it has none."""
        if self._ids.setdefault(key, id_) != id_:
            self._ids[key] = 0, ""

    def _numbered(self, keys: list[Key]) -> Int64:
        """Their numbers here, and room for them."""
        number = i64([self._number.setdefault(key, len(self._number)) for key in keys])
        if len(self._number) > len(self._rounded):
            more = 2 * len(self._number) - len(self._rounded)
            self._sums = np.concatenate((self._sums, np.zeros((more, _COLUMNS), np.int64)))
            self._rounded = np.concatenate((self._rounded, np.zeros(more)))
        return number

    def _tally(self, counter: Counter[tuple[int, int]], part: Part, object_: Int64, function: Int64, ns: Int64) -> None:
        functions, count = part.opened.functions, len(part.trace.program.functions) + 1
        keys, which = distinct(i64(object_) * count + function + 1)
        totals = np.zeros(len(keys), np.int64)
        np.add.at(totals, which, ns)
        for key, total in zip(keys.tolist(), totals.tolist(), strict=True):
            of, f = divmod(key, count)
            counter[of, f - 1 if functions is None or not f else int(functions[f - 1])] += total

    def _sample(self, trace: Trace, analyzed: Int64, number: Int64) -> None:
        samples = trace.wait_samples
        rows = np.flatnonzero((samples.object != NONE) & (samples.interval != NONE) & (samples.ns > 0))
        rows = rows[samples.interval[rows] < len(analyzed)]
        rows = rows[analyzed[samples.interval[rows]] != NONE]
        of, stacks, ns = number[samples.object[rows]], samples.stack[rows], samples.ns[rows]
        for object_, stack, one in zip(of.tolist(), stacks.tolist(), ns.tolist(), strict=True):
            self._stacks[object_, trace.wait_stacks[stack]] += one

    def _with_holds_of_names(self, sums: Int64) -> Int64:
        """Holds are recorded of locks, without their names. Of a lock that all waits call alike, they are of what it
        is called."""
        called: dict[Key, list[Key]] = defaultdict(list)
        for key, (id_, host) in self._ids.items():
            if key[0] in _LOCKS:
                called[key[0], id_, "", host].append(key)
        sums = sums.copy()
        for lock, names in called.items():
            row = self._number.get(lock)
            if len(names) == 1 and row is not None and not sums[row, _WAITS]:
                sums[self._number[names[0]], [_HOLDS, _HELD]] = sums[row, [_HOLDS, _HELD]]
        return sums

    def objects(self, trace: Trace, latency: Int64) -> AllObjects:
        """`trace`: the concluded bare traces, merged; `latency` of the analyzed intervals."""
        sums = self._with_holds_of_names(self._sums[: len(self._number)])
        count = int(np.count_nonzero(sums[:, _WAITS] | sums[:, _TIME]))
        rows = np.flatnonzero(sums[:, _TIME])
        variance = float(latency.var()) if len(latency) else 0.0
        share = np.zeros(len(rows))
        if variance > 0:
            time = sums[rows, _TIME]
            whole = np.full(len(rows), latency.sum())
            products = sums[rows, _PRODUCT], self._rounded[rows]
            share = covariances(*products, time, whole, len(latency)) / variance
        names, keys = display_names(trace), list(self._number)
        columns = ((-share).tolist(), (-sums[rows, _TIME]).tolist(), [keys[of] for of in rows], rows.tolist())
        told = sorted(zip(*columns, strict=True))[:_MOST]
        chosen = {of for *_, of in told}
        waiters, holders = (_by_object(counter, chosen) for counter in (self._waiters, self._holders))
        stacks: dict[int, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for (of, stack), ns in self._stacks.items():
            stacks[of][stack] += ns
        found = []
        for less, _, _, of in told:
            class_, id_, name = described(keys[of])
            row = dict(enumerate(sums[of].tolist()))
            found.append(
                WaitedObject(
                    object_class=class_,
                    id=id_,
                    name=name,
                    host=where(keys[of], trace.hosts),
                    share=-less,
                    total_ns=row[_TIME],
                    intervals=row[_INTERVALS],
                    waiters=_most(waiters[of], names),
                    stacks=_most_stacks(stacks[of]),
                    holders=_most(holders[of], names),
                    waits=row[_WAITS],
                    waited_ns=row[_WAITED],
                    queued_ns=row[_QUEUED],
                    queue_mean=row[_WAITED] / row[_QUEUED] if row[_QUEUED] else 0.0,
                    queue_max=row[_QUEUE_MAX],
                    holds=row[_HOLDS],
                    hold_mean_ns=row[_HELD] / row[_HOLDS] if row[_HOLDS] else None,
                )
            )
        return AllObjects(found, count)


def _by_object(counter: Counter[tuple[int, int]], chosen: set[int]) -> dict[int, Counter[int]]:
    found: dict[int, Counter[int]] = defaultdict(Counter)
    for (of, function), ns in counter.items():
        if of in chosen:
            found[of][function] += ns
    return found


def _most_stacks(stacks: Counter[tuple[str, ...]]) -> list[StackAtObject]:
    ordered = sorted(stacks.items(), key=lambda item: (-item[1], item[0]))[:_MOST_STACKS]
    return [StackAtObject(stack, ns) for stack, ns in ordered]


def _most(functions: Counter[int], names: list[str]) -> list[AtObject]:
    ordered = sorted(functions.items(), key=lambda item: (-item[1], item[0]))[:_MOST_FUNCTIONS]
    return [AtObject(names[f] if f != NONE else "", ns) for f, ns in ordered]


@kernel
def _outermost(parent: Int64, object_: Int64) -> Bool:
    """Whether a wait lies within no other one for the same object."""
    found = np.ones(len(parent), np.bool_)
    for w in range(len(parent)):
        above = parent[w]
        while found[w] and above != NONE:
            found[w] = object_[above] != object_[w]
            above = parent[above]
    return found


def _of_holders(
    paths: Paths, stacks: Stacks, calls: Int64, number: Int64, object_: Int64, mine: Bool
) -> tuple[Int64, Int64, Int64]:
    """(object, function, ns): what was done in the waits that are `mine` by whoever was waited for; while that one
    waited for something else, by the function that did."""
    p, w = paths.pieces, paths.waits
    doing = np.flatnonzero((p.wait != NONE) & ~np.isin(p.kind, _NOT_HELD))
    doing = doing[mine[p.wait[doing]]]
    spent = _spent(i64(p.thread[doing]), p.start[doing], p.stop[doing], stacks.timeline)
    nested = np.flatnonzero(w.parent != NONE)
    nested = nested[mine[w.parent[nested]] & (object_[nested] != object_[w.parent[nested]])]
    waiting = stacks.innermost(w.thread[nested], w.start[nested])
    of = np.r_[object_[p.wait[doing[spent[:, 0]]]], object_[w.parent[nested]]]
    return number[of], calls[np.r_[spent[:, 1], waiting]], np.r_[spent[:, 2], w.stop[nested] - w.start[nested]]


@kernel
def _spent(thread: Int64, start: Int64, stop: Int64, timeline: Timeline) -> Int64:
    """Rows (which, innermost invocation or NONE, ns): times of threads, cut where their innermost calls change."""
    near = np.full(len(timeline.first), NONE)
    rows, n, k = np.empty((max(64, 2 * len(thread)), 3), np.int64), 0, 0
    while True:
        k, n = _spent_from(k, n, thread, start, stop, timeline, near, rows)
        if k == len(thread):
            return rows[:n].copy()
        rows = roomy(rows, n, len(rows) + 1)


@loop
def _spent_from(
    k: int, n: int, thread: Int64, start: Int64, stop: Int64, timeline: Timeline, near: Int64, rows: Int64
) -> tuple[int, int]:
    """From time k on, after the first n rows; the first one for which there is no room, or how many there are."""
    while k < len(thread):
        first, last = timeline.first[thread[k]], timeline.first[thread[k] + 1]
        step = step_at(timeline, thread[k], start[k], near)
        t, made = start[k], n
        while t < stop[k] and made < len(rows):
            until = stop[k]
            if step + 1 < last:
                until = min(until, timeline.times[step + 1])
            rows[made, 0], rows[made, 2] = k, until - t
            rows[made, 1] = timeline.innermost[step] if step >= first else NONE
            made, t, step = made + 1, until, step + 1
        if t < stop[k]:
            break
        k, n = k + 1, made
    return k, n


class Queues(NamedTuple):
    """By object of a trace: waits that end in the window; how long threads waited in it, together; how long at least
    one did; and how many at most did at once."""

    waits: Int64
    waited: Int64
    queued: Int64
    most: Int64


def queues(trace: Trace, window: Window) -> Queues:
    """Of all threads, whatever they worked for. A label that changes meanwhile cuts no wait."""
    s, n = trace.segments, len(trace.objects.id)
    rows = np.flatnonzero((s.state == BLOCKED) & (s.object != NONE))
    thread, object_, ts, te = s.thread[rows], i64(s.object[rows]), s.ts[rows], s.te[rows]
    goes_on = (thread[1:] == thread[:-1]) & (object_[1:] == object_[:-1]) & (ts[1:] == te[:-1])
    first, last = np.r_[True, ~goes_on][: len(rows)], np.r_[~goes_on, True][: len(rows)]
    object_, ts, te = object_[first], ts[first], te[last]
    waits = np.bincount(object_[window.owns(te)], minlength=n)
    ts, te = np.maximum(ts, window.begin), np.minimum(te, window.end)
    inside = ts < te
    object_, ts, te = object_[inside], ts[inside], te[inside]
    waited, queued, most = np.zeros((3, n), np.int64)
    np.add.at(waited, object_, te - ts)
    _sweep(*_in_order(object_, ts), *_in_order(object_, te), queued, most)
    return Queues(i64(waits), waited, queued, most)


def _in_order(object_: Int64, t: Int64) -> tuple[Int64, Int64]:
    """By object and time."""
    if not len(t):
        return object_, t
    begin = int(t.min())
    length = int(t.max()) - begin + 1
    if (int(object_.max()) + 1) * length >= 2**63:
        order = np.lexsort((t, object_))
        return object_[order], t[order]
    of, at = np.divmod(np.sort(object_ * length + (t - begin)), length)  # NumPy sorts numbers many times faster
    return of, at + begin


@kernel
def _sweep(start_of: Int64, start: Int64, end_of: Int64, end: Int64, queued: Int64, most: Int64) -> None:
    """Fills by object how long somebody waited, and how many at most. A wait that ends when another begins is over."""
    _sweep_all(start_of, start, end_of, end, queued, most)


@loop
def _sweep_all(start_of: Int64, start: Int64, end_of: Int64, end: Int64, queued: Int64, most: Int64) -> None:
    b, waiting, since = 0, 0, 0
    for e in range(len(end)):
        of, t = end_of[e], end[e]
        while b < len(start) and start_of[b] == of and start[b] < t:
            if waiting == 0:
                since = start[b]
            waiting += 1
            most[of] = max(most[of], waiting)
            b += 1
        waiting -= 1
        if waiting == 0:
            queued[of] += t - since
