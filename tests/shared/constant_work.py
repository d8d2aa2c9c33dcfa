"""How much constant work varies by itself here: of its CPU time, the standard deviation by the mean.

A host may take a virtual CPU away, for 10 ms at a time, and tell nobody: no steal time, and the thread's CPU clock goes
on. To the guest the thread worked longer. Seen on an Intel machine of two CPUs with nothing else running: 0.9.
"""

from __future__ import annotations

import time

import numpy as np

_ROUNDS, _STEPS = 10_000, 6000
"""Some 0.2 ms of work each, with a pause after it, as a worker has that waits for its next request. It takes seconds,
for the host does so in waves."""


def spread() -> float:
    took = np.empty(_ROUNDS)
    for row in range(_ROUNDS):
        begun = time.thread_time_ns()
        for _ in range(_STEPS):
            pass
        took[row] = time.thread_time_ns() - begun
        time.sleep(0.0002)
    return float(took.std() / took.mean())
