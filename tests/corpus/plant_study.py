#!/usr/bin/env python3
"""Whether vprof names causes planted into nginx and nghttpd, and their shares against the plants' own account.

    python tests/corpus/plant_study.py [--plants fixed|drawn] [--only nginx/spin] [--way sites|drill] [--seeds 5]

Builds each program once, with all of its plants (some minutes; kept where builds of targets are kept), then makes the
runs that the results file does not have yet: about 25 s each, with `drill` 60 s. Prints the table of all results;
--table writes it, too. `fixed` plants were chosen by hand, `drawn` ones at random (drawn.py).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "shared")]

import drawn  # noqa: E402
import planted  # noqa: E402
from build_cache import built, cache_folder  # noqa: E402

SECONDS, BUDGET, STEP_SECONDS = 6, 60, 2.5
WAYS = ("sites", "drill")
PLANTS = {"fixed": planted.FIXED.__getitem__, "drawn": drawn.plants}


def missing(options: argparse.Namespace, done: list[dict[str, Any]]) -> list[tuple[str, planted.Plant, str, int]]:
    """The runs that were asked for and have no result yet, by program, so that each is built once."""
    have = {(row["program"], row["plant"], row["way"], row["seed"]) for row in done}
    return [
        (program, plant, way, seed)
        for program in planted.FIXED
        for which in options.plants or PLANTS
        for plant in PLANTS[which](program)
        for way in options.way or WAYS
        for seed in range(1, options.seeds + 1)
        if options.only in f"{program}/{plant.name}" and (program, plant.name, way, seed) not in have
    ]


def measured(build: Any, program: str, plant: planted.Plant, way: str, seed: int, folder: Path) -> dict[str, Any]:
    file, begun = planted.sow(build, plant, seed), time.monotonic()
    trace = folder / f"{program}-{plant.name}.trace"
    if way == "sites":
        answer = planted.asked_once(build, plant, SECONDS, trace)
    else:
        answer = planted.drilled(build, plant, BUDGET, STEP_SECONDS)
    mutex = planted.handed_over(trace) if way == "sites" and plant.kind == "held" else None
    trace.unlink(missing_ok=True)
    row = {"program": program, "plant": plant.name, "function": plant.function, "way": way, "seed": seed}
    row |= {"load": round(os.getloadavg()[0], 1), "mutex": mutex}
    return row | asdict(answer) | {"truth": asdict(planted.reaped(file)), "seconds": round(time.monotonic() - begun)}


def table(rows: list[dict[str, Any]]) -> str:
    names = (
        "program",
        "plant",
        "in",
        "way",
        "seed",
        "verdict",
        "first",
        "share found",
        "truth",
        "mutex",
        "seconds",
        "load",
    )
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for row in sorted(rows, key=lambda row: (row["program"], row["plant"], row["way"], row["seed"])):
        found = "-" if row["found"] is None else f"{row['found']:.0%}"
        known = [row["program"], row["plant"], f"`{row['function']}`", row["way"], row["seed"]]
        known += [row["verdict"], f"`{row['first']}`", found]
        mutex = "{:.0f} ms, {:.0%}".format(*row["mutex"]) if row.get("mutex") else "-"
        cells = [*known, f"{row['truth']['share']:.0%}", mutex, row["seconds"], row["load"]]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    right = sum(row["verdict"] == "right" for row in rows)
    wrong = sum(row["verdict"] == "wrong" for row in rows)
    return "\n".join([*lines, "", f"{right} of {len(rows)} right, {wrong} wrong."]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plants", action="append", choices=PLANTS)
    parser.add_argument("--only", default="", metavar="PROGRAM/PLANT", help="part of it is enough")
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=Path("plants.jsonl"))
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    lines = options.results.read_text(encoding="utf-8").splitlines() if options.results.exists() else []
    rows = [json.loads(line) for line in lines]
    runs = missing(options, rows)
    minutes = sum(25 if way == "sites" else 60 for _, _, way, _ in runs) / 60
    print(f"{len(runs)} runs, about {minutes:.0f} minutes and the builds", file=sys.stderr)
    work = options.results.resolve().parent
    for program in dict.fromkeys(program for program, *_ in runs):
        target = planted.descriptor(program, work / "descriptors", drawn.edits(program))
        with built(str(target), cache_folder(), Path(sys.prefix), print) as build:
            for _, plant, way, seed in (run for run in runs if run[0] == program):
                rows.append(measured(build, program, plant, way, seed, work))
                with options.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
                print(json.dumps(rows[-1]), file=sys.stderr)
    if options.table:
        head = options.table.read_text(encoding="utf-8").partition("| program")[0] if options.table.exists() else ""
        options.table.write_text(head + table(rows), encoding="utf-8")
    print(table(rows))


if __name__ == "__main__":
    main()
