"""`vprof analyze`: see the command's help."""

from __future__ import annotations

from pathlib import Path

import click

from vprof.errors import UsageError, VprofError

FORMATS = ("text", "json", "dot", "svg")


@click.command(name="analyze")
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...", type=click.Path(path_type=Path))
@click.option(
    "--root", metavar="F", help="Each outermost call of function F is an interval, instead of annotated ones."
)
@click.option("-k", default=3, show_default=True, type=click.IntRange(1), help="How many factors to choose.")
@click.option(
    "--min-share",
    default=0.05,
    show_default=True,
    type=float,
    help="Smallest share of the variance of a factor (0.05 = 5 %).",
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
@click.option("--by-type", is_flag=True, help="Split the variance by type of interval.")
@click.option(
    "--format", "fmt", default="text", show_default=True, type=click.Choice(FORMATS), help="Form of the report."
)
@click.option("-o", "--output", metavar="OUT", type=click.Path(path_type=Path), help="Write the report to a file.")
@click.option("--force", is_flag=True, help="Rank even if more than 10 % of the intervals were lost.")
def command(
    traces: tuple[Path, ...],
    root: str | None,
    k: int,
    min_share: float,
    specificity_exp: int,
    intervals: bool,
    path: str | None,
    by_type: bool,
    fmt: str,
    output: Path | None,
    force: bool,
) -> None:
    """Find which functions make the latency of intervals vary.

    Prints the variance tree of the critical paths, the factors that explain most of the variance, and the functions to
    switch on next. Several traces of the same program and plan are analyzed as one.

    \b
    Examples:
      vprof analyze run.trace
      vprof analyze run.trace --root handle_request -k 5
      vprof analyze run.trace --format svg -o tree.svg
      vprof analyze run.trace --path slowest
    """
    from vprof.analysis import AnalysisOptions, analyze
    from vprof.load import load_trace
    from vprof.merge import merge
    from vprof.report.text import print_analysis

    if intervals and fmt != "json":
        raise UsageError("--intervals needs --format json")
    if path and fmt not in ("text", "json"):
        raise UsageError("--path needs --format text or json")
    trace = merge([load_trace(file, root) for file in traces])
    if path:
        _write(_one_path(trace, path, fmt), output)
        return
    analysis = analyze(trace, AnalysisOptions(k, min_share, specificity_exp, intervals, by_type, force))
    if fmt == "text" and output is None:
        print_analysis(analysis)
    else:
        _write(_render(analysis, fmt), output)
    if analysis.refused:
        raise VprofError(analysis.no_ranking)


def _render(analysis, fmt: str) -> str:  # type: ignore[no-untyped-def]
    from vprof.report import dot, json, text

    renderers = {"text": text.render, "json": json.render, "dot": dot.render, "svg": dot.render_svg}
    return renderers[fmt](analysis)


def _one_path(trace, wanted: str, fmt: str) -> str:  # type: ignore[no-untyped-def]
    from vprof.interval_path import interval_path
    from vprof.report import path

    found = interval_path(trace, wanted)
    return path.render_json(found) if fmt == "json" else path.render(found)


def _write(report: str, output: Path | None) -> None:
    if output is None:
        click.echo(report, nl=False)
        return
    try:
        output.write_text(report, encoding="utf-8")
    except OSError as e:
        raise UsageError(f"cannot write {output}: {e.strerror}") from e
