#!/usr/bin/env python3
"""What would VATS and bLDSF do to TPC-C on PostgreSQL and MariaDB, is a recording a ground to say so, and what is its
price?

    python bench/server_locks.py --results server_locks.jsonl [--runs 3] [--seconds 20] [--only postgres]
                                 [--loads tpcc:1,tpcc:4,zipf_locks:1] [--clients 8,16] [--plan]
                                 [--traces FOLDER [--again]]

A case is a server, a load of `vprof load` with its scale, and a number of clients in a closed loop. Each of its runs is
two recordings in turn, with --locks and without; each round begins with the other one. The one with --locks is replayed
by several policies: mean, variance and p99 of each by what was measured. Those of these servers' policy (FIFO) say
whether the recording is a ground to predict from. A replay has no chance in it but a random order, so the intervals are
over the runs: Student's, of the logarithms of the ratios.

Makes what is missing, so that it goes on where it was stopped. Prints its plan with minutes first (--plan: nothing
else), then the tables, which it writes beside the results as Markdown. Builds are those of the tests
(tests/shared/build_cache.py): a target that was not built before takes longer. Recordings with locks are kept in a
folder (--traces, 8 GB), and replayed by --again, which records nothing: a quiet machine is needed for recordings alone.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from load_parts import head, keep, kept, row, show, spread
from minidb_hits import Ratio

from vprof.installed import native
from vprof.scheduling.comparison import TOLERANCE, NotMetError, calibrate, figures_of
from vprof.scheduling.history import taken
from vprof.scheduling.simulator import run
from vprof.scheduling.traced import script_of
from vprof.trace.locks import read_locks

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))

from build_cache import Built, built, cache_folder, command

TARGETS = ("postgres", "mysql")
TRACED, POLICIES = "fifo", ("fifo", "rs", "vats", "bldsf")
FIGURES = ("mean", "variance", "p99")
COMPARED = (("fifo", "measured"), ("rs", "measured"), ("vats", "fifo"), ("bldsf", "fifo"))
OVERHEAD_SECONDS = {"postgres": 5, "mysql": 10}
"""What a run takes beside its load: the server's start and stop."""
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
    """A recording. `per_s`: transactions, as the clients counted them. With locks, once it was replayed: `steps` and
    `waits`, by FIFO; `left_out`: the part of the time waited for locks that are given back early; `replays`: of each
    policy the FIGURES by those measured; `refused`: why vprof predicts nothing from it, "" if it does."""

    target: str
    load: str
    clients: int
    number: int
    seconds: int
    locks: bool
    per_s: float
    steps: int = 0
    waits: int = 0
    left_out: float = 0.0
    replays: dict[str, list[float]] = field(default_factory=dict)
    refused: str = ""

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
    traces: Path

    def missing(self, have: Sequence[Found], case: Case) -> list[tuple[int, bool]]:
        """Numbers of runs, and whether they are with locks."""
        known = {one.key for one in have}
        wanted = [(number, locks == bool(number % 2)) for number in range(1, self.runs + 1) for locks in (True, False)]
        return [(number, locks) for number, locks in wanted if (case, number, self.seconds, locks) not in known]


def vprof(build: Built, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), capture_output=True, check=False, **build.how())


def trace_of(study: Study, case: Case, number: int) -> Path:
    return study.traces / f"{case.target}-{case.load.replace(':', '-')}-{case.clients}-{number}.trace"


def recorded(build: Built, study: Study, case: Case, number: int, locks: bool) -> Found:
    """Raises RuntimeError."""
    study.traces.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="server_locks-") as folder:
        trace = trace_of(study, case, number) if locks else Path(folder) / "run.trace"
        trace.unlink(missing_ok=True)
        more = ["--locks"] if locks else []
        done = vprof(build, "record", *case.words(), "--seconds", study.seconds, *more, "-o", trace.absolute())
    said = re.search(r": ([0-9,.]+) transactions a second", done.stdout + done.stderr)
    if done.returncode or not said:
        raise RuntimeError(f"{case}: {done.stderr.strip() or done.stdout.strip()}")
    per_s = float(said[1].replace(",", ""))
    return Found(case.target, case.load, case.clients, number, study.seconds, locks, per_s)


def replayed(found: Found, trace: Path) -> Found:
    """The same run, its trace replayed by all POLICIES."""
    locks = read_locks(trace)
    made_of = script_of(locks, taken(locks.steps), TRACED)
    refused = f"{made_of.left_out:.0%} of the time waited is for locks that are given back early"
    if made_of.left_out <= TOLERANCE:
        try:
            calibrate(made_of.script)
            refused = ""
        except NotMetError as e:
            refused = str(e).partition(", by which")[0] + str(e).partition("measured,")[2].partition(", more")[0]
    latency = (locks.end - locks.begin).astype(np.float64)
    measured = (latency.mean(), latency.var(), np.quantile(latency, 0.99, method="inverted_cdf"))
    replays, waits = {}, 0
    for policy in POLICIES:
        done = run(made_of.script, policy, seed=found.number)
        waits = done.waits if policy == TRACED else waits
        ratios = zip(map(figures_of(done).__getitem__, FIGURES), measured, strict=True)
        replays[policy] = [float(ours / theirs) for ours, theirs in ratios]
    script = made_of.script
    return replace(found, steps=script.locks, waits=waits, left_out=made_of.left_out, replays=replays, refused=refused)


def made(study: Study, target: str, have: Sequence[Found]) -> Iterator[Found]:
    """What is missing of the cases of one target."""
    cases = [case for case in study.cases if case.target == target and study.missing(have, case)]
    if not cases:
        return
    with built(target, cache_folder(), native("bin/vprof-cc").parents[1], print) as build:
        for case in cases:
            for number, locks in study.missing(have, case):
                yield recorded(build, study, case, number, locks)


def again(study: Study, have: Sequence[Found]) -> list[Found]:
    """What is known, with the recordings of the study's folder replayed anew; the results file has them, too."""
    found = []
    for one in have:
        trace = trace_of(study, one.case, one.number)
        found.append(replayed(one, trace) if one.locks and trace.exists() else one)
        print(found[-1], flush=True)
    anew = study.results.with_suffix(".anew")
    anew.unlink(missing_ok=True)
    for one in found:
        keep(anew, one)
    if found:
        anew.replace(study.results)
    return found


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
    met = head("server, load, clients", "predicts", "locks", "waits", "left out")
    gains = [head(name, *(f"{policy} / {base}" for policy, base in COMPARED)) for name in FIGURES]
    refusals = []
    for case in cases:
        mine = [one for one in have if one.case == case]
        without, with_it = ([one for one in mine if one.locks == locks] for locks in (False, True))
        if not without or not with_it:
            continue
        costs.append(row(case, *cost_of(without, with_it)))
        told = [one for one in with_it if one.replays]
        if told:
            met.append(row(case, f"{sum(not one.refused for one in told)} of {len(told)}", *met_by(told)))
        for k, table in enumerate(gains if told else []):
            table.append(row(case, *(ratio_of(told, policy, base, k) for policy, base in COMPARED)))
        refusals += [f"- {case}, run {one.number}: {one.refused}" for one in told if one.refused]
    return "\n\n".join("\n".join(lines) for lines in (costs, met, *gains, refusals) if lines)


def cost_of(without: Sequence[Found], with_it: Sequence[Found]) -> list[str]:
    rates = {one.number: one.per_s for one in without}
    ratios = [one.per_s / rates[one.number] for one in with_it if one.number in rates]
    steps = [one.steps / (one.per_s * one.seconds) for one in with_it if one.steps]
    of_both = [spread(one.per_s for one in runs) for runs in (without, with_it)]
    return [*of_both, str(Ratio.of(ratios)) if ratios else "-", spread(steps)]


def met_by(told: Sequence[Found]) -> list[str]:
    counts = [spread(one.steps for one in told), spread(one.waits for one in told)]
    return [*counts, f"{max(one.left_out for one in told):.1%}"]


def ratio_of(told: Sequence[Found], policy: str, base: str, figure: int) -> Ratio:
    """The geometric mean over the runs, with its interval."""
    bases = [one.replays[base][figure] if base in POLICIES else 1.0 for one in told]
    return Ratio.of([one.replays[policy][figure] / by for one, by in zip(told, bases, strict=True)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("server_locks.jsonl"))
    parser.add_argument("--runs", type=int, default=3, help="of each case, with and without --locks (3)")
    parser.add_argument("--seconds", type=int, default=20, help="of each load (20)")
    parser.add_argument("--only", choices=TARGETS)
    parser.add_argument("--loads", default="tpcc:1,tpcc:4,zipf_locks:1")
    parser.add_argument("--clients", default="8,16")
    parser.add_argument("--traces", type=Path, default=Path("server_locks.traces"))
    parser.add_argument("--again", action="store_true", help="replays those there, and records nothing")
    parser.add_argument("--plan", action="store_true")
    given = parser.parse_args()
    targets = [given.only] if given.only else TARGETS
    loads, clients = given.loads.split(","), list(map(int, given.clients.split(",")))
    cases = [Case(target, load, count) for target in targets for load in loads for count in clients]
    study = Study(given.results, given.runs, given.seconds, cases, given.traces)
    have = kept(given.results, Found)
    if given.again:
        have = again(study, have)
    print(plan(study, have), flush=True)
    for target in targets if not (given.plan or given.again) else []:
        for one in made(study, target, have):
            print(f"{one.case} run {one.number}: {one.per_s:,.1f}/s, {'locks' if one.locks else ''}", flush=True)
            have.append(one)
            keep(given.results, one)
    mine = [one for one in have if one.seconds == study.seconds and one.number <= study.runs]
    if mine:
        show(given.results, tables(mine, cases))


if __name__ == "__main__":
    main()
