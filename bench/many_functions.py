#!/usr/bin/env python3
"""What a call costs whose probe is on, where many functions are called in turn.

    python bench/many_functions.py [--rounds 3] [--functions 16 64 256 1024]

`make bench-runtime` calls one function, so CPUs predict each jump on the way. Here a program calls so many functions
that do nothing, in a fixed order of 4,096 calls that was chosen at random. Nanoseconds of CPU a call, medians of 200
bursts of 8,192 calls in each round: built by the compiler alone, and with all probes on, before bodies and in them. The
rows of a round are measured in turn.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PREFIX = HERE.parent / ".venv"
CALLS = 4096
MAIN = """
static int later(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }
int main(void) {
  static double took[200];
  for (int i = 0; i < 200; i++) {
    struct timespec begin, end;
    in_turn();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    in_turn(), in_turn();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    took[i] = ((end.tv_sec - begin.tv_sec) * 1e9 + end.tv_nsec - begin.tv_nsec) / (2 * %d);
    usleep(5000);
  }
  qsort(took, 200, sizeof *took, later);
  printf("%%.2f\\n", took[100]);
}
"""


def source(functions: int) -> str:
    """Of a program that prints the nanoseconds of a call."""
    chosen = random.Random(5)
    lines = [f"#include <{name}.h>" for name in ("stdio", "stdlib", "time", "unistd")]
    lines += [f'__attribute__((noinline)) void f{i}(void) {{ __asm__ volatile(""); }}' for i in range(functions)]
    calls = "".join(f"f{chosen.randrange(functions)}();" for _ in range(CALLS))
    return "\n".join([*lines, f"__attribute__((noinline)) void in_turn(void) {{ {calls} }}", MAIN % CALLS])


def programs(folder: Path, functions: int) -> dict[str, list[str]]:
    """The command of each row."""
    text = folder / f"{functions}.c"
    text.write_text(source(functions), encoding="utf-8")
    recorded = [str(PREFIX / "bin/vprof"), "record", "--sites", "f*", "-o", str(folder / "run.trace"), "--"]
    found = {}
    for name in ("plain", "entry", "body"):
        compiler = "clang-19" if name == "plain" else str(PREFIX / "bin/vprof-cc")
        environment = os.environ | {
            "VPROF_PROBES": name,
            "VPROF_DESCRIPTOR": str(HERE.parent / "tests" / "all_sites.json"),
        }
        program = folder / f"{functions}.{name}"
        subprocess.run([compiler, "-O2", text, "-o", program], check=True, env=environment)
        found[name] = [str(program)] if name == "plain" else [*recorded, str(program)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--functions", type=int, nargs="+", default=[16, 64, 256, 1024])
    arguments = parser.parse_args()
    print(f"{'functions':>9} {'plain':>18} {'before the body':>18} {'in the body':>18}   median (least .. most)")
    with tempfile.TemporaryDirectory() as folder:
        for functions in arguments.functions:
            commands = programs(Path(folder), functions)
            took: dict[str, list[float]] = {name: [] for name in commands}
            for _ in range(arguments.rounds):
                for name, command in commands.items():
                    took[name].append(float(subprocess.run(command, capture_output=True, check=True).stdout))
            cells = [f"{statistics.median(t):.1f} ({min(t):.1f} .. {max(t):.1f})" for t in took.values()]
            print(f"{functions:9} " + " ".join(f"{cell:>18}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
