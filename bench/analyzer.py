"""How fast the analyzer is, and how much memory it takes, by the length of the trace: `make bench-analyzer`.

    python bench/analyzer.py 1e6 1e7 1e8     # how many records; 1e6 and 1e7 if none is given

For each length, without and with locking (analyzer_traces.py), a process of its own analyzes the trace file: records
per second of CPU and of wall clock, of the best of some runs, from reading the file to the ranked factors, without the
start of Python; the greatest resident memory of the process; intervals, nodes of the tree, and CPU seconds of a run.
The first run compiles what is not in the cache, and is not counted. `--verb` measures other ways to the same trace:
`diff` compares it with itself, so it is read twice; `explain` explains the first factor; `drill` is a measurement's
analysis, with what findings need; `whatif` replays the trace with a function changed, without factors;
`constant` makes its calls alike, for which the trace is read twice; `simulation` lets threads compete anew. `jobs1` and
`jobs2` analyze with one and two workers (`vprof analyze --jobs`), which have started before: CPU and memory are of all
processes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

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

def best_explained(path):
    found = analyze(path)
    explain(found, "|".join(found.factors[0].factor.functions))
    return found

def compared(path):
    diff(*load_runs([path], [path], None, AnalysisOptions(k=1)))
    return analyze(warm)

def predicted(path, how="0.5", way="replay"):
    sources = open_sources([path], None)
    name = sources[0].bare().program.functions[18]
    Replays(load_traces(sources, AnalysisOptions()), Model(way=way)).predict([parse(f"{name}={how}")], factors=False)
    return analyze(warm)

work = {"analyze": analyze, "own": lambda path: analyze(path, own=True), "explain": best_explained, "load": load,
        "diff": compared, "drill": drill, "whatif": predicted,
        "constant": lambda path: predicted(path, "constant"),
        "simulation": lambda path: predicted(path, way="simulation"),
        "jobs1": analyze, "jobs2": analyze}[sys.argv[4]]
count = {"jobs1": 1, "jobs2": 2}.get(sys.argv[4])
with open_jobs(count, None) as jobs:
    work(warm)
    base = resident()
    best = None
    for _ in range(runs):
        before, wall = cpu(), time.perf_counter()
        analysis = work(trace)
        wall = time.perf_counter() - wall
        spent = cpu() - before, wall
        best = min(best or spent, spent)
    rss = resident()
print(*best, rss / 1024, base / 1024, analysis.summary.count, len(analysis.tree.mean_ns))
"""

VERBS = ("analyze", "own", "explain", "load", "diff", "drill", "whatif", "constant", "simulation", "jobs1", "jobs2")


def measure(folder: Path, records: int, locking: bool, runs: int, verbs: list[str]) -> Iterator[str]:
    """A line for each verb."""
    warm, trace = folder / "warm.trace", folder / "run.trace"
    write(warm, 100_000, locking)
    written = write(trace, records, locking)
    for verb in verbs:
        yield _measured(warm, trace, written, locking, runs, verb)
    trace.unlink()


def _measured(warm: Path, trace: Path, written: int, locking: bool, runs: int, verb: str) -> str:
    command = [sys.executable, "-c", _MEASURE, warm, trace, str(runs), verb]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    cpu, wall, rss, base, intervals, nodes = map(float, output.split())
    return (
        f"{verb:<11}{written:>11,} {'yes' if locking else 'no':>7} "
        f"{written / cpu / 1e6:>9.2f} {written / wall / 1e6:>9.2f} "
        f"{rss:>7.0f} {base:>7.0f} {intervals:>10,.0f} {nodes:>7,.0f} {cpu:>8.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="*", type=float, default=[1e6, 1e7])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--verb", choices=VERBS, action="append", help="what is measured; several times")
    parser.add_argument("--folder", type=Path, help="where the traces are written (16 bytes a record; default: /tmp)")
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, best of {options.runs}")
    print("               records locking M/s (CPU) M/s (wall)  MB RSS MB warm  intervals   nodes    CPU s")
    with tempfile.TemporaryDirectory(prefix="vprof-bench-", dir=options.folder) as folder:
        for records in options.records:
            for locking in (False, True):
                for line in measure(Path(folder), int(records), locking, options.runs, options.verb or ["analyze"]):
                    print(line, flush=True)
    print(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
