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
@click.option(
    "--explain", metavar="FACTOR", help="Show where one factor comes from instead: f, [queue] or a|b (text, json)."
)
@click.option("--by-type", is_flag=True, help="Split the variance by type of interval, and add a tree for each type.")
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
@click.option("--top", metavar="N", type=click.IntRange(1), help="Show about N nodes of each tree, N rows of a list.")
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
    explain: str | None,
    by_type: bool,
    own: bool,
    tail: float,
    top: int | None,
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
      vprof analyze run.trace --explain fsync
      vprof analyze run.trace --path slowest
    """
    from vprof.analysis import AnalysisOptions
    from vprof.chosen_paths import one_path
    from vprof.report.text import print_analysis
    from vprof.stream import analyze_files

    _check(fmt, {"--intervals": intervals}, {"--path": path, "--explain": explain})
    if path is not None:
        _write(_rendered_path(one_path(traces, path, root), fmt), output)
        return
    options = AnalysisOptions(k, min_share, specificity_exp, intervals, by_type, force, tail, own, top)
    analysis = analyze_files(traces, root, options)
    if explain is not None:
        _explain(analysis, explain, fmt, output)
        return
    if fmt == "text" and output is None:
        print_analysis(analysis)
    else:
        _write(_render(analysis, fmt), output)
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


def _render(analysis, fmt: str) -> str:  # type: ignore[no-untyped-def]
    from vprof.report import dot, json, text

    renderers = {"text": text.render, "json": json.render, "dot": dot.render, "svg": dot.render_svg}
    return renderers[fmt](analysis)


def _rendered_path(found, fmt: str) -> str:  # type: ignore[no-untyped-def]
    from vprof.report import path

    return path.render_json(found) if fmt == "json" else path.render(found)


def _explain(analysis, factor: str, fmt: str, output: Path | None) -> None:  # type: ignore[no-untyped-def]
    from vprof.explain import explain
    from vprof.report import explain as report

    found, top = explain(analysis, factor), analysis.options.top
    if fmt == "text" and output is None:
        report.print_explanation(found, top)
    else:
        _write(report.render_json(found) if fmt == "json" else report.render(found, top), output)


def _write(report: str, output: Path | None) -> None:
    if output is None:
        click.echo(report, nl=False)
        return
    try:
        output.write_text(report, encoding="utf-8")
    except OSError as e:
        raise UsageError(f"cannot write {output}: {e.strerror}") from e
