"""`vprof analyze`: see the command's help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vprof.blas import import_numpy
from vprof.errors import UsageError, VprofError
from vprof.options import (
    client_time_option,
    cpu_wait_option,
    force_option,
    jobs_options,
    own_option,
    root_option,
    tail_option,
)
from vprof.terminal import write_report
from vprof.trace.arguments import TracePath, all_matching

if TYPE_CHECKING:
    from vprof.variance.analysis import Analysis
    from vprof.variance.explain import Explanation

FORMATS = ("text", "json", "dot", "svg")
_MOST_LOCKS = 20


@click.command(name="analyze")
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...", type=TracePath(), callback=all_matching)
@root_option
@click.option("-k", default=3, show_default=True, type=click.IntRange(1), help="How many factors to choose.")
@click.option(
    "--min-share",
    default=0.05,
    show_default=True,
    type=float,
    help="Minimum share of the variance that a factor must hold (0.05 = 5 %).",
)
@click.option(
    "--specificity-exp",
    default=2,
    show_default=True,
    type=click.IntRange(1, 3),
    help="How strongly to prefer functions deep in the call graph.",
)
@click.option("--intervals", is_flag=True, help="Add every interval's critical path and times (json only).")
@click.option(
    "--path", metavar="ID", help="Show one interval's critical path instead: an id, slowest or median (text, json)."
)
@click.option(
    "--explain", metavar="FACTOR", help="Show where one factor comes from instead: f, [queue] or a|b (text, json)."
)
@click.option(
    "--waits",
    is_flag=True,
    help="Show what was waited for instead, object by object: who waits, who has it (text, json).",
)
@click.option(
    "--locks",
    is_flag=True,
    help="Show logical locks instead, of a trace recorded with --locks: what was waited for, and whether a"
    " transaction's age tells how long it goes on (text, json).",
)
@click.option("--by-type", is_flag=True, help="Split the variance by type of interval, and add a tree for each type.")
@click.option(
    "--by",
    multiple=True,
    metavar="WHAT",
    type=click.Choice(("host", "process")),
    help="Split the variance by host or by process, and name hosts that are unlike the others (text, json); may be"
    " given for both.",
)
@own_option
@cpu_wait_option
@client_time_option
@tail_option
@click.option("--top", metavar="N", type=click.IntRange(1), help="Show about N nodes of each tree, N rows of a list.")
@click.option(
    "--format", "fmt", default="text", show_default=True, type=click.Choice(FORMATS), help="Form of the report."
)
@click.option("-o", "--output", metavar="OUT", type=click.Path(path_type=Path), help="Write the report to a file.")
@force_option
@jobs_options
def command(
    traces: tuple[Path, ...],
    root: str | None,
    k: int,
    min_share: float,
    specificity_exp: int,
    intervals: bool,
    path: str | None,
    explain: str | None,
    waits: bool,
    locks: bool,
    by_type: bool,
    by: tuple[str, ...],
    own: bool,
    cpu_wait: str,
    client_time: str,
    tail: float,
    top: int | None,
    fmt: str,
    output: Path | None,
    force: bool,
    jobs: int | None,
    scheduler: str | None,
) -> None:
    """Find which functions make the latency of intervals vary.

    Prints the variance tree of the critical paths, the factors that explain most of the variance, and the functions to
    switch on next. Several traces of the same program and plan are analyzed as one, of several hosts too: their clocks
    are never compared.

    \b
    Examples:
      vprof analyze run.trace
      vprof analyze run.trace --root handle_request -k 5
      vprof analyze run.trace --format svg -o tree.svg
      vprof analyze run.trace --explain fsync
      vprof analyze run.trace --waits
      vprof analyze run.trace --locks
      vprof analyze run.trace --path slowest
      vprof analyze host1/*.trace host2/*.trace host3/*.trace --by host
      vprof analyze 's3://fleet/*/run.trace'
    """
    import_numpy()
    from vprof.jobs.cluster import open_jobs
    from vprof.report.text import print_analysis
    from vprof.variance.analysis import AnalysisOptions
    from vprof.variance.stream import analyze_files

    flags = {"--waits": "all" if waits else None, "--locks": "all" if locks else None}
    _check(fmt, {"--intervals": intervals}, {"--path": path, "--explain": explain, **flags})
    if jobs is not None or scheduler is not None:
        _check_jobs({"--path": path is not None, "--locks": locks})
    if locks:
        _locks(traces, root, top, fmt, output)
        return
    if path is not None:
        write_report(_path(traces, path, root, fmt), output)
        return
    options = AnalysisOptions(
        k,
        min_share,
        specificity_exp,
        intervals,
        by_type,
        force,
        tail,
        own,
        top,
        cpu_wait == "apart",
        client_time == "apart",
        by,
    )
    with open_jobs(jobs, scheduler) as workers:
        analysis = analyze_files(traces, root, options, workers)
        explained = _explained(analysis, explain) if explain is not None else None
    if explained:
        _explain(explained, top, fmt, output)
        return
    if waits and fmt == "text":
        _print_waits(analysis, output)
    elif fmt == "text" and output is None:
        print_analysis(analysis)
    else:
        write_report(_render(analysis, fmt), output)
    if analysis.refused:
        raise VprofError(analysis.no_ranking)


def _check(fmt: str, only_json: dict[str, bool], instead: dict[str, str | None]) -> None:
    """Raises UsageError for options that do not go together. `instead`: reports of their own, text or json."""
    for option in (option for option, given in only_json.items() if given and fmt != "json"):
        raise UsageError(f"{option} needs --format json")
    given = [option for option, value in instead.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} are different reports: ask for one")
    if given and fmt not in ("text", "json"):
        raise UsageError(f"{given[0]} needs --format text or json")


def _render(analysis: Analysis, fmt: str) -> str:
    from vprof.report import dot, json, text

    renderers = {"text": text.render, "json": json.render, "dot": dot.render, "svg": dot.render_svg}
    return renderers[fmt](analysis)


def _path(traces: tuple[Path, ...], wanted: str, root: str | None, fmt: str) -> str:
    from vprof.path.chosen import one_path
    from vprof.report import path as report

    found = one_path(traces, wanted, root)
    return report.render_json(found) if fmt == "json" else report.render(found)


def _print_waits(analysis: Analysis, output: Path | None) -> None:
    from vprof.report import waits

    if output is None:
        waits.print_waits(analysis)
    else:
        write_report(waits.render(analysis), output)


def _locks(traces: tuple[Path, ...], root: str | None, top: int | None, fmt: str, output: Path | None) -> None:
    from vprof.report import lock_history as report
    from vprof.scheduling.ages import locked
    from vprof.scheduling.history import taken
    from vprof.trace.locks import read_locks

    if len(traces) > 1:
        raise UsageError("--locks shows one trace: give one")
    if root is not None:
        raise UsageError("--root is not for --locks: locks belong to the intervals that the program annotates")
    trace = read_locks(traces[0])
    found = locked(trace, taken(trace.steps), top or _MOST_LOCKS)
    if fmt == "text" and output is None:
        report.print_locked(found)
    else:
        write_report(report.render_json(found) if fmt == "json" else report.render(found), output)


def _check_jobs(alone: dict[str, bool]) -> None:
    """Raises UsageError for reports that read too little of a trace to share it."""
    for option in (option for option, given in alone.items() if given):
        raise UsageError(f"{option} reads a part of the trace, in one process: leave out --jobs and --scheduler")


def _explained(analysis: Analysis, factor: str) -> Explanation:
    from vprof.variance.explain import explain

    return explain(analysis, factor)


def _explain(found: Explanation, top: int | None, fmt: str, output: Path | None) -> None:
    from vprof.report import explain as report

    if fmt == "text" and output is None:
        report.print_explanation(found, top)
    else:
        write_report(report.render_json(found) if fmt == "json" else report.render(found, top), output)
