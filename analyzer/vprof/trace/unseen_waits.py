"""What to say of processes whose waits are not seen, since calls of the C library did not reach libvprof there."""

from __future__ import annotations

from collections.abc import Sequence

MEND = "record with `vprof record --preload`"
_MOST_NAMED = 3


def warning(processes: Sequence[tuple[int, str]]) -> str:
    """What to say of processes (pid, name) whose waits are not seen; "" if there is none."""
    if not processes:
        return ""
    named = [f"{pid} ({name})" if name else str(pid) for pid, name in processes[:_MOST_NAMED]]
    more = len(processes) - len(named)
    which = "process " if len(processes) == 1 else "processes "
    which += ", ".join(named) + (f" and {more} more" if more else "")
    return f"interposition was not in force in {which}: waits have no edges; {MEND}"
