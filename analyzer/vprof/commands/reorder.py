"""`vprof reorder`: see the command's help."""

from __future__ import annotations

from pathlib import Path

import click

from vprof.terminal import write_report


@click.command(name="reorder")
@click.option(
    "--problem",
    "file",
    required=True,
    metavar="FILE.json",
    type=click.Path(path_type=Path),
    help="Units, their conflict indices, and what must precede what.",
)
@click.option(
    "--format",
    "fmt",
    default="text",
    show_default=True,
    type=click.Choice(("text", "json")),
    help="Form of the report.",
)
@click.option("-o", "--output", metavar="OUT", type=click.Path(path_type=Path), help="Write the report to a file.")
def command(file: Path, fmt: str, output: Path | None) -> None:
    """Find the order of a transaction's statements that holds contended locks for the least time.

    A transaction keeps its locks until it ends, so the queries that others wait for most should come last. vprof finds
    the order with the largest sum of position times conflict index that keeps all constraints, and says why units moved
    and why others could not. No source is read or changed: whether the constraints are complete is up to you.

    FILE.json has `units`, numbers or names in their old order; `conflict_index`, for example the standard deviation of
    each query's time, where units without one count as 0; and `before`, a list of [first, then, reason].

    Up to 20 queries are solved by dynamic programming, more by an integer linear program.

    \b
    Examples:
      vprof reorder --problem payment.json
      vprof reorder --problem payment.json --format json
    """
    from vprof.reorder.ordering import solve
    from vprof.reorder.problem import load
    from vprof.report import reorder as report

    solution = solve(load(file))
    if fmt == "json":
        write_report(report.render_json(solution), output)
    elif output is None:
        report.print_solution(solution)
    else:
        write_report(report.render(solution), output)
