"""The life of a target's server and its load: set up once, started, checked, loaded, stopped on every way out.

    [server] setup -> [load] setup      once, the server dormant; again when one of these texts changed
    [server] start -> ready             under a session, or dormant
    [load] command                      without the session: clients are not measured; or a chosen load (--load)
    [server] stop                       SIGTERM if none is given, SIGKILL if it does not help

Database servers refuse root: for root everything here runs as the descriptor's `user`, who owns the server's folder.
Only processes started here, and what a load has started, are ever signalled, by their ids. Not thread-safe.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from vprof.errors import UsageError, VprofError
from vprof.session import descendants
from vprof.session.owned import Session, end_with_parent
from vprof.session.plan import Plan
from vprof.target.target import Target

LONG_SECONDS = 24 * 3600
"""For a load or program that runs until it is ended."""

_READY_SECONDS = 300
"""That it ended is seen at once; one that recovers, or whose gigabyte of metadata is read first, needs minutes."""
_STOP_SECONDS = 60
_SILENT_SECONDS = 3
"""From then on what is waited for is said."""
_POLL_SECONDS = 0.05
_NULL = subprocess.DEVNULL


@dataclass(frozen=True)
class Account:
    """Who runs the server: None in all fields means ourselves."""

    name: str | None = None
    uid: int | None = None
    gid: int | None = None

    @classmethod
    def of(cls, target: Target) -> Account:
        """The descriptor's user if we are root, else ourselves. Raises UsageError when there is no such account."""
        name = target.descriptor.server.get("user")
        if name is None or os.geteuid() != 0:
            return cls()
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            raise UsageError(f"{target.descriptor.file}: [server] user: there is no account '{name}'") from None
        return cls(name, entry.pw_uid, entry.pw_gid)

    def popen(self) -> dict[str, Any]:
        """Arguments that make `subprocess` run a command as this account."""
        return {} if self.uid is None else {"user": self.uid, "group": self.gid, "extra_groups": []}


def check_server_options(options: str, target: Target | None) -> None:
    """Raises UsageError if there is no server that they could be for."""
    if options and not (target and target.descriptor.server):
        raise UsageError("--server-options are for a --target with a server: give others after `--`")


class Server:
    """One server of a target. Make it with `Server.of`, run it with `running`."""

    def __init__(self, target: Target, account: Account, options: str = "") -> None:
        self.target = target
        self.account = account
        self.options = _words(options)
        self.folder = target.server_dir
        self.log = target.folder / "server.log"
        self.load_log = target.folder / "load.log"
        self.latencies = self.folder / "latencies"
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def of(cls, target: Target, options: str = "") -> Server:
        """The server, set up: what its setup steps and those of the load make is there. Raises VprofError.

        `options`, as in a shell, go to the end of the command that starts it.
        """
        server = cls(target, Account.of(target), options)
        with server._alone():
            server._set_up()
        return server

    @contextmanager
    def running(self, session: Session | None = None, plan: Plan | None = None) -> Iterator[None]:
        """The server runs and is ready; stopped on the way out. With a session it has joined, the plan on.

        Raises VprofError when it does not get ready.
        """
        with self._alone(), self._alive(session, plan):
            yield

    @contextmanager
    def _alive(self, session: Session | None = None, plan: Plan | None = None) -> Iterator[None]:
        with _ended_by_signals():
            try:
                self._start(session, plan)
                yield
            finally:
                self._stop()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two vprofs would share one data folder, and one of them measure the other's server."""
        with (self.target.folder / "server.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise VprofError(
                    f"another vprof runs the server in {self.folder}: wait, or give another --dir"
                ) from None
            yield

    def check(self) -> None:
        """Raises VprofError if the server has ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise VprofError(f"the server ended (status {self._process.returncode}): {_last(self.log)} ({self.log})")

    def load(
        self, seconds: int, options: list[str], first: Callable[[], None] | None = None, keep: bool = False
    ) -> subprocess.Popen[bytes]:
        """Starts the load, its output in `load.log`; `first` runs in the new process. The caller waits for it.

        `keep`: the latencies of a chosen load go to the file `latencies`, else nowhere."""

        def begin() -> None:
            end_with_parent()
            if first:
                first()

        with self.load_log.open("wb") as log:
            command = self.target.command(seconds, options, str(self.latencies) if keep else os.devnull)
            return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, preexec_fn=begin, **self.how())

    @contextmanager
    def lasting_load(self, options: list[str]) -> Iterator[Callable[[], None]]:
        """The load runs until the way out. Yields what to call now and then: it starts a load that ended anew.

        That raises VprofError when the server ended, or the load failed.
        """
        load = self.load(LONG_SECONDS, options)

        def check() -> None:
            nonlocal load
            self.check()
            if load.poll() is not None:
                self.check_load(load.returncode)
                load = self.load(LONG_SECONDS, options)

        try:
            yield check
        finally:
            descendants.end_with(load)

    def check_load(self, status: int) -> None:
        """Raises VprofError when a load ended with such a status that it failed."""
        if status:
            raise VprofError(f"the load failed (status {status}): {_last(self.load_log)} ({self.load_log})")

    def how(self, session: Session | None = None, program: str = "") -> dict[str, Any]:
        """Arguments of every process: folder, account, environment. Only with a session it joins that one, as its
        `program` has to."""
        environment = dict(os.environ) if session is None else session.environment(program)
        environment["HOME"] = str(self.folder)
        for key, value in self.target.descriptor.server.get("environment", {}).items():
            environment[key] = value.format(server=self.folder)
        return {"cwd": self.folder, "env": environment, **self.account.popen()}

    def _start(self, session: Session | None, plan: Plan | None) -> None:
        command = [*self.target.filled(self.target.descriptor.server["start"]), *self.options]
        with self.log.open("wb") as log:
            # A session of its own: a Ctrl-C is for us and the load, and we stop the server in order.
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=end_with_parent,
                **self.how(session, command[0]),
            )
        ready = self.target.filled(self.target.descriptor.server["ready"])
        deadline = time.monotonic() + _READY_SECONDS
        while True:
            check = subprocess.Popen(ready, stdout=_NULL, stderr=_NULL, **self.how())
            while check.poll() is None:
                self.check()
                if session and plan:
                    session.follow(plan)
                time.sleep(_POLL_SECONDS)
            if check.returncode == 0:
                return
            if time.monotonic() > deadline:
                raise VprofError(f"the server is not ready after {_READY_SECONDS} s: {_last(self.log)} ({self.log})")

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        template = self.target.descriptor.server.get("stop")
        stop = self.target.filled(template, pid=str(process.pid)) if template else None
        try:
            if stop:
                subprocess.run(stop, stdout=_NULL, stderr=_NULL, timeout=_STOP_SECONDS, **self.how())
            else:
                process.terminate()
            self._wait_for_end(process, f"`{shlex.join(stop)}`" if stop else "SIGTERM")
        except subprocess.TimeoutExpired:
            print(f"vprof: the server (process {process.pid}) did not stop: killed ({self.log})", file=sys.stderr)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def _wait_for_end(self, process: subprocess.Popen[bytes], told: str) -> None:
        """Raises TimeoutExpired. Says what it waits for if that takes long."""
        try:
            process.wait(timeout=min(_SILENT_SECONDS, _STOP_SECONDS))
        except subprocess.TimeoutExpired:
            print(
                f"vprof: waiting up to {_STOP_SECONDS} s for the server (process {process.pid}) to end after {told}",
                file=sys.stderr,
            )
            process.wait(timeout=_STOP_SECONDS)

    def _set_up(self) -> None:
        descriptor = self.target.descriptor
        steps = descriptor.server.get("setup", [])
        load_steps = self.target.load_table.get("setup", [])
        marker = self.target.folder / f"{self.folder.name}.setup"
        wanted = "\n".join([*steps, *load_steps, f"as {self.account.name}"])
        if self.folder.exists() and marker.exists() and marker.read_text(encoding="utf-8") == wanted:
            return
        marker.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._make_folder()
        with (self.target.folder / "setup.log").open("wb") as log:
            self._steps(steps, log)
            if load_steps:
                with self._alive():
                    self._steps(load_steps, log)
        marker.write_text(wanted, encoding="utf-8")

    def _make_folder(self) -> None:
        """Makes the server's folder, and checks that its account can work there."""
        self.folder.mkdir(mode=0o700)
        if self.account.uid is not None and self.account.gid is not None:
            os.chown(self.folder, self.account.uid, self.account.gid)
            if subprocess.run(["test", "-w", str(self.folder)], check=False, **self.how()).returncode:
                raise UsageError(
                    f"{self.account.name}, who runs the server, cannot enter {self.folder}: "
                    "give --dir a folder below one that others may enter"
                )

    def _steps(self, steps: list[str], log: Any) -> None:
        for step in steps:
            command = self.target.filled(step)
            done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False, **self.how())
            if done.returncode:
                raise VprofError(f"the setup failed: {_last(Path(log.name))} (all of it: {log.name})")


def _words(options: str) -> list[str]:
    """As a shell would split them. Raises UsageError for a quote that is not closed."""
    try:
        return shlex.split(options)
    except ValueError as error:
        raise UsageError(f"--server-options '{options}': {error}") from None


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind the stack, so that what was started is stopped."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _last(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "no output"
