"""What the collector takes: CPU nanoseconds per record, by the rate at which processes write records.

    python bench/collector.py
    python bench/collector.py --lib before/lib/vprof after/lib/vprof --rounds 9
    python bench/collector.py --processes 2 --rates 12 --ring-bytes 524288      (how much is lost)

Several libraries are interleaved round by round. The trace is written into the present folder and deleted: what storage
costs is in the figure as far as the collector pays for it, not what the kernel writes back later. `writer` is the CPU
time of the writing processes, their sleeping and waking included.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime import Session, build

RATES = ["0.1", "1", "4", "8"]


@dataclass(frozen=True)
class Cost:
    """Of one measurement: ns of CPU per record, records lost, and bytes of the file per record that is in it."""

    collector: float
    writer: float
    lost: int
    size: float


def measure(
    lib: Path,
    program: Path,
    millions: str,
    given: argparse.Namespace,
    options: Sequence[str] = (),
    calls: Sequence[str] = (),
) -> Cost:
    """`options`: more of the collector's; `calls`: which ones the program makes (rates.c)."""
    arena = ["--slots", "256", "--ring-bytes", str(given.ring_bytes)]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory, tempfile.TemporaryDirectory(dir=".") as disk:
        session = Session(lib, Path(directory), Path(disk), [*arena, *options])
        records = float(millions) * 1e6 * given.seconds
        command = [str(program), str(given.processes), str(float(millions) * 1e6), str(given.seconds), *calls]
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
            collector = (session.cpu_ns() - before) / records
        lost = session.stop()
        size = (Path(disk) / "run.trace").stat().st_size
        return Cost(collector, writer, round(lost * records), size / (records * (1 - lost)))


def spread(values: list[float]) -> str:
    """Median and quartiles."""
    low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return f"{median:10.1f} {f'{low:.1f}-{high:.1f}':>13}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lib", type=Path, nargs="+", default=[Path(sys.prefix) / "lib" / "vprof"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--ring-bytes", type=int, default=1 << 20, help="what vprof asks for where there is room")
    parser.add_argument("--rates", nargs="+", default=RATES, help="millions of records per second, all together")
    given = parser.parse_args()
    found: dict[tuple[str, Path], list[Cost]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as directory:
        programs = {lib: Path(directory) / f"rates{number}" for number, lib in enumerate(given.lib)}
        for lib, program in programs.items():
            build(lib.resolve(), program, ["rates.c"])
        for _ in range(given.rounds):
            for rate in given.rates:
                for lib in given.lib:
                    found[rate, lib].append(measure(lib.resolve(), programs[lib], rate, given))
    print(f"ns of CPU per record, n = {given.rounds}, load {os.getloadavg()[0]:.1f}")
    print(f"{'M/s':>4} {'collector':>10} {'quartiles':>13} {'writer':>10} {'quartiles':>13}  lost, of each run")
    for (rate, lib), costs in found.items():
        columns = spread([cost.collector for cost in costs]), spread([cost.writer for cost in costs])
        lost = " ".join(str(cost.lost) for cost in sorted(costs, key=lambda cost: cost.lost))
        print(f"{rate:>4} {' '.join(columns)}  {lost}  {lib}")


if __name__ == "__main__":
    main()
