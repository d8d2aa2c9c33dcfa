"""`vprof top`: what varies in a running session, now."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from vprof.errors import UsageError, VprofError
from vprof.options import load_options, preload_option, root_option, server_options_option
from vprof.session.plan import Plan

if TYPE_CHECKING:
    from vprof.target.target import Target
    from vprof.top.engine import Settings
    from vprof.top.running import Running


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--session",
    "directory",
    type=click.Path(path_type=Path),
    help="Look at this running session. [default: the one that runs]",
)
@click.option("--target", "name", help="A target built by `vprof instrument`: run its command and load.")
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="Work folder of the target. [default: .vprof/TARGET]"
)
@click.option(
    "--sites",
    help="Probes of PROGRAM or the target to switch on at the start: names and globs with commas, or a plan file. "
    "[default: the target's roots, or none]",
)
@root_option
@click.option(
    "--every",
    type=click.FloatRange(0.5, 60),
    default=2.0,
    show_default=True,
    help="Seconds from one refresh to the next.",
)
@click.option(
    "--window",
    type=click.FloatRange(0.5, 600),
    default=10.0,
    show_default=True,
    help="How many seconds each refresh looks back. It looks back less if that takes too long.",
)
@click.option("--refreshes", type=click.IntRange(1), metavar="N", help="Without a terminal: end after N lines.")
@click.option(
    "--save-to",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    default=".",
    show_default=True,
    help="Folder of the traces that the key w saves.",
)
@click.option("--lines", is_flag=True, help="Print a line a refresh, as without a terminal.")
@preload_option
@server_options_option
@load_options
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def command(
    directory: Path | None,
    name: str | None,
    folder: Path | None,
    sites: str | None,
    root: str | None,
    every: float,
    window: float,
    refreshes: int | None,
    save_to: Path,
    lines: bool,
    preload: bool,
    server_options: str,
    load: str | None,
    scale: int | None,
    rate: float | None,
    clients: int | None,
    program: tuple[str, ...],
) -> None:
    """Watch live what makes the latency of a program vary.

    Shows the last seconds of a running session: the rate and latencies of intervals, which functions and waits make
    them vary, what is switched on and what that costs. Keys switch probes on and off, open the critical path of a slow
    interval, and save what is shown as a trace for `vprof analyze`.

    PROGRAM, behind `--`, is run in a session of its own, and so is a --target; they end when you quit. Another session
    is left as it was. Where standard output is no terminal, each refresh is one line.

    \b
    Examples:
      vprof top
      vprof top --session /dev/shm/server
      vprof top --target minidb -- --pathology wal
      vprof top --target postgres --load tpcc --warehouses 4 --rate 200
      vprof top --root handle_request -- ./server --port 8080
      vprof top --session /dev/shm/server | tee top.log
    """
    from vprof.target.chosen_load import ChosenLoad
    from vprof.target.server import LONG_SECONDS, check_server_options
    from vprof.target.target import Target
    from vprof.top.engine import Settings
    from vprof.workload.driver import check_command

    if directory and (name or program):
        raise UsageError("--session is a session that runs: leave out --target and PROGRAM")
    if directory and preload:
        raise UsageError("--preload is for a program that is started: leave it out with --session")
    if not (name or program) and sites:
        raise UsageError("--sites is for a program that is started: expand factors by e, or use `vprof ctl on` before")
    target = Target.load(name, folder) if name else None
    check_server_options(server_options, target)
    chosen = ChosenLoad.of(load, scale, rate, clients, target)
    if target and chosen:
        target = replace(target, chosen_load=chosen)
        check_command(target.command(LONG_SECONDS, list(program)))
    plan = _plan(sites, root, target)
    settings = Settings(root, every, window, save_to)
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vprof-top-")))
        signals = stack.enter_context(_ends_by_signals())
        running = _running(stack, directory, target, plan, preload, server_options, list(program), work)
        over = _look(running, work, settings, signals, lines or refreshes is not None, refreshes or 0)
        status, has_joined = running.status, bool(running.session.programs)
    if over and not has_joined and (name or program):
        raise VprofError("no program built by vprof-cc joined; build it with CC=vprof-cc (and link with it)")
    if status:
        sys.exit(status)


def _plan(sites: str | None, root: str | None, target: Target | None) -> Plan:
    named = Plan.parse(sites) if sites else Plan.of(target.descriptor.roots if target else [])
    return Plan.of({*named.patterns, *([root] if root else [])})


def _running(
    stack: ExitStack,
    directory: Path | None,
    target: Target | None,
    plan: Plan,
    preload: bool,
    server_options: str,
    arguments: list[str],
    work: Path,
) -> Running:
    from vprof.top.running import attached, program_running, target_running

    if not target and not arguments:
        return attached(directory)
    log = work / "program.log"
    if target:
        target.check(target.units())
        return stack.enter_context(target_running(target, plan, arguments, server_options, log, preload))
    return stack.enter_context(program_running(arguments, plan, log, preload))


def _look(
    running: Running, work: Path, settings: Settings, is_told_to_end: Callable[[], bool], lines: bool, most: int
) -> str:
    """Returns why nothing more came, "": it was told to quit."""
    from vprof.top.engine import Engine
    from vprof.top.orders import Orders

    orders = Orders()
    if lines or not _is_terminal():
        from vprof.top.printing import Printer

        printer = Printer(orders, most)
        if over := Engine(running, work, settings, printer).run(orders, is_told_to_end):
            printer.said(over)
        return over
    from vprof.top.app import run

    return run(lambda show: Engine(running, work, settings, show), orders, is_told_to_end, work)


def _is_terminal() -> bool:
    """Textual reads keys from standard input and draws on standard error."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream.isatty() for stream in streams) and os.environ.get("TERM", "dumb") != "dumb"


@contextmanager
def _ends_by_signals() -> Iterator[Callable[[], bool]]:
    """They no longer end us: yields what says whether one came."""
    told = False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal told
        told = True

    before = {one: signal.signal(one, hear) for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield lambda: told
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
