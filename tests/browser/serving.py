"""A server's run as a JSON trace: requests that take a lock another thread holds, with names of the test's choice."""

import random
from typing import Any

US = 1000
NAMES = {"serve": "serve", "lock": "lock_wait", "work": "compute", "hold": "holder", "type": "pay"}


def serving(count: int, names: dict[str, str] | None = None, seed: int = 1, mean_held_us: int = 400) -> dict[str, Any]:
    """`count` requests of two types on thread 1; thread 2 holds the lock for a time that varies most."""
    name = {**NAMES, **(names or {})}
    rng = random.Random(seed)
    data: dict[str, Any] = {"intervals": [], "segments": [], "functions": [], "wakeups": []}
    now = 0
    for i in range(count):
        held, work, sid = int(rng.expovariate(1 / mean_held_us) * US) + 20 * US, rng.randrange(50, 120) * US, f"t{i}"
        blocked, woken = now + 50 * US, now + 50 * US + held
        end = woken + 10 * US + work
        type_ = name["type"] if i % 3 else "refund"
        data["intervals"].append(
            {"sid": sid, "type": type_, "begin": {"tid": 1, "t": now}, "end": {"tid": 1, "t": end}}
        )
        data["segments"] += [[1, sid, now, blocked, "exec"], [1, sid, blocked, woken, "blocked"]]
        data["segments"] += [[1, sid, woken, end, "exec"], [2, None, now, woken, "exec"]]
        data["functions"] += [
            [1, sid, name["serve"], "main.c:7", now, end],
            [1, sid, name["lock"], "serve.c:12", blocked - 5 * US, woken + 5 * US],
            [1, sid, name["work"], "serve.c:15", woken + 8 * US, end],
            [2, None, name["hold"], "holder.c:3", now, woken],
        ]
        data["wakeups"].append([1, 2, woken])
        now = end + 100 * US
    return data
