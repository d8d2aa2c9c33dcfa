#!/usr/bin/env python3
"""Do lock policies do in minidb what `vprof whatif --locks` predicts from traces of FIFO?

    python bench/minidb_locks.py --results minidb_locks.jsonl [--seconds 30] [--seeds 5] [--levels low,medium,high]
                                 [--policies fcfs,rs,vats,ldsf,bldsf,ddf] [--plan]

For each level of contention (targets/minidb/README.md): FIFO's capacity, which is its greatest throughput in closed
loops; then an open loop at PART of it, for all policies alike. Of each seed there is a trace with FIFO, from which the
others are predicted, and a run without vprof of each policy, FIFO included, with the same requests and arrivals. What
is compared are ratios to FIFO, of mean, variance and p99: geometric means over the seeds, with Student's 95 % intervals
of their logarithms. A figure is a hit if the measured ratio lies in the predicted interval; "widened": in that interval
made wider by the tolerance of the replay (10 %) on both sides. A case is one if variance and p99 are.

Makes what is missing, so that it goes on where it was stopped. Prints its plan with minutes first (--plan: nothing
else), then the table, which it writes beside the results as Markdown. Wants a machine on which nothing else runs.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from load_parts import head, keep, kept, row, show
from minidb_hits import FIGURES, Found, report

from vprof.scheduling.comparison import TOLERANCE

PART = 0.8
"""Of FIFO's capacity."""
BASE = "fifo"
CAPACITY, PREDICTED, MEASURED = "capacity", "predicted", "measured"
CLIENTS = (10, 15, 20, 30)
"""Of the closed loops."""
CAPACITY_SECONDS = 10
ROWS = 2000
THREADS = 400
RECORDING = ("--slots", 2 * THREADS + 16, "--ring-size", "64K")
REPLAY_SECONDS = 15
"""What a prediction takes beside its run, about."""


@dataclass(frozen=True)
class Study:
    results: Path
    seconds: int
    seeds: int
    levels: list[str]
    policies: list[str]

    @property
    def work(self) -> Path:
        """The build, and the trace that is there."""
        return self.results.with_suffix(".work").resolve()

    def minutes(self) -> float:
        """Of all, from nothing."""
        a_seed = self.seconds + REPLAY_SECONDS + (1 + len(self.policies)) * (self.seconds + 1)
        return len(self.levels) * (len(CLIENTS) * (CAPACITY_SECONDS + 1) + self.seeds * a_seed) / 60


def vprof(study: Study, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from vprof.cli import main; main()", *map(str, words)]
    return subprocess.run(command, cwd=study.work, capture_output=True, text=True, check=False)


def load_of(level: str, seed: int, *more: object) -> list[str]:
    return [str(word) for word in ("--contention", level, "--rows", ROWS, "--seed", seed, *more)]


def minidb(study: Study, *words: str, seconds: int) -> dict[str, float]:
    """What it prints, in us and a second; the probes of this build are off."""
    program = study.work / ".vprof" / "minidb" / "build" / "minidb"
    done = subprocess.run([program, "--seconds", str(seconds), *words], capture_output=True, text=True, check=True)
    said = dict(line.split()[:2] for line in done.stdout.splitlines())
    return {name: float(said[name]) for name in ("transactions", "throughput", "mean", "sd", "p99")}


def capacity_of(study: Study, level: str) -> Found:
    """In closed loops, which have few transactions left when they end."""
    most = max(
        minidb(study, *load_of(level, 1, "--clients", clients), seconds=CAPACITY_SECONDS)["throughput"]
        for clients in CLIENTS
    )
    return Found(CAPACITY, level, 0, BASE, study.seconds, round(PART * most, 1), {"throughput": most}, "")


def measured(study: Study, level: str, seed: int, policy: str, rate: float) -> Found:
    load = load_of(level, seed, "--rate", rate, "--lock-policy", policy)
    said = minidb(study, *load, seconds=study.seconds)
    figures = {"mean": said["mean"], "variance": said["sd"] ** 2, "p99": said["p99"]}
    return Found(MEASURED, level, seed, policy, study.seconds, rate, figures, "")


def predicted(study: Study, level: str, seed: int, rate: float) -> Iterator[Found]:
    """One of each policy: its ratios to FIFO; without figures where vprof refuses to predict, which `why` has."""
    load = load_of(level, seed, "--rate", rate, "--clients", THREADS)
    record = ["--target", "minidb", "--locks", "--seconds", study.seconds, *RECORDING, "-o", "run.trace"]
    done = vprof(study, "record", *record, "--", *load)
    if done.returncode:
        raise RuntimeError(done.stderr)
    asked = ["--locks", ",".join(study.policies), "--traced", BASE, "--open", "--seeds", 1, "--format", "json"]
    done = vprof(study, "whatif", "run.trace", *asked)
    refused = done.stderr.strip() if done.returncode else ""
    answer = {"policies": []} if refused else json.loads(done.stdout)
    ratios = {one["policy"]: one["ratios"] for one in answer["policies"]}
    for policy in study.policies:
        figures = {name: ratios[policy][name]["value"] for name in FIGURES} if ratios else {}
        yield Found(PREDICTED, level, seed, policy, study.seconds, rate, figures, refused)


def made(study: Study, have: Sequence[Found]) -> Iterator[Found]:
    """What is missing, seed by seed; of a seed the policies run in random order."""
    known = {one.key for one in have}
    for level in study.levels:
        rates = [one.rate for one in have if one.key == (CAPACITY, level, 0, BASE, study.seconds)]
        if not rates:
            found = capacity_of(study, level)
            yield found
            rates = [found.rate]
        for seed in range(1, study.seeds + 1):
            if not all((PREDICTED, level, seed, name, study.seconds) in known for name in study.policies):
                yield from predicted(study, level, seed, rates[0])
            order = [BASE, *study.policies]
            random.Random(seed).shuffle(order)
            for policy in order:
                if (MEASURED, level, seed, policy, study.seconds) not in known:
                    yield measured(study, level, seed, policy, rates[0])


def plan(study: Study, have: Sequence[Found]) -> str:
    lines = head("contention", "offered rate", "predicted of", "measured of")
    wanted = study.seeds * len(study.policies)
    for level in study.levels:
        mine = [one for one in have if one.level == level and one.seconds == study.seconds]
        rates = [f"{one.rate:g} /s" for one in mine if one.kind == CAPACITY]
        counts = [sum(one.kind == kind for one in mine) for kind in (PREDICTED, MEASURED)]
        rate = rates[0] if rates else f"{100 * PART:.0f} % of FIFO's capacity"
        lines.append(row(level, rate, f"{counts[0]} of {wanted}", f"{counts[1]} of {wanted + study.seeds}"))
    return "\n".join([*lines, f"All of it takes {study.minutes():.0f} minutes."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("minidb_locks.jsonl"))
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--levels", default="low,medium,high")
    parser.add_argument("--policies", default="fcfs,rs,vats,ldsf,bldsf,ddf")
    parser.add_argument("--plan", action="store_true")
    given = parser.parse_args()
    study = Study(given.results, given.seconds, given.seeds, given.levels.split(","), given.policies.split(","))
    have = kept(given.results, Found)
    print(plan(study, have), flush=True)
    if given.plan:
        return
    study.work.mkdir(parents=True, exist_ok=True)
    done = vprof(study, "instrument", "--target", "minidb")
    if done.returncode:
        raise SystemExit(done.stderr)
    for one in made(study, have):
        print(one.line(), flush=True)
        have.append(one)
        keep(given.results, one)
    mine = [one for one in have if one.seconds == study.seconds and one.seed <= study.seeds]
    show(given.results, report(mine, study.levels, study.policies, TOLERANCE, PART))


if __name__ == "__main__":
    main()
