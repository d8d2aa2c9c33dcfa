#!/usr/bin/env python3
"""What does a cure that was built into MariaDB do to TPC-C, and was it predicted?

    python bench/cure_tpcc.py --plan
    python bench/cure_tpcc.py --results vats.jsonl [--cure vats] [--warehouses 1,2,8] [--parts 0.6,0.85] [--runs 6]
                              [--seconds 12] [--clients 32] [--server-options=OPTIONS]

Run it where `vprof instrument --target mysql --cure vats --cure lazy-lru` was run. For each number of warehouses it
fills the tables, and measures what the server reaches in a closed loop with the cure off (capacity, the median of three
runs). Then it offers parts of that in an open loop: runs with the cure off and on in turn, on one server that never
stops, where both sides of a round get the same arrivals and inputs. A latency counts from when the transaction should
have begun. For `vats` a run with the cure off is recorded by `vprof record --locks`, and replayed by `fifo` and `vats`:
what `vprof whatif --locks` predicts, or why it does not.

Makes the runs that the results file does not have yet, and prints the tables of all, also as Markdown beside it.
`--plan` says how long it takes. A quiet machine is needed.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from load_parts import head, keep, kept, ratio, row, show

from vprof.compare.judgement import Change, Measured, judge
from vprof.compare.run_metrics import MeasuredRun, measure
from vprof.target.chosen_load import ChosenLoad
from vprof.target.server import Server
from vprof.target.target import Target
from vprof.workload.driver import run_in_log
from vprof.workload.latency_file import LatencyFile
from vprof.workload.result import result_of
from vprof.workload.tally import latency_ns, timed

SWITCHES = {"vats": "innodb_vprof_vats", "lazy-lru": "innodb_vprof_lazy_lru"}
POLICIES = {"vats": "vats"}
"""The policy of `vprof whatif --locks` that a cure makes the server's; before, that is `fifo`."""
OFF, ON = "off", "on"
ALL = "all"
FIGURES = ("mean", "variance", "p99")
CAPACITY_RUNS, WARMUP_SECONDS, FILL_MINUTES = 3, 3.0, 0.7
OWN = ("new_order", "payment")
"""Types with rows of their own in the tables."""


@dataclass(frozen=True)
class Ran:
    """`part`: of the capacity, 0 for a closed loop. `metrics`: by type of transaction, also ALL. `predicted`: of a
    recorded run the ratios of FIGURES, on to off; `refused`: why there are none."""

    cure: str
    warehouses: int
    part: float
    side: str
    round: int
    per_s: float
    retries: int = 0
    reached: bool = True
    counts: dict[str, int] = field(default_factory=dict)
    metrics: dict[str, dict[str, float | None]] = field(default_factory=dict)
    predicted: dict[str, float] = field(default_factory=dict)
    refused: str = ""

    @property
    def key(self) -> tuple[str, int, float, str, int]:
        return self.cure, self.warehouses, self.part, self.side, self.round


def wanted(options: argparse.Namespace) -> list[tuple[float, str, int]]:
    """Part, side and round, in order. Sides begin in turn; recorded runs come last, for the server starts anew."""
    first: list[tuple[float, str, int]] = [(0.0, OFF, number) for number in range(CAPACITY_RUNS)]
    measured = [
        (part, side, number)
        for number in range(options.runs)
        for part in options.parts
        for side in ((OFF, ON) if number % 2 == 0 else (ON, OFF))
    ]
    recorded = [(part, "recorded", 0) for part in options.parts] if options.cure in POLICIES else []
    return first + measured + recorded


def capacity(runs: list[Ran], warehouses: int) -> float:
    return statistics.median(run.per_s for run in runs if run.warehouses == warehouses and not run.part)


@contextmanager
def serving(server: Server, statement: str) -> Iterator[None]:
    """Runs, and has executed the statement."""
    with server.running():
        execute(server, statement)
        yield


def execute(server: Server, statement: str) -> None:
    client = "{build}/client/mariadb --no-defaults --socket={server}/mysql.sock --user=root -e"
    words = [*server.target.filled(client), statement]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **server.account.popen())


def measured(options: argparse.Namespace, server: Server, key: tuple[float, str, int], rate: float | None) -> Ran:
    part, side, number = key
    execute(server, f"SET GLOBAL {SWITCHES[options.cure]} = {side.upper()}")
    words = [f"--warmup={WARMUP_SECONDS:g}", f"--seed={1000 + number}", *([f"--rate={rate:g}"] if rate else [])]
    status = server.load(options.seconds, words, keep=True).wait()
    server.check()
    server.check_load(status)
    said = run_in_log(server.load_log)
    if said is None or said.report["interrupted"]:
        raise KeyboardInterrupt
    result = result_of(said, server.latencies, [])
    counts, metrics = by_type(server.latencies)
    reached = result.reached is not False
    per_s = result.seen.all.answered / result.seconds
    return Ran(options.cure, options.scale, part, side, number, per_s, said.report["retries"], reached, counts, metrics)


def by_type(file: Path) -> tuple[dict[str, int], dict[str, dict[str, float | None]]]:
    """How many transactions of each type there were, and their metrics."""
    latencies = LatencyFile.open(file)
    chunks = [chunk[(chunk["type"] != latencies.lateness) & timed(chunk)] for chunk in latencies.chunks()]
    rows = np.concatenate(chunks)
    rows = rows[np.argsort(rows["intended"], kind="stable")]
    of = {name: rows["type"] == number for number, name in enumerate(latencies.types)}
    none = np.zeros(0, np.int64)
    counts, metrics = {}, {}
    for name, mine in {ALL: np.ones(len(rows), np.bool_), **of}.items():
        if mine.any():
            begin, ns = rows["intended"][mine].astype(np.int64), latency_ns(rows[mine])
            counts[name] = len(ns)
            metrics[name] = measure(MeasuredRun(file, begin, ns, none, {}, [], []))
    return counts, metrics


def recorded(options: argparse.Namespace, target: Target, part: float, rate: float) -> Ran:
    """What `vprof whatif --locks` makes of a recording with the cure off."""
    with tempfile.TemporaryDirectory(prefix="cure_tpcc-") as folder:
        trace = Path(folder) / "run.trace"
        words = ["--target", "mysql", "--dir", str(target.folder), "--load", "tpcc", f"--scale={options.scale}"]
        words += [f"--rate={rate:g}", f"--clients={options.clients}", f"--seconds={options.seconds}", "--locks"]
        if options.server_options:
            words.append(f"--server-options={options.server_options}")
        done = vprof("record", *words, "-o", str(trace), "--", f"--warmup={WARMUP_SECONDS:g}", "--seed=1000")
        if done.returncode:
            raise RuntimeError(done.stderr)
        policies = f"fifo,{POLICIES[options.cure]}"
        done = vprof("whatif", str(trace), f"--locks={policies}", "--traced=fifo", "--format=json")
    ran = Ran(options.cure, options.scale, part, "recorded", 0, rate)
    if done.returncode:
        return replace(ran, refused=done.stderr.strip().splitlines()[-1])
    before, after = (one["figures"] for one in json.loads(done.stdout)["policies"])
    ratios = {name: after[name]["value"] / before[name]["value"] for name in FIGURES}
    return replace(ran, predicted=ratios)


def vprof(*words: str) -> subprocess.CompletedProcess[str]:
    main = [sys.executable, "-c", "from vprof.cli import main; main()"]
    return subprocess.run([*main, *words], capture_output=True, text=True, check=False)


def missing(options: argparse.Namespace, have: list[Ran]) -> Iterator[Ran]:
    """Makes the runs of one number of warehouses (`options.scale`) that are not there yet."""
    known = {run.key[2:] for run in have if run.key[:2] == (options.cure, options.scale)}
    left = [key for key in wanted(options) if key not in known]
    if not left:
        return
    target = Target.load("mysql", Path(".vprof/mysql").absolute())
    target = replace(target, chosen_load=ChosenLoad("tpcc", options.scale, None, options.clients))
    server = Server.of(target, options.server_options)
    loaded = [key for key in left if key[1] in (OFF, ON)]
    if loaded:
        with serving(server, "SELECT 1"):
            for key in loaded:
                yield measured(options, server, key, offered(options, have, key[0]))
    for part in (key[0] for key in left if key not in loaded):
        yield recorded(options, target, part, offered(options, have, part) or 0.0)


def offered(options: argparse.Namespace, have: list[Ran], part: float) -> float | None:
    """Transactions a second, None: a closed loop."""
    return round(part * capacity(have, options.scale), 1) if part else None


def tables(runs: list[Ran]) -> str:
    first = "warehouses, part of capacity"
    rows = [*head(first, "tx/s", "type", "n", *FIGURES, "p99 off, ms", "variance: verdict")]
    said = head(
        first, *(f"{name}: predicted" for name in FIGURES), *(f"{name}: measured" for name in FIGURES), "why not"
    )
    ends = head(first, "retries off, on", "rate not reached off, on")
    for warehouses, part in dict.fromkeys((run.warehouses, run.part) for run in runs if run.part):
        sides = [
            [run for run in runs if (run.warehouses, run.part, run.side) == (warehouses, part, side)]
            for side in (OFF, ON)
        ]
        if not all(sides):
            continue
        name, rate = f"{warehouses}, {part:.0%}", f"{part * capacity(runs, warehouses):,.0f}"
        for kind in (ALL, *OWN):
            changes = changes_of(sides, kind)
            cells = [ratio(changes[figure]) for figure in FIGURES]
            off_ms = f"{(changes['p99'].before or 0) / 1e6:.1f}"
            rows.append(row(name, rate, kind, len(sides[0]), *cells, off_ms, changes["variance"].found or "nothing"))
        predictions = [run for run in runs if (run.warehouses, run.part, run.side) == (warehouses, part, "recorded")]
        of_all = changes_of(sides, ALL)
        for one in predictions:
            values = [f"{one.predicted[figure]:.2f}" if one.predicted else "-" for figure in FIGURES]
            said.append(row(name, *values, *(ratio(of_all[figure]) for figure in FIGURES), one.refused or "-"))
        retries = [f"{statistics.mean(run.retries for run in side):,.0f}" for side in sides]
        ends.append(row(name, ", ".join(retries), ", ".join(str(sum(not run.reached for run in s)) for s in sides)))
    how = "Ratios: on to off, with 95 % intervals over the runs, as `vprof diff` has them."
    return "\n\n".join("\n".join(part) for part in (rows, [how], said, ends))


def changes_of(sides: list[list[Ran]], kind: str) -> dict[str, Change]:
    groups = [
        Measured([run.counts.get(kind, 0) for run in side], [run.metrics[kind] for run in side]) for side in sides
    ]
    judged = judge(groups[0], groups[1], "variance")
    return {change.metric.name: change for change in (judged.decides, *judged.others)}


def plan(options: argparse.Namespace) -> str:
    each = len(wanted(options))
    minutes = each * (options.seconds + WARMUP_SECONDS + 1) / 60
    recordings = len(options.parts) * 0.3 if options.cure in POLICIES else 0.0
    lines = [f"{w} warehouses: filling {FILL_MINUTES * w:.1f}, {each} runs {minutes:.0f}" for w in options.warehouses]
    total = sum(FILL_MINUTES * w + minutes + recordings for w in options.warehouses)
    return "\n".join(["minutes:", *lines, f"together {total:.0f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("cure_tpcc.jsonl"))
    parser.add_argument("--cure", choices=tuple(SWITCHES), default="vats")
    parser.add_argument("--warehouses", default="1,2,8")
    parser.add_argument("--parts", default="0.6,0.85", help="of the capacity (0.6,0.85)")
    parser.add_argument("--runs", type=int, default=6, help="of each side (6)")
    parser.add_argument("--seconds", type=int, default=12)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--server-options", default="")
    parser.add_argument("--plan", action="store_true", help="say how long it takes, and end")
    options = parser.parse_args()
    options.server_options = shlex.join(shlex.split(options.server_options))
    options.warehouses = [int(one) for one in options.warehouses.split(",")]
    options.parts = [float(one) for one in options.parts.split(",")]
    print(plan(options), flush=True)
    if options.plan:
        return
    runs = kept(options.results, Ran)
    for warehouses in options.warehouses:
        options.scale = warehouses
        for ran in missing(options, runs):
            print(f"{ran.key} {ran.per_s:,.0f}/s {ran.refused}", flush=True)
            runs.append(ran)
            keep(options.results, ran)
    show(options.results, tables([run for run in runs if run.cure == options.cure]))


if __name__ == "__main__":
    main()
