"""What of each interval is walked by itself: all of it, or each attempt at it and the time between two of them.

Intervals + Attempts -> rows I_*, those of one interval together and without a hole between them
"""

from __future__ import annotations

import numpy as np

from vprof.tables.columns import i64
from vprof.tables.model import Int64, Trace

I_NUMBER, I_THREAD, I_BEGIN, I_END, I_BETWEEN = range(5)
"""The interval, the thread on which the walk begins, from and until when; 1 if it is the time between two attempts,
of which that thread took up the second."""


def stretches(trace: Trace, rows: Int64) -> Int64:
    """Of these intervals."""
    iv, attempts = trace.intervals, trace.attempts
    mine = np.isin(attempts.interval, rows)
    of, thread, begin, end, next_thread, next_begin = (column[mine] for column in vars(attempts).values())
    last = iv.begin[rows].copy()
    last[np.searchsorted(rows, of)] = next_begin  # of several the one that comes last
    parts = (
        (rows, iv.end_thread[rows], last, iv.end[rows], np.zeros(len(rows), np.int64)),
        (of, thread, begin, end, np.zeros(len(of), np.int64)),
        (of, next_thread, end, next_begin, np.ones(len(of), np.int64)),
    )
    found = np.concatenate([np.stack([i64(column) for column in part]) for part in parts], axis=1)
    return i64(found[:, np.argsort(found[I_NUMBER], kind="stable")]) if len(of) else i64(found)
