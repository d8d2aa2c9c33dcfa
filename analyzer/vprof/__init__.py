"""vprof: a source-to-source variance profiler for C and C++.

In a notebook or a script, `vprof.load("run.trace")` gives the tables and the tree behind `vprof analyze` (api.py).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vprof.api import Run
    from vprof.variance.analysis import AnalysisOptions

__version__ = "0.1.0"


def load(
    *paths: str | os.PathLike[str],
    root: str | None = None,
    options: AnalysisOptions | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
) -> Run:
    """Reads and analyzes traces; several of the same program and plan are one run, as for `vprof analyze`.

    `root`: make each outermost call of this function an interval. `jobs`: let so many processes analyze them (a script
    calls this below `if __name__ == "__main__":` then); `scheduler`: let the workers of a Dask cluster do it. Raises
    VprofError in one line: no such file, no trace, no such function, no interval, no pandas.
    """
    from vprof.extras import missing

    try:
        from vprof.api import load_run
    except ModuleNotFoundError as error:
        raise missing(error) from None
    return load_run(paths, root, options, jobs, scheduler)
