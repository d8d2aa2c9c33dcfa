"""What a command costs before it does anything: CPU seconds and memory of small ones, each a process of its own.

    python bench/start.py [--runs N]

`first` and `second` analyze a trace of 40,000 records with an empty cache of compiled kernels, and again; `kept`, with
the cache that `make setup` leaves. user + system time of the process, least and median of `--runs` (`first`: of one),
and the greatest resident memory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from analyzer_traces import write

_VPROF = [sys.executable, "-c", "from vprof.cli import main; main()"]


def measure(command: list[str], runs: int, cache: Path | None = None) -> str:
    environment = os.environ | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {})
    spent, largest = [], 0
    for _ in range(runs):
        process = subprocess.Popen(_VPROF + command, env=environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"vprof {' '.join(command)} failed")
        spent.append(usage.ru_utime + usage.ru_stime)
        largest = max(largest, usage.ru_maxrss)
    return f"{min(spent):>9.3f} {statistics.median(spent):>9.3f} {largest / 1024:>7.0f} {runs:>3}"


def rows(folder: Path, runs: int) -> Iterator[tuple[str, str]]:
    small, large = folder / "small.trace", folder / "large.trace"
    records = [write(small, 1000, locking=True), write(large, 40_000, locking=True)]
    analyses = [["analyze", str(trace)] for trace in (small, large)]
    yield "vprof --help", measure(["--help"], runs)
    yield "vprof record --help", measure(["record", "--help"], runs)
    yield f"vprof analyze, {records[0]:,} records", measure(analyses[0], runs)
    yield f"vprof analyze, {records[1]:,} records, kept", measure(analyses[1], runs)
    cache = folder / "cache"
    yield "- first", measure(analyses[1], 1, cache)
    yield "- second", measure(analyses[1], runs, cache)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=12)
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}")
    print(f"{'CPU seconds, MB':<38} {'least':>9} {'median':>9} {'MB':>7} {'n':>3}")
    with tempfile.TemporaryDirectory(prefix="vprof-start-") as folder:
        for name, row in rows(Path(folder), options.runs):
            print(f"{name:<38} {row}", flush=True)


if __name__ == "__main__":
    main()
