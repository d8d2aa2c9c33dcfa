"""Loads a trace of either kind: binary (runtime/TRACE_FORMAT.md) or JSON (its section 7)."""

from __future__ import annotations

from pathlib import Path

from vprof.tables.model import Trace
from vprof.trace.remote import first_bytes


def load_trace(path: Path, root: str | None = None) -> Trace:
    """`root`: make each outermost call of this function an interval. Raises TraceError or UsageError in one line."""
    if is_json(path):
        from vprof.trace.json_trace import load_json as load
    else:
        from vprof.trace.reading import load_binary as load
    trace = load(path)
    if root is None:
        return trace
    from vprof.trace.root import with_root

    return with_root(trace, root)


def is_json(path: Path) -> bool:
    """Whether it is a trace by hand. Raises TraceError."""
    return first_bytes(path, 64).lstrip().startswith(b"{")
