"""What do steps of logical locks cost, recorded and not? python bench/lock_events.py

A function with the two entries of a lock manager, request and grant, is called in a loop. It is compiled without and
with these entries, and run without a session, in one, and in one with --locks. Prints the thread's CPU time by call
(CLOCK_THREAD_CPUTIME_ID, so a busy machine matters little), the least of several runs, and what two steps add.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from vprof.installed import native
from vprof.session.owned import Session
from vprof.session.plan import Plan

RUNS = 5
PROGRAM = """
#include <stdio.h>
#include <time.h>
#include "vprof/vprof.h"
static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
__attribute__((noinline)) static long acquire(long row) { __asm__ volatile("" : "+r"(row)); return row; }
int main(void) {
  enum { BLOCK = 2000, BLOCKS = 100 };
  long best = 1L << 60, sum = 0;
  vprof_interval_begin(1, "t");
  for (int block = 0; block < BLOCKS; block++) {
    struct timespec pause = {0, 10000000};  /* the collector empties the ring */
    nanosleep(&pause, NULL);
    long begin = now();
    for (long i = 0; i < BLOCK; i++) sum += acquire(i);
    long took = now() - begin;
    if (took < best) best = took;
  }
  vprof_interval_end(1);
  printf("%.3f\\n", (double)best / BLOCK);
  return sum == 0;
}
"""
ENTRIES = {
    "exclude": ["*"],
    "lock": [
        {"event": "request", "function": "acquire", "object": "row + 1", "mode": "X"},
        {"event": "grant", "function": "acquire", "object": "row + 1"},
    ],
}


def build(folder: Path, name: str, descriptor: dict[str, object]) -> Path:
    source, described, program = folder / f"{name}.c", folder / f"{name}.json", folder / name
    source.write_text(PROGRAM)
    described.write_text(json.dumps(descriptor))
    command = [native("bin/vprof-cc"), "-O2", source, "-o", program]
    subprocess.run(command, check=True, env={**os.environ, "VPROF_DESCRIPTOR": str(described)})
    return program


def alone(program: Path) -> float:
    return float(subprocess.run([program], check=True, capture_output=True, text=True).stdout)


def recorded(program: Path, locks: bool) -> float:
    with Session.start(program.with_suffix(".trace"), locks=locks) as session:
        process = subprocess.Popen([program], env=session.environment(), stdout=subprocess.PIPE, text=True)
        session.attend(process, Plan.of([]))
        totals = session.stop()
    assert not totals["dropped"], "the rings were full"
    assert process.stdout
    return float(process.stdout.read())


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, described = build(folder, "plain", {"exclude": ["*"]}), build(folder, "described", ENTRIES)
        ways = {
            "without entries": lambda: alone(plain),
            "with them, no session": lambda: alone(described),
            "in a session": lambda: recorded(described, False),
            "with --locks": lambda: recorded(described, True),
        }
        least = dict.fromkeys(ways, float("inf"))
        for _ in range(RUNS):
            for way, measure in ways.items():
                least[way] = min(least[way], measure())
    base = least["without entries"]
    print(f"ns of CPU by call, least of {RUNS} runs of 100 blocks; load {os.getloadavg()[0]:.1f}")
    for way, ns in least.items():
        print(f"{way:24} {ns:7.2f}   two steps add {ns - base:6.2f}")


if __name__ == "__main__":
    main()
