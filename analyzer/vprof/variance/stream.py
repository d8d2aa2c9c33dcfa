"""Traces of any length, analyzed window by window.

    files -> trace/sources.py -> analysis.py  =  Analysis

The result does not depend on the windows, and several traces are as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vprof.jobs.tasks import Jobs, Progress
from vprof.terminal import stages
from vprof.trace.outline import WINDOW_RECORDS
from vprof.trace.sources import open_sources
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze_sources

_SCAN = 0.3
"""The part of the work that the first reading is, about."""


def analyze_traces(
    paths: Sequence[Path],
    root: str | None = None,
    options: AnalysisOptions | None = None,
    window_records: int = WINDOW_RECORDS,
    progress: Progress = lambda done: None,
    jobs: Jobs | None = None,
) -> Analysis:
    """Traces of one program and plan as one. Raises VprofError as `load_trace`, `merge` and `analyze` do.

    All is one window where the details of every interval are asked for: calls may work for one after its end.
    """
    options = options or AnalysisOptions()
    window_records = 0 if options.intervals else window_records
    sources = open_sources(paths, root, window_records, lambda done: progress(_SCAN * done), jobs)
    return analyze_sources(sources, options, lambda done: progress(_SCAN + (1 - _SCAN) * done), jobs)


def analyze_files(
    paths: Sequence[Path], root: str | None, options: AnalysisOptions, jobs: Jobs | None = None
) -> Analysis:
    """The same, with its progress shown on a terminal."""
    with stages() as stage:
        return analyze_traces(paths, root, options, progress=stage("analyzing"), jobs=jobs)
