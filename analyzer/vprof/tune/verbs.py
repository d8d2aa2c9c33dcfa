"""Other verbs of vprof, each in a process of its own, which ends with ours."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from vprof.session.owned import end_with_parent

_VPROF = [sys.executable, "-c", "from vprof.cli import main; main()"]
_OURS = "vprof: "
_TRACE_WRITTEN = re.compile(r": \d+ records, \d+ dropped")


def run_verb(words: list[str], log: Path | None) -> int:
    """To its end, which it is asked for when we are ended: then it stops what it started in order. What it prints goes
    to the log, else to standard error."""
    if log is None:
        return _ended(words, stdout=sys.stderr.fileno())
    with log.open("wb") as output:
        return _ended(words, stdout=output, stderr=subprocess.STDOUT)


def last_words(log: Path) -> str:
    """Of the program, which knows why it failed, and of the verb; a server's are among these."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    ours = [line.removeprefix(_OURS) for line in lines if line.startswith(_OURS)]
    others = [line for line in lines if not line.startswith(_OURS) and not _TRACE_WRITTEN.search(line)]
    if not ours or not others:
        return (ours or others or [f"vprof failed without a word ({log})"])[-1]
    return f"{others[-1]} ({ours[-1]})"


def _ended(words: list[str], **streams: Any) -> int:
    process = subprocess.Popen(
        [*_VPROF, *words],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=end_with_parent,
        **streams,
    )
    try:
        return process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
