"""`vprof record`: run a program, its plan's probes on, and write what they record to a trace."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from vprof.alternation import Alternation
from vprof.calibration import probe_ns
from vprof.control import Note
from vprof.errors import UsageError, VprofError
from vprof.kernel_check import check, render
from vprof.kernel_sched import kernel_events
from vprof.options import server_options_option
from vprof.plan import Plan
from vprof.server import Server, check_server_options
from vprof.session import Limit, Session
from vprof.target import Target

_POLL_SECONDS, _LONGEST_POLL_SECONDS = 0.01, 0.05
_STATS_SECONDS = 0.5
_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_LEAST_NEWEST_BYTES = 64 << 20
_LEAST_BYTES = 1 << 20


class Size(click.ParamType):  # type: ignore[type-arg]
    """Bytes: a number with K, M, G or T after it, powers of 1024, or without."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+)([KMGT]?)B?", value, re.IGNORECASE)
        if not match:
            self.fail(f"'{value}' is no size: give one such as 512M or 2G", param, ctx)
        size = int(match[1]) << 10 * " KMGT".index(match[2].upper() or " ")
        if size < _LEAST_BYTES:
            self.fail(f"{value} is too small: at least {_LEAST_BYTES >> 20}M", param, ctx)
        return size


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--target", "name", help="A target built by `vprof instrument`: run its command and load.")
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="Work folder of the target. [default: .vprof/TARGET]"
)
@click.option(
    "--sites",
    help="Probes to switch on: all, names and globs with commas ('f (file.c:12)' is one of several f), or a plan file. "
    "[default: the target's roots]",
)
@click.option("--seconds", type=click.IntRange(min=1), default=10, show_default=True, help="How long a target runs.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default="run.trace", show_default=True)
@click.option(
    "--max-size",
    "max_bytes",
    type=Size(),
    default=0,
    metavar="SIZE",
    help="Greatest size of the trace, such as 512M or 2G: when it is full the program goes on unrecorded.",
)
@click.option(
    "--keep",
    type=click.Choice(["newest"]),
    help="With --max-size: never stop, write OUTPUT.000001, ... and delete the oldest.",
)
@click.option(
    "--check-kernel",
    is_flag=True,
    help="Also print how far the trace agrees with the kernel's scheduler: who woke whom, time off the CPU. For root.",
)
@click.option(
    "--measure-distortion",
    is_flag=True,
    help="Switch the probes off half of the time, slice by slice: `vprof analyze` tells what they do to the latencies.",
)
@server_options_option
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def command(
    name: str | None,
    folder: Path | None,
    sites: str | None,
    seconds: int,
    output: Path,
    max_bytes: int,
    keep: str | None,
    check_kernel: bool,
    measure_distortion: bool,
    server_options: str,
    program: tuple[str, ...],
) -> None:
    """Run a program and record it.

    PROGRAM is a command after `--`; with --target it is options for the target's own command or load. The exit code is
    the program's. A target's server is set up when it runs first, and stopped at the end. `vprof ctl` shows and
    switches the probes meanwhile.

    \b
    Examples:
      vprof record --sites all -o run.trace -- ./prog
      vprof record --target minidb -o run.trace -- --pathology wal
      vprof record --target postgres --seconds 30 -o run.trace -- -S
      vprof record --target httpd --server-options='-D prefork' -o run.trace
      vprof record --sites all --max-size 2G --keep newest -o run.trace -- ./server
      vprof record --target postgres --check-kernel -o run.trace
      vprof analyze run.trace.0*
    """
    arguments = list(program)
    limit = _limit(max_bytes, keep, output)
    if keep and check_kernel:
        raise UsageError("--check-kernel compares one file: leave out --keep")
    target = Target.load(name, folder) if name else None
    check_server_options(server_options, target)
    if target:
        target.check(target.units())
        plan = Plan.parse(sites) if sites else Plan.of(target.descriptor.roots)
        if target.descriptor.server:
            server = Server.of(target, server_options)
            with _compared(check_kernel, output.resolve()):
                _record_server(server, plan, seconds, arguments, output.resolve(), limit, measure_distortion)
            return
        arguments = target.command(seconds, arguments)
    elif not arguments:
        raise UsageError("nothing to run: give a command after `--`, or --target NAME")
    elif not sites:
        raise UsageError("no sites: give --sites all, or names and globs with commas between")
    else:
        plan = Plan.parse(sites)

    with _compared(check_kernel, output), Session.start(output, limit=limit, probe_ns=probe_ns()) as session:
        status = _run(session, plan, lambda: _start(session, arguments), measure_distortion)
        totals = session.stop()
        _report(session, plan, totals)
    if status:
        print(f"vprof: the program ended with status {status}", file=sys.stderr)
        sys.exit(status)


@contextmanager
def _compared(wanted: bool, output: Path) -> Iterator[None]:
    """The kernel's events meanwhile, and the trace in `output` against them afterwards."""
    if not wanted:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="vprof-") as folder:
        events = Path(folder) / "events"
        with kernel_events(events):
            yield
        print(render(check(output, events)))


def _record_server(
    server: Server, plan: Plan, seconds: int, options: list[str], output: Path, limit: Limit, compared: bool
) -> None:
    """The trace holds the load: the server is ready before, and stopped after it."""
    with Session.start(None, server.account.name, limit, probe_ns()) as session, server.running(session, plan):
        session.rotate(output)
        status = _run(session, plan, lambda: server.load(seconds, options, _unblock_signals), compared)
        totals = session.rotate(None)
        server.check()
        server.check_load(status)
        _report(session, plan, totals)


def _start(session: Session, arguments: list[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(arguments, env=session.environment(), preexec_fn=_unblock_signals)
    except FileNotFoundError:
        raise UsageError(f"{arguments[0]}: not found") from None
    except PermissionError:
        raise UsageError(f"{arguments[0]}: not executable") from None


def _run(session: Session, plan: Plan, start: Callable[[], subprocess.Popen[bytes]], compared: bool) -> int:
    """Runs a program to its end and returns its shell-like status. Raises VprofError then, if the collector died.
    `compared`: its probes are switched off and on in turn.

    A signal that would end us is the program's. It has had a Ctrl-C from the terminal itself.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    watch = _Watch(session, plan, compared)
    try:
        process = start()
        while process.poll() is None:
            got = signal.sigtimedwait(_SIGNALS, watch.look())
            if got and not (got.si_signo == signal.SIGINT and got.si_code > 0):
                process.send_signal(got.si_signo)
        watch.look()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if watch.failure:
        raise watch.failure
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _unblock_signals() -> None:
    """The child must not inherit what we block."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


class _Watch:
    """Follows a session until its collector fails, and says once when its trace takes no more."""

    def __init__(self, session: Session, plan: Plan, compared: bool) -> None:
        """`compared`: nobody else may switch probes meanwhile."""
        self._turns = Alternation(session, plan, Plan.of([])) if compared else None
        if compared:
            session.write_note(Note(owner="vprof record --measure-distortion"))
        self.failure: VprofError | None = None
        self._session = session
        self._plan = plan
        self._told = False
        self._next_stats = 0.0
        self._pause_seconds = _POLL_SECONDS

    def look(self) -> float:
        """Returns in how many seconds to look again: soon while modules join, which wait for us before they start, and
        one after another; else seldom, for a look takes CPU time from the program."""
        known = len(self._session.modules)
        self._look()
        settled = len(self._session.modules) == known and not self._turns
        self._pause_seconds = min(2 * self._pause_seconds, _LONGEST_POLL_SECONDS) if settled else _POLL_SECONDS
        return self._pause_seconds

    def _look(self) -> None:
        if self.failure:
            return
        try:
            self._session.follow(self._plan)
            if self._turns and self._session.programs:
                self._turns.look()
            if not self._told and time.monotonic() >= self._next_stats:
                self._next_stats = time.monotonic() + _STATS_SECONDS
                self._tell(self._session.stats())
        except VprofError as failure:
            self.failure = failure
            print(f"vprof: {failure}; the program goes on unrecorded", file=sys.stderr)

    def _tell(self, stats: dict[str, Any]) -> None:
        if stats["ended"]:
            self._told = True
            print(
                f"vprof: {stats['file']} ends here: {stats['ended']}; the program goes on unrecorded", file=sys.stderr
            )


def _limit(max_bytes: int, keep: str | None, output: Path) -> Limit:
    if not keep:
        return Limit(max_bytes)
    if not max_bytes:
        raise UsageError("--keep newest needs --max-size")
    if max_bytes < _LEAST_NEWEST_BYTES:
        raise UsageError(f"--keep newest needs a --max-size of {_LEAST_NEWEST_BYTES >> 20}M at least")
    older = sorted(output.parent.glob(f"{output.name}.[0-9][0-9][0-9][0-9][0-9][0-9]"))
    if older:
        raise UsageError(f"{older[0]} is of an earlier recording: remove its files, or give another -o")
    return Limit(max_bytes, newest=True)


def _report(session: Session, plan: Plan, totals: dict[str, Any]) -> None:
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
    print(f"{_files(totals)}: {totals['records']} records, {totals['dropped']} dropped{_rest(totals)}", file=sys.stderr)


def _files(totals: dict[str, Any]) -> str:
    oldest, newest = totals["oldest"], totals["file"]
    return str(newest) if oldest == newest else f"{oldest} to {newest}"


def _rest(totals: dict[str, Any]) -> str:
    kept = f", {totals['not_kept']} not kept" if totals["not_kept"] else ""
    return kept + (f"; it ended early: {totals['ended']}" if totals["ended"] else "")
