"""Whose session `top` looks at: one that runs already, or one of ours with a program or a target in it.

Each is a context that leaves nothing of ours running, whichever way out is taken.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vprof.errors import VprofError
from vprof.session.calibration import probe_ns
from vprof.session.control import Control
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.session.running import find
from vprof.target.joined import joined
from vprof.target.server import LONG_SECONDS, Server
from vprof.target.target import Target

_MOST_SAID_BYTES = 4096


def _never() -> str:
    return ""


@dataclass
class Running:
    """`plan`: of a session of ours. `over`: why no interval will end any more, "" if one may. `status`: of the program,
    like a shell's, once it has ended by itself."""

    session: Control
    plan: Plan
    over: Callable[[], str] = _never
    status: int = 0


def attached(directory: Path | None) -> Running:
    """A session of somebody else: the one in `directory`, or the only one that runs. Programs come and go. Raises
    UsageError or VprofError in one line."""
    return Running(find(directory), Plan.of([]))


@contextmanager
def program_running(command: list[str], plan: Plan, log: Path, preload: bool = False) -> Iterator[Running]:
    """A command whose output goes to a file; ended by SIGTERM if it runs for longer than we look."""
    with Session.start(None, probe_ns=probe_ns(), preload=preload) as session, _program(command, session, log) as run:
        run.plan = plan
        yield run


@contextmanager
def target_running(
    target: Target, plan: Plan, options: list[str], server_options: str, log: Path, preload: bool = False
) -> Iterator[Running]:
    """A target with its load, or the program that makes its own."""
    if not target.descriptor.server:
        command = target.command(LONG_SECONDS, options)
        started = Session.start(None, probe_ns=probe_ns(), about=target.about, preload=preload)
        with started as session, _program(command, session, log) as run:
            run.plan = plan
            yield run
        return
    server = Server.of(target, server_options)
    account = server.account.name
    with (
        Session.start(None, account, probe_ns=probe_ns(), about=target.about, preload=preload) as session,
        server.running(session, plan),
        server.lasting_load(options) as check,
    ):
        yield _checked(session, plan, check)


def _checked(session: Session, plan: Plan, check: Callable[[], None]) -> Running:
    run = Running(session, plan)

    def over() -> str:
        try:
            check()
        except VprofError as error:
            run.status = 1
            return str(error)
        return ""

    run.over = over
    return run


@contextmanager
def _program(command: list[str], session: Session, log: Path) -> Iterator[Running]:
    with log.open("wb") as output:
        process = joined(command, session, output)
    run = Running(session, Plan.of([]))

    def over() -> str:
        if process.poll() is None:
            return ""
        code = process.returncode
        run.status = code if code >= 0 else 128 - code
        how = f"by {_signal(-code)}" if code < 0 else f"with status {code}"
        said = _last_line(log) if code else ""
        return f"the program ended {how}" + (f": {said}" if said else "")

    run.over = over
    try:
        yield run
    finally:
        process.terminate()
        process.wait()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _MOST_SAID_BYTES))
        lines = file.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
