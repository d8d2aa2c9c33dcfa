"""How fast the analyzer is, and how much memory it takes, by the length of the trace: `make bench-analyzer`.

    python bench/analyzer.py 1e6 1e7 1e8     # how many records; 1e6 and 1e7 if none is given
    python bench/analyzer.py 1e6 1e7 1e8 1e9 --keep build/bench-analyzer     # goes on where it was stopped

For each length, without and with locking (analyzer_traces.py), a process of its own analyzes the trace file: records
per second of CPU and of wall clock, of the best of some runs, from reading the file to the ranked factors, without the
start of Python; the greatest resident memory of the process; intervals, nodes of the tree, and CPU seconds of a run.
The first run compiles what is not in the cache, and is not counted. Traces of 500 million records and more are
compressed (4 to 5 bytes a record instead of 16), and are read once, not `--runs` times.

`analyze`, `jobs1` and `jobs2` are measured unless `--verb` asks for others: one process, and one or two workers (`vprof
analyze --jobs`), which have started before; CPU and memory are of all processes, each at its greatest. Below them
stands by how much two workers are faster. `numpy` is the yardstick: a plain pass of NumPy over the same records, which
sums how long each function took. `diff` compares the trace with itself, so it is read twice; `explain` explains the
first factor; `load` makes all tables of `vprof.load`, `parts` that of the critical paths a part at a time; `drill` is a
measurement's analysis, with what findings need; `whatif` replays the trace with a function changed, without factors;
`constant` makes its calls alike, for which the trace is read twice; `simulation` lets threads compete anew.

With `--keep` each row is kept in that folder as soon as it is measured, with the trace until all of its rows are there;
the same command measures what is missing. Rows of another commit are measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analyzer_traces import write

_MEASURE = """
import os, resource, sys, time
from pathlib import Path
warm, trace, runs = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
from vprof.variance.analysis import AnalysisOptions
from vprof.jobs.cluster import open_jobs
from vprof.compare.diff import diff
from vprof.variance.explain import explain
from vprof.drill.natures import natures
from vprof.compare.load_runs import load_runs
from vprof.trace.sources import open_sources
from vprof.whatif.changes import parse
from vprof.whatif.model import Model
from vprof.whatif.prediction import Replays, load as load_traces
from vprof.variance.stream import analyze_traces
import vprof

def analyze(path, **options):
    return analyze_traces([path], None, AnalysisOptions(**options), jobs=jobs)

def cpu():
    return time.process_time() + sum(jobs.everywhere(time.process_time) if jobs else [])

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

def resident():
    return peak() + sum(jobs.everywhere(peak) if jobs else [])

def drill(path):
    found = analyze(path, cpu_apart=True)
    natures(found, [ranked.factor for ranked in found.factors])
    return found

def load(path):
    run = vprof.load(path)
    run.intervals, run.pieces, run.factors, run.nodes
    return run.analysis

def in_parts(path):
    run = vprof.load(path)
    run.intervals, run.factors, run.nodes
    for part in run.pieces_in_parts():
        del part
    return run.analysis

def best_explained(path):
    found = analyze(path)
    explain(found, "|".join(found.factors[0].factor.functions))
    return found

def compared(path):
    diff(*load_runs([path], [path], None, AnalysisOptions(k=1)))

def summed(path):
    import numpy as np
    from vprof.trace.chunks import read_chunks
    file, count = read_chunks(path), np.zeros((2, 1 << 22))
    for chunk in file.chunks:
        head, word = chunk.words.T
        word = word[head >> np.uint64(60) == 1]
        site = (word >> np.uint64(32) & np.uint64((1 << 22) - 1)).astype(np.int64)
        ns = (word & np.uint64((1 << 32) - 1)).astype(np.float64)
        most = int(site.max(initial=0)) + 1
        count[0, :most] += np.bincount(site, ns, most)
        count[1, :most] += np.bincount(site, ns * ns, most)
    file.release()

def predicted(path, how="0.5", way="replay"):
    sources = open_sources([path], None)
    name = sources[0].bare().program.functions[18]
    Replays(load_traces(sources, AnalysisOptions()), Model(way=way)).predict([parse(f"{name}={how}")], factors=False)

work = {"analyze": analyze, "own": lambda path: analyze(path, own=True), "explain": best_explained, "load": load,
        "parts": in_parts,
        "diff": compared, "drill": drill, "whatif": predicted,
        "constant": lambda path: predicted(path, "constant"),
        "simulation": lambda path: predicted(path, way="simulation"),
        "jobs1": analyze, "jobs2": analyze, "numpy": summed}[sys.argv[4]]
count = {"jobs1": 1, "jobs2": 2}.get(sys.argv[4])
with open_jobs(count, None) as jobs:
    work(warm)
    base = resident()
    best = None
    analysis = None
    for _ in range(runs):
        del analysis  # what a process holds that analyzes once
        before, wall = cpu(), time.perf_counter()
        analysis = work(trace)
        wall = time.perf_counter() - wall
        spent = cpu() - before, wall
        best = min(best or spent, spent)
    rss = resident()
counts = (analysis.summary.count, len(analysis.tree.mean_ns)) if analysis else (0, 0)
print(*best, rss / 1024, base / 1024, *counts)
"""

USUAL = ("analyze", "jobs1", "jobs2", "numpy")
OTHERS = ("own", "explain", "load", "parts", "diff", "drill", "whatif", "constant", "simulation")
_COMPRESSED_FROM = 500_000_000


@dataclass(frozen=True)
class Row:
    """CPU and wall clock in seconds, of the best run; `rss` and `base` in MB, of all processes. With no analysis there
    are no intervals and nodes."""

    verb: str
    records: int
    locking: bool
    cpu: float
    wall: float
    rss: float
    base: float
    intervals: float
    nodes: float
    load: float

    def __str__(self) -> str:
        return (
            f"{self.verb:<11}{self.records:>13,} {'yes' if self.locking else 'no':>7} "
            f"{self.records / self.cpu / 1e6:>9.2f} {self.records / self.wall / 1e6:>9.2f} "
            f"{self.rss:>7.0f} {self.base:>7.0f} {self.intervals:>10,.0f} {self.nodes:>7,.0f} {self.cpu:>8.2f} "
            f"{self.load:>5.1f}"
        )


class Kept:
    """Rows and the present trace, in a folder that stays, or in one that does not."""

    def __init__(self, folder: Path, stays: bool) -> None:
        self._folder, self._file = folder, folder / "rows.jsonl" if stays else None
        self._commit = _commit()
        self.rows: dict[tuple[Any, ...], Row] = {}
        if self._file and self._file.exists():
            for line in self._file.read_text("utf-8").splitlines():
                kept = json.loads(line)
                if kept.pop("commit") == self._commit:
                    asked = tuple(kept.pop("asked"))
                    self.rows[asked] = Row(**kept)

    def keep(self, asked: tuple[Any, ...], row: Row) -> None:
        self.rows[asked] = row
        if self._file:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"commit": self._commit, "asked": asked, **vars(row)}) + "\n")

    def trace(self, records: int, locking: bool) -> tuple[Path, int]:
        """A trace of so many records, written if it is not there; and how many it has."""
        path = self._folder / f"{records}{'-locking' if locking else ''}.trace"
        told = path.with_suffix(".count")
        if not told.exists():
            written = write(path, records, locking, compress=records >= _COMPRESSED_FROM)
            told.write_text(str(written), "utf-8")
        return path, int(told.read_text("utf-8"))

    def drop(self, path: Path) -> None:
        path.with_suffix(".count").unlink()
        path.unlink()


def _commit() -> str:
    """Of the checkout, with what is changed in it since."""
    here = Path(__file__).parent
    asked = (("rev-parse", "HEAD"), ("diff", "HEAD", "--", "../analyzer"))
    said = [subprocess.run(["git", *one], cwd=here, capture_output=True, text=True).stdout for one in asked]
    return hashlib.sha256("".join(said).encode()).hexdigest()


def measured(kept: Kept, records: int, locking: bool, runs: int, verbs: list[str]) -> Iterator[Row]:
    """A row for each verb, those that are kept at once."""
    wanted = {verb: (verb, records, locking, runs) for verb in verbs}
    if missing := [verb for verb in verbs if wanted[verb] not in kept.rows]:
        warm, _ = kept.trace(100_000, locking)
        path, written = kept.trace(records, locking)
        for verb in verbs:
            if verb in missing:
                kept.keep(wanted[verb], _measured(warm, path, written, locking, runs, verb))
            yield kept.rows[wanted[verb]]
        kept.drop(path)
    else:
        yield from (kept.rows[wanted[verb]] for verb in verbs)


def _measured(warm: Path, trace: Path, written: int, locking: bool, runs: int, verb: str) -> Row:
    command = [sys.executable, "-c", _MEASURE, warm, trace, str(runs), verb]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Row(verb, written, locking, *map(float, output.split()), os.getloadavg()[0])


def faster(rows: list[Row]) -> str:
    """What workers change, in words; "" if they were not measured."""
    wall = {row.verb: row.wall for row in rows}
    if not {"jobs1", "jobs2"} <= set(wall):
        return ""
    text = f"two workers are {wall['jobs1'] / wall['jobs2']:.2f} times as fast as one"
    return text + (f", {wall['analyze'] / wall['jobs2']:.2f} times as fast as one process" if "analyze" in wall else "")


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="*", type=float, default=[1e6, 1e7])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--verb", choices=USUAL + OTHERS, action="append", help="what is measured; several times")
    parser.add_argument("--folder", type=Path, help="where the traces are written (16 bytes a record; default: /tmp)")
    parser.add_argument("--keep", type=Path, help="the same, and rows stay there: goes on where it was stopped")
    options = parser.parse_args()
    print(f"{processor()}, {os.cpu_count()} CPUs, best of {options.runs} (of one from {_COMPRESSED_FROM:,} records on)")
    print("                 records locking M/s (CPU) M/s (wall)  MB RSS MB warm  intervals   nodes    CPU s  load")
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="vprof-bench-", dir=options.folder) as folder:
        kept = Kept(options.keep or Path(folder), stays=options.keep is not None)
        for records in map(int, options.records):
            for locking in (False, True):
                runs = 1 if records >= _COMPRESSED_FROM else options.runs
                rows = []
                for row in measured(kept, records, locking, runs, options.verb or list(USUAL)):
                    rows.append(row)
                    print(row, flush=True)
                if text := faster(rows):
                    print(f"           {text}", flush=True)


if __name__ == "__main__":
    main()
