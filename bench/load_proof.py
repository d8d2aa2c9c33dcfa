#!/usr/bin/env python3
"""Is what `vprof-load-driver` reports what its users wait: against a server with known delays and a stall.

    python bench/load_proof.py --seconds 20 --results load_proof.jsonl

The stub server delays each answer by a constant time, by a lognormal one, or stalls for 200 ms in each 10 s. Its own
account of each request is the truth (tests/workloads/test_proof.py says why). An open loop has to be exact within
1 %; the closed loop beside it, of 8 clients, shows what it hides. Needs a quiet machine: a pause of it is in the
measured times alone. Two and a half minutes.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from load_parts import head, keep, kept, row, show
from load_runs import Driver, latencies_ms, stub, true_latencies_ms

from vprof.installed import LOAD_DRIVER, native

DELAYS = {
    "constant, 40 ms": ["--delay", "constant:40ms"],
    "lognormal, 40 ms, sigma 0.4": ["--delay", "lognormal:40ms:0.4"],
    "constant, 10 ms; 200 ms of stall in 10 s": ["--delay", "constant:10ms", "--stall", "200ms/10s"],
}
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}
RATE, WITHIN = 250, 0.01
CLIENTS = {"open": 128, "closed": 8}


@dataclass(frozen=True)
class Run:
    """Times in ms, in the order of PERCENTILES; `true` of an open loop alone."""

    delays: str
    loop: str
    requests: int
    measured: list[float]
    true: list[float]

    def exact(self) -> bool:
        return bool(np.allclose(self.measured, self.true, rtol=WITHIN))


def measured(delays: str, loop: str, seconds: float) -> Run:
    rate = ["--rate", RATE, "--arrivals", "even"] if loop == "open" else []
    options = ["--clients", CLIENTS[loop], "--warmup", 1, "--seconds", seconds, *rate]
    with tempfile.TemporaryDirectory(prefix="load_proof-") as name:
        driver = Driver(native(LOAD_DRIVER), Path(name))
        with stub(native("lib/vprof/vprof-load-stub"), Path(name), *DELAYS[delays]) as server:
            ended = driver.run("noop", server.where, *options)
            if ended.code or not ended.latencies:
                raise SystemExit(f"load_proof.py: the driver failed: {ended.errors}")
            found = latencies_ms(ended.latencies.transactions())
            true = true_latencies_ms(ended, server.truth()) if loop == "open" else np.empty(0)
    of = [np.percentile(times, list(PERCENTILES.values())).tolist() if len(times) else [] for times in (found, true)]
    return Run(delays, loop, len(found), of[0], of[1])


def table(runs: list[Run]) -> str:
    """Three rows for each kind of delays, whose two runs are there."""
    lines = head("the server's delays", "", "requests", *PERCENTILES, "within 1 %")
    for delays in DELAYS:
        of = {run.loop: run for run in runs if run.delays == delays}
        if len(of) < len(CLIENTS):
            continue
        opened, closed = of["open"], of["closed"]
        lines.append(row(delays, "what users wait", f"{opened.requests:,}", *ms(opened.true), ""))
        exact = "yes" if opened.exact() else "**no**"
        lines.append(row("", "open loop", f"{opened.requests:,}", *ms(opened.measured), exact))
        lines.append(row("", "closed loop", f"{closed.requests:,}", *ms(closed.measured), ""))
    return "\n".join(lines)


def ms(times: list[float]) -> list[str]:
    return [f"{value:.1f}" for value in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("load_proof.jsonl"))
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    runs = kept(options.results, Run)
    for delays in DELAYS:
        for loop in CLIENTS:
            if not any((run.delays, run.loop) == (delays, loop) for run in runs):
                runs.append(measured(delays, loop, options.seconds))
                keep(options.results, runs[-1])
    show(options.results, table(runs))


if __name__ == "__main__":
    main()
