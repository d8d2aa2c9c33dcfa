#!/usr/bin/env python3
"""How many lock steps a second does the replay of `vprof whatif --locks` take, in how much memory?

    python bench/lock_replay.py [--steps 1e7] [--policies fifo,vats,ldsf,bldsf]

The microbenchmark of thesis section 4.6.1 (20,000 records, 5 statements a transaction, theta 0.8, 60 % writes), a
closed loop of 20 clients, near its greatest throughput (bench/results/lock-policies.md). Each policy runs in a process
of its own: CPU time and wall time of the replay alone, and the greatest memory of the process, Python, NumPy and Numba
included. What is compiled is compiled before.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time

from load_parts import head, row

from vprof.scheduling.generate import Zipf, zipf
from vprof.scheduling.simulator import run

CLIENTS = 20
STATEMENTS = 5


def measured(policy: str, steps: int) -> list[object]:
    """A row of the table."""
    run(zipf(Zipf(transactions=100), 0, CLIENTS, None), policy)
    script = zipf(Zipf(transactions=steps // STATEMENTS), 0, CLIENTS, None)
    wall, cpu = time.perf_counter(), time.process_time()
    done = run(script, policy)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        policy,
        f"{script.locks:,}",
        f"{done.waits:,}",
        f"{cpu:.1f}",
        f"{wall:.1f}",
        f"{script.locks / cpu / 1e6:.2f}",
        f"{memory:.0f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=float, default=1e7)
    parser.add_argument("--policies", default="fifo,vats,ldsf,bldsf")
    given = parser.parse_args()
    columns = ("policy", "lock steps", "waits", "CPU, s", "wall, s", "million steps per s of CPU", "peak memory, MiB")
    print("\n".join(head(*columns)), flush=True)
    for policy in given.policies.split(","):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(row(*pool.apply(measured, (policy, int(given.steps)))), flush=True)


if __name__ == "__main__":
    main()
