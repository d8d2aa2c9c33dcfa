"""What reports say second: how many intervals were left out because they were aborted, or were tried again."""

from __future__ import annotations

from typing import Any

import numpy as np

from vprof.report.units import percent
from vprof.tables.lookup import values_of
from vprof.trace.usable import rows_of
from vprof.variance.analysis import Analysis

_NOTICEABLE = 0.01
"""Part of the intervals, or of their time, from which on it is said."""
_MEND = "where clients repeat these, `retry = true` in the [[interval]] entry of the abort joins the attempts"


def aborted_json(analysis: Analysis) -> dict[str, Any]:
    """`intervals.aborted` of vprof-analysis/1."""
    aborted, attempts, iv = analysis.trace.aborted, analysis.trace.attempts, analysis.trace.intervals
    rows = rows_of(analysis.trace)
    mine = np.isin(attempts.interval, rows)
    total = int((iv.end[rows] - iv.begin[rows]).sum())
    repeated = int((attempts.end[mine] - attempts.begin[mine]).sum())
    return {
        "count": aborted.count,
        "of": aborted.of,
        "share": aborted.ns / aborted.of_ns if aborted.of_ns else None,
        "joined": aborted.joins,
        "repeated": len(values_of(attempts.interval[mine])),
        "repeated_share": repeated / total if total else None,
    }


def sentences(intervals: dict[str, Any]) -> list[str]:
    """`intervals`: of vprof-analysis/1, also of an older file. None of what is too little to be said."""
    said = intervals.get("aborted") or {"count": 0, "of": 0, "repeated": 0}
    found = []
    if said["repeated"] and _is_noticeable(said["repeated"], intervals["count"], said["repeated_share"]):
        took = f"aborted attempts took {_part(said['repeated_share'])} of the time ([aborted])"
        found.append(f"{said['repeated']} of {intervals['count']} intervals were tried again: {took}")
    if said["count"] and _is_noticeable(said["count"], said["of"], said["share"]):
        what = f"left out as aborted: {said['count']} of {said['of']} intervals"
        rest = "their clients gave them up, or did not repeat them in time" if said["joined"] else _MEND
        found.append(f"{what}, {_part(said['share'])} of the time that all took; {rest}")
    return found


def _is_noticeable(count: int, of: int, share: float | None) -> bool:
    return count >= _NOTICEABLE * of or (share or 0) >= _NOTICEABLE


def _part(share: float | None) -> str:
    return "0 %" if share is None else percent(share)
