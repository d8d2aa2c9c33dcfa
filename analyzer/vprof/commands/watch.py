"""`vprof watch`: a flight recorder beside a server."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vprof.errors import UsageError
from vprof.options import Size, load_options, preload_option, root_option, server_options_option
from vprof.session.plan import Plan
from vprof.terminal import one_line

if TYPE_CHECKING:
    from vprof.metrics.exposition import File, Port
    from vprof.target.chosen_load import ChosenLoad
    from vprof.target.target import Target
    from vprof.watch.keep import Folder
    from vprof.watch.loop import Say, Seen, Settings

_LEAST_BYTES = 64 << 20


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--list", "lists", is_flag=True, help="Show what was kept, and record nothing.")
@click.option(
    "--show", metavar="N", type=click.IntRange(1), help="Show one of these: its critical path and a usual one."
)
@click.option("--report", is_flag=True, help="Show what the slow ones have in common.")
@click.option(
    "--slower-than",
    metavar="LIMIT",
    help="Keep what takes longer: a time such as 20ms, or a percentile such as p99.9, learned for each type from the "
    "last ten minutes.",
)
@click.option("--session", "directory", type=click.Path(path_type=Path), help="Watch this running session.")
@click.option("--target", "name", help="Watch a target built by `vprof instrument`: its server and load, or command.")
@click.option(
    "--dir", "built", type=click.Path(path_type=Path), help="Work folder of the target. [default: .vprof/TARGET]"
)
@click.option("--seconds", type=click.IntRange(min=1), help="How long a target runs. [default: until a SIGTERM]")
@click.option(
    "--sites",
    help="Probes to switch on: names and globs with commas, or a plan file. [default: the target's roots, or none]",
)
@click.option(
    "--plan-from",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take them from a drill-down: its drill/session.json. Its findings and the ways to them are on.",
)
@root_option
@click.option(
    "--per-hour", default=20, show_default=True, type=click.IntRange(1), help="Keep the N slowest of an hour."
)
@click.option(
    "--max-size", "max_bytes", type=Size(), default="1G", show_default=True, help="Maximum size of FOLDER, 64M or more."
)
@click.option(
    "--max-distortion",
    type=click.FloatRange(min=0, min_open=True),
    default=0.01,
    show_default=True,
    help="Maximum part of the intervals' time that probes may take, estimated from their calls. What costs most is "
    "switched off.",
)
@click.option(
    "--piece-seconds",
    type=click.FloatRange(0.2, 600),
    default=5.0,
    show_default=True,
    help="How often to look at what was recorded.",
)
@click.option(
    "--openmetrics",
    metavar="PORT|FILE",
    help="Also give metrics to Prometheus: at this port of this machine alone, or in a file for node_exporter.",
)
@click.option(
    "--openmetrics-address",
    metavar="ADDRESS",
    help="Listen there: 0.0.0.0 lets every machine read the metrics. [default: 127.0.0.1]",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@preload_option
@server_options_option
@load_options
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def command(
    folder: Path,
    lists: bool,
    show: int | None,
    report: bool,
    slower_than: str | None,
    directory: Path | None,
    name: str | None,
    built: Path | None,
    seconds: int | None,
    sites: str | None,
    plan_from: Path | None,
    root: str | None,
    per_hour: int,
    max_bytes: int,
    max_distortion: float,
    piece_seconds: float,
    openmetrics: str | None,
    openmetrics_address: str | None,
    form: str,
    preload: bool,
    server_options: str,
    load: str | None,
    scale: int | None,
    rate: float | None,
    clients: int | None,
    program: tuple[str, ...],
) -> None:
    """Keep the records of slow intervals, for as long as a server runs.

    FOLDER gets a small trace for each interval that takes longer than --slower-than: its records, those of all threads
    at the time, and ordinary intervals of the same seconds. All other records are thrown away. `vprof analyze` reads
    the traces.

    PROGRAM, behind `--`, is run and recorded, and the watch ends with it; with --target it is options for the target's
    own command or load. With --session, the programs of a running session are watched, also those that join later,
    until the watch gets a SIGTERM. At a SIGHUP it reads its plan again. What it does is logged on standard error, one
    line each.

    \b
    Examples:
      vprof watch slow --slower-than 20ms --plan-from .vprof/minidb -- ./minidb --seconds 3600
      vprof watch slow --slower-than p99.9 --session /dev/shm/server --sites 'wal_*,lock_wait'
      vprof watch slow --slower-than 5ms --root handle_request -- ./server
      vprof watch slow --slower-than p99.9 --target postgres --load tpcc --openmetrics 9464
      vprof watch --list slow
      vprof watch --show 3 slow
      vprof watch --report slow
    """
    from vprof.watch.keep import Folder

    if sum([lists, show is not None, report]) > 1:
        raise UsageError("--list, --show and --report are different reports: ask for one")
    if lists or show is not None or report:
        if program or directory or name or slower_than or openmetrics:
            raise UsageError("--list, --show and --report read the folder: leave out what records")
        _say_kept(Folder.existing(folder), show, report, form)
        return
    if not slower_than:
        raise UsageError("nothing to look for: give --slower-than, such as 20ms or p99.9 (or --list, --show, --report)")
    _check_what(name, directory, program)
    if directory and preload:
        raise UsageError("--preload is for a program that is started: leave it out with --session")
    if seconds and not name:
        raise UsageError("--seconds is for a --target: others run until they end")
    if max_bytes < _LEAST_BYTES:
        raise UsageError(f"--max-size: at least {_LEAST_BYTES >> 20}M")
    if sites and plan_from:
        raise UsageError("--sites and --plan-from both say what to switch on: give one")
    if openmetrics_address and not openmetrics:
        raise UsageError("--openmetrics-address goes with --openmetrics PORT")
    from vprof.session.calibration import probe_ns
    from vprof.target.chosen_load import ChosenLoad
    from vprof.target.server import check_server_options
    from vprof.watch.beside import Job, watch_program, watch_session, watch_target
    from vprof.watch.loop import Settings
    from vprof.watch.threshold import threshold

    target = _target(name, built) if name else None
    check_server_options(server_options, target)
    chosen = ChosenLoad.of(load, scale, rate, clients, target)
    if target and chosen:
        target = _with_load(target, chosen, list(program))
    read_plan, root = _plan(sites, plan_from, root, target)
    read_plan()
    where = _place(openmetrics, openmetrics_address) if openmetrics else None
    held = 1 if where else 0
    settings = Settings(threshold(slower_than), per_hour, max_bytes, piece_seconds, root, probe_ns(), held)
    with ExitStack() as ends:
        watched = Folder(folder)
        watched.begin()
        ends.callback(watched.end)
        said, seen = _with_metrics(where, watched, settings, ends)
        job = Job(watched, settings, read_plan, max_distortion, said, seen)
        if directory:
            watch_session(job, directory)
        elif target:
            watch_target(job, target, server_options, list(program), seconds, preload)
        else:
            watch_program(job, list(program), preload)


def _check_what(name: str | None, directory: Path | None, program: tuple[str, ...]) -> None:
    """Raises UsageError unless it is one thing that is to be watched."""
    if name and directory:
        raise UsageError("--target and --session are different things to watch: give one")
    if not name and bool(program) == bool(directory):
        raise UsageError(
            "nothing to watch: give a command after `--`, or --session DIR, one of both (or --target NAME)"
        )


def _target(name: str, built: Path | None) -> Target:
    """Raises UsageError when it is not there, or its descriptor does not fit it."""
    from vprof.target.target import Target

    target = Target.load(name, built)
    target.check(target.units())
    return target


def _with_load(target: Target, chosen: ChosenLoad, options: list[str]) -> Target:
    """Under this load. Raises UsageError when the driver does not take its options."""
    from vprof.workload.driver import check_command

    loaded = replace(target, chosen_load=chosen)
    check_command(loaded.command(1, options))
    return loaded


def _place(where: str, address: str | None) -> Port | File:
    from vprof.metrics.exposition import place

    return place(where, address)


def _with_metrics(where: Port | File | None, folder: Folder, settings: Settings, ends: ExitStack) -> tuple[Say, Seen]:
    """What logs, and what is told of pieces. Raises VprofError when metrics cannot go there."""
    from vprof.watch.loop import unseen

    if where is None:
        return say, unseen
    from vprof.metrics.live import Metrics

    pieces = folder.path / "pieces"
    metrics = ends.enter_context(Metrics.opened(where, pieces, settings.threshold, settings.root, say))
    return metrics.say, metrics.seen


def _plan(
    sites: str | None, plan_from: Path | None, root: str | None, target: Target | None
) -> tuple[Callable[[], Plan], str | None]:
    """How to read the plan, now and again; and the root, which a drill-down's file may name."""
    if plan_from:
        from vprof.watch.plan import plan_of_drill, root_of_drill

        return (lambda: plan_of_drill(plan_from)), root or root_of_drill(plan_from)
    if sites and os.path.isfile(sites):  # noqa: PTH113  a list of names may be too long for a path
        # If it is gone at a SIGHUP, its name is no glob.
        return (lambda: Plan.read(Path(sites))), root
    usual = Plan.of(target.descriptor.roots if target else [])
    return (lambda: Plan.parse(sites) if sites else usual), root


def say(event: str, **fields: Any) -> None:
    """One line of the log: event, then key=value; values with spaces in quotes."""
    values = {key: str(value) for key, value in fields.items()}
    told = [f"{key}={json.dumps(value) if ' ' in value or not value else value}" for key, value in values.items()]
    print(one_line(" ".join(["vprof watch:", event, *told])), file=sys.stderr, flush=True)


def _say_kept(folder: Folder, number: int | None, report: bool, form: str) -> None:
    from vprof.path.chosen import chosen_paths
    from vprof.report import watch as text
    from vprof.watch.common import common, pairs_of

    if report:
        found = common(pairs_of(folder))
        sys.stdout.write(text.report_json(found) if form == "json" else text.render_report(found))
    elif number is not None:
        kept = folder.one(number)
        ids = [kept.interval, *([kept.median] if kept.median else [])]
        slow, *rest = chosen_paths([folder.trace(number)], lambda trace: ids, kept.root)
        median = rest[0] if rest else None
        render = text.show_json if form == "json" else text.render_show
        sys.stdout.write(render(kept, slow, median))
    else:
        kept_ones = sorted(folder.kept.values(), key=lambda one: one.number)
        sys.stdout.write(text.list_json(kept_ones) if form == "json" else text.render_list(kept_ones))
