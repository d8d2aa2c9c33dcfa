"""Ends a program that is recorded for some seconds only."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time

_TERM_SECONDS = 10


class End:
    """Ends a program after some seconds, if they are given: by SIGTERM, and when that does not help, by SIGKILL.

    `expected`: shell-like statuses that are our doing; another one, as that of a crash on the way out, is its own."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: int | None) -> None:
        self.expected: set[int] = set()
        self._process = process
        self._at = time.monotonic() + seconds if seconds else math.inf

    def look(self) -> None:
        if time.monotonic() < self._at:
            return
        if self.expected:
            print(f"vprof: the program did not end within {_TERM_SECONDS} s of SIGTERM: killed", file=sys.stderr)
            self._process.kill()
            self.expected.add(128 + signal.SIGKILL)
            self._at = math.inf
        else:
            self.expected.add(128 + signal.SIGTERM)
            self._process.terminate()
            self._at = time.monotonic() + _TERM_SECONDS
