#!/usr/bin/env python3
"""What bpftrace's uprobes on the same functions as `drill_study.py probes` do to PostgreSQL's throughput.

    vprof instrument --target postgres                       (this program without a session is what is traced)
    python bench/uprobes.py --counts 100 500 --rounds 3       (as root; a kernel with uprobes, and bpftrace)

The script times each invocation, as a probe of vprof does, but keeps sums only: at entry the time into a map, at return
count and sum. Slices of pgbench alternate: without, with, with, without (a four). A row says the change of transactions
per second: the median of all rounds, the smallest and the largest. Attaching takes the kernel half a second a probe.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drill_study import executed, sampled

from vprof.session.owned import end_with_parent
from vprof.target.server import Server
from vprof.target.target import Target


def script(program: Path, functions: list[str]) -> str:
    """A probe on entry and return of each function. Those that the compiler inlined everywhere are left out."""
    symbols = subprocess.run(["nm", "--defined-only", program], check=True, capture_output=True, text=True).stdout
    known = {line.split()[-1] for line in symbols.splitlines()}
    probes = []
    for number, function in enumerate(f for f in functions if f in known):
        at = f"probe:{program}:{function}"
        probes.append(f"u{at} {{ @begin[tid, {number}] = nsecs; }}")
        took = f"@took[{number}] = stats(nsecs - @begin[tid, {number}]); delete(@begin[tid, {number}]);"
        probes.append(f"uret{at} /@begin[tid, {number}]/ {{ {took} }}")
    return "\n".join(probes)


@contextmanager
def traced(program: str) -> Iterator[None]:
    """While bpftrace runs the script, from when all its probes are attached. What it found is thrown away."""
    limits = {"BPFTRACE_MAX_PROBES": "4096", "BPFTRACE_MAP_KEYS_MAX": "65536"}
    with subprocess.Popen(
        ["bpftrace", "-e", program],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **limits},
        preexec_fn=end_with_parent,  # probes that stay would slow down all that is measured later
    ) as tracer:
        while attached(tracer.pid) < program.count("probe:"):
            if tracer.poll() is not None:
                raise SystemExit(f"bpftrace ended with {tracer.returncode} before its probes were attached")
            time.sleep(0.5)
        try:
            yield
        finally:
            tracer.terminate()


def attached(tracer: int) -> int:
    """How many probes: bpftrace keeps a descriptor of each one's BPF program."""
    return sum("bpf-prog" in str(file.readlink()) for file in Path(f"/proc/{tracer}/fd").iterdir())


def throughput(server: Server, seconds: int, options: list[str]) -> float:
    load = server.load(seconds, options)
    load.wait()
    server.check_load(load.returncode)
    found = re.search(r"tps = ([\d.]+)", server.load_log.read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit(f"{server.load_log}: pgbench said no throughput")
    return float(found[1])


def compare(server: Server, program: str, seconds: int, options: list[str]) -> float:
    """The ratio of throughput with the tracer to without it, of a four."""
    off = throughput(server, seconds, options)
    with traced(program):
        on = sum(throughput(server, seconds, options) for _ in range(2))
    return on / (off + throughput(server, seconds, options))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", default=[100, 500])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10, help="length of a slice")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("load", nargs="*", help="options of pgbench")
    given = parser.parse_args()
    server = Server.of(Target.load("postgres"))
    program = server.target.folder / "install/bin/postgres"
    names = executed("postgres", given.load)
    with server.running():
        throughput(server, given.seconds, given.load)  # its caches
        for count in given.counts:
            text = script(program.resolve(), sampled(names, count, given.seed))
            changes = [compare(server, text, given.seconds, given.load) - 1 for _ in range(given.rounds)]
            row = f"{statistics.median(changes):+.1%} ({min(changes):+.1%} .. {max(changes):+.1%})"
            attached = text.count("uretprobe:")
            print(
                f"{attached} of {count} functions, {given.rounds} rounds, load {os.getloadavg()[0]:.1f}: {row}",
                flush=True,
            )


if __name__ == "__main__":
    main()
