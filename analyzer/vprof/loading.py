"""Loads a trace of either kind: binary (runtime/TRACE_FORMAT.md) or JSON (its section 7)."""

from __future__ import annotations

from pathlib import Path

from vprof.errors import TraceError
from vprof.model import Trace


def load_trace(path: Path, root: str | None = None) -> Trace:
    """`root`: make each outermost call of this function an interval. Raises TraceError or UsageError in one line."""
    try:
        with path.open("rb") as file:
            head = file.read(64).lstrip()
    except OSError as e:
        raise TraceError(f"cannot read {path}: {e.strerror}") from e
    if head.startswith(b"{"):
        from vprof.json_trace import load_json as load
    else:
        from vprof.trace import load_binary as load
    trace = load(path)
    if root is None:
        return trace
    from vprof.root import with_root

    return with_root(trace, root)
