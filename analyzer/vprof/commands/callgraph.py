"""`vprof callgraph`: why a function has its height, its children and no probe; the whole graph in short."""

from __future__ import annotations

import json
from pathlib import Path

import click

from vprof.errors import UsageError


@click.command()
@click.argument("paths", nargs=-1, metavar="[PROGRAM|TRACE]...", type=click.Path(path_type=Path))
@click.option("--target", "name", help="A target built by `vprof instrument`: its programs.")
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="Work folder of the target. [default: .vprof/TARGET]"
)
@click.option("--function", "-f", "wanted", help="Explain these functions: names and globs with commas.")
@click.option("--root", metavar="F", help="Count call paths from function F. [default: the target's roots, or main]")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    paths: tuple[Path, ...], name: str | None, folder: Path | None, wanted: str | None, root: str | None, form: str
) -> None:
    """Show the call graph of programs built with vprof-cc, or of those in traces.

    For each function of --function: its height and the chain of calls that makes it, its recursive group, why it has no
    probe, the children that a drill-down switches on, its callees and its callers. Without --function: a summary of
    the graph. A call that a trace has seen, and that no direct call explains, is marked as observed. Functions that a
    pointer or virtual call may mean are marked as candidates; they do not count for heights.

    \b
    Examples:
      vprof callgraph ./prog
      vprof callgraph run.trace --function 'handle_*' --root main
      vprof callgraph --target minidb --function wal_flush
    """
    from vprof.program.elf import read_program
    from vprof.report.callgraph import render
    from vprof.report.inspection import Inspection, Knowledge, describe, summarize

    if not paths and not name:
        raise UsageError("nothing to show: give a program built with CC=vprof-cc, a trace, or --target NAME")
    patterns = [part.strip() for part in (wanted or "").split(",") if part.strip()]
    if wanted is not None and not patterns:
        raise UsageError("--function is empty: give names or globs with commas between")
    knowledge, roots = Knowledge(), [root] if root else []
    if name:
        from vprof.target.target import Target

        target = Target.load(name, folder)
        knowledge.add_units(target.units())
        for program in target.programs():
            knowledge.add_places(program, read_program(program))
        roots = roots or target.descriptor.roots
    for path in paths:
        knowledge.read(path)
    inspection = Inspection(knowledge, roots)
    report = describe(inspection, inspection.matching(patterns)) if patterns else summarize(inspection)
    click.echo(json.dumps(report) if form == "json" else render(report), nl=form == "json")
