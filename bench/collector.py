"""What the collector takes: CPU nanoseconds per record, by the rate at which eight processes write records.

    python bench/collector.py
    python bench/collector.py --lib before/lib/vprof after/lib/vprof --rounds 9

Several libraries are interleaved round by round. The trace is written into the present folder and deleted: what storage
costs is in the figure as far as the collector pays for it, and not what the kernel writes back later. `writer` is the CPU
time of these processes, their sleeping and waking included.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from runtime import Session, build

RATES = ["0.1", "1", "4", "8"]
PROCESSES = 8
AS_VPROF = ["--slots", "256", "--ring-bytes", str(1 << 20)]


def measure(lib: Path, program: Path, millions: str, seconds: float) -> tuple[float, float, float]:
    """Nanoseconds per record of the collector and of the writers, and the share of the records that was lost."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory, tempfile.TemporaryDirectory(dir=".") as disk:
        session = Session(lib, Path(directory), Path(disk), AS_VPROF)
        command = [str(program), str(PROCESSES), str(float(millions) * 1e6), str(seconds)]
        environment = {**os.environ, "VPROF_SESSION": str(session.path)}
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdin and process.stdout
            process.stdout.readline()
            session.all_on()
            before = session.cpu_ns()
            process.stdin.write("\n")
            process.stdin.close()
            writer = float(process.stdout.readline())
            spent = session.cpu_ns() - before
        return spent / (float(millions) * 1e6 * seconds), writer, session.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--lib", type=Path, nargs="+", default=[Path(sys.prefix) / "lib" / "vprof"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rates", nargs="+", default=RATES, help="millions of records per second")
    options = parser.parse_args()
    found: dict[tuple[str, Path], list[tuple[float, float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as directory:
        programs = {lib: Path(directory) / f"rates{number}" for number, lib in enumerate(options.lib)}
        for lib, program in programs.items():
            build(lib.resolve(), program, ["rates.c"])
        for _ in range(options.rounds):
            for rate in options.rates:
                for lib in options.lib:
                    found[rate, lib].append(measure(lib.resolve(), programs[lib], rate, options.seconds))
    print(f"{'M records/s':>11} {'collector':>9} {'quartiles':>13} {'writer':>7} {'quartiles':>13} {'lost':>6}  n = {options.rounds}, ns")
    for (rate, lib), measured in found.items():
        columns = []
        for values in list(zip(*measured, strict=True))[:2]:
            low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
            columns.append(f"{median:9.1f} {f'{low:.1f}-{high:.1f}':>13}")
        lost = statistics.mean(share for _, _, share in measured)
        print(f"{rate:>11} {' '.join(columns)} {lost:6.1%}  {lib}")


if __name__ == "__main__":
    main()
