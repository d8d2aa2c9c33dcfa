"""`vprof diff`: see the command's help."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vprof.blas import import_numpy
from vprof.errors import UsageError
from vprof.options import client_time_option, cpu_wait_option, jobs_options, root_option
from vprof.terminal import printable, write_file
from vprof.trace.arguments import TracePath

if TYPE_CHECKING:
    from vprof.compare.diff import Diff
    from vprof.compare.predicted import Judged

METRICS = ("variance", "mean", "cv", "p50", "p99", "p99.9", "max", "l2", "throughput")
VERDICTS = ("better", "worse", "traded", "no-difference", "no-verdict")
FAILED = 3
"""Exit code of a verdict that --fail-on names."""
_BEFORE = "vprof.before"
_PAGE = Path("diff.html")


class _TwoSides(click.Command):
    """Remembers how many traces stand before `--`, which click drops; options may stand on either side of it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            values, _, _ = self.make_parser(ctx).parse_args(list(args[:at]))
            before = values.get("traces")
            ctx.meta[_BEFORE] = len(before) if isinstance(before, tuple | list) else 0
            args = args[:at] + args[at + 1 :]
        return super().parse_args(ctx, args)


@click.command(name="diff", cls=_TwoSides)
@click.argument("traces", nargs=-1, metavar="BEFORE... -- AFTER...", type=TracePath())
@click.option(
    "--metric", default="variance", show_default=True, type=click.Choice(METRICS), help="The metric that decides."
)
@root_option
@cpu_wait_option
@client_time_option
@click.option("--no-factors", is_flag=True, help="Compare latencies only, which is faster.")
@click.option(
    "--min-share",
    default=0.05,
    show_default=True,
    type=float,
    help="Minimum share of the variance that a factor must hold on one side.",
)
@click.option(
    "--predicted",
    "prediction",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What `vprof whatif --format json` wrote of this change: say whether it came true.",
)
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(VERDICTS),
    help=f"Exit code {FAILED} if this is the verdict. May be given several times.",
)
@click.option(
    "--format",
    "fmt",
    type=click.Choice(("text", "json", "html")),
    help="Form of the report.  [default: html if OUT ends in .html, else text]",
)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help=f"Write the report to a file.  [default for html: {_PAGE}]",
)
@jobs_options
@click.pass_context
def command(
    ctx: click.Context,
    traces: tuple[Path, ...],
    metric: str,
    root: str | None,
    cpu_wait: str,
    client_time: str,
    no_factors: bool,
    min_share: float,
    prediction: Path | None,
    fail_on: tuple[str, ...],
    fmt: str | None,
    output: Path | None,
    jobs: int | None,
    scheduler: str | None,
) -> None:
    """Compare runs before a change with runs after it: did the fix work?

    Each trace is one run. vprof calls a difference real only if it is larger than what runs of the same program differ
    by, so it needs at least three runs of each side. Alternate the sides when you record: then a drift of the machine
    affects both.

    One metric decides, with 5 % false alarms: better, worse or no-difference. The other metrics are corrected for their
    number. The verdict is traded instead of better if mean latency or throughput got worse: a change that only pads
    latencies is no fix.

    With --predicted, the report says beside the verdict whether what `vprof whatif` predicted of mean, variance and p99
    came true.

    With --format html the report is a page, one file that needs no network: the verdict, the latencies, flame graphs of
    both sides and of their difference, the factors, and what ran.

    \b
    Examples:
      vprof diff before*.trace -- after*.trace
      vprof diff before*.trace -- after*.trace -o diff.html
      vprof diff before*.trace -- after*.trace --metric p99 --no-factors
      vprof diff before*.trace --predicted whatif.json -- after*.trace
      vprof diff main*.trace -- branch*.trace --fail-on worse --fail-on traded
    """
    import_numpy()
    from vprof.compare.diff import diff
    from vprof.compare.load_runs import load_runs
    from vprof.compare.predicted import judge, read
    from vprof.jobs.cluster import open_jobs
    from vprof.variance.analysis import AnalysisOptions

    count = ctx.meta.get(_BEFORE, 0)
    if not 0 < count < len(traces):
        raise UsageError("give traces of both sides with -- between them: vprof diff BEFORE... -- AFTER...")
    repeated = {path for path in traces if traces.count(path) > 1}
    if repeated:
        raise UsageError(f"{min(repeated)} is given twice: each run counts once")
    predicted = read(prediction) if prediction else None
    apart = {"cpu_apart": cpu_wait == "apart", "client_apart": client_time == "apart"}
    options = (
        None if no_factors else AnalysisOptions(k=1, cpu_apart=apart["cpu_apart"], client_apart=apart["client_apart"])
    )
    with open_jobs(jobs, scheduler) as workers:
        before, after = load_runs(traces[:count], traces[count:], root, options, workers)
    result = diff(before, after, metric, min_share)
    judged = judge(predicted, result) if predicted else None
    if fmt is None:
        fmt = "html" if output and output.suffix == ".html" else "text"
    if fmt == "html":
        _write_page(result, judged, apart, output or _PAGE)
    else:
        _report(result, judged, fmt, output)
    if result.verdict in fail_on:
        sys.exit(FAILED)


def _report(result: Diff, judged: Judged | None, fmt: str, output: Path | None) -> None:
    from vprof.report import diff as report

    if fmt == "text" and output is None:
        report.print_diff(result, judged)
        return
    text = report.render_json(result, judged) if fmt == "json" else report.render(result, judged)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_file(printable(text), output)


def _write_page(result: Diff, judged: Judged | None, apart: dict[str, bool], output: Path) -> None:
    """Prints the verdict, too: it decides on the exit code."""
    from vprof.compare.judgement import sentence
    from vprof.report.page.diff import diff_data
    from vprof.report.page.html import DIFF, render

    page = render(diff_data(result, judged, **apart), DIFF)
    write_file(page, output)
    click.echo(sentence(result))
    click.echo(f"{output}: {len(page) / 1e6:.1f} MB", err=True)
