"""What a drill-down runs: a target with its load, a program of the user's, or a session that runs already.

Each is a context that yields a `LiveProgram` and leaves nothing of ours running, whichever way out is taken.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from vprof.analysis import Analysis, AnalysisOptions
from vprof.calibration import probe_ns
from vprof.control import Control
from vprof.drill import Enough
from vprof.errors import UsageError, VprofError
from vprof.live import LiveProgram
from vprof.naming import without_place
from vprof.plan import Plan
from vprof.server import LONG_SECONDS, Server
from vprof.session import Session, end_with_parent
from vprof.sessions import find
from vprof.target import Target


@contextmanager
def target_running(
    target: Target, options: list[str], server_options: str, traces: Path, analysis: AnalysisOptions
) -> Iterator[LiveProgram]:
    """The target under a session, its load and its server with their options."""
    plan = Plan.of(target.descriptor.roots)
    with ExitStack() as stack:
        if target.descriptor.server:
            server = Server.of(target, server_options)
            session = stack.enter_context(Session.start(None, server.account.name, probe_ns=probe_ns()))
            stack.enter_context(server.running(session, plan))
            check = stack.enter_context(server.lasting_load(options))
        else:
            session = stack.enter_context(Session.start(None, probe_ns=probe_ns()))
            command = target.command(LONG_SECONDS, options)
            check = stack.enter_context(_program(command, session, target.folder / "program.log"))
        program = LiveProgram(session, check, traces, analysis, plan)
        program.wait_until_joined()
        yield program


@contextmanager
def rebuilding(
    target: Target, options: list[str], server_options: str, traces: Path, analysis: AnalysisOptions
) -> Iterator[Rebuilder]:
    """Builds the target anew for each measurement, in a folder of its own: that of `vprof instrument` stays.

    Raises UsageError when the user's own command builds it: that may build where it did.
    """
    if target.command_of_user:
        raise UsageError("--rebuild builds by a descriptor's steps: this target was built by a command of yours")
    folder = target.folder / "rebuild"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "source"
    if target.source_dir.is_relative_to(target.folder) and target.source_dir.exists() and not source.exists():
        source.symlink_to(target.source_dir)
    built = replace(target, folder=folder)
    yield Rebuilder(built, options, server_options, traces, analysis, Plan.of(target.descriptor.roots))


@dataclass
class Rebuilder:
    """What VProfiler did: each plan is a build with the probes of its functions and no others, and a run from the
    start. To compare with, or where probes that are off cost too much. Fields as of `LiveProgram`."""

    target: Target
    load_options: list[str]
    server_options: str
    folder: Path
    options: AnalysisOptions
    plan: Plan
    count: int = 0

    def measure(
        self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
    ) -> Analysis:
        """A `drill.Measure`. Raises VprofError when the build fails, or as `LiveProgram.measure` does."""
        self.target.build(lambda step: None, frozenset(without_place(name) for name in functions))
        self.target.check(self.target.units())
        running = target_running(self.target, self.load_options, self.server_options, self.folder, self.options)
        with running as program:
            program.count = self.count
            self.count += 1
            return program.measure(functions, seconds, enough, compared)


@contextmanager
def program_running(command: list[str], root: str, traces: Path, analysis: AnalysisOptions) -> Iterator[LiveProgram]:
    """A command under a session; the calls of `root` are the intervals."""
    with ExitStack() as stack:
        session = stack.enter_context(Session.start(None, probe_ns=probe_ns()))
        check = stack.enter_context(_program(command, session, traces / "program.log"))
        program = LiveProgram(session, check, traces, analysis, Plan.of([root]), root)
        program.wait_until_joined()
        _check_site(session, root)
        yield program


@contextmanager
def attached(
    directory: Path, roots: list[str], calls_of: str | None, traces: Path, analysis: AnalysisOptions
) -> Iterator[LiveProgram]:
    """A session of somebody else, left with the probes on that were on. Its own recording goes on in a file of its own
    afterwards: `FILE.after-drill`."""
    session = find(directory)
    session.join()
    with session.alone():
        note, on, file = session.note(), session.sites_on(), session.stats()["file"]
        if note.owner:
            raise VprofError(f"{note.owner} switches the probes of this session: wait until it is done")
    for root in roots:
        _check_site(session, root)

    def check() -> None:
        if not session.stats()["processes"]:
            raise VprofError(f"no program runs in {directory} any more")

    program = LiveProgram(session, check, traces, analysis, Plan.of(roots), calls_of)
    try:
        program.wait_until_joined()
        yield program
    finally:
        _leave(session, on, file)
        with session.alone():
            session.write_note(note)
        session.disconnect()


def _leave(session: Control, on: set[int], file: str | None) -> None:
    now = session.sites_on()
    session.flip("on", sorted(on - now))
    session.flip("off", sorted(now - on))
    session.rotate(Path(f"{file}.after-drill") if file else None)


def _check_site(session: Control, root: str) -> None:
    """Raises UsageError when the programs that joined have no such site."""
    unmatched = session.sites.unmatched(Plan.of([root]))
    if unmatched:
        raise UsageError(unmatched[0])


@contextmanager
def _program(command: list[str], session: Session, output: Path) -> Iterator[Callable[[], None]]:
    """A program that makes its own load, its output in a file; ended by SIGTERM. Yields its check."""
    with output.open("wb") as log:
        process = _popen(command, session, log)

    def check() -> None:
        if process.poll() is not None:
            status = process.returncode
            raise VprofError(f"the program ended (status {status}) before the drill-down was done: let it run longer")

    try:
        yield check
    finally:
        process.terminate()
        process.wait()


def _popen(command: list[str], session: Session, log: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            env=session.environment(),
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            preexec_fn=end_with_parent,
        )
    except FileNotFoundError:
        raise UsageError(f"{command[0]}: not found") from None
    except PermissionError:
        raise UsageError(f"{command[0]}: not executable") from None
