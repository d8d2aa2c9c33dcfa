"""Finding the session that a user means: the running one, the named one, or an error that names what there is.

Sessions of our own user: a directory of another in shared memory, which all may write to, is not looked into.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from vprof.errors import UsageError, VprofError
from vprof.session.control import Control, connect
from vprof.terminal import one_line

SHARED_MEMORY = Path("/dev/shm")
PREFIX = "vprof-"
"""Of the names of the directories that `vprof` makes, in shared memory or the temporary folder."""

_START_ONE = "start one: vprof record --sites all -- PROGRAM"


@dataclass(frozen=True)
class RunningSession:
    """`programs`: (name, pid) of recorded processes, the first 16 of `processes`; `seconds`: since when it runs."""

    directory: Path
    programs: list[tuple[str, int]]
    processes: int
    seconds: float

    def __str__(self) -> str:
        names = ", ".join(dict.fromkeys(name for name, _ in self.programs)) or "no program yet"
        pid = f", pid {self.programs[0][1]}" if self.programs else ""
        more = f" and {self.processes - 1} more" if self.processes > 1 else ""
        return f"{self.directory} ({names}{pid}{more}, since {self.seconds:.0f} s)"


def running() -> list[RunningSession]:
    """The sessions of our own user that a collector answers for."""
    return [_look(path) for path in _directories() if (path / "control").exists() and not _unreachable(path)]


def _look(directory: Path) -> RunningSession:
    """Raises VprofError when it ends meanwhile."""
    stats = Control(directory).stats()
    programs = [(one_line(program_name(pid)), pid) for pid in stats.get("pids", [])]
    seconds = max(0.0, time.time() - (directory / "control").stat().st_mtime)
    return RunningSession(directory, programs, stats["processes"], seconds)


def _said(directory: Path) -> str:
    try:
        return str(_look(directory))
    except (VprofError, OSError):
        return str(directory)


def program_name(pid: int) -> str:
    """As the kernel knows it, "?" of a process that has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").rstrip("\n")
    except OSError:
        return "?"


def find(directory: Path | None) -> Control:
    """The session in `directory`, or the only one that runs. Raises UsageError or VprofError in one line."""
    if directory is not None:
        reason = _unreachable(directory)
        if reason:
            raise VprofError(reason)
        return Control(directory)
    found = [path for path in _directories() if (path / "control").exists()]
    running = [path for path in found if not _unreachable(path)]
    if len(running) > 1:
        raise UsageError(
            f"{len(running)} sessions are running, name one by --session: {', '.join(map(_said, running))}"
        )
    if running:
        return Control(running[0])
    raise VprofError(f"no session is running; {_unreachable(found[0]) if found else _START_ONE}")


def _directories() -> list[Path]:
    parents = dict.fromkeys([SHARED_MEMORY, Path(tempfile.gettempdir())])
    return sorted(path for parent in parents for path in parent.glob(f"{PREFIX}*") if _is_ours(path))


def _is_ours(directory: Path) -> bool:
    """Not what a link leads to: anybody may make one to a session of ours."""
    try:
        status = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _unreachable(directory: Path) -> str:
    """Why no collector answers there, or ""."""
    if not directory.is_dir():
        return f"{directory}: there is no session (any more); {_START_ONE}"
    if not _is_ours(directory):
        return f"{directory}: the session of another user, or a link"
    try:
        connect(directory).close()
    except PermissionError:
        return f"{directory}: the session of another user"
    except TimeoutError:
        return f"{directory}: the collector does not answer"
    except OSError:
        return f"{directory}: the collector has ended and left its session behind: remove that folder"
    return ""
