"""What `vprof record --compress` saves and costs: ratio, the collector's CPU per record, and losses, by rate.

    python bench/compression.py
    python bench/compression.py --rounds 9 --seconds 2
    python bench/compression.py --traces run.trace other.trace     (only: how small these would be)

Eight processes write records at given rates, each in a burst every millisecond, by calls of 15 functions at random
(`rates.c`, mixed); the ways to compress are interleaved round by round. `ratio` is the size of the file without to that
with compression. The trace is written into the present folder and deleted. What records a server writes decides the
ratio: `--traces` tells that of yours, by the same libraries, chunk by chunk as they are in the file.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from chunk_packing import compress_lz4, compress_zstd, turned
from collector import RATES, Cost, measure, spread

from runtime import build
from vprof.trace.chunks import read_chunks

WAYS = ["none", "zstd", "lz4"]


def table(found: dict[tuple[str, str], list[Cost]]) -> str:
    lines = [f"{'M/s':>4} {'':>5} {'collector':>10} {'quartiles':>13} {'bytes':>6} {'ratio':>6}  lost, of each run"]
    for (rate, way), costs in found.items():
        size = statistics.median(cost.size for cost in costs)
        before = statistics.median(cost.size for cost in found[rate, "none"])
        lost = " ".join(str(number) for number in sorted(cost.lost for cost in costs))
        cpu = spread([cost.collector for cost in costs])
        lines.append(f"{rate:>4} {way:>5} {cpu} {size:6.1f} {before / size:6.2f}  {lost}")
    return "\n".join(lines)


def ratios(trace: Path) -> str:
    """How much smaller its records would be, as they are and rearranged."""
    chunks = [(chunk.words.tobytes(), turned(chunk.words)) for chunk in read_chunks(trace).chunks]
    before = sum(len(raw) for raw, _ in chunks)
    columns: list[str] = []
    ways: list[Callable[[bytes], bytes]] = [compress_zstd, compress_lz4]
    for compress in ways:
        for index in (0, 1):
            after = sum(min(len(content[index]), len(compress(content[index]))) for content in chunks)
            columns.append(f"{before / max(1, after):6.2f}")
    return f"{' '.join(columns)}  {before / 16e6:6.2f} M records, {len(chunks)} chunks  {trace.name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lib", type=Path, default=Path(sys.prefix) / "lib" / "vprof")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--ring-bytes", type=int, default=1 << 20, help="what vprof asks for where there is room")
    parser.add_argument("--rates", nargs="+", default=RATES, help="millions of records per second, all together")
    parser.add_argument("--traces", type=Path, nargs="+", help="traces that are not compressed")
    given = parser.parse_args()
    if given.traces:
        print("ratio of the records: zstd as they are, rearranged; lz4 as they are, rearranged")
        for trace in given.traces:
            print(ratios(trace))
        return
    found: dict[tuple[str, str], list[Cost]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "rates"
        build(given.lib.resolve(), program, ["rates.c"])
        for _ in range(given.rounds):
            for rate in given.rates:
                for way in WAYS:
                    options = [] if way == "none" else ["--compress", way]
                    cost = measure(given.lib.resolve(), program, rate, given, options, ["mixed"])
                    found[rate, way].append(cost)
    print(f"ns of CPU and bytes per record, n = {given.rounds}, load {os.getloadavg()[0]:.1f}")
    print(table(found))


if __name__ == "__main__":
    main()
