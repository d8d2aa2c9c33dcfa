#!/usr/bin/env python3
"""Sites of the instrumented engine in a JVM: are edges between them right, is [queue] what Java measured?

    python targets/voltdb-ee/sites.py [--dir .vprof/voltdb-ee] [--rounds 100] [--seconds 20] [--rate 800] [--runs 3]

REQUIRES: `vprof instrument --target voltdb-ee` has built the library; a JDK; a quiet machine, where a site that is to
come 4 ms after another does.
jvm/Sites.java puts work on the sites. Java has no probes, so all is recorded with `--preload`.

    forced   transactions of all sites, which come one after the other: whom each site waited for is known
    sites    one random load on 1, 2 and 4 sites: latency, its spread, and the time in the queue by Java's clock, by the
             unique ids that Java made of it, and by vprof, which has these

Exit code 1 if an edge is wrong or missing, 2 if a recording fails.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vprof.errors import VprofError
from vprof.tables.model import NONE, OBJECT_CLASSES, Trace
from vprof.target.target import Target
from vprof.trace.loading import load_trace

JAVA = Path(__file__).with_name("jvm")
SITES = (1, 2, 4)
ROWS = 100_000
"""In the table of a site that scans go through: a millisecond or so."""
CONDITION = OBJECT_CLASSES.index("condition variable")
BATCHES = ("100", "200", "300")
"""Types of what the front end initiates, of jvm/Plans.java; the sites fill their tables before."""
MP_ROUND = re.compile(r"^round \d+ transaction (\d+) last (\d+) lowest (\d+)$", re.MULTILINE)
ROW = re.compile(r"^(\w+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", re.MULTILINE)
"""Of what Sites prints: kind, count, ms in the queue by Java's clock, by unique ids, ms of execution, variance."""


@dataclass(frozen=True)
class Recorded:
    said: str
    trace: Path


@dataclass(frozen=True)
class Bench:
    """The target's work folder, the library that it built, the compiled front end: traces go there."""

    work: Path
    library: Path
    classes: Path

    def recorded(self, name: str, **options: float) -> Recorded:
        trace = self.classes / f"{name}.trace"
        record = ["record", "--target", "voltdb-ee", "--dir", str(self.work), "--preload", "-o", str(trace), "--"]
        java = ["java", "-cp", str(self.classes), "Sites", str(self.library)]
        chosen = [f"{key}={value}" for key, value in options.items()]
        done = vprof(*record, *java, *chosen)
        return Recorded(done, trace)


def vprof(*arguments: str) -> str:
    """What it prints. Ends the program where it fails: it has said why."""
    command = [str(Path(sys.executable).with_name("vprof")), *arguments]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(2)
    return done.stdout


def compiled(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted(str(file) for file in JAVA.rglob("*.java"))
    subprocess.run(["javac", "-d", str(folder), *sources], check=True)
    return folder


def threads(trace: Trace) -> dict[int, int]:
    """Index of a thread by its number in the kernel."""
    return {int(name.split("/")[1].split()[0]): index for index, name in enumerate(trace.threads)}


def transaction_of(trace: Trace, interval: int) -> int:
    """Out of the descriptor's `id`, which has the partition below it."""
    return (int(trace.interval_ids[interval].partition("#")[0]) - 1) >> 14


def signalled(trace: Trace) -> Iterator[tuple[int, int, int]]:
    """Transaction, who waited at a barrier and who signalled, of each wait for a condition in a batch. Sites that wake
    at once pass a mutex to each other: that is none."""
    for row, segment in enumerate(trace.wakeups.segment):
        interval = int(trace.segments.interval[segment])
        if interval != NONE and trace.segments.object_class[segment] == CONDITION:
            yield transaction_of(trace, interval), int(trace.wakeups.thread[row]), int(trace.wakeups.waker[row])


def forced(bench: Bench, sites: int, rounds: int) -> Counter[str]:
    """Edges of the barriers that are right, wrong and missing. The lowest site waits for the last that comes, if that
    is another; all others wait for the lowest."""
    run = bench.recorded("forced", sites=sites, rounds=rounds, rows=0)
    trace = load_trace(run.trace)
    of = threads(trace)
    wakers: dict[tuple[int, int], list[int]] = {}
    for transaction, waiter, waker in signalled(trace):
        wakers.setdefault((transaction, waiter), []).append(waker)
    all_sites = {int(thread) for thread in trace.intervals.begin_thread}
    found: Counter[str] = Counter()
    for transaction, last, lowest in (map(int, row) for row in MP_ROUND.findall(run.said)):
        expected = {site: of[lowest] for site in all_sites if site != of[lowest]}
        if last != lowest:
            expected[of[lowest]] = of[last]
        for waiter, waker in expected.items():
            ended = wakers.get((transaction, waiter), [])
            found["missing" if not ended else "right" if ended == [waker] else "wrong"] += 1
    return found


def said_rows(said: str) -> dict[str, tuple[int, float, float, float, float]]:
    return {
        kind: (int(count), float(queue), float(by_id), float(took), float(variance))
        for kind, count, queue, by_id, took, variance in ROW.findall(said)
    }


def queues(trace: Path) -> tuple[float, float]:
    """Mean ms of [queue] in the batches that the front end initiated, and its share of their variance; a site that gets
    no CPU when its batch is due is still late, so waits for a CPU count where they are."""
    report = json.loads(vprof("analyze", str(trace), "--by-type", "--cpu-wait", "in", "--format", "json"))
    count, total, variance, of_queue = 0, 0.0, 0.0, 0.0
    for kind in report["by_type"]["types"]:
        if kind["type"] not in BATCHES:
            continue
        count += kind["count"]
        variance += kind["count"] * kind["variance_ns2"]
        for node in kind["tree"]["children"]:
            if node["node"] == "[queue]":
                total += kind["count"] * node["mean_ns"]
                of_queue += kind["count"] * kind["variance_ns2"] * node["share"]
    return total / count / 1e6, of_queue / variance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, default=Path(".vprof/voltdb-ee"))
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rate", type=int, default=800)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    work = given.dir.resolve()
    try:
        target = Target.load("voltdb-ee", work)
        target.units()  # refuses what was not built, or not with vprof
    except VprofError as error:
        sys.exit(f"{parser.prog}: {error}")
    bench = Bench(work, target.programs()[0], compiled(work / "sites"))
    bad = 0
    for sites in (2, 3):
        found = forced(bench, sites, given.rounds)
        bad += found["wrong"] + found["missing"]
        print(f"forced, {sites} sites, {given.rounds} transactions: {dict(found)}")
    print("sites run count  mean ms  sd ms; [queue] ms: Java's clock, unique ids, vprof;  of the variance within types")
    for sites in SITES:
        for number in range(1, given.runs + 1):
            run = bench.recorded(
                f"sites-{sites}-{number}", sites=sites, rows=ROWS, seconds=given.seconds, rate=given.rate, seed=number
            )
            count, queue, by_id, took, variance = said_rows(run.said)["all"]
            mean, share = queues(run.trace)
            print(
                f"{sites:5} {number:3} {count:5} {queue + took:8.3f} {variance**0.5:6.3f} {queue:10.3f} {by_id:10.3f} "
                f"{mean:10.3f} {100 * share:10.1f} %",
                flush=True,
            )
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
