"""`vprof load`: see the command's help."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vprof.errors import UsageError
from vprof.terminal import printable, write_file

if TYPE_CHECKING:
    from vprof.report.load_progress import LoadProgress
    from vprof.workload.driver import Driver
    from vprof.workload.result import Asked, Result

_PAGE = Path("load.html")
_LEVELS = ("read committed", "repeatable read", "serializable")
_FORMATS = {".html": "html", ".json": "json"}


@click.command(name="load")
@click.argument("workload", metavar="NAME", required=False)
@click.option("--list", "listed", is_flag=True, help="List the workloads.")
@click.option("--on", metavar="SERVER", help="What the server speaks: see the examples.")
@click.option("--socket", metavar="PATH", help="The server's Unix socket, or the folder that it lies in.")
@click.option("--user", help="Connect as this user.")
@click.option("--database", help="Use this database.")
@click.option(
    "--scale", "--warehouses", type=click.IntRange(min=1), help="How large the data is; for tpcc: warehouses."
)
@click.option("--setup", is_flag=True, help="First make the workload's tables anew, and fill them.")
@click.option("--clients", type=click.IntRange(1, 10_000), default=8, show_default=True, help="Connections.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="How long to measure.")
@click.option("--warmup", type=click.FloatRange(min=0), default=5.0, show_default=True, help="Seconds before that.")
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    help="Transactions a second: an open loop. [default: a closed loop, as fast as the clients get answers]",
)
@click.option("--arrivals", type=click.Choice(("poisson", "even")), help="With --rate. [default: poisson]")
@click.option("--think", "think_ms", type=click.FloatRange(min=0), metavar="MS", help="Wait so long after each answer.")
@click.option("--isolation", type=click.Choice(_LEVELS), help="Isolation level. [default: the server's]")
@click.option("--mix", metavar="A=45,B=55", help="Parts of the types of transactions. [default: the workload's]")
@click.option("--theta", type=click.FloatRange(min=0), help="Skew of Zipf's law, where the workload has one.")
@click.option(
    "--writes",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Part of statements that write, where one may choose.",
)
@click.option("--check", is_flag=True, help="Check that the data is consistent after the run.")
@click.option("--seed", type=click.IntRange(min=0), help="Of all random choices. [default: the driver's]")
@click.option(
    "--floor",
    "floor_seconds",
    type=click.FloatRange(min=0),
    default=2.0,
    show_default=True,
    help="Seconds of transactions that do nothing, before the run; 0: none.",
)
@click.option("--latencies", type=click.Path(path_type=Path), metavar="FILE", help="Keep the file of all latencies.")
@click.option(
    "--overlay",
    "overlays",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Pauses to explain the tail with: lines start,end[,label], or a server's log of checkpoints.",
)
@click.option(
    "--format",
    "fmt",
    type=click.Choice(("text", "json", "html")),
    help="Form of the report.  [default: by the ending of OUT, else text]",
)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help=f"Write the report to a file.  [default for html: {_PAGE}]",
)
def command(
    workload: str | None,
    listed: bool,
    on: str | None,
    socket: str | None,
    user: str | None,
    database: str | None,
    scale: int | None,
    setup: bool,
    clients: int,
    seconds: float,
    warmup: float,
    rate: float | None,
    arrivals: str | None,
    think_ms: float | None,
    isolation: str | None,
    mix: str | None,
    theta: float | None,
    writes: float | None,
    check: bool,
    seed: int | None,
    floor_seconds: float,
    latencies: Path | None,
    overlays: tuple[Path, ...],
    fmt: str | None,
    output: Path | None,
) -> None:
    """Put a workload on a running server, and report latencies that hide nothing.

    With --rate it is an open loop: transactions begin when they should, and a latency counts from the intended start,
    so all that a stalled server kept waiting is counted. Without, it is a closed loop: a client begins when it has its
    answer, and while the server stalls, nothing is measured.

    Before the run, transactions that do nothing show the floor: round trip, driver, scheduling. During it, a thread
    that wakes each millisecond shows the machine's own pauses. With --overlay, vprof says which part of the tail the
    pauses of any source explain. Ctrl-C ends a run, and its report is of what was measured.

    Exit code 1 if the server was lost during the run, --check finds the data broken, or a file of pauses cannot be
    read; the report of what was measured is there.

    \b
    Examples:
      vprof load tpcc --on postgres --socket /run/postgresql --setup --warehouses 10
      vprof load tpcc --on postgres --socket /run/postgresql --rate 400 --seconds 60 --check -o tpcc.html
      vprof load ycsb --on mysql --socket /run/mysqld/mysqld.sock --theta 0.99 --format json
      vprof load tatp --on postgres --socket /run/postgresql --rate 2000 --overlay postgresql.log
      vprof load --list
    """
    from vprof.report.load_progress import LoadProgress
    from vprof.workload.driver import Driver, Where, check_name
    from vprof.workload.result import Asked, measure

    driver = Driver()
    if listed:
        _list(driver)
        return
    if not workload:
        raise UsageError(f"no workload: give one of {', '.join(driver.workloads())}")
    check_name(workload)
    if not on or not socket:
        raise UsageError("no server: give --on SERVER and --socket PATH")
    if rate is not None and think_ms is not None:
        raise UsageError("--think is for a closed loop: leave out --rate, or --think")
    if rate is None and arrivals is not None:
        raise UsageError("--arrivals is for an open loop: give --rate, too")
    for overlay in overlays:
        if not overlay.is_file():
            raise UsageError(f"--overlay {overlay}: there is no such file")
    asked = Asked(
        workload=workload,
        where=Where(on, socket, user, database),
        clients=clients,
        seconds=seconds,
        warmup=warmup,
        rate=rate,
        arrivals=arrivals,
        think_ms=think_ms,
        isolation=isolation,
        mix=mix,
        theta=theta,
        writes=writes,
        scale=scale,
        seed=seed,
        floor_seconds=floor_seconds,
    )
    driver.check_run(workload, asked.where, asked.options())
    progress = LoadProgress()
    if setup:
        _set_up(driver, asked, progress)
    result = measure(driver, asked, latencies, list(overlays), check, progress.tell if progress.shown else None)
    _report(result, fmt or (_FORMATS.get(output.suffix, "text") if output else "text"), output)
    if result.failed:
        sys.exit(1)


def _list(driver: Driver) -> None:
    workloads = driver.workloads()
    width = max(map(len, workloads), default=0)
    for name, what in workloads.items():
        click.echo(f"{name:{width}}  {what}")


def _set_up(driver: Driver, asked: Asked, progress: LoadProgress) -> None:
    from vprof.workload.driver import given

    progress.say(f"vprof: filling the tables of {asked.workload}")
    driver.setup(asked.workload, asked.where, given(scale=asked.scale, seed=asked.seed), progress.say)


def _report(result: Result, fmt: str, output: Path | None) -> None:
    from vprof.report import load as report

    if fmt == "html":
        from vprof.report.page.html import LOAD, render
        from vprof.report.page.load import load_data

        page, output = render(load_data(result), LOAD), output or _PAGE
        write_file(page, output)
        click.echo(report.sentence(result))
        click.echo(f"{output}: {len(page) / 1e6:.1f} MB", err=True)
    elif fmt == "text" and output is None:
        report.print_load(result)
    else:
        text = report.render_json(result) if fmt == "json" else report.render(result)
        if output is None:
            click.echo(text, nl=False)
        else:
            write_file(printable(text), output)
