"""A part of a measurement in which every interval lost records: nothing can be analyzed, but calls can be counted.

its traces  ->  FloodError, by which the drill-down leaves out what is called most (drill/cut.py)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vprof.errors import NoIntervalError
from vprof.path.path_tree import display_names
from vprof.trace.sources import open_sources


class FloodError(NoIntervalError):
    """`calls`: those that were recorded, by function; `kept`: the part of all records that they are of."""

    def __init__(self, why: str, calls: dict[str, int], kept: float) -> None:
        super().__init__(why, began=True, lost=True)
        self.calls, self.kept = calls, kept


def flood_in(traces: Sequence[Path], error: NoIntervalError) -> FloodError:
    """Of traces whose intervals were all left out, `error` says why. Raises VprofError as `open_sources` does."""
    calls: dict[str, int] = {}
    written = dropped = 0.0
    for source in open_sources(traces, None):
        names = display_names(source.bare())
        counts = np.zeros(len(names), np.int64)
        for window in source.windows():
            counts += np.bincount(source.trace(window).invocations.function, minlength=len(names))
        for name, count in zip(names, counts.tolist(), strict=True):
            calls[name] = calls.get(name, 0) + count
        loss = source.conclude(source.bare()).loss
        written, dropped = written + loss["written"], dropped + loss["dropped"]
    return FloodError(str(error), calls, 1 - dropped / max(1.0, written))
