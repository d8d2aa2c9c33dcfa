"""Loads the runs of both sides, one at a time: only latencies and factors' contributions are kept of each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import track

from vprof.diff_factors import contributions_of
from vprof.errors import VprofError
from vprof.loading import load_trace
from vprof.run_metrics import Run, run_of


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
    trace = load_trace(path, root)
    try:
        return run_of(path, trace, contributions_of(trace) if factors else None)
    except VprofError as error:
        raise VprofError(f"{path}: {error}") from error
