"""Reads the runs of both sides, one at a time or each in a task: only latencies and contributions are kept of each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.progress import Progress

from vprof.compare.diff_factors import contributions_of
from vprof.compare.diff_trees import tree_of
from vprof.compare.run_metrics import MeasuredRun, run_of
from vprof.errors import VprofError
from vprof.jobs.tasks import Jobs
from vprof.terminal import console
from vprof.trace.sources import open_sources
from vprof.variance.analysis import AnalysisOptions, analyze_sources


def load_runs(
    before: Sequence[Path],
    after: Sequence[Path],
    root: str | None,
    options: AnalysisOptions | None,
    jobs: Jobs | None = None,
) -> tuple[list[MeasuredRun], list[MeasuredRun]]:
    """With factors and trees if there are `options`. Raises VprofError, in one line, for the first trace that cannot be
    used."""
    paths = [*before, *after]
    with Progress(console=console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as shown:
        if jobs:
            task = shown.add_task("runs", total=1.0)
            runs = jobs.each(_load_run, [root, options], paths, lambda done: shown.update(task, completed=done))
        else:
            runs = [load_run(path, root, options) for path in shown.track(paths, description="runs")]
    return runs[: len(before)], runs[len(before) :]


def _load_run(root: str | None, options: AnalysisOptions | None, path: Path) -> MeasuredRun:
    """A task."""
    return load_run(path, root, options)


def load_run(path: Path, root: str | None, options: AnalysisOptions | None) -> MeasuredRun:
    """One of them. Calls are together: another build makes them at other places, and of one that is gone nobody tells
    them apart."""
    sources = open_sources([path], root)
    try:
        if options is None:
            return run_of(path, sources[0].bare(), None)
        analysis = analyze_sources(sources, replace(options, calls_together=True))
        return run_of(path, analysis.trace, contributions_of(analysis), tree_of(analysis))
    except VprofError as error:
        raise VprofError(f"{path}: {error}") from error
