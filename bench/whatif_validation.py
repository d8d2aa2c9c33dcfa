#!/usr/bin/env python3
"""Does what `vprof whatif` predicts come true: 20 changes, each predicted from runs without it, made, and measured.

    python bench/whatif_validation.py --results whatif_validation.jsonl [--runs 3] [--seconds 15] [--only minidb]
                                      [--plan]

A group is a load with one or more real changes: minidb with less of what is planted, servers with another setting. Its
runs are made in turn (without, with, without, ...; each round begins with another one), at the same offered rate where
the load can do that. `vprof whatif` sees the runs without the change only, `vprof diff` all. Settings such as fsync=off
are a study's, never an advice.

Makes what is missing, so that it goes on where it was stopped: traces are kept in a folder beside the results, and
without the results all is predicted and compared again from these. Prints its plan with minutes first (--plan: nothing
else), then the table of all results, which it writes beside them as Markdown. Builds are those of the tests
(tests/shared/build_cache.py): a target that was not built before takes longer.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from load_parts import keep, show
from load_parts import kept as kept_results
from whatif_hits import FIGURES, Validated, table

from vprof.installed import native

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))

from build_cache import Built, built, cache_folder, command

SECONDS = 15
WITHOUT = "without"


@dataclass(frozen=True)
class After:
    """A change: `whatif` predicts it as `changes`; `load` and `server` are the options that make it. `failed`: which
    assumption of the model did not hold where the prediction missed, by a person who looked."""

    name: str
    changes: tuple[str, ...]
    load: tuple[str, ...] = ()
    server: str = ""
    failed: str = ""


@dataclass(frozen=True)
class Group:
    """A load without changes, and with each of some. `sites`: functions that have to be on beside the roots and those
    that are changed. `is_open`: requests come at a rate, whatever becomes of those before. `tells_locks`: recorded with
    --locks, for which the target has [[lock]] entries."""

    name: str
    target: str
    afters: tuple[After, ...]
    load: tuple[str, ...] = ()
    server: str = ""
    is_open: bool = False
    is_seeded: bool = False
    tells_locks: bool = False

    def sides(self) -> list[tuple[str, tuple[str, ...], str]]:
        """Name, options of the load, and options of the server of each."""
        return [(WITHOUT, self.load, self.server), *((one.name, one.load, one.server) for one in self.afters)]

    def case(self, after: After) -> str:
        return f"{self.name}: {after.name}"


def planted(pathology: str, *functions: str, failed: tuple[str, str] = ("", "")) -> Group:
    """minidb with half and with a tenth of what is planted."""
    load = ("--pathology", pathology)
    afters = [
        After(
            f"{amount} % of the work",
            tuple(f"{function}={amount / 100}" for function in functions),
            (*load, "--amount", str(amount)),
            failed=why,
        )
        for amount, why in zip((50, 10), failed, strict=True)
    ]
    return Group(f"minidb {pathology}", "minidb", tuple(afters), load, is_seeded=True, tells_locks=True)


OTHERS = """waits for a CPU are kept as other programs' doing unless the program's own threads have all CPUs; without
  these waits the predicted p99 is {} instead of {} (one recording), and what is left is not explained"""
CHANCE = "the prediction lies in what was measured with its interval"
STALLS = """it is not known what was gained: some runs of both sides, and not others, have a stall of half a second (a
  thread of the purge that a timer wakes), which makes the variance, and has no end that is known"""
TPCB, ROWS = ("-R", "150"), ("--rate=150",)
WALK, WRITES = ("-s", "../install/workload/planted.lua", "-c", "2"), ("--num=40000",)
GROUPS = [
    planted("lock", "audit_checksum", failed=("", OTHERS.format(0.25, 0.32))),
    planted("wal", "wal_compress_block", failed=("", "not decided: few stalls hold the variance")),
    planted("lru", "lru_evict_scan", failed=(CHANCE, CHANCE)),
    planted("workers", "history_scan", failed=(CHANCE, CHANCE)),
    planted("rare", "leaf_sort", failed=("not decided: few such calls hold the variance", CHANCE)),
    planted("pair", "row_encode", "row_digest"),
    planted("types", "history_scan", failed=(CHANCE, "not decided: a few slow moments of some runs hold the variance")),
    Group(
        "postgres TPC-B",
        "postgres",
        (After("fsync=off", ("fdatasync=0",), TPCB, "-c fsync=off", "not decided: few stalls hold the variance"),),
        TPCB,
        is_open=True,
    ),
    Group(
        "mysql 4 tables",
        "mysql",
        (
            After("flush at commit 2", ("fdatasync=0",), ROWS, "--innodb-flush-log-at-trx-commit=2", STALLS),
            After("flush at commit 0", ("fdatasync=0",), ROWS, "--innodb-flush-log-at-trx-commit=0", STALLS),
        ),
        ROWS,
        is_open=True,
    ),
    Group(
        "mysql pool of 16 MB",
        "mysql",
        (
            After(
                "pool of 512 MB",
                ("pread=0",),
                ROWS,
                failed="""what was changed is more than what was predicted: reading has 0.7 % of the variance; 98 % are
  chains of waits that end at a timer (`[sleep]`), which a large pool spares as well""",
            ),
        ),
        ROWS,
        "--innodb-buffer-pool-size=16M",
        is_open=True,
    ),
    Group(
        "httpd planted",
        "httpd",
        (After("short chain", ("planted_walk_chain=0.01",), WALK, "-D short_chain", OTHERS.format(0.21, 0.26)),),
        WALK,
    ),
    Group(
        "leveldb",
        "leveldb",
        (
            After(
                "buffer of 256 MB",
                ("leveldb::DBImpl::BackgroundCall=0", "leveldb::DBImpl::MakeRoomForWrite=0"),
                (*WRITES, f"--write_buffer_size={256 << 20}"),
                failed="""own times do not stay: without pauses the writers wait for a CPU three times as long (15.9 to
  45.2 us a write), and `Write` itself takes six times as long""",
            ),
        ),
        WRITES,
    ),
]
OVERHEAD_SECONDS = {"minidb": 2, "postgres": 6, "mysql": 10, "httpd": 3, "leveldb": 0}
"""What a run takes beside its load."""


@dataclass(frozen=True)
class Study:
    """What is asked for."""

    results: Path
    runs: int
    seconds: int

    def trace(self, group: Group, side: str, number: int) -> Path:
        name = f"{group.name} {side} {number}".replace(" ", "-").replace("%", "percent")
        return self.results.with_suffix(".traces").resolve() / f"{name}.trace"

    def traces(self, group: Group, side: str) -> list[Path]:
        return [self.trace(group, side, number) for number in range(1, self.runs + 1)]

    def missing(self, group: Group) -> list[tuple[int, str, tuple[str, ...], str]]:
        """The runs to be made, in their order: number and side."""
        sides = group.sides()
        wanted = [
            (number, *sides[(number + k) % len(sides)]) for number in range(1, self.runs + 1) for k in range(len(sides))
        ]
        return [run for run in wanted if not self.trace(group, run[1], run[0]).exists()]


def record(study: Study, build: Built, group: Group, number: int, side: tuple[str, tuple[str, ...], str]) -> None:
    """One run. Raises RuntimeError."""
    name, load, server = side
    trace = study.trace(group, name, number)
    trace.parent.mkdir(parents=True, exist_ok=True)
    changed = [change.rpartition("=")[0] for after in group.afters for change in after.changes]
    sites = ",".join(dict.fromkeys([*build.target.descriptor.roots, *changed]))
    options = ["--target", group.target, "--seconds", study.seconds, "--sites", sites]
    if server:
        options.append(f"--server-options={server}")
    if group.tells_locks:
        options.append("--locks")
    seed = ["--seed", number] if group.is_seeded else []
    part = trace.with_suffix(".part")
    vprof(build, "record", *options, "-o", part, "--", *load, *seed)
    part.rename(trace)


def vprof(build: Built, *words: object) -> str:
    done = subprocess.run(command(*words), capture_output=True, check=False, **build.how())
    if done.returncode:
        raise RuntimeError(f"vprof {' '.join(map(str, words))}: {done.stderr.strip()}")
    return str(done.stdout)


def validated(study: Study, build: Built, group: Group, after: After) -> Validated:
    """REQUIRES: the runs of both sides are there."""
    without, with_it = study.traces(group, WITHOUT), study.traces(group, after.name)
    changes = [word for change in after.changes for word in ("--change", change)]
    words = [*without, *changes, *(["--open"] if group.is_open else [])]
    replay, auto = (
        json.loads(vprof(build, "whatif", *words, "--model", way, *more, "--format", "json"))
        for way, more in (("replay", ()), ("auto", ("--no-factors",)))
    )
    simulation = simulated(build, words)
    measured = json.loads(vprof(build, "diff", "--no-factors", "--format", "json", *without, "--", *with_it))
    metrics = {one["metric"]: one for one in measured["metrics"]}
    recorded = [one for side in ("before", "after") for run in measured[side] for one in run["recorded"]]
    loads = [one["load"] for one in recorded if one["load"] is not None]
    return Validated(
        case=group.case(after),
        runs=study.runs,
        changes=list(after.changes),
        intervals=[sum(one["intervals"] for one in measured[side]) for side in ("before", "after")],
        replay={name: ratio_of(replay["figures"][name]) for name in FIGURES},
        simulation={name: ratio_of(figure) for name, figure in simulation["figures"].items() if name in FIGURES},
        auto=auto["way"],
        nearness=simulation["nearness"],
        measured={name: ratio_of(metrics[name]) for name in FIGURES},
        waiting_for_cpu=replay["waiting_for_cpu"],
        warnings=replay["warnings"],
        load=round(statistics.mean(loads), 1) if loads else None,
    )


def simulated(build: Built, words: Sequence[object]) -> dict[str, Any]:
    """Without figures if vprof does not simulate such traces."""
    try:
        found: dict[str, Any] = json.loads(
            vprof(build, "whatif", *words, "--model", "simulation", "--no-factors", "--format", "json")
        )
    except RuntimeError as error:
        if "--model simulation: " not in str(error):
            raise
        return {"figures": {}, "nearness": {}}
    return found


def ratio_of(figure: dict[str, Any]) -> list[float | None]:
    """Ratio, and the ends of its interval."""
    return [figure["ratio"], *(figure["ci95"] or (None, None))]


def made(study: Study, groups: Sequence[Group], have: Sequence[Validated]) -> Iterator[Validated]:
    """Makes what is missing of the groups of one target."""
    known = {one.case for one in have if one.runs == study.runs}
    wanted = [(group, [a for a in group.afters if group.case(a) not in known]) for group in groups]
    if not any(afters for _, afters in wanted):
        return
    with built(groups[0].target, cache_folder(), native("bin/vprof-cc").parents[1], print) as build:
        for group, afters in wanted:
            for number, *side in study.missing(group) if afters else []:
                begin = time.monotonic()
                record(study, build, group, number, (side[0], side[1], side[2]))
                print(f"{group.name} {side[0]} {number}: {time.monotonic() - begin:.0f} s", flush=True)
            for after in afters:
                yield validated(study, build, group, after)


def plan(study: Study, groups: Sequence[Group], have: Sequence[Validated]) -> str:
    known = {one.case for one in have if one.runs == study.runs}
    lines, total = [], 0
    for group in groups:
        is_open = any(group.case(after) not in known for after in group.afters)
        runs = len(study.missing(group)) if is_open else 0
        takes = runs * (study.seconds + OVERHEAD_SECONDS[group.target])
        total += takes
        lines.append(f"{group.name}: {len(group.afters)} changes, {runs} runs to make, {takes / 60:.1f} minutes")
    return "\n".join([*lines, f"together {total / 60:.0f} minutes"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("whatif_validation.jsonl"))
    parser.add_argument("--runs", type=int, default=3, help="of each side (3)")
    parser.add_argument("--seconds", type=int, default=SECONDS, help=f"of each run ({SECONDS})")
    parser.add_argument("--only", default="", help="groups whose names contain this")
    parser.add_argument("--plan", action="store_true", help="print the plan, and the table of what is there")
    given = parser.parse_args()
    study = Study(given.results, given.runs, given.seconds)
    have = kept_results(given.results, Validated)
    groups = [group for group in GROUPS if given.only in group.name]
    print(plan(study, groups, have), flush=True)
    for target in dict.fromkeys(group.target for group in groups if not given.plan):
        for one in made(study, [group for group in groups if group.target == target], have):
            print(
                f"{one.case}: variance {one.predicted(one.auto)['variance']}, measured {one.measured['variance']}",
                flush=True,
            )
            have.append(one)
            keep(given.results, one)
    if have:
        show(given.results, table(have, {g.case(a): a.failed for g in GROUPS for a in g.afters}))


if __name__ == "__main__":
    main()
