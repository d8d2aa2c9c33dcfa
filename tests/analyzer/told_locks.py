"""Steps of locks (trace/locks.py) of programs in tests: what a program says, or anything at all."""

from __future__ import annotations

import random

import numpy as np
from rivals import Rivals

from vprof.tables.model import Trace
from vprof.trace.locks import EXCLUSIVE, GRANT, RELEASE, RELEASE_ALL, REQUEST, SHARED, LockSteps

Row = tuple[int, int, int, int, int, int]
"""As the columns of LockSteps."""
STEPS = {"request": REQUEST, "grant": GRANT, "release": RELEASE}
MODES = {"S": SHARED, "X": EXCLUSIVE}


def steps_of(program: Rivals, trace: Trace) -> LockSteps:
    number = {sid: row for row, sid in enumerate(trace.interval_ids)}
    threads = {name: k for k, name in enumerate(trace.threads)}
    locks = {name: k + 1 for k, name in enumerate(sorted({step[2] for step in program.steps}))}
    return in_order(
        [
            (t, STEPS[step], MODES[mode] if step == "request" else 0, locks[lock], number[sid], threads[str(thread)])
            for t, step, lock, mode, sid, thread in program.steps
        ],
        trace,
    )


def in_order(rows: list[Row], trace: Trace) -> LockSteps:
    """Each interval's end gives back what is left."""
    iv = trace.intervals
    ends = zip(iv.end.tolist(), range(len(iv.end)), iv.end_thread.tolist(), strict=True)
    rows = [*rows, *((t, RELEASE_ALL, 0, 0, owner, thread) for t, owner, thread in ends)]
    rows.sort(key=lambda row: (row[0], row[1] < RELEASE))
    return LockSteps(*np.array(rows, np.int64).reshape(-1, 6).T.copy())


def any_steps(rng: random.Random, trace: Trace, count: int) -> LockSteps:
    """Such as no program makes: of any thread, for any interval, at any time."""
    times = sorted({*trace.segments.ts.tolist(), *trace.segments.te.tolist()}) or [0]
    intervals = len(trace.interval_ids)
    rows = [
        (
            rng.choice(times) + rng.choice((0, 0, 1)),
            rng.choice((REQUEST, REQUEST, GRANT, GRANT, RELEASE)),
            rng.choice((0, SHARED, EXCLUSIVE)),
            rng.randint(1, 3),
            rng.randint(0, intervals + 1),
            rng.randrange(len(trace.threads)),
        )
        for _ in range(count)
    ]
    return in_order(rows, trace)
