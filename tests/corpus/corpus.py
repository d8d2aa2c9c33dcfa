#!/usr/bin/env python3
"""The corpus: real projects, built with and without vprof, and their own tests in both. README.md says more.

    python tests/corpus/corpus.py                 all of projects.toml, in its order
    python tests/corpus/corpus.py redis zlib      some
    python tests/corpus/corpus.py --results FILE  also writes the table of all that were ever run here

Sources, builds and logs lie in VPROF_CACHE/corpus (for root /var/cache/vprof/corpus). Exit code 1 if a project does
not build, or fails a test with vprof that none of its plain runs fails.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "shared"))

import corpus_build
import corpus_projects
import corpus_run
from build_cache import cache_folder, install
from corpus_projects import Project
from corpus_run import Run
from corpus_table import Result, lines

PLAIN_RUNS = 3


def examine(project: Project, folder: Path, prefix: Path, plain_runs: int = PLAIN_RUNS) -> Result:
    """Builds a project twice and runs its tests: plain, then off and on with vprof.

    Raises SourceUnavailableError, and RuntimeError when a build fails or no test passes without vprof.
    """
    source = corpus_build.unpack(project, folder)
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
        version=project.version,
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
        "records": run.records,
        "dropped": run.dropped,
        "modules": run.modules,
    }


@contextmanager
def workshop(tools: Path) -> Iterator[tuple[Path, Path]]:
    """Where sources and builds lie, ours alone until the way out, and the prefix of copies of the installed tools.

    An unprivileged account can reach both, as it cannot a checkout in somebody's home, or pytest's own folders.
    """
    work = cache_folder() / "corpus"
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        install(tools, work / "prefix")
        yield work, work / "prefix"


def report(work: Path, known: dict[str, Project]) -> str:
    """RESULTS.md: the rows of all projects that were run, and on what."""
    results = [Result.read(file) for name in known for file in sorted((work / name).glob("result-*.json"))]
    versions = ", ".join(map(_version, sorted({result.compiler for result in results})))
    kernel = ".".join(platform.release().split(".")[:2])
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
        f"{os.cpu_count()} CPUs, {platform.freedesktop_os_release()['PRETTY_NAME']}, kernel {kernel}, "
        f"{versions}; load average {loads[0]:.0f} to {loads[-1]:.0f}.",
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


def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def main() -> int:
    known = corpus_projects.load()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="project", help=f"some of {', '.join(known)} (default: all)")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the table there, with earlier rows")
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
    with workshop(Path(os.environ.get("VPROF_PREFIX", sys.prefix))) as (work, prefix):
        for name in names:
            try:
                result = examine(known[name], work / name, prefix)
            except RuntimeError as error:
                print(error, file=sys.stderr)
                failed = True
                continue
            result.save(work / name / f"result-{result.compiler}.json")
            results.append(result)
            print("\n".join(lines([result])[-1:] if len(results) > 1 else lines([result])), flush=True)
            for mode, tests in result.new_failures.items():
                failed |= bool(tests)
                for test in tests:
                    print(f"{name}, {mode}: {test}", flush=True)
        if arguments.results and results:
            arguments.results.write_text(report(work, known), encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
