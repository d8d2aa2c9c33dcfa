"""`vprof instrument`: build a target once, with a probe (off) in every eligible function."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from vprof.build_choices import BuildChoices, UserSource
from vprof.errors import UsageError
from vprof.metadata import Unit
from vprof.options import interval_option, source_option, source_version_option
from vprof.target import Target


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--target", "name", required=True, help="A known target, or the path of a target.toml.")
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="Work folder. [default: .vprof/TARGET]")
@source_option
@source_version_option
@interval_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("build", nargs=-1, type=click.UNPROCESSED)
def command(
    name: str,
    folder: Path | None,
    source: Path | None,
    source_version: str | None,
    interval: str | None,
    form: str,
    build: tuple[str, ...],
) -> None:
    """Build a target with probes in place, all of them off.

    Fetches the source if the descriptor says from where; it stays as it is. Every entry of the descriptor must match a
    function of the program. The output of the build is in `build.log` of the work folder.

    BUILD is the command that builds your own tree, after `--`, in place of the descriptor's steps. It runs in DIR, with
    CC and CXX set to the compilers that instrument; {source}, {build}, {install}, {cc}, {cxx} and {jobs} in it are
    replaced as in steps. It need not leave anything in DIR: {build} and {install} are in the work folder. Its build
    system does not see when the descriptor changes: clean before, or build in {build}, which is emptied then.

    \b
    Examples:
      vprof instrument --target minidb
      vprof instrument --target minidb --source ~/minidb
      vprof instrument --target minidb --source ~/minidb -- make OUT={build} -j{jobs}
    """
    target = Target.of(name, folder, BuildChoices(_user(source, source_version, build), interval))
    console = Console(stderr=True)
    if target.may_be_stale():
        print(
            "vprof: the descriptor, the command or vprof changed: what is not compiled anew keeps its old probes",
            file=sys.stderr,
        )
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


def _user(source: Path | None, version: str | None, build: tuple[str, ...]) -> UserSource | None:
    """Raises UsageError when options are given that are for a user's tree alone, and it is not."""
    if source is None and build:
        raise UsageError("a build command is for your own tree: give --source DIR")
    if source is None and version:
        raise UsageError("--source-version is of your own tree: give --source DIR")
    return UserSource(source, version, list(build)) if source else None


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
