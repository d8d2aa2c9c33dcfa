"""Switching probes on and off in turn while a program runs, so that what they do can be told (vprof/distortion.py)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

SLICE_SECONDS = 0.25


class Alternation:
    """When to switch: slices of `seconds`, each four of them ABBA or BAAB by chance. `look` is called now and then."""

    def __init__(self, switch: Callable[[bool], object], seconds: float = SLICE_SECONDS, seed: int = 1) -> None:
        self._switch, self._seconds = switch, seconds
        self._random = random.Random(seed)
        self._coming: list[bool] = []
        self._on: bool | None = None
        self._next = 0.0

    def look(self) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        if not self._coming:
            first = self._random.random() < 0.5
            self._coming = [first, not first, not first, first]
        on = self._coming.pop(0)
        if on is not self._on:
            self._switch(on)
            self._on = on
        self._next = max(now, self._next + self._seconds) if self._next else now + self._seconds
