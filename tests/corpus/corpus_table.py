"""What is known of each project after its runs, kept in RESULTS.json, and the table of all: RESULTS.md."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HEAD = (
    "project",
    "vprof at",
    "build",
    "units",
    "sites",
    "left alone",
    "build CPU",
    "text",
    "tests, plain x 3",
    "off",
    "on",
    "records off; on",
    "dropped off; on",
)


@dataclass
class Result:
    """One project by one compiler; `plain`, `off` and `on` as in corpus.py. `new_failures` are tests that no plain run
    failed, `machine` says in words what it was measured on, `load` is the load average at the end, `head` is
    vprof's commit."""

    project: str
    version: str
    system: str
    compiler: str
    units: int
    unchanged: dict[str, int]
    sites: int
    left: dict[str, int]
    plain_cpu_s: float
    vprof_cpu_s: float
    plain_text: int
    vprof_text: int
    plain: list[dict[str, Any]]
    off: dict[str, Any]
    on: dict[str, Any]
    new_failures: dict[str, list[str]]
    load: float
    machine: str
    head: str


def read(file: Path) -> list[Result]:
    """The results that a file keeps; none if there is no file yet."""
    return [Result(**entry) for entry in json.loads(file.read_text(encoding="utf-8"))] if file.exists() else []


def save(results: list[Result], file: Path) -> None:
    """A line each, so that a new result changes one line."""
    entries = ",\n".join(json.dumps(asdict(result)) for result in results)
    file.write_text(f"[\n{entries}\n]\n", encoding="utf-8")


def merged(kept: list[Result], new: list[Result], projects: Iterable[str]) -> list[Result]:
    """A new result replaces that of the same project and compiler; all others stay, in the order of the projects."""
    of_each = {(result.project, result.compiler): result for result in (*kept, *new)}
    return [of_each[key] for project in projects for key in sorted(of_each) if key[0] == project]


def lines(results: list[Result]) -> list[str]:
    """The table in Markdown."""
    rows = [HEAD, ("---",) * len(HEAD), *map(row, results)]
    return [f"| {' | '.join(cells)} |" for cells in rows]


def row(result: Result) -> tuple[str, ...]:
    left = ", ".join(f"{count} {reason}" for reason, count in result.left.items()) or "none"
    unchanged = sum(result.unchanged.values())
    on = (result.off, result.on)
    return (
        f"{result.project} {result.version}",
        result.head,
        f"{result.system}, {result.compiler}",
        f"{result.units}, {unchanged} unchanged" if unchanged else str(result.units),
        f"{result.sites:,}",
        left,
        f"{result.vprof_cpu_s / result.plain_cpu_s:.2f} x ({result.vprof_cpu_s:.0f} s / {result.plain_cpu_s:.0f} s)",
        f"{100 * (result.vprof_text / result.plain_text - 1):+.0f} %",
        passed(result.plain),
        passed([result.off]),
        passed([result.on]),
        "; ".join(f"{run['records']:,}" for run in on),
        "; ".join(_dropped(run) for run in on),
    )


def passed(runs: list[dict[str, Any]]) -> str:
    """ "12 of 14" for each run, once if they agree."""
    each = [
        str(run["passed"]) if not run["failed"] else f"{run['passed']} of {run['passed'] + len(run['failed'])}"
        for run in runs
    ]
    return each[0] if len(set(each)) == 1 else ", ".join(each)


def _dropped(run: dict[str, Any]) -> str:
    if not run["dropped"]:
        return "0"
    return f"{run['dropped']:,} ({100 * run['dropped'] / (run['records'] + run['dropped']):.0f} %)"
