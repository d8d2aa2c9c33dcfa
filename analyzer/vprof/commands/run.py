"""`vprof run`: record a program, print the answer, and write its page."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

import click

from vprof.errors import VprofError
from vprof.options import preload_option, root_option


@click.command(name="run", context_settings={"ignore_unknown_options": True})
@root_option
@click.option(
    "--sites", default="all", show_default=True, help="Probes to switch on: all, or names and globs with commas."
)
@click.option(
    "--seconds",
    type=click.IntRange(min=1),
    help="After how long PROGRAM gets a SIGTERM. [default: it ends by itself]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default="run.trace",
    show_default=True,
    help="The trace; the page stands beside it, as OUTPUT.html.",
)
@click.option("--no-open", is_flag=True, help="Do not open the page in a browser.")
@preload_option
@click.argument("program", nargs=-1, required=True, metavar="PROGRAM...", type=click.UNPROCESSED)
def command(
    root: str | None,
    sites: str,
    seconds: int | None,
    output: Path,
    no_open: bool,
    preload: bool,
    program: tuple[str, ...],
) -> None:
    """Record a program, print what makes its intervals vary, and open a page that shows it.

    It does what `vprof record`, `vprof analyze` and `vprof report` do one after the other, for a program built by
    vprof-cc. PROGRAM is a command after `--`. Without --root, its annotated intervals are analyzed. vprof exits with
    the program's exit code.

    \b
    Examples:
      vprof run --root handle_request -- ./requests
      vprof run --root handle_request --seconds 30 -- ./server --port 8080
    """
    from vprof.report.page.data import PageSource, page_data
    from vprof.report.page.html import render
    from vprof.report.text import print_analysis
    from vprof.variance.analysis import AnalysisOptions
    from vprof.variance.stream import analyze_files

    status = _record(list(program), sites, seconds, output, preload)
    if status:
        print(f"vprof: the program ended with status {status}", file=sys.stderr)
    analysis = analyze_files([output], root, AnalysisOptions())
    print_analysis(analysis)
    page = output.with_name(f"{output.name}.html")
    html = render(page_data(PageSource([output], root), AnalysisOptions(k=10, min_share=0.01)))
    page.write_text(html, encoding="utf-8")
    opened = not no_open and _has_display() and webbrowser.open(page.resolve().as_uri())
    click.echo(f"{page}: {'opened' if opened else 'open it in a browser'}", err=True)
    if analysis.refused:
        raise VprofError(analysis.no_ranking)
    if status:
        sys.exit(status)


def _record(program: list[str], sites: str, seconds: int | None, output: Path, preload: bool) -> int:
    from vprof.commands.record import record_program
    from vprof.session.calibration import probe_ns
    from vprof.session.owned import Session
    from vprof.session.plan import Plan

    with Session.start(output, probe_ns=probe_ns(), preload=preload) as session:
        return record_program(session, Plan.parse(sites), program, seconds)


def _has_display() -> bool:
    """Else a browser of the terminal would be opened."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
