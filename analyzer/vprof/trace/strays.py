"""Threads that switched stacks in a way that nobody saw (runtime/TRACE_FORMAT.md section 5, `stray`).

Calls of several flows of control are mixed in their records: neither nesting nor times mean anything, so what follows
from them is not ranked.
"""

from __future__ import annotations

from collections.abc import Sequence


def said(names: Sequence[str]) -> str:
    """One line. REQUIRES: there are some."""
    first, others = names[0], len(names) - 1
    threads = f"thread {first}" if not others else f"thread {first} and {others} more"
    verb = "switches" if not others else "switch"
    return f"{threads} {verb} stacks in a way that vprof does not follow: calls of several fibers are taken for one"
