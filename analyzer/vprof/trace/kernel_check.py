"""A trace against the kernel's own account of the same run: wake-up edges and time off the CPU.

    Trace + Schedule  ->  Agreement  ->  text

A recorded wait is right if the thread that it names is the one that the kernel woke it by, the last time before it went
on. Time off the CPU is compared over each thread's recorded life; what lies in recorded waits is told apart, since
there a trace says when the wait ended and not when the thread left the CPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from vprof.errors import UsageError
from vprof.tables.kinds import BLOCKED, DISK, EXEC, FAULT, MEMORY, OFF_CPU, PREEMPTED, SLEEP
from vprof.tables.model import NONE, Bool, Int64, Trace
from vprof.trace.chunks import read_chunks
from vprof.trace.clock import Clock
from vprof.trace.kernel_sched import Schedule, read_schedule
from vprof.trace.loading import load_trace


@dataclass
class Sum:
    count: int = 0
    ns: int = 0

    def add(self, ns: int) -> None:
        self.count += 1
        self.ns += ns


@dataclass
class Edges:
    """Recorded waits by what the kernel says of them."""

    same: Sum
    other: Sum
    missed: Sum
    outside: Sum
    awake: Sum


@dataclass
class Absences:
    """The kernel's, in ns: `delayed` is woken but not yet running."""

    preempted: int = 0
    blocked: int = 0
    delayed: int = 0


@dataclass(kw_only=True)
class KernelOffCpu:
    """ns off the CPU, by the kernel outside of recorded waits and within; of the latter, in those whose waker is known.

    Recorded: states outside of recorded waits, `mixed` where preempted as well as blocked; of waits with a known waker
    what came after the wake-up (`sched`).
    """

    outside: Absences
    within: Absences
    known: Absences
    preempted: int = 0
    mixed: int = 0
    blocked: int = 0
    sched: int = 0


@dataclass
class Agreement:
    threads: int
    edges: Edges
    off_cpu: KernelOffCpu
    lost: int


@dataclass(frozen=True)
class _Thread:
    """One thread's segments: waits that were recorded, and the rest of its life."""

    number: int
    tid: int
    start: Int64
    stop: Int64
    state: np.ndarray
    wait: Bool
    waker: Int64
    """Thread number, NONE where nobody is known."""
    woken: Int64

    def recorded(self) -> tuple[int, int]:
        """From the first to the last event in the file; off the CPU before and after, it may not have told yet."""
        begin = self.stop[0] if self.state[0] == EXEC else self.start[0]
        end = self.start[-1] if self.state[-1] == EXEC else self.stop[-1]
        return int(begin), max(int(begin), int(end))

    def time_in(self, segments: Bool, t: Int64) -> Int64:
        """ns of these segments before each time."""
        length = np.where(segments, self.stop - self.start, 0)
        before = np.r_[0, np.cumsum(length)]
        k = np.searchsorted(self.start, t, "right")
        into = np.where(k > 0, np.clip(t - self.start[k - 1], 0, length[k - 1]), 0)
        total: Int64 = before[np.maximum(k - 1, 0)] + into
        return total


def tids(trace: Trace) -> list[int]:
    """The kernel's number of each thread, 0 where the trace has none ("pid/tid name")."""
    found = (re.match(r"\d+/(\d+) ", name) for name in trace.threads)
    return [int(match[1]) if match else 0 for match in found]


def compare(trace: Trace, schedule: Schedule, clock: Clock) -> Agreement:
    """`clock`: of the trace, for the kernel's ticks."""
    kernel = (clock.to_ns(schedule.left), clock.to_ns(schedule.runnable), clock.to_ns(schedule.back))
    waking = clock.to_ns(schedule.waking)
    numbers = {tid: number for number, tid in enumerate(tids(trace)) if tid}
    out = Agreement(
        0,
        Edges(*(Sum() for _ in fields(Edges))),
        KernelOffCpu(outside=Absences(), within=Absences(), known=Absences()),
        schedule.lost,
    )
    for thread in _threads(trace):
        a, b = np.searchsorted(schedule.thread, [thread.tid, thread.tid + 1])
        if a == b:
            continue
        out.threads += 1
        left, runnable, back = (column[a:b] for column in kernel)
        _add_off_cpu(out.off_cpu, thread, left, runnable, back, schedule.preempted[a:b])
        a, b = np.searchsorted(schedule.wakee, [thread.tid, thread.tid + 1])
        by = np.array([numbers.get(waker, NONE) for waker in schedule.waker[a:b].tolist()], np.int64)
        _add_edges(out.edges, thread, waking[a:b], by)
    return out


def _threads(trace: Trace) -> Iterator[_Thread]:
    s = trace.segments
    waker, woken = np.full((2, len(s.ts)), NONE, np.int64)
    order = np.argsort(trace.wakeups.t, kind="stable")
    waker[trace.wakeups.segment[order]] = trace.wakeups.waker[order]
    woken[trace.wakeups.segment[order]] = trace.wakeups.t[order]
    first = np.searchsorted(s.thread, np.arange(len(trace.threads) + 1))
    for number, tid in enumerate(tids(trace)):
        mine = slice(first[number], first[number + 1])
        if not tid or mine.start == mine.stop:
            continue
        state = s.state[mine]
        wait = s.object_class[mine] != 0  # also where it is told as sleep, idle or disk
        yield _Thread(number, tid, s.ts[mine], s.te[mine], state, wait, waker[mine], woken[mine])


def _add_off_cpu(
    total: KernelOffCpu, thread: _Thread, left: Int64, runnable: Int64, back: Int64, preempted: Bool
) -> None:
    times = [np.clip(t, *thread.recorded()) for t in (left, runnable, back)]
    known = thread.wait & (thread.waker != NONE)
    everywhere = np.ones(len(thread.wait), np.bool_)
    for part, segments in (
        (total.outside, everywhere & ~thread.wait),
        (total.within, thread.wait),
        (total.known, known),
    ):
        at = [thread.time_in(segments, t) for t in times]
        waiting = at[2] - at[1]
        part.blocked += int((at[1] - at[0]).sum())
        part.preempted += int(waiting[preempted].sum())
        part.delayed += int(waiting[~preempted].sum())
    length = thread.stop - thread.start
    total.preempted += int(length[thread.state == PREEMPTED].sum())
    total.mixed += int(length[thread.state == OFF_CPU].sum())
    total.blocked += int(length[np.isin(thread.state, (BLOCKED, FAULT, DISK, SLEEP, MEMORY)) & ~thread.wait].sum())
    total.sched += int((thread.stop - thread.woken)[known].sum())


def _add_edges(total: Edges, thread: _Thread, waking: Int64, by: Int64) -> None:
    """`by`: the thread number of who woke, NONE for interrupts and threads that are not in the trace."""
    for row in np.flatnonzero(thread.wait).tolist():
        ns = int(thread.stop[row] - thread.start[row])
        last = int(np.searchsorted(waking, thread.stop[row], "right")) - 1
        recorded = int(thread.waker[row])
        if last < 0 or waking[last] < thread.start[row]:
            total.awake.add(ns)
        elif recorded == by[last]:
            (total.outside if recorded == NONE else total.same).add(ns)
        else:
            (total.missed if recorded == NONE else total.other).add(ns)


def check(trace: Path, events: Path) -> Agreement:
    """`events`: what kernel_sched.kernel_events wrote in the same run. Raises TraceError, UsageError."""
    loaded = load_trace(trace)
    file = read_chunks(trace)
    if file.of("session")[0]["clock"] != "tsc":
        raise UsageError("the kernel's events have the time of the TSC, which this machine's traces have not")
    with events.open(encoding="utf-8", errors="replace") as lines:
        schedule = read_schedule(lines, set(tids(loaded)) - {0})
    return compare(loaded, schedule, Clock.of("tsc", file.of("anchor")))


def render(found: Agreement) -> str:
    """The report. "of the time": of waits in which the thread slept."""
    lines = [f"against the kernel's scheduler, {found.threads} threads"]
    if found.lost:
        lines.append(f"at least {found.lost} events of the kernel are missing, and what follows misses them")
    return "\n".join([*lines, "", *_edges(found.edges), "", *_off_cpu(found.off_cpu)])


def _edges(e: Edges) -> list[str]:
    slept = sum(s.ns for s in (e.same, e.other, e.missed, e.outside)) or 1
    lines = [f"{'recorded waits':<50} {'waits':>8} {'time':>10} {'of the time':>12}"]
    for name, part in (
        ("the thread that is recorded woke it", e.same),
        ("another thread woke it", e.other),
        ("nobody is recorded, a thread of the trace woke it", e.missed),
        ("nobody is recorded, none of the trace woke it", e.outside),
    ):
        lines.append(f"{name:<50} {part.count:>8} {_seconds(part.ns):>10} {part.ns / slept:>12.2%}")
    return [*lines, f"{'never slept':<50} {e.awake.count:>8} {_seconds(e.awake.ns):>10}"]


def _off_cpu(o: KernelOffCpu) -> list[str]:
    out, within = o.outside, o.within
    rows = (
        (
            "off the CPU outside recorded waits",
            out.preempted + out.blocked + out.delayed,
            o.preempted + o.mixed + o.blocked,
        ),
        ("  preempted", out.preempted, o.preempted),
        ("  blocked, then woken and waiting for a CPU", out.blocked + out.delayed, o.blocked),
        ("    of this waiting for a CPU", out.delayed, None),
        ("  both between two events", None, o.mixed),
        ("in recorded waits: blocked", within.blocked, None),
        ("  woken, waiting for a CPU", within.delayed, None),
        ("    of this in waits with a known waker: [sched]", o.known.delayed, o.sched),
        ("  preempted", within.preempted, None),
        ("run delay: all waiting for a CPU", out.preempted + out.delayed + within.preempted + within.delayed, None),
    )
    lines = [f"{'':<50} {'kernel':>10} {'recorded':>10} {'recorded/kernel':>16}"]
    for name, kernel, recorded in rows:
        ratio = f"{recorded / kernel:.1%}" if kernel and recorded is not None else ""
        lines.append(f"{name:<50} {_seconds(kernel):>10} {_seconds(recorded):>10} {ratio:>16}".rstrip())
    return lines


def _seconds(ns: int | None) -> str:
    return "" if ns is None else f"{ns / 1e9:.3f} s"
