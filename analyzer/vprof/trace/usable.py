"""Which intervals of a trace may be analyzed; if there is none, why, and what to do about it."""

from __future__ import annotations

import numpy as np

from vprof.errors import NoIntervalError, TraceError
from vprof.tables.model import Int64, Trace
from vprof.trace.intervals import FLIP, LOSS, NO_BEGIN, OTHER_PLAN, UNFINISHED

_MENDS = {
    UNFINISHED: "record longer, or check where the intervals end (an id is evaluated at the function's entry, also "
    "with at = 'exit')",
    LOSS: "record with fewer functions on (--sites), or a program that writes less at once",
    FLIP: "record longer between two changes of what is on",
    OTHER_PLAN: "record longer between two changes of what is on",
    NO_BEGIN: "begin to record before the intervals do",
}
"""What helps against the most frequent reason."""
_MEND_CALLS = "the program ended inside it (_exit, exec, a signal), or the recording did: choose one that returns often"


_MOST_NS = 1 << 62
_YEAR_NS = 365 * 86400e9


def rows_of(trace: Trace) -> Int64:
    """The intervals to analyze. Raises NoIntervalError with a diagnosis when there is none, TraceError when their times
    cannot be summed: only a damaged trace has such."""
    rows: Int64 = np.flatnonzero(~trace.intervals.ignore)
    if not len(rows):
        excluded = excluded_by_reason(trace)
        raise NoIntervalError(diagnose(trace), bool(excluded), lost=bool(excluded.get(LOSS)))
    total = float((trace.intervals.end[rows].astype(np.float64) - trace.intervals.begin[rows]).sum())
    if total >= _MOST_NS:
        raise TraceError(f"the intervals took {total / _YEAR_NS:.0f} years together: the trace is damaged")
    return rows


def excluded_by_reason(trace: Trace) -> dict[str, int]:
    """How many intervals are left out, by the reason; none with 0."""
    excluded = {reason: n for reason, n in trace.excluded.items() if n}
    ignored = int(np.count_nonzero(trace.intervals.ignore))
    return {**excluded, "ignored": ignored} if ignored else excluded


def diagnose(trace: Trace) -> str:
    """Why there is nothing to analyze, and what to do about it."""
    excluded = excluded_by_reason(trace)
    if not excluded:
        return (
            "no interval began in this trace: analyze it with --root FUNCTION (a function that was switched on), "
            "or annotate the program with intervals"
        )
    reasons = sorted(excluded, key=lambda reason: -excluded[reason])
    counts = ", ".join(f"{excluded[reason]} {reason}" for reason in reasons)
    what = f"call of {trace.root}" if trace.root else "interval"
    mend = _MENDS.get(reasons[0], "record again with this cause removed")
    if reasons[0] == UNFINISHED and trace.root:
        mend = _MEND_CALLS
    return f"no {what} in this trace can be analyzed ({counts}): {mend}"
