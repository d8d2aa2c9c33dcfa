"""Reads the runs of both sides, one at a time: only latencies and contributions are kept of each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.progress import track

from vprof.compare.diff_factors import contributions_of
from vprof.compare.diff_trees import tree_of
from vprof.compare.run_metrics import MeasuredRun, run_of
from vprof.errors import VprofError
from vprof.terminal import console
from vprof.trace.sources import open_sources
from vprof.variance.analysis import AnalysisOptions, analyze_sources


def load_runs(
    before: Sequence[Path], after: Sequence[Path], root: str | None, options: AnalysisOptions | None
) -> tuple[list[MeasuredRun], list[MeasuredRun]]:
    """With factors and trees if there are `options`. Raises VprofError, in one line, for the first trace that cannot be
    used."""
    paths = [*before, *after]
    shown = track(paths, "runs", console=console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    runs = [load_run(path, root, options) for path in shown]
    return runs[: len(before)], runs[len(before) :]


def load_run(path: Path, root: str | None, options: AnalysisOptions | None) -> MeasuredRun:
    """One of them."""
    sources = open_sources([path], root)
    try:
        if options is None:
            return run_of(path, sources[0].bare(), None)
        analysis = analyze_sources(sources, options)
        return run_of(path, analysis.trace, contributions_of(analysis), tree_of(analysis))
    except VprofError as error:
        raise VprofError(f"{path}: {error}") from error
