"""Reads the runs of both sides, one at a time: only latencies and factors' contributions are kept of each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import track

from vprof.analysis import AnalysisOptions, analyze_sources
from vprof.diff_factors import contributions_of
from vprof.errors import VprofError
from vprof.run_metrics import Run, run_of
from vprof.sources import open_sources


def load_runs(
    before: Sequence[Path], after: Sequence[Path], root: str | None, factors: bool
) -> tuple[list[Run], list[Run]]:
    """Raises VprofError, in one line, for the first trace that cannot be used."""
    paths = [*before, *after]
    terminal = Console(stderr=True)
    shown = track(paths, "runs", console=terminal, transient=True, disable=not sys.stderr.isatty())
    runs = [_load(path, root, factors) for path in shown]
    return runs[: len(before)], runs[len(before) :]


def _load(path: Path, root: str | None, factors: bool) -> Run:
    sources = open_sources([path], root)
    try:
        if not factors:
            return run_of(path, sources[0].outline(), None)
        analysis = analyze_sources(sources, AnalysisOptions(k=1))
        return run_of(path, analysis.trace, contributions_of(analysis))
    except VprofError as error:
        raise VprofError(f"{path}: {error}") from error
