"""What a drill-down runs: a target with its load, a program of the user's, or a session that runs already.

Each is a context that yields a `LiveProgram` and leaves nothing of ours running, whichever way out is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from vprof.drill.live import LiveProgram
from vprof.drill.loop import Enough
from vprof.errors import UsageError, VprofError
from vprof.session.calibration import probe_ns
from vprof.session.control import Control
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.session.running import find
from vprof.tables.naming import without_place
from vprof.target.joined import joined
from vprof.target.server import LONG_SECONDS, Server
from vprof.target.target import Target
from vprof.variance.analysis import Analysis, AnalysisOptions


@dataclass(frozen=True)
class TargetRun:
    """A target, and how it is run and measured: `load_options` of its load, or of the program that makes its own,
    `server_options` of its server, traces in `traces`. `preload`: as of `Session.start`."""

    target: Target
    load_options: list[str]
    server_options: str
    traces: Path
    analysis: AnalysisOptions
    preload: bool = False

    @property
    def plan(self) -> Plan:
        """What is on before anything is chosen."""
        return Plan.of(self.target.descriptor.roots)


@contextmanager
def target_running(run: TargetRun) -> Iterator[LiveProgram]:
    """The target under a session, its load and its server with their options."""
    target = run.target
    with ExitStack() as stack:
        if target.descriptor.server:
            server = Server.of(target, run.server_options)
            session = stack.enter_context(_session(target, run.preload, server.account.name))
            stack.enter_context(server.running(session, run.plan))
            check = stack.enter_context(server.lasting_load(run.load_options))
        else:
            session = stack.enter_context(_session(target, run.preload))
            command = target.command(LONG_SECONDS, run.load_options)
            check = stack.enter_context(_program(command, session, target.folder / "program.log"))
        program = LiveProgram(session, check, run.traces, run.analysis, run.plan)
        program.wait_until_joined()
        yield program


def _session(target: Target, preload: bool, user: str | None = None) -> Session:
    return Session.start(None, user, probe_ns=probe_ns(), about=target.about, preload=preload)


@contextmanager
def rebuilding(run: TargetRun) -> Iterator[Rebuilder]:
    """Builds the target anew for each measurement, in a folder of its own: that of `vprof instrument` stays.

    Raises UsageError when the user's own command builds it: that may build where it did.
    """
    target = run.target
    if target.command_of_user:
        raise UsageError("--rebuild builds by a descriptor's steps: this target was built by a command of yours")
    folder = target.folder / "rebuild"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "source"
    if target.source_dir.is_relative_to(target.folder) and target.source_dir.exists() and not source.exists():
        source.symlink_to(target.source_dir)
    yield Rebuilder(replace(run, target=replace(target, folder=folder)), run.plan)


@dataclass
class Rebuilder:
    """What VProfiler did: each plan is a build with the probes of its functions and no others, and a run from the
    start. To compare with, or where probes that are off cost too much. `plan`, `count`, `first_seconds`, `seen`: as of
    `LiveProgram`."""

    run: TargetRun
    plan: Plan
    count: int = 0
    first_seconds: float = 600.0
    seen: Callable[[int, float], None] = field(default=lambda intervals, seconds: None)

    def measure(
        self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
    ) -> Analysis:
        """A `drill.Measure`. Raises VprofError when the build fails, or as `LiveProgram.measure` does."""
        target = self.run.target.build(lambda step: None, frozenset(without_place(name) for name in functions))
        target.check(target.units())
        with target_running(replace(self.run, target=target)) as program:
            program.count, program.first_seconds = self.count, self.first_seconds
            if self.count == 0:
                program.seen = self.seen
            self.count += 1
            return program.measure(functions, seconds, enough, compared)


@contextmanager
def program_running(
    command: list[str], roots: list[str], traces: Path, analysis: AnalysisOptions, preload: bool = False
) -> Iterator[LiveProgram]:
    """A command under a session; the calls of the first root are the intervals, all stay on. `preload`: as of
    `Session.start`."""
    with ExitStack() as stack:
        session = stack.enter_context(Session.start(None, probe_ns=probe_ns(), preload=preload))
        check = stack.enter_context(_program(command, session, traces / "program.log"))
        program = LiveProgram(session, check, traces, analysis, Plan.of(roots), roots[0])
        program.wait_until_joined()
        for root in roots:
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
        process = joined(command, session, log)

    def check() -> None:
        if process.poll() is not None:
            status = process.returncode
            raise VprofError(f"the program ended (status {status}) before the drill-down was done: let it run longer")

    try:
        yield check
    finally:
        process.terminate()
        process.wait()
