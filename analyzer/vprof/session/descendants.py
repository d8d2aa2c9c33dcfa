"""The processes that a process has started: a shell does not pass a signal on to them.

Source: proc(5), `task/TID/children`. Who has lost all parents in between is not found.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path


def of(pid: int) -> list[int]:
    """Those that run now, in groups or sessions of their own as well, and what they have started in turn."""
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, file.read_text(encoding="ascii").split()):
                found += [child, *of(child)]
    return found


def end_with(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM to a child of ours and to its descendants; waits for the child alone."""
    others = of(process.pid) if process.poll() is None else []
    process.terminate()
    for pid in others:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGTERM)
    process.wait()
