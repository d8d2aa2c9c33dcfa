"""`vprof sites`: what a program or trace says of its units, its sites and the functions without one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click

from vprof.errors import VprofError
from vprof.program import callgraph
from vprof.program.callgraph import CallGraph
from vprof.program.elf import read_program
from vprof.program.metadata import Function, Unit, parse_units
from vprof.terminal import one_line
from vprof.trace.chunks import is_trace, read_chunks


@click.command()
@click.argument("path", metavar="PROGRAM|TRACE", type=click.Path(path_type=Path))
@click.option("--left", is_flag=True, help="List the functions without a site, not only their number.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(path: Path, left: bool, form: str) -> None:
    """Show the sites of a program built with vprof-cc, or of those in a trace.

    A site is a function that can be probed. vprof counts the functions without a site by reason. It lists the units
    that it could not rewrite, and that were compiled unchanged, with the reason.

    \b
    Example:
      vprof sites --left ./prog
    """
    report = describe(read_units(path), left)
    click.echo(json.dumps(report) if form == "json" else "\n".join(map(one_line, text(path, report))))


def read_units(path: Path) -> list[Unit]:
    """The units of a program, or of all modules of a trace. Raises VprofError when there are none."""
    if not is_trace(path):
        return read_program(path)
    units = [unit for content in read_chunks(path).metadata.values() for unit in parse_units(content, str(path))]
    if not units:
        raise VprofError(f"{path}: no program in this trace was built with CC=vprof-cc")
    return units


def describe(units: list[Unit], left: bool) -> dict[str, Any]:
    """The report, schema `vprof-sites/1`. A function of a header is one site, however many units have a copy."""
    functions: dict[str, Function] = {}
    for unit in units:
        for function in unit.functions:
            if function.id not in functions or functions[function.id].site is None:
                functions[function.id] = function
    sites = [function for function in functions.values() if function.site is not None]
    without = [function for function in functions.values() if function.site is None]
    graph = callgraph.build(units)
    largest = max(map(len, callgraph.components(graph.calls)), default=0)
    report: dict[str, Any] = {
        "schema": "vprof-sites/1",
        "units": [_unit(unit) for unit in units],
        "sites": [_place(function) for function in sites],
        "before_bodies": sum(function.before_body for function in sites),
        "left": dict(Counter(str(function.no_site) for function in without).most_common()),
        "functions": len(functions),
        "external": len(graph.names) - len(functions),
        "largest_recursive_group": largest if largest > 1 else 0,
        "call_paths": _call_paths(graph),
    }
    if left:
        report["left_functions"] = [{**_place(function), "reason": function.no_site} for function in without]
    return report


def _call_paths(graph: CallGraph) -> int:
    """Call paths from main by direct calls (0 in a library): the nodes of a tree that decomposes everything."""
    return callgraph.call_paths(graph.calls, [f for f, name in enumerate(graph.names) if name == "main"])


def _unit(unit: Unit) -> dict[str, Any]:
    sites = sum(function.site is not None for function in unit.functions)
    return {"unit": unit.unit, "status": unit.status, "reason": unit.reason, "sites": sites}


def _place(function: Function) -> dict[str, Any]:
    return {"name": function.name, "file": function.file, "line": function.line}


def text(path: Path, report: dict[str, Any]) -> list[str]:
    """The report as lines: totals, units, sites, then what was left alone."""
    unchanged = sum(unit["status"] != "instrumented" for unit in report["units"])
    lines = [
        f"{path}: {len(report['sites'])} sites in {len(report['units'])} units, {unchanged} of them compiled unchanged",
        *([f"{report['before_bodies']} sites have their probe before the body"] if report["before_bodies"] else []),
        f"{report['functions']} functions defined, {report['external']} called from elsewhere; "
        f"{report['call_paths']} call paths from main, largest recursive group: {report['largest_recursive_group']}",
        "",
        "units",
        *(f"  {unit['unit']}: {unit['reason'] or str(unit['sites']) + ' sites'}" for unit in report["units"]),
        "",
        "sites",
        *(f"  {_line(site)}" for site in report["sites"]),
        "",
        "left alone" if report["left"] else "left alone: none",
        *(f"  {count:6} {reason}" for reason, count in report["left"].items()),
    ]
    if "left_functions" in report:
        lines += ["", *(f"  {_line(one)}: {one['reason']}" for one in report["left_functions"])]
    return lines


def _line(site: dict[str, Any]) -> str:
    return f"{site['name']}  {site['file']}:{site['line']}"
