"""Pieces of one session, none missing in between, as one trace: intervals that began in one and ended in another are
whole.

    pieces -> what readers must know, the records as they are, what was lost  =  a trace

Nothing is looked at but events, so it costs little more than copying.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vprof.trace.writing import TraceWriter
from vprof.watch import context
from vprof.watch.pieces import Piece, ticks_of


def join(pieces: Sequence[Piece], path: Path) -> None:
    """Writes it. REQUIRES: the pieces follow each other. Raises OSError; no file is left then."""
    files = [piece.file for piece in pieces]
    first, last = pieces[0], pieces[-1]
    times = np.array([[ticks_of(first.clock, first.begin), ticks_of(last.clock, last.end) + 1]], np.int64)
    uids = {event["uid"] for event in context.all_of(files, "thread")}
    with TraceWriter(path, files[0].session) as trace:
        for event in context.before(files, uids, times):
            trace.event(event)
            if event["event"] == "module" and (told := files[-1].metadata.get(event["index"])):
                trace.metadata(event["index"], told)
        for file in files:
            for chunk in file.chunks:
                trace.records(chunk.uid, chunk.base_ticks, chunk.words.view(np.int64))
            file.release()
        for event in context.after(files, uids, times):
            trace.event(event)
        trace.event(context.end(files, times, trace.written))
