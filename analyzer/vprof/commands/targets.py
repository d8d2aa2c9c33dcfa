"""`vprof targets`: which programs vprof knows, and whether a descriptor fits its program."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import click

from vprof import descriptor as descriptors
from vprof.errors import UsageError
from vprof.metadata import Function, Unit
from vprof.paths import target_file, target_names
from vprof.target import Target


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List the targets, or check the descriptor of one.

    \b
    Examples:
      vprof targets
      vprof targets check minidb
    """
    if context.invoked_subcommand is None:
        for name in target_names():
            print(f"{name:10} {descriptors.load(target_file(name)).summary}")


@command.command()
@click.argument("name")
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="Work folder. [default: .vprof/TARGET]")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def check(name: str, folder: Path | None, form: str) -> None:
    """Show where each entry of a target's descriptor applies in its build.

    An entry that matches no function of the program is an error that names near misses.

    \b
    Example:
      vprof targets check minidb
    """
    target = Target.load(name, folder)
    units = target.units()
    rows = places(target, units)
    if form == "json":
        print(json.dumps({"schema": "vprof-targets-check/1", "entries": rows}))
    else:
        for row in rows:
            for place in row["places"]:
                print(f"{row['entry']:24} {row['function']:28} {place}")
    lines = target.unmatched(units)
    if lines:
        raise UsageError("; ".join(lines))


def places(target: Target, units: list[Unit]) -> list[dict[str, str | list[str]]]:
    """Each entry and root with the `file:line` of every function it applies to."""
    defined: dict[str, set[str]] = defaultdict(set)
    applied: dict[str, set[str]] = defaultdict(set)
    for unit in units:
        named = {function.name: function for function in unit.functions}
        for function in unit.functions:
            defined[function.name].add(_place(function))
        for entry in unit.matched:
            key, number = entry.split("/")
            name = target.descriptor.entries[key][int(number)]["function"]
            if name in named:
                applied[entry].add(_place(named[name]))
    rows: list[dict[str, str | list[str]]] = []
    for table, entries in target.descriptor.entries.items():
        for position, keys in enumerate(entries):
            kind = keys.get("event") or keys["role"]
            where = sorted(applied[f"{table}/{position}"])
            rows.append({"entry": f"{table} {kind}", "function": keys["function"], "places": where})
    rows += [{"entry": "root", "function": root, "places": sorted(defined[root])} for root in target.descriptor.roots]
    return rows


def _place(function: Function) -> str:
    return f"{function.file}:{function.line}"
