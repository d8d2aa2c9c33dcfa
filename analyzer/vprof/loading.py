"""Loads a trace of either kind: binary (runtime/TRACE_FORMAT.md) or JSON (its section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress

from vprof.errors import TraceError
from vprof.model import Trace

if TYPE_CHECKING:
    from vprof.analysis import Analysis, AnalysisOptions


def load_trace(path: Path, root: str | None = None) -> Trace:
    """`root`: make each outermost call of this function an interval. Raises TraceError or UsageError in one line."""
    if is_json(path):
        from vprof.json_trace import load_json as load
    else:
        from vprof.trace import load_binary as load
    trace = load(path)
    if root is None:
        return trace
    from vprof.root import with_root

    return with_root(trace, root)


def analyze_files(paths: Sequence[Path], root: str | None, options: AnalysisOptions) -> Analysis:
    """Several traces as one, without keeping them in memory, unless they are JSON. Shows its progress on a terminal."""
    if any(is_json(path) for path in paths):
        from vprof.analysis import analyze
        from vprof.merge import merge

        return analyze(merge([load_trace(path, root) for path in paths]), options)
    from vprof.stream import analyze_traces

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("analyzing", total=1.0)
        return analyze_traces(paths, root, options, progress=lambda part: bar.update(task, completed=part))


def is_json(path: Path) -> bool:
    """Whether it is a trace by hand. Raises TraceError."""
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip().startswith(b"{")
    except OSError as e:
        raise TraceError(f"cannot read {path}: {e.strerror}") from e
