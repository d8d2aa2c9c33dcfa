"""Critical paths of a few intervals of traces of any length: only the windows that they end in are read.

    files -> outlines, merged -> which intervals -> the window of each -> IntervalPath

The paths are those of the traces loaded whole and merged: so are ids and the names of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from vprof.interval_path import IntervalPath, interval_path, named
from vprof.loading import is_json, load_trace
from vprof.merge import merge
from vprof.model import Trace
from vprof.stacks import build_stacks
from vprof.trace import WINDOW_RECORDS, Reading

Choice = Callable[[Trace], Iterable[str]]
"""Ids of intervals of a trace that need not hold what happened in them."""


def one_path(files: Sequence[Path], wanted: str, root: str | None = None) -> IntervalPath:
    """`wanted`: an interval's id, "slowest" or "median". Raises UsageError when there is no such interval."""
    return chosen_paths(files, lambda trace: [named(trace, wanted)], root)[0]


def chosen_paths(
    files: Sequence[Path], choice: Choice, root: str | None = None, window_records: int = WINDOW_RECORDS
) -> list[IntervalPath]:
    """In the order of the choice. Raises VprofError as `load_trace` and `merge` do."""
    if any(is_json(file) for file in files):
        trace = merge([load_trace(file, root) for file in files])
        stacks = build_stacks(trace)
        return [interval_path(trace, sid, stacks) for sid in choice(trace)]
    readings = [Reading(file, window_records, root) for file in files]
    wanted = list(choice(merge([reading.outline() for reading in readings])))
    found: dict[str, IntervalPath] = {}
    for n, reading in enumerate(readings, 1):
        found |= _paths(reading, f"{n}:" if len(readings) > 1 else "", set(wanted))
    return [found[sid] for sid in wanted]


def _paths(reading: Reading, prefix: str, wanted: set[str]) -> dict[str, IntervalPath]:
    """`prefix`: what merge puts before the names of this trace."""
    count = len(reading.selection.intervals.begin)
    here = np.array([prefix + sid in wanted for sid in reading.selection.ids[:count]], np.bool_)
    found: dict[str, IntervalPath] = {}
    for window in reading.windows():
        rows = reading.rows(window)
        if not here[rows].any():
            continue
        trace = reading.trace(window)
        ids = [prefix + reading.selection.ids[row] for row in rows.tolist()]
        trace = replace(trace, interval_ids=ids, threads=[prefix + thread for thread in trace.threads])
        stacks = build_stacks(trace)
        found |= {sid: interval_path(trace, sid, stacks) for sid in wanted.intersection(ids)}
    return found
