#!/usr/bin/env python3
"""Does `vprof drill --auto --budget 5m` name and confirm what is there: on every target, several times.

    python bench/drill_matrix.py --runs 5 --results runs.jsonl [--only postgres]

Builds each target once (MariaDB: 15 minutes), where the tests keep their builds. Makes the runs that the results file
does not have yet, so that it goes on where it was stopped; prints the table of all. A run is right if its first finding
is one of the row's functions and is confirmed; a control is clean if nothing is confirmed. What TPC-C waits for nobody
planted, so those rows (`--only TPC-C`) are not judged. For nginx and nghttpd `tests/corpus/plant_study.py --way drill`
does the same.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vprof.installed import native, target_file
from vprof.target import descriptor as descriptors

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))

from build_cache import built, cache_folder, command

BUDGET = "5m"


@dataclass(frozen=True)
class Row:
    """One load of a target. `causes`: any of them is right; empty: a control; None: nobody knows it beforehand."""

    name: str
    target: str
    causes: frozenset[str] | None
    load: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """One drill-down: its first finding, with the way there; `on`: functions on in its last step; `seconds` of all;
    `why`: the reason why its share has no interval."""

    row: str
    number: int
    first: str
    way: str
    share: float
    ci95: list[float] | None
    confirmed: bool
    others: list[str]
    cpu_wait: float
    steps: int
    on: int
    seconds: float
    load: float
    error: str = ""
    why: str = ""


# A commit's way to the disk: its own flush, or another's that it waits for.
FLUSH = frozenset({"fdatasync", "issue_xlog_fsync", "XLogWrite", "XLogFlush", "LWLockAcquireOrWait"})
# A page that is not in the pool: read, or waited for while another reads it; or no page is free.
PAGES = frozenset({"pread", "buf_page_get_low", "buf_page_get_gen", "buf_read_page", "buf_LRU_get_free_block"})
PAGES |= {"btr_cur_t::search_leaf", "buf_flush_wait_LRU_batch_end", "rw_lock::wait", "ssux_lock_impl<true>::wait"}
# A writer behind others, or while both memtables are full; and what the compaction does meanwhile.
WRITE = frozenset({"leveldb::port::CondVar::Wait", "leveldb::DBImpl::MakeRoomForWrite", "leveldb::BuildTable"})


def tpcc(name: str, target: str, warehouses: int, memory: str) -> Row:
    """At the rate of thesis section 3.5.1. `memory`: options for the server."""
    load = ("--load", "tpcc", "--warehouses", str(warehouses), "--clients", "16", "--rate", "500")
    return Row(f"{target} TPC-C, {name}", target, None, (), (*load, f"--server-options={memory}"))


def minidb_rows() -> list[Row]:
    options = ("--step-seconds", "1.5")
    cases = descriptors.load(target_file("minidb")).free["demo"]
    planted = [
        Row(
            f"minidb {case['pathology']}",
            "minidb",
            frozenset({"|".join(case["finding"])}),
            ("--pathology", case["pathology"]),
            options,
        )
        for case in cases
    ]
    return [*planted, Row("minidb, nothing planted", "minidb", frozenset(), (), options)]


ROWS = [
    *minidb_rows(),
    Row("postgres TPC-B", "postgres", FLUSH),
    Row("mysql 100 rows", "mysql", frozenset({"lock_wait"}), ("--tables=1", "--table-size=100", "--threads=16")),
    Row("mysql pool of 16 MB", "mysql", PAGES, (), ("--server-options=--innodb-buffer-pool-size=16M",)),
    Row("leveldb", "leveldb", WRITE),
    Row(
        "memcached filling",
        "memcached",
        frozenset({"do_slabs_newslab", "memset"}),
        ("-c", "2", "-F", "../build/workload/large.cnf"),
        ("--server-options=-m 12000",),
    ),
    Row("redis, KEYS by another client", "redis", frozenset({"keysCommand", "stringmatchlen"})),
    # In thesis section 3.2 there are 32 warehouses, 128, and 2 with a pool of 128 MB.
    tpcc("16 warehouses", "postgres", 16, "-c shared_buffers=2GB"),
    tpcc("16 warehouses", "mysql", 16, "--innodb-buffer-pool-size=2G"),
    tpcc("2 warehouses", "mysql", 2, "--innodb-buffer-pool-size=128M"),
    tpcc("8 warehouses", "mysql", 8, "--innodb-buffer-pool-size=2G"),
    tpcc("1 warehouse", "mysql", 1, "--innodb-buffer-pool-size=2G"),
]


def name(finding: dict[str, Any]) -> str:
    return "|".join(finding["functions"])


def drilled(how: dict[str, Any], row: Row, number: int) -> Run:
    """`how`: arguments of the process, such as its folder. The load's seed is the run's number where it has one
    (minidb)."""
    load = [*row.load, *(["--seed", str(number)] if row.target == "minidb" else [])]
    options = ["--auto", "--target", row.target, "--budget", BUDGET, "--format", "json", *row.options]
    begin = time.monotonic()
    done = subprocess.run(command("drill", *options, "--", *load), capture_output=True, check=False, **how)
    seconds = round(time.monotonic() - begin, 1)
    machine = round(os.getloadavg()[0], 1)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()[-1:]
        return Run(row.name, number, "-", "", 0, None, False, [], 0, 0, 0, seconds, machine, " ".join(said))
    report = json.loads(done.stdout)
    findings = report["findings"]
    first = findings[0] if findings else {"functions": ["-"], "confirmed": False, "share": 0, "ci95": None}
    return Run(
        row=row.name,
        number=number,
        first=name(first),
        way=" > ".join(first.get("path") or []),
        share=first["share"],
        ci95=first["ci95"],
        confirmed=first["confirmed"],
        others=[name(finding) for finding in findings[1:] if finding["confirmed"]],
        cpu_wait=sum(report["cpu_wait"].values()),
        steps=len(report["steps"]),
        on=len(report["steps"][-1]["on"]),
        seconds=seconds,
        load=machine,
        why=first.get("ci95_reason") or "",
    )


def missing(rows: list[Row], count: int, have: list[Run]) -> Iterator[Run]:
    """Makes the runs of one target's rows that are not there yet."""
    made = {(run.row, run.number) for run in have}
    wanted = [(row, number) for number in range(1, count + 1) for row in rows if (row.name, number) not in made]
    if not wanted:
        return
    with built(rows[0].target, cache_folder(), native("bin/vprof-cc").parents[1], print) as build:
        for row, number in wanted:
            yield drilled(build.how(), row, number)


def is_right(row: Row, run: Run) -> bool:
    assert row.causes is not None
    return run.first in row.causes and run.confirmed if row.causes else not run.confirmed and not run.others


def table(runs: list[Run]) -> str:
    lines = ["| load | n | right | first findings, confirmed (c) | share | steps | on | seconds | machine's load |"]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    judged, right, seconds = 0, 0, [run.seconds for run in runs]
    for row in ROWS:
        mine = [run for run in runs if run.row == row.name]
        if not mine:
            continue
        good = None if row.causes is None else sum(is_right(row, run) for run in mine)
        if good is not None:
            judged, right = judged + len(mine), right + good
        firsts = {f"`{run.first}`{' (c)' * run.confirmed}{run.error and ': '}{run.error}" for run in mine}
        columns = [row.name, len(mine), "-" if good is None else good, ", ".join(sorted(firsts))]
        columns += [spread([100 * run.share for run in mine]) + " %", spread([run.steps for run in mine])]
        columns += [spread([run.on for run in mine]), spread([run.seconds for run in mine])]
        lines.append("| " + " | ".join(map(str, [*columns, spread([run.load for run in mine])])) + " |")
    median = statistics.median(seconds) if seconds else 0
    return "\n".join([*lines, "", f"{right} of {judged} right; median {median:.0f} s."])


def spread(values: list[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.0f}" if round(low) == round(high) else f"{low:.0f} to {high:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--results", type=Path, default=Path("drill_matrix.jsonl"))
    parser.add_argument("--only", default="", help="rows whose names contain this")
    given = parser.parse_args()
    text = given.results.read_text(encoding="utf-8") if given.results.exists() else ""
    runs = [Run(**json.loads(line)) for line in text.splitlines()]
    rows = [row for row in ROWS if given.only in row.name]
    for target in dict.fromkeys(row.target for row in rows):
        for run in missing([row for row in rows if row.target == target], given.runs, runs):
            print(f"{run.row} {run.number}: {run.first} {'confirmed' * run.confirmed} {run.seconds:.0f} s", flush=True)
            runs.append(run)
            with given.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(run)) + "\n")
    print(table(runs))


if __name__ == "__main__":
    main()
