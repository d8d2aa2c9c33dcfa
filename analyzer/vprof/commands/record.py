"""`vprof record`: run a program, its plan's probes on, and write what they record to a trace."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from vprof.errors import UsageError, VprofError
from vprof.plan import Plan
from vprof.server import Server
from vprof.session import Session
from vprof.target import Target

_POLL_SECONDS = 0.01


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--target", "name", help="A target built by `vprof instrument`: run its command and load.")
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="Work folder of the target. [default: .vprof/TARGET]"
)
@click.option(
    "--sites",
    help="Probes to switch on: all, names and globs with commas, or a plan file. [default: the target's roots]",
)
@click.option("--seconds", type=click.IntRange(min=1), default=10, show_default=True, help="How long a target runs.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default="run.trace", show_default=True)
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def command(
    name: str | None, folder: Path | None, sites: str | None, seconds: int, output: Path, program: tuple[str, ...]
) -> None:
    """Run a program and record it.

    PROGRAM is a command after `--`; with --target it is options for the target's own command or load. The exit code is
    the program's. A target's server is set up when it runs first, and stopped at the end.

    \b
    Examples:
      vprof record --sites all -o run.trace -- ./prog
      vprof record --target minidb -o run.trace -- --pathology wal
      vprof record --target postgres --seconds 30 -o run.trace -- -S
    """
    arguments = list(program)
    if name:
        target = Target.load(name, folder)
        target.check(target.units())
        plan = Plan.parse(sites) if sites else Plan.of(target.descriptor.roots)
        if target.descriptor.server:
            _record_server(target, plan, seconds, arguments, output.resolve())
            return
        arguments = target.command(seconds, arguments)
    elif not arguments:
        raise UsageError("nothing to run: give a command after `--`, or --target NAME")
    elif not sites:
        raise UsageError("no sites: give --sites all, or names and globs with commas between")
    else:
        plan = Plan.parse(sites)

    with Session.start(output) as session:
        status = _run(session, plan, lambda: _start(session, arguments))
        totals = session.stop()
        _report(session, plan, totals, output)
    if status:
        print(f"vprof: the program ended with status {status}", file=sys.stderr)
        sys.exit(status)


def _record_server(target: Target, plan: Plan, seconds: int, options: list[str], output: Path) -> None:
    """The trace holds the load: the server is ready before, and stopped after it."""
    server = Server.of(target)
    with Session.start(None, server.account.name) as session, server.running(session, plan):
        session.rotate(output)
        status = _run(session, plan, lambda: server.load(seconds, options, _default_interrupt))
        totals = session.rotate(None)
        server.check()
        server.check_load(status)
        _report(session, plan, totals, output)


def _start(session: Session, arguments: list[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(arguments, env=session.environment(), preexec_fn=_default_interrupt)
    except FileNotFoundError:
        raise UsageError(f"{arguments[0]}: not found") from None
    except PermissionError:
        raise UsageError(f"{arguments[0]}: not executable") from None


def _run(session: Session, plan: Plan, start: Callable[[], subprocess.Popen[bytes]]) -> int:
    """Runs a program to its end; a Ctrl-C is the program's, we wait for it. Returns its shell-like status."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = start()
        while process.poll() is None:
            session.follow(plan)
            time.sleep(_POLL_SECONDS)
        session.follow(plan)
    finally:
        signal.signal(signal.SIGINT, before)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _default_interrupt() -> None:
    """The child must not inherit the ignored signal."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _report(session: Session, plan: Plan, totals: dict[str, Any], output: Path) -> None:
    """One line about the trace. Raises VprofError with a diagnosis when it is empty."""
    unmatched = session.sites.unmatched(plan)
    if not totals["records"]:
        if not session.programs:
            raise VprofError(
                "no records: no program built by vprof-cc joined; build it with CC=vprof-cc (and link with it)"
            )
        unaligned = [module["path"] for module in session.programs if module["state"] != "mapped"]
        if unaligned:
            raise VprofError(f"no records: {unaligned[0]} was linked without vprof-cc; link it with vprof-cc")
        if unmatched:
            raise VprofError(f"no records: {unmatched[0]}")
        raise VprofError("no records: the program ran, but no function whose probe was on returned")
    for line in unmatched:
        print(f"vprof: {line}", file=sys.stderr)
    print(f"{output}: {totals['records']} records, {totals['dropped']} dropped", file=sys.stderr)
