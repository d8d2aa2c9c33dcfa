#!/usr/bin/env python3
"""One row for each target: what its build takes, its own tests in each mode, what a drill-down finds in five minutes.

    python bench/target_rows.py leveldb memcached [--folder rows] [--only build] [--results rows.jsonl]
    python bench/target_rows.py mysql --folder rows-9.7 --source mysql-9.7.2 --source-version 9.7.2

In the folder, which others may enter (servers run as another account), each target is built from nothing: with vprof,
then plain by the same steps; the source is fetched before, so CPU time is the build's. The tests are those of
targets/TARGET/check.py; the load is the target's first row of drill_matrix.py, else its own. Makes the parts that the
results file does not have yet, so that it goes on where it was stopped, and prints the table of all.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "targets"))
sys.path.append(str(Path(__file__).parents[1] / "tests/shared"))

from build_cache import command
from drill_matrix import ROWS, Row, drilled
from plain_build import built_plain

from vprof.target.build_choices import BuildChoices, UserSource
from vprof.target.target import Target

ROOT = Path(__file__).parents[1]
Part = dict[str, Any]
"""What one part of a row found, as JSON."""

MODES = ("plain", "dormant", "off", "100", "all")
_PIPED: dict[str, Any] = {"stdout": subprocess.PIPE, "text": True}
_TESTS = re.compile(rf"^({'|'.join(MODES)}) +\d+ +\d+ +\d+ +\d+  (.*)$", re.MULTILINE)
"""A line that own_tests.py prints of a mode."""


def cpu_seconds(work: Callable[[], object]) -> float:
    """Of the processes that `work` starts and waits for."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    work()
    return round(used() - before, 1)


def build(target: str, folder: Path, tree: UserSource | None = None) -> Part:
    """What a stopped one left would be no work: all is removed first. Raises VprofError, CalledProcessError."""
    shutil.rmtree(folder / ".vprof" / target, ignore_errors=True)
    found = Target.of(target, folder / ".vprof" / target, BuildChoices(tree))
    found.folder.mkdir(parents=True, exist_ok=True)
    if tree is None:
        found = found.fetch(print, io.StringIO())
    said: list[str] = []

    def instrument() -> None:
        options = ["--target", target, "--format", "json"]
        if tree is not None:
            options += ["--source", str(tree.folder), "--source-version", str(tree.version)]
        said.append(subprocess.run(command("instrument", *options), cwd=folder, check=True, **_PIPED).stdout)

    begin = time.monotonic()
    instrumented = cpu_seconds(instrument)
    seconds = round(time.monotonic() - begin)
    plain = cpu_seconds(lambda: built_plain(found))
    summary = json.loads(said[0])
    kept = ("built_from", "instrumented", "unchanged", "sites", "functions")
    return {**{key: summary[key] for key in kept}, "cpu_s": instrumented, "plain_cpu_s": plain, "seconds": seconds}


def tests(target: str, folder: Path) -> Part:
    """REQUIRES: the target is built. What each mode said; {} if the target has no check.py."""
    script = ROOT / "targets" / target / "check.py"
    if not script.exists():
        return {}
    done = subprocess.run([sys.executable, script], cwd=folder, check=False, **_PIPED)
    return {"said": dict(_TESTS.findall(done.stdout)), "passed": done.returncode == 0}


def drill(target: str, folder: Path) -> Part:
    """REQUIRES: the target is built."""
    row = next((row for row in ROWS if row.target == target), Row(target, target, None))
    run = drilled({"cwd": folder, "text": True}, row, 1)
    kept = ("first", "share", "ci95", "confirmed", "others", "cpu_wait", "steps", "seconds", "load", "error", "why")
    return {"name": row.name, **{key: getattr(run, key) for key in kept}}


PARTS = {"build": build, "tests": tests, "drill": drill}


def table(rows: dict[str, dict[str, Part]]) -> str:
    lines = ["| target | source | units (unchanged) | sites, of functions | build: CPU, plain, ratio | own tests "]
    lines[0] += "| drill-down: first finding | of the variance; waits for CPUs | minutes, load |"
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    lines += [f"| {target} | " + " | ".join(columns(parts)) + " |" for target, parts in rows.items()]
    return "\n".join(lines)


def columns(parts: dict[str, Part]) -> list[str]:
    made, tested, found = (parts.get(part) for part in PARTS)
    columns = ["-"] * 4
    if made:
        ratio = made["cpu_s"] / made["plain_cpu_s"]
        columns = [made["built_from"] or "here", f"{made['instrumented']} ({made['unchanged']})"]
        columns += [f"{made['sites']:,} of {made['functions']:,}"]
        columns += [f"{made['cpu_s']:.0f} s, {made['plain_cpu_s']:.0f} s, {ratio:.2f}"]
    columns += [suites(tested)]
    return columns + (finding(found) if found else ["-"] * 3)


def suites(tested: Part | None) -> str:
    """ "58 pass (plain, dormant, off, all)"; modes that say the same together."""
    if not tested:
        return "-" if tested is None else "none"
    by_result: dict[str, list[str]] = {}
    for mode, said in tested["said"].items():
        by_result.setdefault(said, []).append(mode)
    return "; ".join(f"{said} ({', '.join(modes)})" for said, modes in by_result.items())


def finding(found: Part) -> list[str]:
    if found["error"]:
        return [found["error"], "-", "-"]
    interval = f" ({100 * found['ci95'][0]:.0f} .. {100 * found['ci95'][1]:.0f})" if found["ci95"] else ""
    shares = f"{100 * found['share']:.0f} %{interval}; {100 * found['cpu_wait']:.0f} %"
    first = f"`{found['first']}`{', confirmed' * found['confirmed']}"
    return [first, shares, f"{found['seconds'] / 60:.1f}, {found['load']}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="+")
    parser.add_argument(
        "--folder", type=Path, default=Path("target_rows"), help="a build of the target that is there is removed"
    )
    parser.add_argument("--results", type=Path, default=Path("target_rows.jsonl"))
    parser.add_argument("--only", choices=PARTS, help="this part of a row alone")
    parser.add_argument("--source", type=Path, help="a tree of yours, for one target")
    parser.add_argument("--source-version")
    given = parser.parse_args()
    if given.source and (len(given.targets) > 1 or not given.source_version):
        parser.error("--source is for one target, and needs --source-version")
    tree = UserSource(given.source.resolve(), given.source_version, []) if given.source else None
    makers: dict[str, Callable[[str, Path], Part]] = {**PARTS, "build": partial(build, tree=tree)}
    rows: dict[str, dict[str, Part]] = {}
    for line in given.results.read_text(encoding="utf-8").splitlines() if given.results.exists() else []:
        kept = json.loads(line)
        rows.setdefault(kept["target"], {})[kept["part"]] = kept["found"]
    given.folder.mkdir(parents=True, exist_ok=True)
    for target in given.targets:
        row = f"{target} {tree.version}" if tree else target
        for part in [given.only] if given.only else PARTS:
            parts = rows.setdefault(row, {})
            if part not in parts:
                print(f"{row}: {part}, load {os.getloadavg()[0]:.1f}", flush=True)
                parts[part] = makers[part](target, given.folder.resolve())
                with given.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"target": row, "part": part, "found": parts[part]}) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
