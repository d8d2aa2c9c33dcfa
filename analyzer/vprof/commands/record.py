"""`vprof record`: run a program, its plan's probes on, and write what they record to a trace."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from vprof.errors import UsageError, VprofError
from vprof.options import RingSize, Size, load_options, preload_option, server_options_option
from vprof.report.recording import Progress
from vprof.session.about import NOTHING
from vprof.session.alternation import Alternation
from vprof.session.calibration import probe_ns
from vprof.session.ending import End
from vprof.session.owned import Arena, Limit, Session, usual_arena
from vprof.session.plan import Plan
from vprof.target.chosen_load import ChosenLoad
from vprof.target.server import Server, check_server_options
from vprof.target.shell import popen
from vprof.target.target import Target
from vprof.workload.driver import check_command, run_in_log

_POLL_SECONDS, _LONGEST_POLL_SECONDS = 0.01, 0.05
_STATS_SECONDS = 0.5
_TARGET_SECONDS = 10
_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_LEAST_NEWEST_BYTES = 64 << 20


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
@click.option(
    "--seconds",
    type=click.IntRange(min=1),
    help="How long a target runs [default: 10], or after how long PROGRAM gets a SIGTERM. [default: it ends by itself]",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), default="run.trace", show_default=True)
@click.option(
    "--max-size",
    "max_bytes",
    type=Size(),
    default=0,
    metavar="SIZE",
    help="Maximum size of the trace, such as 512M or 2G. When it is full, the program goes on unrecorded.",
)
@click.option(
    "--keep",
    type=click.Choice(["newest"]),
    help="With --max-size: never stop, write OUTPUT.000001, ... and delete the oldest.",
)
@click.option(
    "--compress",
    type=click.Choice(["zstd", "lz4"]),
    help="Make the trace two to six times smaller; the collector does that. zstd saves more, lz4 takes less CPU.",
)
@click.option(
    "--check-kernel",
    is_flag=True,
    help="Also compare the trace with the kernel's scheduler events: who woke whom, and time off the CPU. Needs root.",
)
@click.option(
    "--measure-distortion",
    is_flag=True,
    help="Switch the probes off half of the time, slice by slice. `vprof analyze` then reports what they change.",
)
@click.option(
    "--locks",
    is_flag=True,
    help="Also record each step of logical locks ([[lock]] of the descriptor): for `vprof whatif` and its --locks.",
)
@click.option(
    "--slots",
    type=click.IntRange(1, 65536),
    metavar="N",
    help="Maximum number of threads recorded at one time. [default: 256, or 96 where shared memory is scarce]",
)
@click.option(
    "--ring-size",
    "ring_bytes",
    type=RingSize(),
    metavar="SIZE",
    help="Size of each thread's buffer, a power of two such as 64K. [default: 1M, or 512K]",
)
@preload_option
@server_options_option
@load_options
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def command(
    name: str | None,
    folder: Path | None,
    sites: str | None,
    seconds: int | None,
    output: Path,
    max_bytes: int,
    keep: str | None,
    compress: str | None,
    check_kernel: bool,
    measure_distortion: bool,
    locks: bool,
    slots: int | None,
    ring_bytes: int | None,
    preload: bool,
    server_options: str,
    load: str | None,
    scale: int | None,
    rate: float | None,
    clients: int | None,
    program: tuple[str, ...],
) -> None:
    """Run a program and record it.

    PROGRAM is a command after `--`; with --target it is options for the target's own command or load. vprof exits with
    the program's exit code. It sets a target's server up before its first run, and stops it at the end. Meanwhile,
    `vprof ctl` shows and switches the probes.

    If a program built without vprof loads an instrumented library (a plugin, a JNI library, an extension of Python),
    record it with --preload: otherwise vprof does not see who ends its waits, and warns you. What LD_PRELOAD already
    holds stays first. --preload has no effect on set-uid programs, nor where the environment is cleared (env -i,
    sudo); such programs join no session. Static programs do not need it.

    \b
    Examples:
      vprof record --sites all -o run.trace -- ./prog
      vprof record --sites all --seconds 30 -o run.trace -- ./server --port 8080
      vprof record --target minidb -o run.trace -- --pathology wal
      vprof record --target postgres --seconds 30 -o run.trace -- -S
      vprof record --target postgres --load tpcc --warehouses 4 --rate 200 -o run.trace
      vprof record --target httpd --server-options='-D prefork' -o run.trace
      vprof record --sites all --max-size 2G --keep newest -o run.trace -- ./server
      vprof record --sites all --compress zstd -o run.trace -- ./server
      vprof record --sites all --slots 8 --ring-size 64K -o run.trace -- prlimit --as=100000000 ./prog
      vprof record --target minidb --locks -o run.trace
      vprof record --target postgres --check-kernel -o run.trace
      vprof record --preload --sites all -o run.trace -- java -cp classes Main
      vprof analyze run.trace.0*
    """
    arguments = list(program)
    limit = _limit(max_bytes, keep, output)
    arena = usual_arena().with_sizes(slots, ring_bytes)
    if keep and check_kernel:
        raise UsageError("--check-kernel compares one file: leave out --keep")
    target = Target.load(name, folder) if name else None
    check_server_options(server_options, target)
    chosen = ChosenLoad.of(load, scale, rate, clients, target)
    if target:
        if chosen:
            target = replace(target, chosen_load=chosen)
            check_command(target.command(seconds or _TARGET_SECONDS, arguments))
        target.check(target.units())
        if locks and not target.descriptor.entries["lock"]:
            raise UsageError(f"{target.descriptor.file}: no [[lock]] entries: nothing to record with --locks")
        plan = Plan.parse(sites) if sites else Plan.of(target.descriptor.roots)
        if target.descriptor.server:
            server = Server.of(target, server_options)
            with _compared(check_kernel, output.resolve()):
                _record_server(
                    server,
                    plan,
                    seconds or _TARGET_SECONDS,
                    arguments,
                    output.resolve(),
                    limit,
                    arena,
                    measure_distortion,
                    preload,
                    locks,
                    compress,
                )
            return
        arguments = target.command(seconds or _TARGET_SECONDS, arguments)
    elif not arguments:
        raise UsageError("nothing to run: give a command after `--`, or --target NAME")
    elif not sites:
        raise UsageError("no sites: give --sites all, or names and globs with commas between")
    else:
        plan = Plan.parse(sites)

    about = target.about if target else NOTHING
    with (
        _compared(check_kernel, output),
        Session.start(output, None, limit, probe_ns(), arena, about, preload, locks, compress) as session,
    ):
        status = record_program(session, plan, arguments, None if target else seconds, measure_distortion)
    if status:
        print(f"vprof: the program ended with status {status}", file=sys.stderr)
        sys.exit(status)


def record_program(
    session: Session, plan: Plan, arguments: list[str], seconds: int | None = None, compared: bool = False
) -> int:
    """Runs a program in a session, to its end or so long, and returns its shell-like status. Raises VprofError with a
    diagnosis when nothing was recorded. `compared`: its probes are switched off and on in turn."""
    status = _run(
        session,
        plan,
        lambda: popen(arguments, env=session.environment(arguments[0]), preexec_fn=_unblock_signals),
        compared,
        seconds,
    )
    _report(session, plan, session.stop())
    return status


@contextmanager
def _compared(wanted: bool, output: Path) -> Iterator[None]:
    """The kernel's events meanwhile, and the trace in `output` against them afterwards."""
    if not wanted:
        yield
        return
    from vprof.trace.kernel_check import check, render
    from vprof.trace.kernel_sched import kernel_events

    with tempfile.TemporaryDirectory(prefix="vprof-") as folder:
        events = Path(folder) / "events"
        with kernel_events(events):
            yield
        print(render(check(output, events)))


def _record_server(
    server: Server,
    plan: Plan,
    seconds: int,
    options: list[str],
    output: Path,
    limit: Limit,
    arena: Arena,
    compared: bool,
    preload: bool,
    locks: bool,
    compress: str | None,
) -> None:
    """The trace holds the load: the server is ready before, and stopped after it."""
    about, account = server.target.about, server.account.name
    with (
        Session.start(None, account, limit, probe_ns(), arena, about, preload, locks, compress) as session,
        server.running(session, plan),
    ):
        session.rotate(output)
        status = _run(session, plan, lambda: server.load(seconds, options, _unblock_signals, keep=True), compared)
        totals = session.rotate(None)
        server.check()
        server.check_load(status)
        _report(session, plan, totals)
        _say_load(server)


def _say_load(server: Server) -> None:
    """In one line, what a chosen load measured: the clients' side of the trace."""
    run = run_in_log(server.load_log) if server.target.chosen_load else None
    if run:
        from vprof.report.load import sentence
        from vprof.workload.result import result_of

        print(sentence(result_of(run, server.latencies, [])), file=sys.stderr)


def _run(
    session: Session,
    plan: Plan,
    start: Callable[[], subprocess.Popen[bytes]],
    compared: bool,
    seconds: int | None = None,
) -> int:
    """Runs a program to its end, or until we end it after so many seconds, and returns its shell-like status. Raises
    VprofError then, if the collector died. `compared`: its probes are switched off and on in turn.

    A signal that would end us is the program's. It has had a Ctrl-C from the terminal itself.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    watch = _Watch(session, plan, compared)
    try:
        process = start()
        end = End(process, seconds)
        while process.poll() is None:
            end.look()
            got = signal.sigtimedwait(_SIGNALS, watch.look())
            if got and not (got.si_signo == signal.SIGINT and got.si_code > 0):
                process.send_signal(got.si_signo)
        watch.look()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if watch.failure:
        raise watch.failure
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return 0 if status in end.expected else status


def _unblock_signals() -> None:
    """The child must not inherit what we block."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


class _Watch:
    """Follows a session until its collector fails, and says once when its trace takes no more."""

    def __init__(self, session: Session, plan: Plan, compared: bool) -> None:
        """`compared`: nobody else may switch probes meanwhile."""
        self._turns = Alternation(session, plan, Plan.of([])) if compared else None
        if compared:
            session.write_note(replace(session.note(), owner="vprof record --measure-distortion"))
        self.failure: VprofError | None = None
        self._session = session
        self._plan = plan
        self._told = False
        self._progress = Progress(str(session.directory))
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
                stats = self._session.stats()
                self._progress.tell(stats)
                self._tell(stats)
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
    """One line about the trace, and what is wrong with it. Raises VprofError with a diagnosis when it is empty."""
    unmatched = session.sites.unmatched(plan)
    if totals["without_room"]:
        stay = "es stay" if totals["without_room"] > 1 else " stays"
        print(
            f"vprof: {totals['without_room']} process{stay} unrecorded: the limit of address space (RLIMIT_AS) leaves "
            "too little room; raise it, or record with a smaller --ring-size",
            file=sys.stderr,
        )
    if totals["not_wrapped"]:
        print(
            f"vprof: {totals['not_wrapped']} functions are not recorded: their probes stand before bodies, "
            "where a breakpoint is, or the runtime could not write; build with VPROF_PROBES=body",
            file=sys.stderr,
        )
    if totals["own_text"]:
        times = "once" if totals["own_text"] == 1 else f"{totals['own_text']} times"
        print(
            f"vprof: {times} a process could not share its code, since {'; '.join(totals['own_text_why'])}: a probe "
            "before a body that is off costs a jump there",
            file=sys.stderr,
        )
    if not totals["records"]:
        if totals["without_room"] and not session.programs:
            raise VprofError("no records: no program has room for a session")
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
    unseen = [(process["pid"], process["name"]) for process in totals["uninterposed"]]
    if unseen:
        from vprof.trace.unseen_waits import warning

        print(f"vprof: {warning(unseen)}", file=sys.stderr)
    print(f"{_files(totals)}: {totals['records']} records, {totals['dropped']} dropped{_rest(totals)}", file=sys.stderr)


def _files(totals: dict[str, Any]) -> str:
    oldest, newest = totals["oldest"], totals["file"]
    return str(newest) if oldest == newest else f"{oldest} to {newest}"


def _rest(totals: dict[str, Any]) -> str:
    kept = f", {totals['not_kept']} not kept" if totals["not_kept"] else ""
    return kept + (f"; it ended early: {totals['ended']}" if totals["ended"] else "")
