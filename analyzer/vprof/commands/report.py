"""`vprof report`: see the command's help."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
from vprof.trace.arguments import TracePath, all_matching


@click.command(name="report")
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...", type=TracePath(), callback=all_matching)
@root_option
@click.option("-k", default=10, show_default=True, type=click.IntRange(1), help="How many factors to show.")
@click.option(
    "--min-share",
    default=0.01,
    show_default=True,
    type=float,
    help="Minimum share of the variance that a factor must hold (0.01 = 1 %).",
)
@own_option
@cpu_wait_option
@client_time_option
@tail_option
@click.option("--drill", metavar="FILE", type=click.Path(path_type=Path), help="Add the history of a drill-down.")
@click.option(
    "--source-link",
    default="",
    metavar="TEMPLATE",
    help="Make functions and call sites links: a URL with {file} (as it was compiled), {line} and {function} in it.",
)
@click.option("--title", default="", help="Heading of the page. [default: the names of the traces]")
@force_option
@jobs_options
@click.option(
    "-o", "--output", default="report.html", show_default=True, metavar="OUT", type=click.Path(path_type=Path)
)
def command(
    traces: tuple[Path, ...],
    root: str | None,
    k: int,
    min_share: float,
    own: bool,
    cpu_wait: str,
    client_time: str,
    tail: float,
    drill: Path | None,
    source_link: str,
    title: str,
    force: bool,
    jobs: int | None,
    scheduler: str | None,
    output: Path,
) -> None:
    """Write a page that shows a run.

    One HTML file that needs no network: the answer, latencies, the variance as a flame graph and as a tree, factors,
    critical paths of slow and median intervals, what was waited for. It holds names of functions and threads, types and
    ids of intervals, the command that recorded them and the machine, of each factor the first lines of its source if
    that can be read here, and no other data of the program. Several traces of the same program and plan are shown as
    one.

    \b
    Examples:
      vprof report run.trace
      vprof report run.trace --root handle_request -o handle_request.html
      vprof report run.trace --drill .vprof/minidb/drill/session.json
      vprof report run.trace --source-link 'vscode://file/{file}:{line}'
    """
    import_numpy()
    from vprof.jobs.cluster import open_jobs
    from vprof.report.page.data import PageSource, page_data
    from vprof.report.page.html import render
    from vprof.report.page.sources import check_template
    from vprof.variance.analysis import AnalysisOptions

    options = AnalysisOptions(
        k=k,
        min_share=min_share,
        tail=tail,
        own=own,
        force=force,
        cpu_apart=cpu_wait == "apart",
        client_apart=client_time == "apart",
    )
    links = check_template(source_link) if source_link else ""
    source = PageSource(list(traces), root, _history(drill), title, links)
    with open_jobs(jobs, scheduler) as workers:
        data = page_data(source, options, workers)
    page = render(data)
    try:
        output.write_text(page, encoding="utf-8")
    except OSError as e:
        raise UsageError(f"cannot write {output}: {e.strerror}") from e
    click.echo(f"{output}: {len(page) / 1e6:.1f} MB", err=True)


def _history(path: Path | None) -> dict[str, Any] | None:
    from vprof.drill.file import DrillFile

    if path is None:
        return None
    if not path.exists():
        raise VprofError(f"{path}: no such file; a drill-down keeps its history in .vprof/TARGET/drill/session.json")
    history: dict[str, Any] = json.loads(json.dumps(DrillFile.load(path).as_json()))
    history.pop("confirmation", None)
    return history
