"""The recording as files of some seconds, of which the newest are kept until nobody needs them.

    session -> rotate -> piece-000001.trace, ... -> Piece: its chunks, its clock

Each is a whole trace of the same session: numbers of sites, threads, labels and modules mean the same in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vprof.tables.model import Int64
from vprof.trace.chunks import TraceFile, read_chunks
from vprof.trace.clock import Clock


@dataclass(frozen=True)
class Piece:
    """`begin`, `end`: times in ns, by its anchors and its end. `size`: bytes of its file."""

    path: Path
    file: TraceFile
    clock: Clock
    begin: int
    end: int
    size: int

    @classmethod
    def read(cls, path: Path, before: Piece | None) -> Piece | None:
        """None if it has no two anchors, also with those of the piece before: then its times are not known. Raises
        TraceError when it is no trace."""
        file = read_chunks(path)
        earlier = before.file.of("anchor") if before else []
        clock = clock_of([file], earlier)
        own = file.of("anchor")
        if clock.remark or not own:
            return None
        begin = clock.one(own[0]["ticks"])
        ticks = [event["ticks"] for name in ("anchor", "end") for event in file.of(name)]
        last = max([*ticks, *(chunk.base_ticks for chunk in file.chunks[-64:])])
        return cls(path, file, clock, begin, clock.one(last), path.stat().st_size)

    def realtime_ns(self, ns: int) -> int:
        """What the clock on the wall said then; 0 where the trace does not say."""
        told = [anchor for anchor in self.file.of("anchor") if "realtime_ns" in anchor]
        return ns - told[-1]["monotonic_ns"] + told[-1]["realtime_ns"] if told else 0


def clock_of(files: Sequence[TraceFile], earlier: Sequence[dict[str, Any]] = ()) -> Clock:
    """One clock of several pieces. `earlier`: anchors of the pieces before."""
    kind = next((event["clock"] for file in files for event in file.of("session")), "unknown")
    return Clock.of(kind, [*earlier, *(anchor for file in files for anchor in file.of("anchor"))])


def ticks_of(clock: Clock, ns: int) -> int:
    """The other way round than `Clock.one`, to some ticks."""
    slope = clock.lines().slope
    k = int(np.searchsorted(clock.ns[1:-1], ns, "right"))
    return int(clock.ticks[k] + (ns - clock.ns[k]) / slope[k])


def full_ticks(words: Int64, base: int) -> Int64:
    """The full time of each record of a chunk (runtime/TRACE_FORMAT.md section 2)."""
    heads = words[:, 0]
    found: Int64 = base + (((heads - base) << 16) >> 16)
    return found
