"""What the kernel's scheduler did, as it tells root: when threads were off the CPU and why, and who woke them.

    sched_switch, sched_waking in an instance of tracefs of our own  ->  text  ->  Schedule

The instance has a trace's clock (the TSC) and follows what the calling thread starts while it is there. Source: the
kernel's Documentation/trace/ftrace.rst and events.rst. Not thread-safe.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vprof.errors import UsageError
from vprof.tables.model import Bool, Int64

TRACEFS = Path("/sys/kernel/tracing")
INTERRUPT = 0
"""The waker where it was no thread but a device or a timer. The kernel's threads are threads."""

_EVENTS = ("sched_switch", "sched_waking")
_BUFFER_KB = 16384
"""For each CPU: a busy server fills some MB a second, and the reader may wait for a CPU as others do."""
_READ_BYTES = 1 << 16
_POLL_SECONDS = 0.02
_IN_INTERRUPT = "hHszZ"
"""Third of the flags of a line: within a handler of an interrupt, hard, soft or not maskable."""

_LINE = re.compile(
    r"-(?P<current>\d+)\s+\[\d+\] ..(?P<interrupt>.)\S*\s+(?P<t>\d+): (?:"
    r"sched_switch: prev_comm=.* prev_pid=(?P<leaves>\d+) prev_prio=-?\d+ prev_state=(?P<state>\S+) ==> "
    r"next_comm=.* next_pid=(?P<enters>\d+) next_prio=-?\d+"
    r"|sched_waking: comm=.* pid=(?P<woken>\d+) prio=-?\d+ target_cpu=\d+)$"
)
_LOST = re.compile(r"LOST (\d+) EVENTS")


@dataclass(frozen=True)
class Schedule:
    """Threads by the kernel's number, times in ticks.

    Absences from the CPU, by (thread, left): from `left` on off it, from `runnable` on waiting for one, `back` on it;
    `preempted`: runnable all the time. Wakings by (wakee, waking). `lost`: events that are missing, at least.
    """

    thread: Int64
    left: Int64
    runnable: Int64
    back: Int64
    preempted: Bool
    wakee: Int64
    waking: Int64
    waker: Int64
    lost: int


def read_schedule(lines: Iterable[str], threads: set[int]) -> Schedule:
    """What the lines of a trace_pipe tell of `threads`."""
    lost = 0
    gone: dict[int, tuple[int, bool]] = {}
    there: set[int] = set()
    woken: dict[int, int] = {}
    absences: list[tuple[int, int, int, int, bool]] = []
    wakings: list[tuple[int, int, int]] = []
    for line in lines:
        match = _LINE.search(line)
        if not match:
            missing = _LOST.search(line)
            lost += int(missing[1]) if missing else 0
            continue
        t, current = int(match["t"]), int(match["current"])
        if current in gone:  # it is back: the filter by process drops switches from an idle CPU to the next thread
            left, preempted = gone.pop(current)
            back = t if preempted else min(max(woken.get(current, t), left), t)
            absences.append((current, left, left if preempted else back, back, preempted))
        if match["woken"]:
            wakee = int(match["woken"])
            if wakee in threads:
                woken[wakee] = t
                wakings.append((wakee, t, INTERRUPT if match["interrupt"] in _IN_INTERRUPT else current))
            continue
        leaves, enters = int(match["leaves"]), int(match["enters"])
        # Who enters has left before: else an event is missing, though the kernel does not say so.
        lost += enters in there and enters not in gone
        if leaves in threads:
            gone[leaves] = t, match["state"].startswith("R")
            there.discard(leaves)
        if enters in threads:
            there.add(enters)
        if enters in gone:
            left, preempted = gone.pop(enters)
            # A waking on the way to sleep, before the switch, is why it is short.
            runnable = left if preempted else min(max(woken.get(enters, t), left), t)
            absences.append((enters, left, runnable, t, preempted))
    a = np.array(sorted(absences), np.int64).reshape(-1, 5)
    w = np.array(sorted(wakings), np.int64).reshape(-1, 3)
    return Schedule(a[:, 0], a[:, 1], a[:, 2], a[:, 3], a[:, 4] != 0, w[:, 0], w[:, 1], w[:, 2], lost)


@contextmanager
def kernel_events(output: Path) -> Iterator[None]:
    """Meanwhile `output` gets the events of processes that this thread starts. Raises UsageError where they are not
    to be had."""
    instance = TRACEFS / "instances" / f"vprof-{os.getpid()}"
    try:
        instance.mkdir()
    except OSError as error:
        mend = "needs root" if os.geteuid() else f"mount it first: mount -t tracefs nodev {TRACEFS}"
        raise UsageError(f"no events of the kernel in {TRACEFS} ({error.strerror}): {mend}") from None
    try:
        _set(instance, "trace_clock", "x86-tsc")
        _set(instance, "buffer_size_kb", str(_BUFFER_KB))
        reader = _Reader(instance / "trace_pipe", output)
        try:
            # The reader's own thread runs already: it is not followed.
            _set(instance, "options/event-fork", "1")
            _set(instance, "set_event_pid", str(threading.get_native_id()))
            for event in _EVENTS:
                _set(instance, f"events/sched/{event}/enable", "1")
            yield
        finally:
            _set(instance, "tracing_on", "0")
            reader.finish()
    finally:
        instance.rmdir()


def _set(instance: Path, name: str, value: str) -> None:
    (instance / name).write_text(value, encoding="ascii")


class _Reader:
    """Copies a pipe of events to a file until it is empty after `finish`."""

    def __init__(self, pipe: Path, output: Path) -> None:
        self._pipe = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self._output = output.open("wb")
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._copy)
        self._thread.start()

    def finish(self) -> None:
        self._ending.set()
        self._thread.join()
        os.close(self._pipe)
        self._output.close()

    def _copy(self) -> None:
        while True:
            ending = self._ending.is_set()
            try:
                self._output.write(os.read(self._pipe, _READ_BYTES))
            except BlockingIOError:
                if ending:
                    return
                time.sleep(_POLL_SECONDS)
