"""Critical paths of a few intervals of traces of any length: only the windows that they end in are read.

    files -> bare traces, merged -> which intervals -> the window of each -> IntervalPath

The paths are those of the traces loaded whole and merged: so are ids and the names of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from vprof.path.interval_path import IntervalPath, interval_path, named
from vprof.path.stacks import build_stacks
from vprof.tables.model import Trace
from vprof.trace.merge import merge
from vprof.trace.outline import WINDOW_RECORDS
from vprof.trace.sources import Source, open_sources, positions
from vprof.trace.usable import rows_of

Choice = Callable[[Trace], Iterable[str]]
"""Ids of intervals of a trace that need not hold what happened in them."""


def one_path(files: Sequence[Path], wanted: str, root: str | None = None) -> IntervalPath:
    """`wanted`: an interval's id, "slowest" or "median". Raises UsageError when there is no such interval, VprofError
    when there is none at all."""

    def choice(trace: Trace) -> list[str]:
        rows_of(trace)
        return [named(trace, wanted)]

    return chosen_paths(files, choice, root)[0]


def chosen_paths(
    files: Sequence[Path], choice: Choice, root: str | None = None, window_records: int = WINDOW_RECORDS
) -> list[IntervalPath]:
    """In the order of the choice. Raises VprofError as `load_trace` and `merge` do."""
    sources = open_sources(files, root, window_records)
    known = merge([source.bare() for source in sources])
    return paths_of(sources, known, choice(known))


def paths_of(sources: Sequence[Source], known: Trace, wanted: Iterable[str]) -> list[IntervalPath]:
    """Of intervals by id, in this order. `known`: the merged bare traces."""
    wanted = list(wanted)
    row = {known.interval_ids[row]: row for row in range(len(known.intervals.begin))}
    asked = np.array(sorted({row[sid] for sid in wanted}), np.int64)
    of_all = positions([source.bare() for source in sources])
    found: dict[str, IntervalPath] = {}
    first_thread = 0
    for source, position in zip(sources, of_all, strict=True):
        threads = known.threads[first_thread : first_thread + len(source.bare().threads)]
        first_thread += len(threads)
        for window in source.windows():
            mine = position[source.rows(window)]
            here = np.flatnonzero(np.isin(mine, asked))
            if len(here):
                ids = [known.interval_ids[i] for i in mine.tolist()]
                trace = replace(source.trace(window), interval_ids=ids, threads=threads, has_sync=known.has_sync)
                stacks = build_stacks(trace)
                found |= {ids[i]: interval_path(trace, ids[i], stacks) for i in here.tolist()}
    return [found[sid] for sid in wanted]
