"""How far a build step has come, by what it writes: Ninja counts its commands, CMake's makefiles count per cent.

the end of build.log -> "812 of 5436", "37 %", or "" where the build tool does not say
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

_SAID = re.compile(r"^\[(?: *(\d+)/(\d+)| *(\d+)%)\]", re.MULTILINE)
_TAIL_BYTES = 1 << 14
_EVERY_SECONDS = 1.0


def run(
    command: list[str], folder: Path, environment: Mapping[str, str], log: IO[str], told: Callable[[str], None]
) -> int:
    """Runs a step whose output goes to the end of `log`, and returns its status. `told`: gets how far it has come, if
    it says that. Raises what subprocess.Popen raises."""
    log.flush()
    begun = os.fstat(log.fileno()).st_size
    with subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, env=environment) as process:
        try:
            while True:
                try:
                    return process.wait(_EVERY_SECONDS)
                except subprocess.TimeoutExpired:
                    if said := so_far(_written(Path(log.name), begun)):
                        told(said)
        except BaseException:  # an interrupt: what was started ends with us
            process.kill()
            raise


def so_far(text: str) -> str:
    """What the last line says that says anything."""
    lines = list(_SAID.finditer(text))
    if not lines:
        return ""
    done, of, percent = lines[-1].groups()
    return f"{percent} %" if percent else f"{done} of {of}"


def _written(log: Path, begun: int) -> str:
    """The end of it, as far as this step wrote it."""
    with log.open("rb") as written:
        written.seek(max(begun, log.stat().st_size - _TAIL_BYTES))
        return written.read().decode("utf-8", "replace")
