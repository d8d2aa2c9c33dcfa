"""Switching probes on and off in turn while a program runs, so that what they do can be told (distortion.py)."""

from __future__ import annotations

import random
import time

from vprof.session.control import Control
from vprof.session.plan import Plan
from vprof.trace.marks import SLICE_END, SLICE_OFF, SLICE_ON

SLICE_SECONDS = 0.25


class Alternation:
    """Slices with `plan` on and with `baseline`, each four of them ABBA or BAAB by chance. `look` is called now and
    then; `end` leaves the plan on."""

    def __init__(self, session: Control, plan: Plan, baseline: Plan, seconds: float = SLICE_SECONDS) -> None:
        self._session, self._plan, self._baseline, self._seconds = session, plan, baseline, seconds
        self._random = random.Random(1)
        self._coming: list[bool] = []
        self._running = False
        self._next = 0.0

    def look(self) -> None:
        """Ends a slice whose time is over, and begins the next."""
        if time.monotonic() < self._next:
            return
        self._end_slice()
        if not self._coming:
            first = self._random.random() < 0.5
            self._coming = [first, not first, not first, first]
        on = self._coming.pop(0)
        self._session.switch(self._plan if on else self._baseline)
        self._session.mark(SLICE_ON if on else SLICE_OFF)
        self._running = True
        self._next = time.monotonic() + self._seconds

    def end(self) -> None:
        self._end_slice()
        self._session.switch(self._plan)

    def _end_slice(self) -> None:
        if self._running:
            self._session.mark(SLICE_END)
            self._running = False
