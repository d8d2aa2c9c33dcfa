"""Traces of any length, analyzed window by window.

    files -> sources.py -> analysis.py  =  Analysis

The result does not depend on the windows, and several traces are as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import progress as shown
from rich.console import Console

from vprof.analysis import Analysis, AnalysisOptions, analyze_sources
from vprof.scan import Progress
from vprof.sources import open_sources
from vprof.trace import WINDOW_RECORDS

_SCAN = 0.3
"""The part of the work that the first reading is, about."""


def analyze_traces(
    paths: Sequence[Path],
    root: str | None = None,
    options: AnalysisOptions | None = None,
    window_records: int = WINDOW_RECORDS,
    progress: Progress = lambda part: None,
) -> Analysis:
    """Traces of one program and plan as one. Raises VprofError as `load_trace`, `merge` and `analyze` do.

    All is one window where the details of every interval are asked for: calls may work for one after its end.
    """
    options = options or AnalysisOptions()
    window_records = 0 if options.intervals else window_records
    sources = open_sources(paths, root, window_records, lambda part: progress(_SCAN * part))
    return analyze_sources(sources, options, lambda part: progress(_SCAN + (1 - _SCAN) * part))


def analyze_files(paths: Sequence[Path], root: str | None, options: AnalysisOptions) -> Analysis:
    """The same, with its progress shown on a terminal."""
    console = Console(stderr=True)
    with shown.Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("analyzing", total=1.0)
        return analyze_traces(paths, root, options, progress=lambda part: bar.update(task, completed=part))
