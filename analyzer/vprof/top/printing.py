"""Without a terminal: a line a refresh, with the time, on standard output."""

from __future__ import annotations

import time

from vprof.terminal import one_line
from vprof.top.drawing import summary_line
from vprof.top.orders import Orders, Stop
from vprof.top.view import View


class Printer:
    """A `Show`. After `most` refreshes it gives the order to stop; 0: never."""

    def __init__(self, orders: Orders, most: int = 0) -> None:
        self._orders, self._most, self._count = orders, most, 0

    def refreshed(self, view: View) -> None:
        self._print(summary_line(view))
        self._count += 1
        if self._count == self._most:
            self._orders.give(Stop())

    def opened(self, rank: int, text: str) -> None:
        """Nobody asks for a path."""

    def said(self, line: str) -> None:
        self._print(one_line(line))

    def _print(self, line: str) -> None:
        print(f"{time.strftime('%H:%M:%S')}  {line}", flush=True)
