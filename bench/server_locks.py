#!/usr/bin/env python3
"""What would VATS and bLDSF do to TPC-C on PostgreSQL and MariaDB, is a recording a ground to say so, and what is its
price?

    python bench/server_locks.py --results server_locks.jsonl [--runs 3] [--seconds 20] [--only postgres]
                                 [--loads tpcc:1,tpcc:4,zipf_locks:1] [--clients 8,16] [--plan]

A case is a server, a load of `vprof load` with its scale, and a number of clients in a closed loop. Each of its runs is
two recordings in turn, with --locks and without; each round begins with the other one. The one with --locks is replayed
by the policy of these servers (FIFO): how far mean and variance are off, or why vprof refuses; then by the policies of
POLICIES. A trace's replay has no chance in it, so the intervals are over the runs: Student's, of the logarithms of the
ratios.

Makes what is missing, so that it goes on where it was stopped. Prints its plan with minutes first (--plan: nothing
else), then the tables, which it writes beside the results as Markdown. Builds are those of the tests
(tests/shared/build_cache.py): a target that was not built before takes longer.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from load_parts import head, keep, kept, row, show, spread
from minidb_hits import Ratio

from vprof.installed import native
from vprof.scheduling.comparison import figures_of
from vprof.scheduling.history import taken
from vprof.scheduling.simulator import run
from vprof.scheduling.traced import script_of
from vprof.trace.locks import read_locks

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))

from build_cache import Built, built, cache_folder, command

TARGETS = ("postgres", "mysql")
TRACED, POLICIES = "fifo", ("vats", "bldsf")
FIGURES = ("mean", "variance", "p99")
OVERHEAD_SECONDS = {"postgres": 12, "mysql": 20}
"""What a run takes beside its load: the server's start and stop, for half of them the replay."""
FILLING_SECONDS = {"postgres": 20, "mysql": 60}
"""Of a warehouse, about; each load is filled once, when its scale is not the one before."""


@dataclass(frozen=True)
class Case:
    """`load`: a workload and its scale, as "tpcc:4"."""

    target: str
    load: str
    clients: int

    def __str__(self) -> str:
        return f"{self.target}, {self.load}, {self.clients} clients"

    def words(self) -> list[object]:
        name, _, scale = self.load.partition(":")
        return ["--target", self.target, "--load", name, "--scale", scale or 1, "--clients", self.clients]


@dataclass(frozen=True)
class Found:
    """A recording. `per_s`: transactions, as the clients counted them. With locks: `calibration` (replayed by
    measured, of mean and variance); `steps` and `waits` of the replay, and `ratios` of each policy to the traced one,
    by figure: none of these where vprof refuses, which `refused` has."""

    target: str
    load: str
    clients: int
    number: int
    seconds: int
    locks: bool
    per_s: float
    steps: int
    waits: int
    calibration: list[float | None]
    ratios: dict[str, dict[str, float | None]]
    refused: str

    @property
    def case(self) -> Case:
        return Case(self.target, self.load, self.clients)

    @property
    def key(self) -> tuple[Case, int, int, bool]:
        return self.case, self.number, self.seconds, self.locks


@dataclass(frozen=True)
class Study:
    results: Path
    runs: int
    seconds: int
    cases: list[Case]

    def missing(self, have: Sequence[Found], case: Case) -> list[tuple[int, bool]]:
        """Numbers of runs, and whether they are with locks."""
        known = {one.key for one in have}
        wanted = [(number, locks == bool(number % 2)) for number in range(1, self.runs + 1) for locks in (True, False)]
        return [(number, locks) for number, locks in wanted if (case, number, self.seconds, locks) not in known]


def vprof(build: Built, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), capture_output=True, check=False, **build.how())


def recorded(build: Built, case: Case, number: int, seconds: int, locks: bool) -> Found:
    """Raises RuntimeError."""
    with tempfile.TemporaryDirectory(prefix="server_locks-") as folder:
        trace = Path(folder) / "run.trace"
        more = ["--locks"] if locks else []
        done = vprof(build, "record", *case.words(), "--seconds", seconds, *more, "-o", trace)
        said = re.search(r": ([0-9,.]+) transactions a second", done.stdout + done.stderr)
        if done.returncode or not said:
            raise RuntimeError(f"{case}: {done.stderr.strip() or done.stdout.strip()}")
        answer, refused = replayed(build, trace) if locks else ({}, "")
        near = calibration(trace) if locks else [None, None]
    return Found(
        case.target,
        case.load,
        case.clients,
        number,
        seconds,
        locks,
        float(said[1].replace(",", "")),
        answer.get("locks", 0),
        answer.get("waits", 0),
        near,
        {
            one["policy"]: {name: one["ratios"][name]["value"] for name in FIGURES}
            for one in answer.get("policies", [])
            if one["policy"] in POLICIES
        },
        refused,
    )


def calibration(trace: Path) -> list[float | None]:
    """Mean and variance replayed by measured; also where vprof refuses, which says one of them."""
    found = read_locks(trace)
    script = script_of(found, taken(found.steps), TRACED).script
    figures = figures_of(run(script, TRACED))
    assert script.traced
    return [figures["mean"] / script.traced.mean_ns, figures["variance"] / script.traced.variance_ns2]


def replayed(build: Built, trace: Path) -> tuple[dict[str, Any], str]:
    """The report of `vprof whatif --locks`, or why there is none."""
    asked = ["--locks", ",".join(POLICIES), "--traced", TRACED, "--seeds", 1, "--format", "json"]
    done = vprof(build, "whatif", trace, *asked)
    return ({}, done.stderr.strip().partition(".trace: ")[2]) if done.returncode else (json.loads(done.stdout), "")


def made(study: Study, target: str, have: Sequence[Found]) -> Iterator[Found]:
    """What is missing of the cases of one target."""
    cases = [case for case in study.cases if case.target == target and study.missing(have, case)]
    if not cases:
        return
    with built(target, cache_folder(), native("bin/vprof-cc").parents[1], print) as build:
        for case in cases:
            for number, locks in study.missing(have, case):
                yield recorded(build, case, number, study.seconds, locks)


def plan(study: Study, have: Sequence[Found]) -> str:
    lines, total, filled = [], 0, set()
    for case in study.cases:
        missing = len(study.missing(have, case))
        takes = missing * (study.seconds + OVERHEAD_SECONDS[case.target])
        if missing and (case.target, case.load) not in filled:
            filled.add((case.target, case.load))
            takes += FILLING_SECONDS[case.target] * int(case.load.partition(":")[2] or 1)
        total += takes
        lines.append(f"{case}: {missing} recordings to make, {takes / 60:.1f} minutes")
    return "\n".join([*lines, f"together {total / 60:.0f} minutes"])


def tables(have: Sequence[Found], cases: Sequence[Case]) -> str:
    costs = head("server, load, clients", "without --locks, tx/s", "with, tx/s", "with / without", "locks a tx")
    met = head("server, load, clients", "replayed", "locks", "waits", "mean, replayed / measured", "variance")
    gains = head("server, load, clients", "policy", *(f"{name} / {TRACED}" for name in FIGURES))
    refusals = []
    for case in cases:
        mine = [one for one in have if one.case == case]
        without, with_it = ([one for one in mine if one.locks == locks] for locks in (False, True))
        if not without or not with_it:
            continue
        told = [one for one in with_it if not one.refused]
        costs.append(row(case, *cost_of(without, with_it)))
        met.append(row(case, f"{len(told)} of {len(with_it)}", *met_by(with_it)))
        gains += [row(case, policy, *gains_of(told, policy)) for policy in POLICIES if told]
        refusals += [f"- {case}, run {one.number}: {one.refused}" for one in with_it if one.refused]
    return "\n\n".join("\n".join(lines) for lines in (costs, met, gains, refusals) if lines)


def cost_of(without: Sequence[Found], with_it: Sequence[Found]) -> list[str]:
    rates = {one.number: one.per_s for one in without}
    ratios = [one.per_s / rates[one.number] for one in with_it if one.number in rates]
    steps = [one.steps / (one.per_s * one.seconds) for one in with_it if one.steps]
    of_both = [spread(one.per_s for one in runs) for runs in (without, with_it)]
    return [*of_both, str(Ratio.of(ratios)) if ratios else "-", spread(steps)]


def met_by(with_it: Sequence[Found]) -> list[str]:
    known = [one for one in with_it if not one.refused]
    counts = [spread(one.steps for one in known), spread(one.waits for one in known)]
    return [*counts, *(spread(one.calibration[k] for one in with_it) for k in (0, 1))]


def gains_of(told: Sequence[Found], policy: str) -> list[str]:
    """Geometric means over the runs, with their intervals."""
    found = [[one.ratios[policy][name] for one in told] for name in FIGURES]
    known = [[ratio for ratio in ratios if ratio] for ratios in found]
    return [str(Ratio.of(ratios)) if ratios else "-" for ratios in known]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("server_locks.jsonl"))
    parser.add_argument("--runs", type=int, default=3, help="of each case, with and without --locks (3)")
    parser.add_argument("--seconds", type=int, default=20, help="of each load (20)")
    parser.add_argument("--only", choices=TARGETS)
    parser.add_argument("--loads", default="tpcc:1,tpcc:4,zipf_locks:1")
    parser.add_argument("--clients", default="8,16")
    parser.add_argument("--plan", action="store_true")
    given = parser.parse_args()
    targets = [given.only] if given.only else TARGETS
    loads, clients = given.loads.split(","), list(map(int, given.clients.split(",")))
    cases = [Case(target, load, count) for target in targets for load in loads for count in clients]
    study = Study(given.results, given.runs, given.seconds, cases)
    have = kept(given.results, Found)
    print(plan(study, have), flush=True)
    for target in targets if not given.plan else []:
        for one in made(study, target, have):
            rest = one.refused or f"calibration {one.calibration}, {one.ratios}" if one.locks else "without --locks"
            print(f"{one.case} run {one.number}: {one.per_s:,.1f}/s, {rest}", flush=True)
            have.append(one)
            keep(given.results, one)
    mine = [one for one in have if one.seconds == study.seconds and one.number <= study.runs]
    if mine:
        show(given.results, tables(mine, cases))


if __name__ == "__main__":
    main()
