"""`vprof` as a user runs it: a process of its own, in a folder."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from build_cache import command
from patience import PATIENCE_SECONDS


def vprof(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=folder, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )


def printed(folder: Path, *arguments: object) -> str:
    """What it writes to standard output. REQUIRES: it succeeds."""
    done = vprof(folder, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def report(folder: Path, *arguments: object) -> dict[str, Any]:
    """The same, as JSON."""
    found: dict[str, Any] = json.loads(printed(folder, *arguments, "--format", "json"))
    return found
