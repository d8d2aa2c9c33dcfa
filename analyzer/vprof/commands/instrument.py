"""`vprof instrument`: build a target once, with a probe (off) in every eligible function."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from vprof.metadata import Unit
from vprof.target import Target


@click.command()
@click.option("--target", "name", required=True, help="A known target, or the path of a target.toml.")
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="Work folder. [default: .vprof/TARGET]")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(name: str, folder: Path | None, form: str) -> None:
    """Build a target with probes in place, all of them off.

    Fetches the source if the descriptor says from where; it stays as it is. Every entry of the descriptor must match a
    function of the program. The output of the build is in `build.log` of the work folder.

    \b
    Example:
      vprof instrument --target minidb
    """
    target = Target.load(name, folder)
    console = Console(stderr=True)
    with console.status(f"building {target.descriptor.name}") as status:
        target.build(lambda step: status.update(f"{target.descriptor.name}: {step}"))
    units = target.units()
    target.check(units)
    summary = summarize(units)
    if form == "json":
        print(json.dumps({"schema": "vprof-instrument/1", "build": str(target.build_dir), **summary}))
        return
    left = ", ".join(f"{count} {reason}" for reason, count in summary["left"].items()) or "none"
    print(f"{target.descriptor.name}: built in {target.build_dir}")
    print(f"units     {summary['instrumented']} instrumented, {summary['unchanged']} compiled unchanged")
    print(f"sites     {summary['sites']} of {summary['functions']} functions; left alone: {left}")
    print(f"matched   {summary['matched']} descriptor entries, all of them")


def summarize(units: list[Unit]) -> dict[str, Any]:
    """Counts of units, functions, sites and reasons, as printed and as JSON; a header's function counts once."""
    functions = {function.id: function for unit in units for function in unit.functions}.values()
    left = Counter(function.left for function in functions if function.left)
    return {
        "instrumented": sum(unit.status == "instrumented" for unit in units),
        "unchanged": sum(unit.status != "instrumented" for unit in units),
        "functions": len(functions),
        "sites": sum(function.site is not None for function in functions),
        "left": dict(left.most_common()),
        "matched": len({entry for unit in units for entry in unit.matched}),
    }
