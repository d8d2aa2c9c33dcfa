"""A session that we own: starts the collector, keeps the plan on in what joins, cleans up.

    with Session.start(Path("run.trace")) as session:
        program = subprocess.Popen(command, env=session.environment())
        session.attend(program, plan)       # acknowledges new modules once the plan is on in them

Not thread-safe: one thread talks to the collector.
"""

from __future__ import annotations

import ctypes
import math
import os
import resource
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from vprof.errors import VprofError
from vprof.installed import native
from vprof.session.about import NOTHING, About
from vprof.session.control import Control, Note
from vprof.session.interposition import comes_without, preloaded, where_runtime_lies
from vprof.session.plan import Plan, Switched
from vprof.session.running import PREFIX, SHARED_MEMORY
from vprof.trace.marks import Retry, retry_text

NEEDED_BYTES = 192 << 20
"""The arena is fully allocated: with less free shared memory than this it goes to the temporary folder."""
_POLL_SECONDS = 0.005
"""What joins waits so long at its start."""
_PR_SET_PDEATHSIG = 1
_ROOMY_BYTES = 1 << 30


@dataclass(frozen=True)
class Arena:
    """Room for the threads that are recorded at one time, and for what each has written and nobody drained yet."""

    slots: int
    ring_bytes: int

    def with_sizes(self, slots: int | None, ring_bytes: int | None) -> Arena:
        """The same, but for what is given."""
        return Arena(slots or self.slots, ring_bytes or self.ring_bytes)


_USUAL = Arena(96, 512 << 10)
_ROOMY = Arena(256, 1 << 20)
"""With more than _ROOMY_BYTES free: 271 MB, for servers with many connections and bursts while the collector gets no
CPU."""
_SMALL = Arena(32, 64 << 10)
"""Under a limit of address space of our own, which the programs that we start have as well: 5 MB."""


def usual_arena() -> Arena:
    """What fits the machine, and our own limits."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return _SMALL
    return _ROOMY if _free_shared_memory() > _ROOMY_BYTES else _USUAL


@dataclass(frozen=True)
class Limit:
    """Of a recording: at most `max_bytes` in its file, 0 = no limit; or in the `newest` of several."""

    max_bytes: int = 0
    newest: bool = False


class Session(Control):
    """One collector, and the plan of its programs."""

    def __init__(self, directory: Path, collector: subprocess.Popen[str], preload: bool = False) -> None:
        super().__init__(directory)
        self._preload = preload
        self._collector = collector
        self._repeated_mark = ""

    @classmethod
    def start(
        cls,
        output: Path | None,
        user: str | None = None,
        limit: Limit | None = None,
        probe_ns: float | None = None,
        arena: Arena | None = None,
        about: About = NOTHING,
        preload: bool = False,
        locks: bool = False,
        compress: str | None = None,
    ) -> Session:
        """Starts a collector that writes to `output` (None: drains to nowhere). Raises VprofError with its reason.

        `user`: the account whose programs join, if it is not ours. For the traces: `probe_ns`, what a probe costs, and
        what is said `about` the programs. `preload`: programs get libvprof by LD_PRELOAD. `locks`: they record the
        steps of logical locks. `compress`: "zstd" or "lz4".
        """
        free = _free_shared_memory()
        parent = SHARED_MEMORY if free > NEEDED_BYTES else tempfile.gettempdir()
        directory = Path(parent) / f"{PREFIX}{secrets.token_hex(8)}"
        command = [native("lib/vprof/vprof-collector"), "--session", directory, "--output", output or "-", "--hold"]
        arena = arena or usual_arena()
        command += ["--slots", str(arena.slots), "--ring-bytes", str(arena.ring_bytes)]
        if probe_ns:
            command += ["--probe-ps", str(round(1000 * probe_ns))]
        if about.built_from:
            command += ["--built-from", about.built_from]
        if about.offered_rate:
            command += ["--offered-rate", str(about.offered_rate)]
        if limit and limit.max_bytes:
            command += ["--max-bytes", str(limit.max_bytes), *(["--newest"] if limit.newest else [])]
        if locks:
            command += ["--locks"]
        if compress:
            command += ["--compress", compress]
        if user:
            command += ["--user", user]
        # A session of its own keeps a Ctrl-C meant for the program from ending the collector before its last drain;
        # should we be killed, it drains, completes the file and ends.
        collector = subprocess.Popen(
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=end_with_parent,
            env={**os.environ, "VPROF_COMMAND": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])},
        )
        session = cls(directory, collector, preload)
        assert collector.stdout and collector.stderr
        if collector.stdout.readline().strip() != "ready":
            reason = collector.stderr.read().strip().removeprefix("vprof-collector: ")
            session.close()
            raise VprofError(reason.splitlines()[0] if reason else "the collector ended without a word")
        if about.retry:
            session._tell_of_retries(about.retry, output is not None, bool(limit and limit.newest))
        return session

    def _tell_of_retries(self, retry: Retry, in_file: bool, is_followed: bool) -> None:
        """In the file that is open, and in all that follow: whoever begins one looks into the note. `is_followed`: the
        collector begins others by itself."""
        text = retry_text(retry)
        self.write_note(Note(retry=text))
        if in_file:
            self.mark(text)
        self._repeated_mark = text if is_followed else ""

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def environment(self, program: str = "") -> dict[str, str]:
        """The environment of a program that is to join. `program`: its name, "" if it is not known. One that does not
        look for libvprof (`VPROF_RUNTIME=preloaded`) gets it by LD_PRELOAD in any case."""
        joined = {**os.environ, "VPROF_SESSION": str(self.directory), **where_runtime_lies()}
        return preloaded(joined) if self._preload or (program and comes_without(program)) else joined

    def follow(self, plan: Plan) -> None:
        """Switches the plan's sites on in modules that joined since the last call, and lets them start.

        What others switched by `vprof ctl` goes on top of the plan.
        """
        if self._repeated_mark:
            self.mark(self._repeated_mark)
        if not self.new_modules():
            return
        with self.alone():
            switched = Switched.of(plan).then(self.note().switched)
            for module in self.join():
                if module["state"] == "mapped":
                    self.flip("on", self.sites.switched(switched, module["index"]))
                self.request(f"ack {module['index']}")

    def attend(self, process: subprocess.Popen[Any], plan: Plan, seconds: float = math.inf) -> None:
        """Follows the plan until the process ends, for so long at most."""
        deadline = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < deadline:
            self.follow(plan)
            time.sleep(_POLL_SECONDS)

    def stop(self) -> dict[str, Any]:
        """Drains everything committed, completes the file, ends the collector."""
        reply = self.request("stop")
        self._collector.wait(timeout=60)
        return reply

    def close(self) -> None:
        """Ends the collector if it still runs, and removes the session's directory. May be called twice."""
        self.disconnect()
        if self._collector.poll() is None:
            self._collector.terminate()
            self._collector.wait(timeout=60)
        for pipe in (self._collector.stdout, self._collector.stderr):
            if pipe:
                pipe.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def _free_shared_memory() -> int:
    """Bytes; 0 where there is none that we may write."""
    try:
        return shutil.disk_usage(SHARED_MEMORY).free if os.access(SHARED_MEMORY, os.W_OK) else 0
    except OSError:
        return 0


def end_with_parent() -> None:
    """For `preexec_fn` of a process that is of no use without us: SIGTERM when we are gone, however that happened."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
