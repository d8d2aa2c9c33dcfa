"""The papers' tuples as columns: the seam between readers (trace/reading.py, trace/json_trace.py) and the analysis.

Source: thesis section 2.3.3.1, with the corrections of runtime/TRACE_FORMAT.md. Times are int64 nanoseconds from an
arbitrary origin (they may be negative). Threads, intervals, functions and call sites are small integers: indices
into the name lists of `Trace`. All column arrays of one table have the same length. Tables are immutable by
convention: no function of the package writes into a column it did not make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
UInt16 = NDArray[np.uint16]
Int8 = NDArray[np.int8]
Bool = NDArray[np.bool_]
Float = NDArray[np.float64]

NONE = -1
"""In a column of indices: none (no interval, no waker, no call site)."""

OBJECT_CLASSES = (
    "",
    "mutex",
    "condition variable",
    "semaphore",
    "thread join",
    "primitive of the program",
    "read-write lock",
    "barrier",
    "spin lock",
    "once",
    "futex",
    "pipe, socket or eventfd",
    "signal",
    "child process",
    "file lock",
    "message queue",
    "fiber's turn",
    "storage",
)
"""What a blocked segment waited for, by the numbers of runtime/TRACE_FORMAT.md section 2.1; 0: not known."""


@dataclass(frozen=True, kw_only=True)
class Segments:
    """`<tid, sid|none, ts, te, state>`, sorted by (thread, ts); segments of one thread do not overlap; ts < te.

    `object_class`: what a blocked segment waited for, an index into OBJECT_CLASSES; `object`: which one, a row of
    `Trace.objects`, or NONE.
    """

    thread: Int32
    interval: Int32
    ts: Int64
    te: Int64
    state: Int8
    object_class: Int8
    object: Int32


@dataclass(frozen=True, kw_only=True)
class Objects:
    """What threads waited for, one row each. `class_`: an index into OBJECT_CLASSES. `id` tells those of one class
    apart; of an object with a name, which is an index into `Trace.object_names`, the name does (NONE: it has none).
    Then `id` is the one that all its waits were for, 0 if there are several, or none. `host`: an index into
    `Trace.hosts`; equal ids on two hosts are two things."""

    class_: Int8
    id: Int64
    name: Int32
    host: Int32

    @classmethod
    def none(cls) -> Objects:
        none = np.zeros(0, np.int32)
        return cls(class_=np.zeros(0, np.int8), id=np.zeros(0, np.int64), name=none, host=none)


@dataclass(frozen=True, kw_only=True)
class ObjectHolds:
    """How long threads had objects that others waited for: a row for each time that one was released. `object`: a row
    of `Trace.objects`."""

    object: Int32
    ns: Int64

    @classmethod
    def none(cls) -> ObjectHolds:
        return cls(object=np.zeros(0, np.int32), ns=np.zeros(0, np.int64))


@dataclass(frozen=True, kw_only=True)
class Invocations:
    """`<tid, sid|none, f, call_site, fs, fe>` plus depth, sorted by (thread, fs, depth); those of one thread nest.

    `depth` counts the open frames below; producers without it pass the nesting order they mean.
    """

    thread: Int32
    interval: Int32
    function: Int32
    call_site: Int32
    fs: Int64
    fe: Int64
    depth: Int32


R_INTERVAL, R_NODE, R_NS = range(3)
"""Columns of a table of times: what an interval spent at a node of a tree."""

SINCE_ALWAYS = int(np.iinfo(np.int64).min)
"""In `Wakeups.since`: not known."""


@dataclass(frozen=True)
class Wakeups:
    """`<tid, waker, t>`, each linked to the blocked segment that it explains (row of `Segments`).

    `since`: the waker is to blame from then to t (it had what the thread waited for, or queued for it), others of the
    same segment before; SINCE_ALWAYS: for all before. Of one segment they grow with t.
    """

    thread: Int32
    waker: Int32
    t: Int64
    segment: Int32
    since: Int64


@dataclass(frozen=True)
class Created:
    """`<tid, ts, tid', ts'>`: `creator` made the task at `ts`; `thread` took it up at `ts2`. A creator NONE is nobody
    of the program: a request's time of creation was passed in."""

    creator: Int32
    ts: Int64
    thread: Int32
    ts2: Int64


@dataclass(frozen=True)
class WaitSamples:
    """Where threads waited, whatever was on: `stack`, an index into `Trace.wait_stacks`, stands for `ns` of waiting of
    an interval's own thread, for that interval. NONE as interval: it worked for nobody. ns 0: its thread released what
    others waited for. A sample for every few milliseconds waited. `object`: what for, a row of `Trace.objects`; NONE:
    not known."""

    interval: Int32
    stack: Int32
    ns: Int64
    object: Int32

    @classmethod
    def none(cls) -> WaitSamples:
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32))


@dataclass(frozen=True)
class Intervals:
    """One row per *finished* semantic interval, sorted by begin. `ignore`: keep it out of the statistics.

    `type` is an index into `Trace.types`. Row i is interval number i in the `interval` columns of the other tables;
    labels without a row (unfinished, foreign) have numbers from len(intervals) on.
    """

    type: Int32
    begin_thread: Int32
    begin: Int64
    end_thread: Int32
    end: Int64
    ignore: Bool


@dataclass(frozen=True, kw_only=True)
class Attempts:
    """One row per aborted attempt at an interval that was tried again, sorted by (interval, begin). It lasted from
    `begin` to `end`; the next one, aborted or the last, began on `next_thread` at `next_begin`. The first attempt's
    begin is the interval's."""

    interval: Int32
    thread: Int32
    begin: Int64
    end: Int64
    next_thread: Int32
    next_begin: Int64

    @classmethod
    def none(cls) -> Attempts:
        small, long = np.zeros(0, np.int32), np.zeros(0, np.int64)
        return cls(interval=small, thread=small, begin=long, end=long, next_thread=small, next_begin=long)


@dataclass(frozen=True)
class Aborted:
    """Of the intervals that ended, also those left out for other reasons: how many were aborted, of how many, and how
    long they took, of how long all took. `joins`: attempts that clients repeated are joined, and these are the rest."""

    count: int = 0
    of: int = 0
    ns: int = 0
    of_ns: int = 0
    joins: bool = False

    def __add__(self, other: Aborted) -> Aborted:
        joins = self.joins or other.joins
        return Aborted(
            self.count + other.count, self.of + other.of, self.ns + other.ns, self.of_ns + other.of_ns, joins
        )


@dataclass(frozen=True, kw_only=True)
class Program:
    """What is known of the program: names, call graph, and which functions were measured.

    `functions[f]` is a name; `definitions[f]` is "file:line" or "". `calls[f]` are the callees: direct
    calls, edges observed at run time, and for a function that was on also those with a site that it enters next
    through functions without one or through pointers (candidates by type). `height[f]`, see program/callgraph.py;
    `root_height` is the largest height over all thread entry functions seen. `on[f]`: the probe of f was on.
    `complete[f]`: all children of f were on, so time outside them is body(f), not rest(f). `switchable[f]`: f has a
    site and is no error or exit function (None: true of all), so the planner may propose it. `call_graph`: the direct
    calls and the edges observed at run time alone (None: `calls` holds no others). `group_size[f]`: how many functions
    call each other with f among them, 1 if none (None: heights were given). `unfollowed[f]`: "file:line" of calls
    through pointers, of functions that were on and of those without a site below them, of which no callee is known.
    """

    functions: list[str]
    definitions: list[str]
    calls: list[list[int]]
    height: Int32
    root_height: int
    on: Bool
    complete: Bool
    switchable: Bool | None = None
    call_graph: list[list[int]] | None = None
    group_size: Int32 | None = None
    unfollowed: dict[int, list[str]] = field(default_factory=dict)

    def in_group(self, f: int) -> int:
        """The size of the recursive group of f, 1 if it has none."""
        return 1 if self.group_size is None else int(self.group_size[f])

    def can_switch(self, f: int) -> bool:
        return self.switchable is None or bool(self.switchable[f])

    def is_of_the_c_library(self, f: int) -> bool:
        """By how places of its functions begin (runtime/src/external_sites.S)."""
        return self.definitions[f].startswith("the C library:")


class Happened(TypedDict):
    """The tables of a trace that say what happened, by the names of its fields."""

    segments: Segments
    invocations: Invocations
    wakeups: Wakeups
    created: Created
    wait_samples: WaitSamples
    objects: Objects
    holds: ObjectHolds


def nothing_happened() -> Happened:
    """Tables without rows."""
    empty, none, small = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int8)
    return {
        "segments": Segments(
            thread=none, interval=none, ts=empty, te=empty, state=small, object_class=small, object=none
        ),
        "invocations": Invocations(
            thread=none, interval=none, function=none, call_site=none, fs=empty, fe=empty, depth=none
        ),
        "wakeups": Wakeups(none, none, empty, none, empty),
        "created": Created(none, empty, none, empty),
        "wait_samples": WaitSamples.none(),
        "objects": Objects.none(),
        "holds": ObjectHolds.none(),
    }


Losses = dict[tuple[str, int, int], int]
"""Records lost by (session, thread uid, since when in ticks)."""


@dataclass(frozen=True)
class Slice:
    """A time in which the plan was all on or all off, and the latencies in ns of the intervals that began in it."""

    on: bool
    latency_ns: Int64


@dataclass(frozen=True)
class Recorded:
    """What a file says of its recording: by which command and version of vprof, on which machine, under what load (of a
    minute), when (ns since 1970), how many intervals a second were begun, whatever became of those before; and of the
    program: where its executables and libraries with probes lay, what compiled and linked these, how many functions
    have their probe before the body. "" and None: it does not say."""

    command: str = ""
    host: str = ""
    cpu: str = ""
    cpus: int | None = None
    kernel: str = ""
    load: float | None = None
    begun_ns: int | None = None
    vprof: str = ""
    modules: tuple[str, ...] = ()
    compilers: tuple[str, ...] = ()
    before_bodies: int = 0
    offered_rate: float | None = None


@dataclass(frozen=True)
class Process:
    """A process of one recording (`session`): others may have given its number to another process. `host`: an index
    into `Trace.hosts`. `pid` 0: not known."""

    host: int
    session: str
    pid: int
    name: str


@dataclass(kw_only=True)
class Trace:
    """One loaded trace, ready for analysis."""

    threads: list[str]
    interval_ids: Sequence[str]
    types: list[str]
    call_sites: list[str]
    program: Program
    segments: Segments
    invocations: Invocations
    wakeups: Wakeups
    created: Created
    intervals: Intervals
    attempts: Attempts = field(default_factory=Attempts.none)
    """Of `intervals`, where clients repeat what was aborted and the program's descriptor says so."""
    wait_samples: WaitSamples = field(default_factory=WaitSamples.none)
    wait_stacks: list[tuple[str, ...]] = field(default_factory=list)
    """The names of functions, the outermost first; those without a name are left out."""
    objects: Objects = field(default_factory=Objects.none)
    object_names: list[str] = field(default_factory=list)
    holds: ObjectHolds = field(default_factory=ObjectHolds.none)
    hosts: list[str] = field(default_factory=lambda: [""])
    """Names of the hosts that it was recorded on, sorted; "": not known. Times of two hosts are of two clocks."""
    processes: list[Process] = field(default_factory=lambda: [Process(0, "", 0, "")])
    process_of: Int32 | None = None
    """By thread an index into `processes`; None: all are of the first."""
    root: str = ""
    """Its intervals are the outermost calls of this function; "": those that the program was annotated with."""
    has_sync: bool = True
    """False: no sync record at all, the analysis concatenates labelled segments (docs/algorithms.md section 2)."""
    excluded: dict[str, int] = field(default_factory=dict)
    """Intervals left out before analysis, by reason (unfinished, aborted, flip, loss, ...)."""
    excluded_latencies: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    """Latencies of intervals left out because of loss (their ends are known)."""
    aborted: Aborted = field(default_factory=lambda: Aborted())
    """What was left out because it was aborted."""
    recorded_ns: int = 0
    """How long the recording took; 0: not known."""
    probe_ns: float | None = None
    """What an enter and exit of a probe cost where it was recorded; None: not known."""
    built_from: list[str] = field(default_factory=list)
    """Source and version of the recorded programs, each once; none if nobody said."""
    recorded: list[Recorded] = field(default_factory=list)
    """Of each file that says so."""
    loss: dict[str, int | float] = field(default_factory=dict)
    """Records written, dropped; see docs/algorithms.md section 8."""
    losses: Losses = field(default_factory=dict)
    """Each loss by itself: files of one session may tell of the same one."""
    spoiled: list[tuple[int, int, int, str]] = field(default_factory=list)
    """(thread or NONE for all, from, to, reason): times in which calls may be missing (lost records, flips, another
    plan). The reader has applied them to `intervals`; intervals made from calls (`--root`) must keep clear of them,
    too."""
    open_at: int | None = None
    """End of the recording: calls whose `fe` is this were still open."""
    takers: Int32 | None = None
    """The threads that take up tasks anywhere in the recording; None: `created` tells of all."""
    strayed: list[str] = field(default_factory=list)
    """Names of threads that critical paths may visit and whose records hold several flows of control, mixed
    (trace/strays.py)."""
    uninterposed: list[tuple[int, str]] = field(default_factory=list)
    """Processes (pid, name) whose waits were not seen (session/interposition.py)."""
    slices: list[Slice] = field(default_factory=list)
    """In the order of time, in whole rounds of four: where probes were switched on and off in turn (trace/turns.py)."""
    notes: list[str] = field(default_factory=list)
    """One-line remarks for the report: truncation, adjusted times, unknown records."""
