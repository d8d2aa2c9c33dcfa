"""A program that is started to join a session, for as long as somebody looks at it."""

from __future__ import annotations

import subprocess
from typing import IO

from vprof.session.owned import Session, end_with_parent
from vprof.target.shell import popen


def joined(command: list[str], session: Session, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Its output goes to `log`, and it ends with us. Raises UsageError if there is no such program."""
    return popen(
        command,
        env=session.environment(command[0]),
        stdout=log,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        preexec_fn=end_with_parent,
    )
