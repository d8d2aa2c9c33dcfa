"""How a run of a workload goes: a line a second on a terminal, from what the driver says.

Second, Second, ... -> seconds, transactions a second, failed, retries, how far behind
"""

from __future__ import annotations

import sys
from typing import TextIO

from vprof.report.units import duration
from vprof.workload.driver import Second

_BEHIND_MS = 10.0


class LoadProgress:
    """Nothing where standard error is no terminal: it may be a log, or read by a program."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self.shown = out.isatty()
        self._out = out

    def tell(self, second: Second) -> None:
        parts = [f"{second.at_s:5.0f} s" if second.at_s > 0 else " warm-up", f"{second.finished:,} transactions/s"]
        if second.failed:
            parts.append(f"{second.failed:,} failed")
        if second.retries:
            parts.append(f"{second.retries:,} retries")
        if second.behind_ms >= _BEHIND_MS:
            parts.append(f"{duration(second.behind_ms * 1e6)} behind")
        self.say("  ".join(parts))

    def say(self, text: str) -> None:
        if self.shown:
            print(text, file=self._out, flush=True)
