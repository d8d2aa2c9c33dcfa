"""What a watch runs beside: a session of somebody else, a program that it starts, or a target with its load.

Job + one of these -> a session with the plan on -> loop.py, until a signal, or until what it runs beside has ended
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from vprof.errors import VprofError
from vprof.session.about import NOTHING, About
from vprof.session.control import Control, Note
from vprof.session.owned import Limit, Session
from vprof.session.plan import Plan
from vprof.session.running import find
from vprof.target.server import LONG_SECONDS, Server
from vprof.target.shell import popen
from vprof.target.target import Target
from vprof.watch.keep import Folder
from vprof.watch.loop import Say, Seen, Settings, Watch
from vprof.watch.probes import OWNER, Probes


@dataclass(frozen=True)
class Job:
    """`read_plan`: now, and again at a SIGHUP. `most`: the part of the intervals' time that probes may take."""

    folder: Folder
    settings: Settings
    read_plan: Callable[[], Plan]
    most: float
    say: Say
    seen: Seen

    def probes(self, session: Control) -> Probes:
        return Probes(session, self.read_plan(), self.settings.root, self.most)

    def run(self, session: Control, probes: Probes, is_over: Callable[[], bool], signals: Signals) -> None:
        watch = Watch(session, self.folder, probes, self.settings, self.say, self.seen)
        self.say("begun", folder=self.folder.path, session=session.directory, limit=self.settings.threshold.text)
        try:
            watch.run(is_over, lambda: signals.new_plan(self.read_plan, self.say))
        finally:
            self.say("ended", kept=watch.kept, in_folder=len(self.folder.kept))


class Signals:
    """What the watch was told: to end (SIGTERM, SIGINT), to read its plan again (SIGHUP)."""

    def __init__(self) -> None:
        self.ends = self.rereads = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """They no longer end us."""
        before = {one: signal.signal(one, self._hear) for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self.rereads = True
        else:
            self.ends = True

    def new_plan(self, read_plan: Callable[[], Plan], say: Say) -> Plan | None:
        """At most once for each SIGHUP; a plan that cannot be read changes nothing."""
        if not self.rereads:
            return None
        self.rereads = False
        try:
            return read_plan()
        except VprofError as error:
            say("plan-unreadable", reason=error)
            return None


def watch_session(job: Job, directory: Path) -> None:
    """A session of somebody else, which is left as it was."""
    session = find(directory)
    with session.alone():
        note, file, on = session.note(), session.stats()["file"], session.sites_on()
        if note.owner == OWNER:
            # A watch that was killed left it so, and nobody else was there before.
            note, file, on = Note(retry=note.retry), None, set()
        elif note.owner:
            raise VprofError(f"{note.owner} switches the probes of this session: wait until it is done")
    session.join()
    probes, signals = job.probes(session), Signals()
    try:
        with signals.heard():
            job.run(session, probes, lambda: signals.ends, signals)
        probes.leave(note, on)
        session.rotate(Path(f"{file}.after-watch") if file else None)
    finally:
        session.disconnect()


def watch_program(job: Job, arguments: list[str], preload: bool, about: About = NOTHING) -> None:
    """To its end. Exits with its status."""
    signals = Signals()
    with _session(job, preload, about=about) as session, signals.heard():
        process = popen(arguments, env=session.environment(arguments[0]))
        told = False

        def is_over() -> bool:
            nonlocal told
            if signals.ends and not told:
                told = True
                process.terminate()
            return process.poll() is not None

        try:
            job.run(session, job.probes(session), is_over, signals)
        except VprofError as error:
            job.say("collector-lost", reason=f"{error}; the program goes on unrecorded")
            process.wait()
            raise
        if not session.programs:
            raise VprofError("no records: no program built by vprof-cc joined; build it with CC=vprof-cc")
    if process.returncode and not (told and process.returncode == -signal.SIGTERM):
        status = process.returncode if process.returncode > 0 else 128 - process.returncode
        job.say("program-ended", status=status)
        sys.exit(status)


def watch_target(
    job: Job, target: Target, server_options: str, options: list[str], seconds: int | None, preload: bool
) -> None:
    """Its server, which is set up before and stopped at the end, under its load; or its command. `seconds`: None is
    until a signal."""
    if not target.descriptor.server:
        watch_program(job, target.command(seconds or LONG_SECONDS, options), preload, target.about)
        return
    server, signals = Server.of(target, server_options), Signals()
    with (
        _session(job, preload, server.account.name, target.about) as session,
        server.running(session, job.read_plan()),
        server.lasting_load(options) as check,
        signals.heard(),
    ):
        end = time.monotonic() + (seconds or LONG_SECONDS * 10**6)

        def is_over() -> bool:
            # First, since the load has had a Ctrl-C as well.
            if signals.ends or time.monotonic() >= end:
                return True
            check()
            return False

        job.run(session, job.probes(session), is_over, signals)


def _session(job: Job, preload: bool, user: str | None = None, about: About = NOTHING) -> Session:
    limit = Limit(2 * job.settings.piece_bytes)
    return Session.start(None, user, limit, job.settings.probe_ns, None, about, preload)
