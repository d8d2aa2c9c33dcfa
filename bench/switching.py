#!/usr/bin/env python3
"""Does a CPU stand that an instruction is changed while others execute it? `VPROF_PROBES=entry` relies on it.

    python bench/switching.py [--seconds 30] [--options "-O2 -fcf-protection=full"]

The program of `tests/instrumenter/test_switched_bodies.py`: four threads, with a signal each millisecond, call eleven
functions that have probes before their bodies, and compare what these return. A process of its own writes the jump and
the no-op of each of these functions in turn, as fast as it can, into the code that all processes share: at random, from
another CPU. Meanwhile nothing else switches probes, so what is recorded is not compared. Right are all results, an end
without a signal, and a caller, on all the time, whose calls are all recorded. As root; a second CPU is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "instrumenter"))

from test_switched_bodies import LOAD, calls  # noqa: E402

from analyzer import processor  # noqa: E402
from vprof.session.owned import Session  # noqa: E402
from vprof.session.plan import Plan  # noqa: E402

PREFIX = HERE.parent / ".venv"
NAMES = [*(f"f{n}" for n in range(10, 20)), "in_handler"]
WRITER = """
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
int main(int count, char **words) {
  int file = open(words[1], O_RDWR);
  long bytes = atol(words[2]), places = (count - 4) / 3, done = 0;
  char *text = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || text == MAP_FAILED) return 1;
  uint64_t random = 88172645463325252, *at[64], form[64][2];
  for (int i = 0; i < places; i++) {
    at[i] = (uint64_t *)(text + atol(words[4 + 3 * i]));
    for (int on = 0; on < 2; on++) form[i][on] = strtoull(words[5 + 3 * i + on], 0, 16);
  }
  for (time_t end = time(0) + atol(words[3]); time(0) < end;)
    for (int i = 0; i < 100000; i++, done++) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      int place = random % places;
      __atomic_store_n(at[place], form[place][random >> 40 & 1], __ATOMIC_RELAXED);
    }
  printf("%ld\\n", done);
}
"""


def built(folder: Path, options: str) -> Path:
    """The program, and beside it the writer."""
    (folder / "load.c").write_text(LOAD, encoding="utf-8")
    (folder / "writer.c").write_text(WRITER, encoding="utf-8")
    environment = os.environ | {
        "VPROF_PROBES": "entry",
        "VPROF_REAL_CC": "clang-19",
        "VPROF_DESCRIPTOR": str(HERE.parent / "tests" / "all_sites.json"),
    }
    wrapped = [PREFIX / "bin" / "vprof-cc", *options.split(), "load.c", "-pthread", "-o", "load"]
    subprocess.run(wrapped, cwd=folder, check=True, env=environment)
    subprocess.run(["clang-19", "-O2", "writer.c", "-o", "writer"], cwd=folder, check=True)
    return folder / "load"


def places(session: Session, numbers: list[int]) -> list[tuple[int, int, int]]:
    """Of each word of the shared code that these probes change: its offset, and what it is off and on. Behind `endbr64`
    the first switch also writes a byte in the next word, which stays."""
    session.flip("on", numbers)
    on = _words(session)
    session.flip("off", numbers)
    off = _words(session)
    changed = np.flatnonzero(off != on)
    return [(8 * int(k), int(off[k]), int(on[k])) for k in changed]


def _words(session: Session) -> np.ndarray:
    return np.frombuffer((session.directory / "text").read_bytes(), np.uint64).copy()


def switched(program: Path, seconds: int) -> dict[str, float]:
    """What came out while a process wrote. `wrong`: results of the functions that were not right."""
    trace = program.with_name("run.trace")
    with Session.start(trace) as session:
        process = subprocess.Popen(
            [program, str(seconds + 5)], env=session.environment(), stdout=subprocess.PIPE, text=True
        )
        numbers: list[int] = []
        while len(numbers) < len(NAMES):
            session.attend(process, Plan.of(["always"]), 0.3)
            numbers = session.sites.numbers(Plan.of(NAMES))
        words = places(session, numbers)
        asked = [str(part) for at, off, on in words for part in (at, f"{off:x}", f"{on:x}")]
        size = (session.directory / "text").stat().st_size
        command = [program.with_name("writer"), session.directory / "text", str(size), str(seconds), *asked]
        begun = time.monotonic()
        written = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        took = time.monotonic() - begun
        out = [tuple(map(int, line.split())) for line in process.communicate()[0].splitlines()]
        session.stop()
    return {
        "words": len(words),
        "writes": int(written),
        "seconds": round(took, 1),
        "rounds": sum(rounds for rounds, _ in out),
        "recorded": calls(trace, session)["always"],
        "wrong": sum(wrong for _, wrong in out),
        "status": process.returncode,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--options", default="-O2")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vprof-switching-") as folder:
        found = switched(built(Path(folder), options.options), options.seconds)
    print(f"{processor()}, {options.options}: {json.dumps(found)}")
    right = found["status"] == 0 and not found["wrong"] and found["rounds"] == found["recorded"] and found["words"]
    sys.exit(0 if right else "not all was right")


if __name__ == "__main__":
    main()
