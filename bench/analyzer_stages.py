"""Where the analyzer's time goes, by stage: ns of CPU per record of a trace that `analyzer_traces.py` writes.

    python bench/analyzer_stages.py 1e7            # without locking
    python bench/analyzer_stages.py 1e7 --locking

A stage's time is that of its functions without that of other stages in them; the best of three runs.
"""

from __future__ import annotations

import argparse
import importlib
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analyzer_traces import write

STAGES = {
    "file, checksums": ["trace.outline.read_chunks"],
    "first reading (scan)": ["trace.outline.scan"],
    "intervals, hand-overs": ["trace.outline.Outline.of"],
    "calls and waits of a window": ["trace.reading.Windows.content"],
    "call sites": ["trace.call_sites.CallSites.of", "trace.described.Sites.functions"],
    "segments and edges": ["trace.reading.Windows.trace"],
    "critical paths": ["path.parts.critical_paths"],
    "stacks": ["path.parts.build_stacks"],
    "times at nodes": ["path.parts.place", "variance.sums.calls_of"],
    "sums and products": ["variance.moments.Moments.add"],
    "what waits were for": ["variance.blocked.BlockedSums.add"],
    "tree": ["variance.sums.tree_of", "variance.sums.of_moments"],
    "ranking": ["variance.analysis.rank"],
    "certainty": ["variance.analysis._with_intervals", "variance.statistics.blocks_of"],
}


class Stages:
    """CPU seconds by stage, of the functions that it wraps."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._inside: list[float] = []

    def time(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            begin = time.process_time()
            self._inside.append(0.0)
            try:
                return function(*args, **options)
            finally:
                spent = time.process_time() - begin
                self.seconds[stage] += spent - self._inside.pop()
                if self._inside:
                    self._inside[-1] += spent

        return timed

    def wrap(self, stage: str, name: str) -> None:
        room, module, *path, last = name.split(".")
        owner = importlib.import_module(f"vprof.{room}.{module}")
        for part in path:
            owner = getattr(owner, part)
        setattr(owner, last, self.time(stage, getattr(owner, last)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=float)
    parser.add_argument("--locking", action="store_true")
    options = parser.parse_args()
    stages = Stages()
    for stage, names in STAGES.items():
        for name in names:
            stages.wrap(stage, name)
    from vprof.variance import stream

    analyze = stages.time("the rest", stream.analyze_traces)
    best: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="vprof-bench-") as folder:
        path = Path(folder) / "run.trace"
        written = write(path, int(options.records), options.locking)
        for run in range(4):  # the first one loads or compiles kernels
            stages.seconds.clear()
            analyze([path])
            if run == 1 or (run > 1 and stages.seconds.total() < best.total()):
                best = stages.seconds.copy()
    print(f"{written:,} records, locking: {options.locking}, load average {os.getloadavg()[0]:.1f}")
    for stage in [*STAGES, "the rest"]:
        print(f"{stage:<30} {best[stage] / written * 1e9:7.1f}")
    print(f"{'together':<30} {best.total() / written * 1e9:7.1f} ns per record")


if __name__ == "__main__":
    main()
