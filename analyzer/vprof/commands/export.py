"""`vprof export`: see the command's help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vprof.blas import import_numpy
from vprof.errors import UsageError
from vprof.options import root_option
from vprof.trace.arguments import TracePath, all_matching

if TYPE_CHECKING:
    from vprof.tables.model import Trace

FORMS = ("perfetto", "folded", "csv", "parquet")
OUTPUTS = {"perfetto": "run.pftrace", "folded": "run.folded", "csv": "tables", "parquet": "tables"}


@click.command(name="export")
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...", type=TracePath(), callback=all_matching)
@click.option("--to", "form", required=True, type=click.Choice(FORMS), help="What to write.")
@root_option
@click.option("--interval", "chosen", multiple=True, metavar="ID", help="perfetto: this interval; several times.")
@click.option("--all", "everything", is_flag=True, help="perfetto: all intervals (viewers are slow with large files).")
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="File, or folder of tables. [default: run.pftrace, run.folded, tables]",
)
def command(
    traces: tuple[Path, ...],
    form: str,
    root: str | None,
    chosen: tuple[str, ...],
    everything: bool,
    output: Path | None,
) -> None:
    """Write a run in the form of another tool.

    \b
    perfetto  the threads' calls, waits and wake-ups in typical intervals (the three slowest, the one at p99, the
              median) and their critical paths, for ui.perfetto.dev
    folded    time on the critical paths as folded stacks, in ns, for flamegraph.pl, inferno or speedscope
    csv       tables: intervals, pieces of critical paths, factors, nodes of the tree
    parquet   the same tables, smaller and typed (needs pyarrow)

    \b
    Examples:
      vprof export run.trace --to perfetto -o run.pftrace
      vprof export run.trace --to folded -o run.folded
      vprof export run.trace --root handle_request --to csv -o tables
    """
    import_numpy()
    from vprof.trace.loading import load_trace
    from vprof.trace.merge import merge

    if form != "perfetto" and (chosen or everything):
        raise UsageError("--interval and --all are for --to perfetto: the other forms hold all intervals")
    if chosen and everything:
        raise UsageError("--interval chooses some intervals, --all takes all: give one of them")
    output = output or Path(OUTPUTS[form])
    try:
        if form == "folded":
            _folded(traces, root, output)
        elif form == "perfetto":
            _perfetto(merge([load_trace(path, root) for path in traces]), chosen, everything, output)
        else:
            _tables(traces, root, form, output)
    except OSError as e:
        raise UsageError(f"cannot write {output}: {e.strerror}") from e
    click.echo(f"{output}", err=True)


def _folded(traces: tuple[Path, ...], root: str | None, output: Path) -> None:
    from vprof.export.folded import folded
    from vprof.variance.analysis import AnalysisOptions
    from vprof.variance.stream import analyze_files

    options = AnalysisOptions(cpu_apart=False, client_apart=False)  # it is time that is shown, where it was spent
    lines = folded(analyze_files(traces, root, options))
    with output.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _perfetto(trace: Trace, chosen: tuple[str, ...], everything: bool, output: Path) -> None:
    from vprof.export.perfetto import export
    from vprof.path.exemplars import exemplars
    from vprof.trace.usable import rows_of

    known = {trace.interval_ids[row] for row in rows_of(trace)}
    for sid in chosen:
        if sid not in known:
            raise UsageError(f"no interval {sid} in this trace; `vprof export ... --to csv` lists them all")
    export(trace, None if everything else chosen or exemplars(trace), output)


def _tables(traces: tuple[Path, ...], root: str | None, form: str, output: Path) -> None:
    from vprof.api import load_run

    run = load_run(traces, root, None)
    run.to_csv(output) if form == "csv" else run.to_parquet(output)
