#!/usr/bin/env python3
"""Whether drill-downs end at causes whose share of the variance the program itself knows.

    python bench/truth_study.py --build all --runs 3 --results truth.jsonl      (a minute and a half each)
    python bench/truth_study.py --results truth.jsonl --show

Each mode of tests/programs/truth plants one cause. A run is *right* if a confirmed finding is the planted function or
lies below it, *abstains* if nothing is confirmed, or nothing but where the program waits, and it is said what is not
known. The control is right if nothing is confirmed. Decoys are never a finding. Results are kept line by line: a run
that is there is not made again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vprof.installed import native
from vprof.tables.naming import without_place

PROGRAM = Path(__file__).parents[1] / "tests" / "programs" / "truth"
VPROF = [sys.executable, "-c", "from vprof.cli import main; main()"]
DECOYS = {"render", "parse_header", "decoy_lock", "decoy_noise"}
PLANTED = {
    "convoy": "compact",
    "pool": "look_up",
    "fibers": "slow_sort",
    "faults": "touch_buffer",
    "allocator": "trim_heap",
    "cache": "scan_index",
    "branch": "slow_decode",
    "herd": "keep_books",
    "readers": "reader_scan",
    "checkpoint": "checkpoint_write",
    "retry": "back_off",
    "inversion": "low_update",
    "control": "",
}
ROOTS = {"fibers": "fiber_request"}
BUILDS = {"default": {"probe": [*ROOTS.values(), "handle_request"]}, "all": {"probe": ["*"]}}
"""The default build leaves small functions alone, but for the roots."""
SCALE = 12


@dataclass(frozen=True)
class Run:
    """`truth`: the planted share, as the program computed it; `found`: that of the planted function in the tree of the
    confirmation, with what it waits for. `finding` is the first one, with its end of the path; `missing`: what it is
    said not to know."""

    build: str
    mode: str
    number: int
    truth: float | None
    found: float
    finding: str
    verdict: str
    decoys: list[str]
    cpu_wait: float
    missing: list[str]
    load: float
    error: str = ""


def built(folder: Path, build: str) -> Path:
    """The program, built with or without a probe in every function."""
    shutil.copytree(PROGRAM, folder, dirs_exist_ok=True)
    descriptor = folder / "descriptor.json"
    descriptor.write_text(json.dumps(BUILDS[build]), encoding="utf-8")
    environment = {**os.environ, "VPROF_DESCRIPTOR": str(descriptor)}
    compiler = f"CXX={native('bin/vprof-c++')}"
    subprocess.run(["make", "-s", "-C", folder, compiler], check=True, env=environment, stdout=subprocess.DEVNULL)
    return folder / "truth"


def drilled(program: Path, build: str, mode: str, number: int, seconds: float, step: float) -> Run:
    root = ROOTS.get(mode, "handle_request")
    options = ["--auto", "--root", root, "--budget", str(seconds), "--step-seconds", str(step), "--format", "json"]
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        command = [*VPROF, "drill", *options, "--dir", folder, "--", program, mode, "600", str(SCALE)]
        done = subprocess.run(command, capture_output=True, text=True)
        log = Path(folder) / "drill" / "program.log"
        said = log.read_text(encoding="utf-8") if log.exists() else ""
    share = re.search(r"share\(cov\)=(-?[\d.]+)", said)
    truth = float(share[1]) if share else None
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:]
        return Run(build, mode, number, truth, 0.0, "-", "error", [], 0.0, [], load, " ".join(reason))
    return judged(json.loads(done.stdout), build, mode, number, truth, load)


def judged(report: dict[str, Any], build: str, mode: str, number: int, truth: float | None, load: float) -> Run:
    planted, findings = PLANTED[mode], report["findings"]
    confirmed = [finding for finding in findings if finding["confirmed"]]
    first = findings[0] if findings else None
    missing = [line for finding in findings for line in finding["missing"]]
    if not confirmed:
        verdict = "nothing"
    elif any(planted in places(finding) for finding in confirmed):
        verdict = "right"
    else:
        verdict = "waits" if missing else "wrong"
    return Run(
        build,
        mode,
        number,
        truth,
        sum(outermost(report["confirmation"]["tree"], planted)),
        " > ".join((first["path"] or first["functions"])[-4:]) if first else "-",
        verdict,
        sorted(DECOYS & {plain(name) for finding in confirmed for name in finding["functions"]}),
        sum(report["cpu_wait"].values()),
        missing,
        load,
    )


def plain(name: str) -> str:
    """Without its call site or place."""
    return without_place(name.partition("@")[0])


def places(finding: dict[str, Any]) -> set[str]:
    return {plain(name) for name in (*finding["path"], *finding["functions"])}


def outermost(node: dict[str, Any], name: str) -> Iterator[float]:
    """Additive shares of the function's outermost places."""
    work = [node]
    while work:
        one = work.pop()
        if name and plain(one["node"]) == name:
            yield one["share"] or 0.0
        else:
            work += one.get("children", [])


def kept(file: Path) -> list[Run]:
    if not file.exists():
        return []
    return [Run(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def table(runs: list[Run]) -> None:
    print(f"{'build':8} {'mode':10} {'planted':16} truth found  CPU  load  {'verdict':8} first finding")
    for run in sorted(runs, key=lambda run: (run.build, list(PLANTED).index(run.mode), run.number)):
        truth = "-" if run.truth is None else f"{run.truth:.0%}"
        shares = f"{truth:>5} {run.found:5.0%} {run.cpu_wait:4.0%} {run.load:5.1f}"
        name = PLANTED[run.mode] or "-"
        print(f"{run.build:8} {run.mode:10} {name:16} {shares}  {run.verdict:8} {run.error or run.finding}")
        for line in run.missing[:1]:
            print(f"{'':36} {line}")
    planted = [run for run in runs if PLANTED[run.mode]]
    control = [run for run in runs if not PLANTED[run.mode]]
    print(
        f"right {sum(run.verdict == 'right' for run in planted)} of {len(planted)}, "
        f"wrong {sum(run.verdict == 'wrong' for run in planted)}; "
        f"control clean {sum(run.verdict == 'nothing' for run in control)} of {len(control)}; "
        f"decoys confirmed in {sum(bool(run.decoys) for run in runs)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", choices=sorted(BUILDS), nargs="+", default=["default"])
    parser.add_argument("--modes", choices=list(PLANTED), nargs="+", default=list(PLANTED))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--budget", type=float, default=60, help="seconds of each drill-down")
    parser.add_argument("--step-seconds", type=float, default=2.5)
    parser.add_argument("--results", type=Path, default=Path("truth.jsonl"))
    parser.add_argument("--show", action="store_true", help="print what is there, and run nothing")
    given = parser.parse_args()
    runs = kept(given.results)
    have = {(run.build, run.mode, run.number) for run in runs}
    wanted = [(b, m, n) for n in range(given.runs) for b in given.build for m in given.modes if (b, m, n) not in have]
    with tempfile.TemporaryDirectory() as folder:
        programs: dict[str, Path] = {}
        for build, mode, number in [] if given.show else wanted:
            if build not in programs:
                programs[build] = built(Path(folder) / build, build)
            runs.append(drilled(programs[build], build, mode, number, given.budget, given.step_seconds))
            with given.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(runs[-1])) + "\n")
    table(runs)


if __name__ == "__main__":
    main()
