#!/usr/bin/env python3
"""The corpus: real projects, built with and without vprof, and their own tests in both. README.md says more.

    python tests/corpus/corpus.py                                      all of projects.toml, in its order
    python tests/corpus/corpus.py redis zlib                           some
    python tests/corpus/corpus.py --results tests/corpus/RESULTS.md    keeps the results there and in RESULTS.json

Sources, builds and logs lie in VPROF_CACHE/corpus (for root /var/cache/vprof/corpus). Exit code 1 if a project does
not build, or fails a test with vprof that none of its plain runs fails.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "shared"))
sys.path.append(str(Path(__file__).parents[2] / "targets"))

import corpus_build
import corpus_projects
import corpus_run
from build_cache import cache_folder, install, lock
from corpus_projects import Project
from corpus_run import Run
from corpus_table import Result, lines, merged, read, save

import vprof

PLAIN_RUNS = 3


def examine(project: Project, folder: Path, prefix: Path, plain_runs: int = PLAIN_RUNS) -> Result:
    """Builds a project twice and runs its tests: plain, then off and on with vprof.

    Raises SourceUnavailableError, and RuntimeError when a build fails or no test passes without vprof.
    """
    source, version = corpus_build.unpack(project, folder)
    plain, ours = corpus_build.pair(project, folder, prefix)
    plain_cpu_s = corpus_build.make(plain, source)
    vprof_cpu_s = corpus_build.make(ours, source)
    made = corpus_build.programs(plain)
    if not made:
        raise RuntimeError(f"{project.name}: the build made no program, see {plain.log}")
    contents = corpus_build.contents(ours)
    texts = corpus_build.text_bytes(made), corpus_build.text_bytes(corpus_build.programs(ours))
    runs = [corpus_run.plain(plain, folder / f"plain{number}.log") for number in range(1, plain_runs + 1)]
    if not all(run.outcome.passed for run in runs):
        raise RuntimeError(f"{project.name}: no test passed in a plain run, see {folder}/plain*.log")
    off, on = (corpus_run.recorded(ours, mode, folder / f"{mode}.log") for mode in ("off", "on"))
    return Result(
        project=project.name,
        version=version,
        system=project.system,
        compiler=plain.cc.name,
        units=contents.units,
        unchanged=contents.unchanged,
        sites=contents.sites,
        left=contents.left,
        plain_cpu_s=plain_cpu_s,
        vprof_cpu_s=vprof_cpu_s,
        plain_text=texts[0],
        vprof_text=texts[1],
        plain=[_figures(run) for run in runs],
        off=_figures(off),
        on=_figures(on),
        new_failures={"off": differences(runs, off), "on": differences(runs, on)},
        load=os.getloadavg()[1],
        machine=_machine(plain.cc),
        head=_head(),
    )


def differences(plain: list[Run], run: Run) -> list[str]:
    """What a run with vprof does that no plain run does: tests that fail, fewer that pass, another exit status."""
    failed_in_plain = frozenset().union(*(one.outcome.failed for one in plain))
    found = sorted(run.outcome.failed - failed_in_plain)
    least = min(one.outcome.passed for one in plain)
    if run.outcome.passed < least - len(found):
        found.append(f"only {run.outcome.passed} passed, {least} in a plain run")
    if run.status not in {one.status for one in plain} | {0}:
        found.append(f"exit status {run.status}, {plain[0].status} in a plain run")
    return found


def _figures(run: Run) -> dict[str, Any]:
    return {
        "passed": run.outcome.passed,
        "failed": sorted(run.outcome.failed),
        "status": run.status,
        "seconds": round(run.seconds, 1),
        "records": run.totals.records,
        "dropped": run.totals.dropped,
        "modules": run.totals.modules,
    }


@contextmanager
def workshop(tools: Path, say: Callable[[str], None]) -> Iterator[tuple[Path, Path]]:
    """Where sources and builds lie, ours alone until the way out, and the prefix of copies of the installed tools.

    An unprivileged account can reach both, as it cannot a checkout in somebody's home, or pytest's own folders.
    `say` is told when another run has to end first.
    """
    work = cache_folder() / "corpus"
    work.mkdir(parents=True, exist_ok=True)
    with lock(work / "lock", say):
        install(tools, work / "prefix")
        yield work, work / "prefix"


def report(results: list[Result], known: dict[str, Project]) -> str:
    """RESULTS.md: a row for each result, and on what machines they were had."""
    loads = sorted(result.load for result in results)
    differing = [
        f"- {r.project}, {mode}: {', '.join(names)}" for r in results for mode, names in r.new_failures.items() if names
    ]
    known_failures = [(r.project, sorted({test for run in r.plain for test in run["failed"]})) for r in results]
    not_run = [name for name in known if name not in {result.project for result in results}]
    unchanged = [f"- {r.project}: {count} units: {why}" for r in results for why, count in r.unchanged.items()]
    parts = [
        "# The corpus: results",
        "",
        "Written by `make corpus`; README.md says what the columns mean.",
        "",
        *(f"- {machine}" for machine in sorted({result.machine for result in results})),
        f"- load average {loads[0]:.0f} to {loads[-1]:.0f}",
        "",
        *lines(results),
        "",
        f"Not run yet: {', '.join(not_run) or 'none'}.",
        "",
        "## Tests that only fail with vprof",
        *(differing or ["none"]),
        "",
        "## Tests that fail without vprof, in one of three runs or more",
        *([f"- {project}: {', '.join(names)}" for project, names in known_failures if names] or ["none"]),
        "",
        "## Units compiled unchanged",
        *(unchanged or ["none"]),
    ]
    return "\n".join(parts) + "\n"


def _machine(compiler: Path) -> str:
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{os.cpu_count()} CPUs, {platform.freedesktop_os_release()['PRETTY_NAME']}, kernel {kernel}, {said}"


def _head() -> str:
    """The commit of vprof, "+" behind it if what is installed may have more than that; its version outside of git."""
    git = ["git", "-C", str(Path(__file__).parents[2])]
    commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    if commit.returncode:
        return vprof.__version__
    changed = subprocess.run(
        [*git, "diff", "--quiet", "HEAD", "--", "analyzer", "instrumenter", "runtime"], check=False
    )
    return commit.stdout.strip() + ("+" if changed.returncode else "")


def keep(result: Result, table: Path, known: dict[str, Project]) -> None:
    """Adds it to the results of the table, those of other machines too; after each project, for runs take long."""
    file = table.with_suffix(".json")
    results = merged(read(file), [result], known)
    save(results, file)
    table.write_text(report(results, known), encoding="utf-8")


def main() -> int:
    known = corpus_projects.load()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="project", help=f"some of {', '.join(known)} (default: all)")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep the table there, with rows of other runs")
    parser.add_argument("--packages", action="store_true", help="only print the Debian packages that they need")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(known):
        parser.error(f"no project '{min(unknown)}': give some of {', '.join(known)}")
    names = arguments.names or list(known)
    if arguments.packages:
        print(*sorted({package for name in names for package in known[name].packages}))
        return 0
    failed = False
    results = []
    say = partial(print, flush=True)
    with workshop(Path(os.environ.get("VPROF_PREFIX", sys.prefix)), say) as (work, prefix):
        for name in names:
            try:
                result = examine(known[name], work / name, prefix)
            except RuntimeError as error:
                print(error, file=sys.stderr)
                failed = True
                continue
            results.append(result)
            if arguments.results:
                keep(result, arguments.results, known)
            print("\n".join(lines([result])[-1:] if len(results) > 1 else lines([result])), flush=True)
            for mode, tests in result.new_failures.items():
                failed |= bool(tests)
                for test in tests:
                    print(f"{name}, {mode}: {test}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
