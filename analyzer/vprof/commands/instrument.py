"""`vprof instrument`: build a target once, with a probe (off) in every eligible function."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from vprof.errors import UsageError
from vprof.options import interval_option, source_option, source_version_option
from vprof.program.metadata import Unit
from vprof.target.build_choices import BuildChoices, UserSource
from vprof.target.target import Target
from vprof.terminal import console


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--target", "name", required=True, help="A known target, or the path of a target.toml.")
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="Work folder. [default: .vprof/TARGET]")
@source_option
@source_version_option
@interval_option
@click.option("--cure", "cures", multiple=True, metavar="NAME", help="Build a copy of the source with this change.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("build", nargs=-1, type=click.UNPROCESSED)
def command(
    name: str,
    folder: Path | None,
    source: Path | None,
    source_version: str | None,
    interval: str | None,
    cures: tuple[str, ...],
    form: str,
    build: tuple[str, ...],
) -> None:
    """Build a target with probes in place, all of them off.

    vprof fetches the source if the descriptor says where it is, and never changes it. Every entry of the descriptor
    must match a function of the program. The output of the build is in `build.log` in the work folder.

    BUILD, after `--`, is a command that builds your own tree (--source DIR) instead of the descriptor's steps. It runs
    in DIR, with CC and CXX set to the compilers that instrument. vprof replaces {source}, {build}, {install}, {cc},
    {cxx} and {jobs} in it, as in steps; {build} and {install} lie in the work folder. Your build system does not notice
    when the descriptor changes: clean your tree first, or build in {build}, which vprof then empties.

    A cure is a change of the program against a cause of variance, which the descriptor has in a [[cure]]. It goes to a
    copy of the source, which BUILD then runs in, and does nothing until it is switched on, as vprof prints. Give --cure
    again for a second one.

    \b
    Examples:
      vprof instrument --target minidb
      vprof instrument --target minidb --source ~/minidb
      vprof instrument --target minidb --source ~/minidb -- make OUT={build} -j{jobs}
      vprof instrument --target mysql --cure vats
    """
    target = Target.of(name, folder, BuildChoices(_user(source, source_version, build), interval, cures))
    if target.may_be_stale():
        print(
            "vprof: the descriptor, the command or vprof changed: files that are not compiled again keep old probes",
            file=sys.stderr,
        )
    with console(stderr=True).status(f"building {target.descriptor.name}") as status:
        target = target.build(lambda step: status.update(f"{target.descriptor.name}: {step}"))
    units = target.units()
    target.check(units)
    summary = summarize(units)
    if form == "json":
        where = {"build": str(target.build_dir), "built_from": target.built_from}
        applied = [cure.name for cure in target.descriptor.chosen_cures]
        print(json.dumps({"schema": "vprof-instrument/1", **where, **summary, "cures": applied}))
        return
    left = ", ".join(f"{count} {reason}" for reason, count in summary["left"].items()) or "none"
    of = f" from {target.built_from}" if target.built_from else ""
    print(f"{target.descriptor.name}: built{of} in {target.build_dir}")
    print(f"units     {summary['instrumented']} instrumented, {summary['unchanged']} compiled unchanged")
    print(f"sites     {summary['sites']} of {summary['functions']} functions; left alone: {left}")
    if summary["matched"]:
        print(f"matched   {summary['matched']} descriptor entries, all of them")
    for cure in target.descriptor.chosen_cures:
        print(f"cure      {cure.name}: {cure.summary}")
        print(f"          trades: {cure.trades}")
        print(f"          off until: {cure.off_until}" if cure.switch else "          always on")
        print(f"          licence of the changed work: {cure.license}")


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
    left = Counter(function.no_site for function in functions if function.no_site)
    return {
        "instrumented": sum(unit.status == "instrumented" for unit in units),
        "unchanged": sum(unit.status != "instrumented" for unit in units),
        "functions": len(functions),
        "sites": sum(function.site is not None for function in functions),
        "left": dict(left.most_common()),
        "matched": len({entry for unit in units for entry in unit.matched}),
    }
