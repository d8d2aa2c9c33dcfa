"""How much constant work varies by itself on this machine: what a host does to all that executes, and tells nobody.

A host may take a virtual CPU away for 10 ms at a time: no steal time, and the thread's CPU clock goes on. To the guest
the thread worked longer, and whatever executes seems to vary. So before a drill-down calls such a time a cause it does
constant work itself, beside the load, and compares.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

_SECONDS = 8.0
"""Such a host does so in waves."""
_PAUSE_SECONDS = 0.0002
_STEPS = 6000
"""Some 0.2 ms of work, and a pause after it, as a worker has that waits for its next request: a CPU that never idles
is not taken away as often."""
STEADY = 0.5
"""Standard deviation of a time by its mean. Work that takes twice as long while a hyperthread beside it is busy has up
to 0.35. Constant work beside other programs had 0.26 to 0.34 in five runs, and more than 0.35 in two; alone in a
virtual machine 0.27 to 0.30. Where a host took the CPUs away unseen it had 0.92 to 0.94."""
_CHANCE = 1.5
"""Some ten such events in the measurement are few: the spread is known to about a half."""


@dataclass(frozen=True)
class Host:
    """CPU time of pieces of constant work: their mean in ns, and the standard deviation by it."""

    mean_ns: float
    spread: float

    def spread_of(self, mean_ns: float) -> float:
        """Of constant work of another length. What comes at random moments makes its variance grow as its length does.
        0 where the host takes nothing away that matters."""
        return self.spread * (self.mean_ns / mean_ns) ** 0.5 if self.spread >= STEADY else 0.0

    def explains(self, mean_ns: float, spread: float) -> bool:
        """Whether a time of this mean and spread varies no more than constant work would here."""
        return spread <= _CHANCE * self.spread_of(mean_ns)


def measured(seconds: float = _SECONDS) -> Host:
    """Takes so long, and half of a CPU."""
    took, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        begun = time.thread_time_ns()
        for _ in range(_STEPS):
            pass
        took.append(time.thread_time_ns() - begun)
        time.sleep(_PAUSE_SECONDS)
    ns = np.array(took, np.float64)
    return Host(float(ns.mean()), float(ns.std() / ns.mean()))
