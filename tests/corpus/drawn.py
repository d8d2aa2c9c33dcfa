#!/usr/bin/env python3
"""Functions drawn at random to plant causes in: five in each program, one of each fifth of the depths.

    python tests/corpus/drawn.py [--seed 1]

    targets/NAME, `record --sites all`  ->  candidates: functions that most requests call, and how deep
    candidates, seed                    ->  plants/drawn.json, which the builds are planted by

A candidate is entered in at least half of the requests, by the request's own thread; nine of ten of its calls are
made for a request; no other function has its name; patch.py finds its body. It has no other patch. The draw repeats
with the same candidates; drawn.json is kept since a recording on another machine may have others at the margin.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "plants"), str(HERE.parent / "shared")]

import numpy as np  # noqa: E402
import planted  # noqa: E402
from build_cache import Built, built, cache_folder  # noqa: E402
from patch import body_begin  # noqa: E402

from vprof.tables.model import Trace  # noqa: E402
from vprof.trace.loading import load_trace  # noqa: E402

DRAWN = HERE / "plants" / "drawn.json"
COUNT = 5
FIRST_NUMBER = 11
LEAST_REQUESTS, LEAST_WITHIN = 0.5, 0.9
SECONDS = 4
_LINES_OF_A_HEAD = 15


@dataclass(frozen=True)
class Candidate:
    """`depth`: how many calls are open around it, as a rule; `calls`: in a request, on average."""

    function: str
    file: str
    line: int
    depth: int
    calls: float


def plants(program: str) -> list[planted.Plant]:
    """Those drawn in the program, kinds in turn."""
    options = {plant.kind: plant.server_options for plant in planted.FIXED[program]}
    return [
        planted.Plant(f"{kind}-{row['number']}", row["function"], row["number"], kind, options[kind])
        for row in _kept(program)
        for kind in [row["kind"]]
    ]


def edits(program: str) -> list[dict[str, Any]]:
    """The patches that plant them, for planted.descriptor."""
    return [
        {"file": row["file"], "function": own_name(row["function"]), "line": row["line"]}
        | {"insert": f"plant_here({row['number']});"}
        for row in _kept(program)
    ]


def _kept(program: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(DRAWN.read_text(encoding="utf-8"))["programs"][program]["plants"]
    return rows


def draw(candidates: list[Candidate], seed: str, count: int = COUNT) -> list[Candidate]:
    """One of each part of the candidates in the order of depth; no two of one depth, unless a part has no other."""
    ordered = sorted(candidates, key=lambda one: (one.depth, one.function))
    chance = random.Random(seed)
    drawn: list[Candidate] = []
    for part in range(count):
        mine = ordered[part * len(ordered) // count : (part + 1) * len(ordered) // count]
        others = [one for one in mine if one.depth not in {before.depth for before in drawn}]
        drawn.append(chance.choice(others or mine))
    return drawn


def own_name(function: str) -> str:
    """The last part of a name, as its definition has it."""
    return function.rpartition("::")[2]


def candidates_of(trace: Trace, build: Built, taken: set[str]) -> list[Candidate]:
    """`taken`: functions that have a patch already."""
    calls, requests, names = trace.invocations, trace.intervals, trace.program.functions
    count, n = len(names), len(requests.begin)
    of = np.where((calls.interval >= 0) & (calls.interval < n), calls.interval, 0)
    mine = (calls.interval == of) & ~requests.ignore[of] & (calls.thread == requests.begin_thread[of])
    mine &= (calls.fs >= requests.begin[of]) & (calls.fs < requests.end[of])
    function, within = calls.function[mine], np.bincount(calls.function[mine], minlength=count)
    called = np.unique(function.astype(np.int64) * n + of[mine]) // n
    requests_of, all_calls = np.bincount(called, minlength=count), np.bincount(calls.function, minlength=count)
    often = (requests_of >= LEAST_REQUESTS * n) & (within >= LEAST_WITHIN * all_calls)
    same = Counter(names)
    found = []
    for f in np.flatnonzero(often).tolist():
        place = _place(build, names[f], trace.program.definitions[f])
        if place and same[names[f]] == 1 and own_name(names[f]) not in taken:
            depth = int(np.median(calls.depth[mine][function == f]))
            found.append(Candidate(names[f], *place, depth, round(float(within[f]) / n, 2)))
    return found


def _place(build: Built, function: str, definition: str) -> tuple[str, int] | None:
    """File and line in the source; None: it cannot be planted there."""
    path, _, line = definition.rpartition(":")
    source = build.target.source_dir
    for folder in (build.target.build_dir, source):
        if path.startswith(f"{folder}/") and (source / path[len(f"{folder}/") :]).is_file():
            file = path[len(f"{folder}/") :]
            text = (source / file).read_text(encoding="utf-8")
            name = own_name(function)
            body = body_begin(text, name, int(line)) if re.fullmatch(r"~?\w+", name) else None
            if body is not None and 0 <= text.count("\n", 0, body) + 1 - int(line) <= _LINES_OF_A_HEAD:
                return file, int(line)
    return None


def taken_by(program: str) -> set[str]:
    patches = json.loads((HERE / "plants" / f"{program}.json").read_text(encoding="utf-8"))["edits"]
    return {own_name(edit["function"]) for edit in patches if "function" in edit}


def drawn_in(program: str, seed: int, first_kind: int, folder: Path) -> dict[str, Any]:
    with built(program, cache_folder(), Path(sys.prefix), print) as build:
        trace = folder / f"{program}.trace"
        planted.ran(build, "record", "--target", program, "--sites", "all", "--seconds", SECONDS, "-o", trace)
        candidates = candidates_of(load_trace(trace), build, taken_by(program))
        trace.unlink()
    kinds = [*planted.KINDS]
    rows = [
        {"number": FIRST_NUMBER + i, "kind": kinds[(first_kind + i) % len(kinds)], **vars(one)}
        for i, one in enumerate(draw(candidates, f"{seed} {program}"))
    ]
    return {"candidates": len(candidates), "plants": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path(), help="where recordings lie meanwhile")
    options = parser.parse_args()
    found = {
        program: drawn_in(program, options.seed, first_kind, options.folder.resolve())
        for first_kind, program in enumerate(planted.FIXED)
    }
    DRAWN.write_text(json.dumps({"seed": options.seed, "programs": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
