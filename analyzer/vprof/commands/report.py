"""`vprof report`: see the command's help."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from vprof.errors import UsageError, VprofError


@click.command(name="report")
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...", type=click.Path(path_type=Path))
@click.option(
    "--root", metavar="F", help="Each outermost call of function F is an interval, instead of annotated ones."
)
@click.option("-k", default=10, show_default=True, type=click.IntRange(1), help="How many factors to show.")
@click.option(
    "--min-share",
    default=0.01,
    show_default=True,
    type=float,
    help="Smallest share of the variance of a factor (0.01 = 1 %).",
)
@click.option(
    "--own", is_flag=True, help="Do not look into waits: they count for the functions that wait, not for the wakers."
)
@click.option(
    "--tail",
    default=0.99,
    show_default=True,
    type=click.FloatRange(0.5, 1, max_open=True),
    help="Quantile beyond which an interval is in the tail; lower where fewer than 100 would be.",
)
@click.option("--drill", metavar="FILE", type=click.Path(path_type=Path), help="Add the history of a drill-down.")
@click.option("--title", default="", help="Heading of the page. [default: the names of the traces]")
@click.option("--force", is_flag=True, help="Rank even if more than 10 % of the intervals were lost.")
@click.option(
    "-o", "--output", default="report.html", show_default=True, metavar="OUT", type=click.Path(path_type=Path)
)
def command(
    traces: tuple[Path, ...],
    root: str | None,
    k: int,
    min_share: float,
    own: bool,
    tail: float,
    drill: Path | None,
    title: str,
    force: bool,
    output: Path,
) -> None:
    """Write a page that shows a run.

    One HTML file that needs no network: the answer, latencies, the variance as a flame graph and as a tree, factors,
    critical paths of slow and median intervals, what was waited for. It holds names of functions and threads, types and
    ids of intervals, and no other data of the program. Several traces of the same program and plan are shown as one.

    \b
    Examples:
      vprof report run.trace
      vprof report run.trace --root handle_request -o handle_request.html
      vprof report run.trace --drill .vprof/minidb/drill/session.json
    """
    from vprof.analysis import AnalysisOptions
    from vprof.report.page.data import Source, page_data
    from vprof.report.page.html import render

    options = AnalysisOptions(k=k, min_share=min_share, tail=tail, own=own, force=force)
    page = render(page_data(Source(list(traces), root, _history(drill), title), options))
    try:
        output.write_text(page, encoding="utf-8")
    except OSError as e:
        raise UsageError(f"cannot write {output}: {e.strerror}") from e
    click.echo(f"{output}: {len(page) / 1e6:.1f} MB", err=True)


def _history(path: Path | None) -> dict[str, Any] | None:
    from vprof.drill_file import DrillFile

    if path is None:
        return None
    if not path.exists():
        raise VprofError(f"{path}: no such file; a drill-down keeps its history in .vprof/TARGET/drill/session.json")
    history: dict[str, Any] = json.loads(json.dumps(DrillFile.load(path).as_json()))
    history.pop("confirmation", None)
    return history
