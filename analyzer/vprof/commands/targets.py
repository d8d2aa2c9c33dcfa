"""`vprof targets`: which programs vprof knows, whether a descriptor fits its program, a first one for a new program."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import click

from vprof.errors import UsageError
from vprof.installed import target_file, target_names
from vprof.options import interval_option, source_option, source_version_option
from vprof.program.metadata import Function, Unit
from vprof.tables.kinds import MEANINGS
from vprof.target import descriptor as descriptors
from vprof.target import entries
from vprof.target.build_choices import BuildChoices, UserSource
from vprof.target.entries import Entry
from vprof.target.scaffold import folder_for, scaffold
from vprof.target.target import Target, callees_of


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List the targets, check the descriptor of one, or begin a new one.

    \b
    Examples:
      vprof targets
      vprof targets check minidb
      vprof targets new myserver ./server
    """
    if context.invoked_subcommand is None:
        for name in target_names():
            print(f"{name:10} {descriptors.load(target_file(name)).summary}")


@command.command()
@click.argument("name")
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="Work folder. [default: .vprof/TARGET]")
@source_option
@source_version_option
@interval_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def check(
    name: str, folder: Path | None, source: Path | None, source_version: str | None, interval: str | None, form: str
) -> None:
    """Show where each entry of a target's descriptor applies in its build, and which are left out.

    If an entry matches no function or call of the program, vprof fails and names similar functions. So it does for what
    a [[knob]] or [[cure]] governs and the program neither defines nor calls, and for a cure whose source does not have
    the lines that it inserts at, each of them once.

    With --source, vprof builds nothing: it searches the text of a tree for functions and calls, without expanding
    macros or choosing a side of an #if, and not for what knobs govern. Only a build shows whether an expression
    compiles there.

    \b
    Examples:
      vprof targets check minidb
      vprof targets check minidb --source ~/minidb
    """
    if source is None and (source_version or interval):
        raise UsageError("--source-version and --interval are for a tree that is not built: give --source DIR")
    if source:
        target = Target.of(name, folder, BuildChoices(UserSource(source, source_version, []), interval))
        target.check_tree()
        units = _units_of_text(source, target)
        rows, ungoverned = places(target, units), list[str]()  # what a text calls is not known
    else:
        target = Target.load(name, folder)
        units = target.units()
        rows, ungoverned = places(target, units) + governed(target, units), target.ungoverned(units)
    rows += cured(target)
    left_out = others(target)
    if not rows and not left_out:
        raise UsageError(f"{target.descriptor.file}: nothing to check: it has no roots and no entries")
    if form == "json":
        print(json.dumps({"schema": "vprof-targets-check/1", "entries": rows, "left_out": left_out}))
    else:
        _print(rows, left_out)
    lines = target.unmatched(units) + ungoverned + target.unapplied()
    if lines:
        raise UsageError("; ".join(lines))


@command.command()
@click.argument("name")
@click.argument("programs", nargs=-1, required=True, metavar="PROGRAM...", type=click.Path(path_type=Path))
def new(name: str, programs: tuple[Path, ...]) -> None:
    """Write a descriptor to begin with for PROGRAMs built with CC=vprof-cc: NAME/target.toml in this folder.

    It has what the programs say of themselves, and as comments, each with its reason, what the call graph suggests:
    roots, threads, queues, locks, calls of libraries. You decide which of these are right. A descriptor
    that is there is never overwritten.

    \b
    Example:
      vprof targets new myserver ./server
    """
    folder = folder_for(name)
    text = scaffold(name, programs)
    file = folder / "target.toml"
    try:
        folder.mkdir(exist_ok=True)
        with file.open("x", encoding="utf-8") as output:
            output.write(text)
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from None
    print(f"{file}: read it, fill in what is in CAPITALS, then `vprof instrument --target ./{name}`")


def places(target: Target, units: list[Unit]) -> list[dict[str, str | list[str]]]:
    """Each alternative of an entry that the program has, and each root, with the `file:line` of what it applies to.

    An entry that applies nowhere has one row without places.
    """
    rows = []
    for table, chosen in target.descriptor.entries.items():
        for position, entry in enumerate(chosen):
            applied = [unit for unit in units if f"{table}/{position}" in unit.matched]
            calls = entries.names(entry, "call")
            found = [
                (name, _callers(name, applied, calls) if calls else _places(name, applied))
                for name in entries.names(entry, "function")
            ]
            for name, where in [row for row in found if row[1]] or [(_names(entry), [])]:
                rows.append(_row(entries.title(table, entry), entry, name, where))
    rows += [_row("root", {}, root, _places(root, units)) for root in target.descriptor.roots]
    return rows


def governed(target: Target, units: list[Unit]) -> list[dict[str, str | list[str]]]:
    """What each knob and cure governs, with the `file:line` of functions that are defined there; without places, if
    there is no such function or node."""
    called = {callee for unit in units for _, callees in callees_of(unit) for callee in callees}
    rows = []
    for table, one, governs in descriptors.governing(target.descriptor):
        for name in governs:
            where = _places(name, units)
            if not where and name in MEANINGS:
                where = ["a node of reports"]
            elif not where and name in called:
                where = ["called, not defined"]
            rows.append(_row(f"{table} {one}", {}, name, where))
    return rows


def cured(target: Target) -> list[dict[str, str | list[str]]]:
    """Where each cure for this version inserts, in the source as it is; without places, where it cannot."""
    return [
        _row(f"cure {cure.name}", {}, "inserts", [place] if place else []) for cure, place, _ in target.cure_places()
    ]


def _units_of_text(source: Path, target: Target) -> list[Unit]:
    from vprof.target.source_text import read_tree  # all other commands do without its grammar

    return read_tree(source, target.descriptor)


def others(target: Target) -> list[dict[str, str]]:
    """The entries and cures for other versions of the program, and of other kinds of interval, each with the reason."""
    descriptor = target.descriptor
    version = descriptor.source.get("version")
    other_cures = [c for c in descriptor.cures.values() if not descriptors.for_version(c, version, descriptor.file)]
    return [
        {"entry": entries.title(table, entry), "function": _names(entry), "why": _why(target, table, entry)}
        for table, left_out in descriptor.left_out.items()
        for entry in left_out
    ] + [
        {"entry": f"cure {cure.name}", "function": "inserts", "why": f"not for {version}: versions {cure.versions}"}
        for cure in other_cures
    ]


def _why(target: Target, table: str, entry: Entry) -> str:
    if not entries.of_kind(table, entry, target.choices.interval):
        return f"with --interval {entry['kind']}" if "kind" in entry else "without --interval"
    return f"not for {target.descriptor.source['version']}: versions {entry['versions']}"


def _row(title: str, entry: Entry, function: str, where: list[str]) -> dict[str, str | list[str]]:
    call = {"call": " or ".join(entries.names(entry, "call"))} if "call" in entry else {}
    at = {"at": entry["at"]} if "at" in entry else {}
    return {"entry": title, "function": function, **call, **at, "places": where}


def _print(rows: list[dict[str, str | list[str]]], left_out: list[dict[str, str]]) -> None:
    for row in rows:
        what = f"{row['function']}{_where_in(row)}"
        for place in row["places"]:
            print(f"{row['entry']:24} {what:28} {place}")
    for entry in left_out:
        print(f"{entry['entry']:24} {entry['function']:28} {entry['why']}")


def _where_in(row: dict[str, str | list[str]]) -> str:
    """Of the function, if it is not where such an entry usually is: entries at one call are told apart."""
    if "call" in row:
        return f", {row.get('at', 'call')} of {row['call']}"  # "after call of take"
    return f" at {row['at']}" if "at" in row else ""


def _names(entry: Entry) -> str:
    return " or ".join(entries.names(entry, "function"))


def _places(wanted: str, units: list[Unit]) -> list[str]:
    """Where functions named so are defined."""
    return _lines(f for unit in units for f in unit.functions if entries.is_name(wanted, f.name))


def _callers(wanted: str, units: list[Unit], calls: list[str]) -> list[str]:
    """Where functions named so that call one of `calls` are defined."""
    return _lines(
        function
        for unit in units
        for function, callees in callees_of(unit)
        if entries.is_name(wanted, function.name)
        and any(entries.is_name(call, callee) for call in calls for callee in callees)
    )


def _lines(functions: Iterable[Function]) -> list[str]:
    return sorted({f"{function.file}:{function.line}" for function in functions})
