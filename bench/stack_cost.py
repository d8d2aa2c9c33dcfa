#!/usr/bin/env python3
"""CPU time of a server per transaction, with call stacks of waits and without.

    python bench/stack_cost.py --target postgres --rounds 11 --seconds 8 [-- OPTIONS OF THE LOAD]

The roots alone are on. The server is started anew for each run; runs with and without are made in turn. Without: a
library that is preloaded registers unwind tables, after which the runtime takes no stacks; with: one that does
nothing. Medians, quartiles, the ratio of the medians and the median of the ratios of neighbours are printed.
`samples`: stacks in the trace, per second. Run it where `vprof instrument` built the target.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import getpid
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "targets"))

from states import cpu_seconds, name_of, processes

from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.target.server import Server
from vprof.target.target import Target
from vprof.trace.loading import load_trace

DONE = re.compile(r"transactions(?: actually processed)?: +(\d+)")
REGISTERING = """
extern void __register_frame(void *);
__attribute__((constructor)) static void stop(void) {
  static const unsigned none[2];
  __register_frame((void *)none);
}
"""


@dataclass(frozen=True)
class Run:
    """Per transaction; samples per second."""

    server_us: float
    collector_us: float
    samples: float


def library(folder: Path, name: str, source: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    made = folder / f"{name}.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", made, folder / f"{name}.c"], check=True)
    made.chmod(0o755)
    return made


@contextmanager
def preloaded(file: Path) -> Iterator[None]:
    os.environ["LD_PRELOAD"] = str(file)
    try:
        yield
    finally:
        del os.environ["LD_PRELOAD"]


def used() -> tuple[float, float]:
    """CPU seconds of the server so far, and of the collector."""
    collectors, servers = [], []
    for pid in processes(getpid())[1:]:
        (collectors if name_of(pid) == "vprof-collector" else servers).append(pid)
    return cpu_seconds(servers), cpu_seconds(collectors)


def measured(server: Server, file: Path, seconds: int, options: list[str]) -> Run:
    trace, plan = server.target.folder / "stack-cost.trace", Plan.of(server.target.descriptor.roots)
    with Session.start(None, server.account.name) as session:
        with preloaded(file):
            running = server.running(session, plan)
            running.__enter__()
        try:
            server.load(1, options).wait()
            session.rotate(trace)
            own, collector = used()
            load = server.load(seconds, options)
            while load.poll() is None:
                session.follow(plan)
                time.sleep(0.1)
            server.check_load(load.returncode)
            time.sleep(0.3)  # the last backends end
            own_after, collector_after = used()
            session.rotate(None)
        finally:
            running.__exit__(None, None, None)
    found = DONE.search(server.load_log.read_text(encoding="utf-8"))
    if not found:
        raise SystemExit("the load does not say how many transactions it made")
    samples = len(load_trace(trace).wait_samples.stack)
    trace.unlink()
    done = int(found[1])
    return Run(1e6 * (own_after - own) / done, 1e6 * (collector_after - collector) / done, samples / seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=int, default=8, help="length of a run")
    parser.add_argument("load", nargs="*")
    options = parser.parse_args()
    server = Server.of(Target.load(options.target))
    runs: dict[str, list[Run]] = {"without": [], "with": []}
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        files = {
            "without": library(Path(made), "registering", REGISTERING),
            "with": library(Path(made), "nothing", "int vprof_bench_nothing;"),
        }
        for number in range(options.rounds):
            for state in sorted(runs, reverse=bool(number % 2)):
                runs[state].append(measured(server, files[state], options.seconds, options.load))
    print(f"{options.target}, n = {options.rounds}, load {os.getloadavg()[0]:.1f}: microseconds of CPU per transaction")
    print(f"{'stacks':8} {'server':>8} {'quartiles':>19} {'collector':>10} {'samples/s':>10}")
    for state, found in runs.items():
        own = [run.server_us for run in found]
        low, median, high = statistics.quantiles(own, n=4, method="inclusive")
        rest = (statistics.median(getattr(run, name) for run in found) for name in ("collector_us", "samples"))
        print(f"{state:8} {median:8.1f} {low:8.1f} .. {high:7.1f} {next(rest):10.2f} {next(rest):10.1f}")
    with_, without = ([run.server_us for run in runs[state]] for state in ("with", "without"))
    pairs = [a / b for a, b in zip(with_, without, strict=True)]
    print(
        f"ratio of medians {statistics.median(with_) / statistics.median(without):.4f}, "
        f"median of the rounds' ratios {statistics.median(pairs):.4f} ({min(pairs):.3f} .. {max(pairs):.3f})"
    )


if __name__ == "__main__":
    main()
