"""Records as kernels read them: the words of a chunk -> kinds, times and fields (runtime/TRACE_FORMAT.md section 2).

Both readings of a trace (scan.py, window.py) go through its words with these helpers: no other code takes words apart.
`at` is the first of a record's two words, `rest` how many records its chunk still has, itself included.
"""

from __future__ import annotations

from typing import NamedTuple

from vprof.tables.kernels import helper
from vprof.tables.model import SINCE_ALWAYS, Int64
from vprof.trace.clock import Lines, line_at, ns_on
from vprof.trace.holds import lock_of
from vprof.trace.records import (
    CALLS,
    COUNT,
    CREATED,
    EXTENDED,
    EXTENDED_SHIFT,
    HELD,
    INTERVAL_BEGIN,
    LOCK,
    LONG_DURATION,
    LONG_START,
    LOST,
    NAME_BITS,
    NAMED,
    OBJECT,
    PEER,
    PEER_TIME_UNKNOWN,
    PEER_TIMED_OUT,
    PEER_UNKNOWN,
    SITE_BITS,
    SPARSE,
    STACK,
    TIMED,
)

X_THREAD, X_KIND, X_START, X_END, X_AUX, X_WORD, X_PEER, X_WAKE = range(8)
"""Columns of what takes time: of a call its record's aux and w1; of a wait its object's class and name (as X_WORD),
waker and wake-up; of a hold (EXTENDED) the lock's class and name, and as X_PEER when it began; of time off the CPU its
bits and duration, and as X_PEER the time of the last record before it; of a name (X_NAMED) as X_START since when waits
have it, as X_END the time of the last record before it, and as X_WORD its number."""
X_NAMED = 16
"""X_KIND of a name: no kind of a record."""
TIME_UNKNOWN = 1 << 12
"""In X_AUX of a wait, above the class: when it was released is not recorded."""
TIMED_OUT = 1 << 13
"""In X_AUX of a wait: a time was over that the thread had set itself, and so the wait was."""


class Source(NamedTuple):
    """The words of a file, and its clock."""

    words: Int64
    lines: Lines


@helper
def kind_of(head: int) -> int:
    return (head >> 60) & 15


@helper
def aux_of(head: int) -> int:
    return (head >> 48) & 0xFFF


@helper
def site_of(word: int) -> int:
    """Of a call: the number of its site."""
    return (word >> 32) & ((1 << SITE_BITS) - 1)


@helper
def call_of(word: int) -> int:
    """Of a call: the number that its caller gave it."""
    return (word >> (32 + SITE_BITS)) & 1023


@helper
def unwrapped(head: int, base: int) -> int:
    """Full ticks: the value nearest to the chunk's base that has the head's low 48 bits."""
    # Shifted up, the difference of the low 48 bits wraps as a signed number does.
    return base + (((head - base) << 16) >> 16)


@helper
def ns_at(lines: Lines, ticks: int, line: int) -> int:
    """Nanoseconds of a tick value on or near that line."""
    return ns_on(lines, ticks, line_at(lines, ticks, line))


@helper
def has_time(kind: int) -> bool:
    """Whether the time of the record is a moment of the thread that wrote it."""
    return (TIMED >> kind) & 1 != 0


@helper
def is_call(kind: int) -> bool:
    return (CALLS >> kind) & 1 != 0


@helper
def is_sparse(kind: int, previous: int) -> bool:
    """Records of intervals, tasks, threads and losses."""
    if kind == PEER:
        return previous == CREATED
    if kind == COUNT:
        return previous == LOST
    if kind == OBJECT:
        return previous == INTERVAL_BEGIN
    return (SPARSE >> kind) & 1 != 0


@helper
def is_hold(words: Int64, at: int, rest: int) -> bool:
    """A HELD record with the one that follows it. Its time is a moment of its thread, too."""
    head = words[at]
    extended = kind_of(head) == EXTENDED and aux_of(head) >> EXTENDED_SHIFT == HELD
    return extended and rest > 1 and kind_of(words[at + 2]) == OBJECT


@helper
def is_stack(head: int) -> bool:
    """A STACK record: of the record before it, which has its time."""
    return kind_of(head) == EXTENDED and aux_of(head) >> EXTENDED_SHIFT == STACK


@helper
def is_named(head: int) -> bool:
    """A NAMED record: of waits before it. Its time counts for nothing."""
    return kind_of(head) == EXTENDED and aux_of(head) >> EXTENDED_SHIFT == NAMED


@helper
def name_of(word: int) -> int:
    """The number of a name."""
    return word & ((1 << NAME_BITS) - 1)


@helper
def start_of_name(source: Source, at: int, base: int, line: int) -> int:
    """Waits that began then or later have the name."""
    return ns_at(source.lines, unwrapped(source.words[at + 1] >> NAME_BITS, base), line)


@helper
def is_lock(head: int) -> bool:
    """A LOCK record: a step of a logical lock, with the one that follows it (locks.py)."""
    return kind_of(head) == EXTENDED and aux_of(head) >> EXTENDED_SHIFT == LOCK


@helper
def is_wait(words: Int64, at: int, rest: int) -> bool:
    """A BLOCKED record with the two that follow it. REQUIRES: a BLOCKED record."""
    return rest > 2 and kind_of(words[at + 2]) == OBJECT and kind_of(words[at + 4]) == PEER


@helper
def start_of_call(source: Source, at: int, previous: int, ticks: int, line: int) -> int:
    """Exit minus duration, or what the LONG_START record before says. `ticks`: the exit."""
    duration = source.words[at + 1] & 0xFFFFFFFF
    if duration == LONG_DURATION and previous == LONG_START:
        return ns_at(source.lines, source.words[at - 1], line)
    return ns_at(source.lines, ticks - duration, line)


@helper
def start_of_wait(source: Source, at: int, line: int) -> int:
    return ns_at(source.lines, source.words[at + 1], line)


@helper
def start_of_hold(source: Source, at: int, line: int, release: int) -> int:
    """SINCE_ALWAYS: not known."""
    word = source.words[at + 1]
    return min(ns_at(source.lines, word, line), release - 1) if word > 0 else SINCE_ALWAYS


@helper
def class_of_hold(head: int) -> int:
    return aux_of(head) & 0xFF


@helper
def lock_at(words: Int64, at: int) -> int:
    """The lock of a hold."""
    return lock_of(class_of_hold(words[at]), words[at + 3])


@helper
def peer_at(words: Int64, at: int) -> int:
    """The uid of the one who ended a wait, -1 if nobody is known."""
    return -1 if aux_of(words[at + 4]) & PEER_UNKNOWN else words[at + 5] & 0xFFFFFFFF


@helper
def fill_wait(row: Int64, source: Source, at: int, base: int, line: int) -> None:
    """Writes what a row X_* has of a wait, but for its thread, its kind and when it was."""
    words = source.words
    flags = aux_of(words[at + 4])
    told = (TIME_UNKNOWN if flags & PEER_TIME_UNKNOWN else 0) | (TIMED_OUT if flags & PEER_TIMED_OUT else 0)
    row[X_AUX], row[X_WORD] = aux_of(words[at]) | told, words[at + 3]
    row[X_PEER], row[X_WAKE] = peer_at(words, at), ns_at(source.lines, unwrapped(words[at + 4], base), line)


@helper
def off_ns(word: int) -> int:
    """How long a thread was off the CPU, by w1."""
    return word if 0 <= word < 1 << 62 else 1 << 62
