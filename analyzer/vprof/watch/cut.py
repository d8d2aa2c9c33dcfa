"""A small trace around some intervals: the records of all threads at the time, of what was recorded in some pieces.

    pieces, times -> chunks that overlap them, the next chunk of each thread, later records of what had begun -> a trace

Of all intervals only those remain that lie wholly in one of the times: what is missing of the others would look like
time in which nothing happened. Their begins and ends stay as changes of what the thread works for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vprof.errors import VprofError
from vprof.program.metadata import trimmed
from vprof.tables.model import Bool, Int64
from vprof.trace.chunks import RecordChunk, TraceFile
from vprof.trace.clock import Clock
from vprof.trace.intervals import OLDEST_NS
from vprof.trace.records import (
    ABANDONED,
    COUNT,
    EXTENDED,
    EXTENDED_SHIFT,
    HELD,
    INTERVAL_BEGIN,
    INTERVAL_END,
    INVOCATION,
    LONG_DURATION,
    LONG_START,
    LOST,
    OBJECT,
    ON_BEHALF,
    PEER,
    SITE_BITS,
    TIMED,
)
from vprof.trace.writing import TraceWriter
from vprof.watch import context
from vprof.watch.pieces import Piece, clock_of, full_ticks, ticks_of

_BEHALF_HEAD = ON_BEHALF << 60
_TIME = (1 << 48) - 1
_ID = (1 << 64) - 1
_NEAR_NS = 1000
"""Two readings of one clock differ by less, and two begins of one id by more."""


@dataclass(frozen=True)
class Wanted:
    """Times in ns, each of an interval with what is around it. `begins`: (id, begin) of the only begin records that
    remain, None: of all that lie in a time. `roots`: numbers of the sites whose calls are the intervals."""

    times: Sequence[tuple[int, int]]
    begins: Sequence[tuple[int, int]] | None = None
    roots: Sequence[int] = ()


@dataclass
class _Part:
    """A chunk of the cut, with its own copy of the records. `t`: the full ticks of each."""

    uid: int
    base: int
    words: Int64
    t: Int64

    @property
    def kind(self) -> Int64:
        found: Int64 = (self.words[:, 0] >> 60) & 15
        return found

    def keep(self, wanted: Bool) -> None:
        self.words, self.t = self.words[wanted], self.t[wanted]


def cut(pieces: Sequence[Piece], wanted: Wanted, path: Path) -> None:
    """Writes it. REQUIRES: the pieces are of one session, in order. Raises OSError; no file is left then."""
    files = [piece.file for piece in pieces]
    clock = clock_of(files)
    times = np.array([[ticks_of(clock, ns) for ns in time] for time in wanted.times], np.int64)
    parts = list(_parts(files, times))
    _leave_intervals(parts, clock, wanted)
    if wanted.roots:
        _leave_calls(parts, times, np.array(wanted.roots))
    parts = [part for part in parts if len(part.words)]
    sites = _sites(files, parts)
    with TraceWriter(path, files[0].session) as trace:
        uids = {part.uid for part in parts}
        for event in context.before(files, uids | _named_in(parts), times):
            trace.event(event)
            if event["event"] == "module" and (told := _metadata(files[-1], event, sites)):
                trace.metadata(event["index"], told)
        for part in parts:
            trace.records(part.uid, part.base, part.words)
        for event in context.after(files, uids, times):
            trace.event(event)
        trace.event(context.end(files, times, trace.written))
    for file in files:
        file.release()


def _parts(files: Sequence[TraceFile], times: Int64) -> Iterator[_Part]:
    """What is cut out, each thread's in its order, before anything of it is changed."""
    threads: dict[int, _Cutter] = {}
    for chunk in (chunk for file in files for chunk in file.chunks):
        yield from threads.setdefault(chunk.uid, _Cutter(times)).take(chunk)
    for cutter in threads.values():
        yield from cutter.rest()


@dataclass
class _Cutter:
    """Of one thread: whole chunks that overlap the times, and the next one: what a thread notices late, as that it was
    off the CPU, is there. Of the others calls and losses that had begun by then; and of what is before a whole chunk
    what it goes on from: the thread's last record, and the last that says what it works for.

    `before`: the latest chunk that is not whole, and which of its records are wanted; `label`: as a part of its own."""

    times: Int64
    goes_on: bool = False
    before: tuple[_Part, Bool] | None = None
    label: _Part | None = None

    def take(self, chunk: RecordChunk) -> Iterator[_Part]:
        words = chunk.words.view(np.int64)
        t = full_ticks(words, chunk.base_ticks)
        begin, end = _extent(words, t)
        overlaps = bool(((self.times[:, 0] <= end) & (self.times[:, 1] >= begin)).any())
        if overlaps or self.goes_on:
            yield from self._leading()
            self.goes_on, self.label = overlaps, None
            yield _part(chunk, words, t)
            return
        yield from self.rest()
        part = _part(chunk, words, t)
        later = end > self.times[:, 0].min()
        self.before = part, _began_in(words, t, self.times) if later else np.zeros(len(t), np.bool_)
        labels = np.flatnonzero(np.isin(part.kind, (INTERVAL_BEGIN, INTERVAL_END, ON_BEHALF)))
        if len(labels):
            row = labels[-1]
            self.label = _Part(chunk.uid, int(t[row]), part.words[row : row + 1].copy(), t[row : row + 1])

    def rest(self) -> Iterator[_Part]:
        """What is wanted of the latest chunk that is not whole."""
        if self.before:
            part, wanted = self.before
            part.keep(wanted)
            if len(part.words):
                yield part
        self.before = None

    def _leading(self) -> Iterator[_Part]:
        """The same, and what a whole chunk goes on from."""
        if self.before:
            part, wanted = self.before
            tail = _timed(part.words)
            last = int(np.flatnonzero(tail)[-1]) if tail.any() else len(wanted)
            if self.label is not None and (last == len(wanted) or self.label.t[0] < part.t[last]):
                yield self.label
            wanted[last:] = True
            # A long call has its start in the record before it.
            if 0 < last < len(wanted) and part.kind[last - 1] == LONG_START:
                wanted[last - 1] = True
        yield from self.rest()


def _part(chunk: RecordChunk, words: Int64, t: Int64) -> _Part:
    return _Part(chunk.uid, chunk.base_ticks, words.copy(), t)


def _timed(words: Int64) -> Bool:
    """Records whose time is a moment of their thread."""
    heads = words[:, 0]
    kind, extended = (heads >> 60) & 15, (heads >> 48 + EXTENDED_SHIFT) & 15
    found: Bool = ((TIMED >> kind) & 1 != 0) | ((kind == EXTENDED) & (extended == HELD))
    return found


def _extent(words: Int64, t: Int64) -> tuple[int, int]:
    """The first and the last time in a chunk."""
    timed = t[_timed(words)]
    return (int(timed.min()), int(timed.max())) if len(timed) else (0, 0)


def _began_in(words: Int64, t: Int64, times: Int64) -> Bool:
    """Calls and losses that overlap one of the times, with the records that belong to them."""
    kind, word = (words[:, 0] >> 60) & 15, words[:, 1]
    begin = np.where(kind == LOST, word, t - (word & LONG_DURATION))
    long = np.flatnonzero(np.isin(kind, (INVOCATION, ABANDONED)) & (word & LONG_DURATION == LONG_DURATION))
    long = long[(long > 0) & (kind[long - 1] == LONG_START)]
    begin[long] = word[long - 1]
    wanted: Bool = np.isin(kind, (INVOCATION, ABANDONED, LOST))
    wanted &= np.logical_or.reduce([(begin <= last) & (t >= first) for first, last in times.tolist()])
    wanted[long - 1] = wanted[long]
    counts = np.flatnonzero(kind == COUNT)
    wanted[counts[counts > 0]] = wanted[counts[counts > 0] - 1]
    return wanted


def _leave_intervals(parts: Sequence[_Part], clock: Clock, wanted: Wanted) -> None:
    """Makes changes of label of the begins and ends of all others."""
    rows = [(p, int(row)) for p, part in enumerate(parts) for row in np.flatnonzero(_is_of_interval(part))]
    rows.sort(key=lambda at: int(parts[at[0]].t[at[1]]))
    is_open: dict[int, tuple[int, int, int]] = {}
    remain: set[tuple[int, int]] = set()
    for p, row in rows:
        part = parts[p]
        id_, ns = int(part.words[row, 1]), clock.one(int(part.t[row]))
        if part.kind[row] == INTERVAL_BEGIN:
            is_open[id_] = (p, row, ns)
        elif id_ in is_open:
            begin_part, begin_row, begin = is_open.pop(id_)
            created = begin - _age(parts[begin_part], begin_row)
            inside = any(first <= created and ns <= last for first, last in wanted.times)
            if inside and _is_wanted(wanted, id_, begin):
                remain |= {(begin_part, begin_row), (p, row)}
    others: dict[int, list[int]] = {}
    for p, row in rows:
        if (p, row) not in remain:
            others.setdefault(p, []).append(row)
    for p, others_of in others.items():
        _to_labels(parts[p], others_of)


def _is_of_interval(part: _Part) -> Bool:
    found: Bool = (part.kind == INTERVAL_BEGIN) | (part.kind == INTERVAL_END)
    return found


def _age(part: _Part, begin_row: int) -> int:
    """How long before the begin the request was made, if that is told and to be believed."""
    follows = begin_row + 1 < len(part.words) and part.kind[begin_row + 1] == OBJECT
    age = int(part.words[begin_row + 1, 1]) if follows else 0
    return age if 0 <= age <= OLDEST_NS else 0


def _is_wanted(wanted: Wanted, id_: int, begin: int) -> bool:
    if wanted.begins is None:
        return True
    return any(id_ & _ID == one and abs(begin - t) < _NEAR_NS for one, t in wanted.begins)


def _to_labels(part: _Part, rows: Sequence[int]) -> None:
    keep = np.ones(len(part.words), np.bool_)
    for row in rows:
        is_begin = part.kind[row] == INTERVAL_BEGIN
        if is_begin and row + 1 < len(part.words) and part.kind[row + 1] == OBJECT:
            keep[row + 1] = False
        part.words[row, 0] = (int(part.words[row, 0]) & _TIME) | _BEHALF_HEAD
        part.words[row, 1] = part.words[row, 1] if is_begin else 0
    if not keep.all():
        part.keep(keep)


def _leave_calls(parts: Sequence[_Part], times: Int64, roots: Int64) -> None:
    """Drops the calls of the roots that do not lie wholly in one of the times."""
    for part in parts:
        kind, word = part.kind, part.words[:, 1]
        site, duration = (word >> 32) & ((1 << SITE_BITS) - 1), word & LONG_DURATION
        rows = np.flatnonzero(np.isin(kind, (INVOCATION, ABANDONED)) & np.isin(site, roots))
        drop = np.zeros(len(word), np.bool_)
        for row in rows.tolist():
            long = bool(duration[row] == LONG_DURATION) and row > 0 and kind[row - 1] == LONG_START
            begin = word[row - 1] if long else part.t[row] - duration[row]
            inside = (times[:, 0] <= begin) & (part.t[row] <= times[:, 1])
            drop[row] = not inside.any()
            drop[row - 1] |= long and drop[row]
        if drop.any():
            part.keep(~drop)


def _named_in(parts: Sequence[_Part]) -> set[int]:
    """Threads that records are about."""
    return {uid for part in parts for uid in np.unique(part.words[part.kind == PEER, 1] & 0xFFFFFFFF).tolist()}


def _sites(files: Sequence[TraceFile], parts: Sequence[_Part]) -> Int64:
    """The numbers of the sites that were on or are in the records, sorted."""
    ranges = [r for event in context.all_of(files, "plan") for r in event["on"]]
    ranges += [r for event in context.all_of(files, "flip") for r in event["on"]]
    frames = [frame[0] for event in files[-1].of("open") for frame in event["frames"]]
    found = [np.arange(first, first + count) for first, count, *_ in ranges] + [np.array(frames, np.int64)]
    for part in parts:
        calls = np.isin(part.kind, (INVOCATION, ABANDONED))
        found.append(np.unique((part.words[calls, 1] >> 32) & ((1 << SITE_BITS) - 1)))
    return np.unique(np.concatenate(found))


def _metadata(file: TraceFile, module: dict[str, Any], sites: Int64) -> bytes:
    """What the module says of the units that have one of the sites. Those of a large server are 15 MB."""
    content, shift = file.metadata.get(module["index"], b""), module["base"] - module["section_addr"]

    def is_wanted(address: int, count: int) -> bool:
        first, last = np.searchsorted(sites, [address + shift, address + shift + count])
        return bool(last > first)

    try:
        return trimmed(content, module["path"], is_wanted)
    except VprofError:
        return content
