"""Where threads waited, whatever probes were on: samples of call stacks (runtime/TRACE_FORMAT.md section 2.7).

`stack` events -> names of functions, the outermost first;  STACK records + labels -> model.WaitSamples
"""

from __future__ import annotations

import numpy as np

from vprof.program.symbols import plain_name
from vprof.tables.columns import i32, i64
from vprof.tables.lookup import latest
from vprof.tables.model import NONE, Int32, Int64, WaitSamples
from vprof.trace.chunks import TraceFile
from vprof.trace.clock import Clock
from vprof.trace.intervals import Labels
from vprof.trace.invocations import labels_at_entry
from vprof.trace.records import STACK_BITS
from vprof.trace.segments import BlockedWaits
from vprof.trace.window import K_RELEASE, K_THREAD, K_TIME, K_WORD, Window

_OWN = ("vprof::", "__wrap_", "__vprof_")
"""How names of the runtime begin; a static program has it in itself."""


class WaitStacks:
    """The stacks of a file, in the order of their numbers."""

    def __init__(self, file: TraceFile, clock: Clock) -> None:
        known = {event["number"]: _names(event["functions"]) for event in file.of("stack")}
        numbers = sorted(known)
        self.stacks = [known[number] for number in numbers]
        self._index = np.full(1 << STACK_BITS, NONE, np.int32)
        self._index[numbers] = np.arange(len(numbers))
        self._ns_per_tick = (clock.ns[-1] - clock.ns[0]) / (clock.ticks[-1] - clock.ticks[0])

    def samples(
        self, rows: Int64, window: Window, labels: Labels, label: Int32, waits: BlockedWaits, of: Int32
    ) -> WaitSamples:
        """`rows`: columns K_* of window.py, by thread and time; `label`: the interval of each of the labels; `of`: the
        object of each of the waits. A stack that no event gives is left out, and a release that is not the window's
        own."""
        rows = rows[(rows[:, K_RELEASE] == 0) | window.owns(rows[:, K_TIME])]
        stack = self._index[rows[:, K_WORD] & ((1 << STACK_BITS) - 1)]
        rows, stack = rows[stack != NONE], stack[stack != NONE]
        # What the thread worked for while it waited, not what begins or ends with that.
        interval = labels_at_entry(i32(rows[:, K_THREAD]), rows[:, K_TIME] - 1, labels.thread, labels.t, label)
        waited = np.where(rows[:, K_RELEASE] == 0, rows[:, K_WORD] >> STACK_BITS, 0)
        wait = latest(waits.thread, waits.end, rows[:, K_THREAD], i64(rows[:, K_TIME]))
        ended = np.r_[waits.end, window.since][wait] == rows[:, K_TIME]
        object_ = np.where(ended & (wait != NONE), np.r_[of, NONE][wait], NONE)
        return WaitSamples(interval, stack, np.rint(waited * self._ns_per_tick).astype(np.int64), i32(object_))


def _names(functions: list[list[object]]) -> tuple[str, ...]:
    names = [plain_name(str(name)) for _, name in reversed(functions) if name]
    return tuple(name for name in names if not name.startswith(_OWN))
