"""How a recording goes: a line a second on a terminal, from what the collector counts.

stats, stats, ... -> intervals a second, p50 and p99 of all so far, records, drops
"""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from vprof.report.units import duration

_SECONDS = 1.0


class Progress:
    """Nothing where standard error is no terminal: it may be a log, or read by a program."""

    def __init__(self, session: str, out: TextIO = sys.stderr) -> None:
        self._out = out if out.isatty() else None
        self._began = self._told = time.monotonic()
        self._last: dict[str, Any] = {"intervals": 0, "records": 0, "ticks": 0}
        self._say(f"vprof: the session is {session}; `vprof ctl status` looks at it")

    def tell(self, stats: dict[str, Any]) -> None:
        """A line, if it is time for one."""
        now = time.monotonic()
        seconds = now - self._told
        if not self._last["ticks"]:
            self._last, self._told = stats, now
        elif seconds >= _SECONDS:
            ns_of_tick = 1e9 * seconds / max(1, stats["ticks"] - self._last["ticks"])
            self._say(f"{now - self._began:5.0f} s  {self._line(stats, seconds, ns_of_tick)}")
            self._last, self._told = stats, now

    def _line(self, stats: dict[str, Any], seconds: float, ns_of_tick: float) -> str:
        def rate(what: str) -> str:
            return f"{max(0, stats[what] - self._last[what]) / seconds:,.0f} {what}/s"

        parts = [rate("records"), f"{stats['records']:,} records", f"{stats['dropped']:,} dropped"]
        if stats["intervals"]:
            p50, p99 = (duration(stats[key] * ns_of_tick) for key in ("p50_ticks", "p99_ticks"))
            parts = [rate("intervals"), f"p50 {p50}", f"p99 {p99}", *parts[1:]]
        return "  ".join(parts)

    def _say(self, line: str) -> None:
        if self._out:
            print(line, file=self._out, flush=True)
