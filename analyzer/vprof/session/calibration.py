"""What a probe costs on this machine, now: `vprof-calibrate`, run in a session of its own (runtime/calibrate/main.c).

    Session (small) + vprof-calibrate -> nanoseconds per enter+exit -> `session` event of the traces (probe_ps)

Some 0.1 s. The figure is of warm caches, so what probes take from a program is this or more.
"""

from __future__ import annotations

import subprocess
import time

from vprof.errors import VprofError
from vprof.installed import native
from vprof.session.owned import Arena, Session

_ARENA = Arena(2, 1 << 20)
"""The ring holds all that one run writes."""
_OWN_SITES = 64
"""The first numbers of a module are vprof_begin.o's."""
_SECONDS, _POLL_SECONDS = 10.0, 0.002
_LEAST_NS, _MOST_NS = 1.0, 1000.0
"""Other figures come from a machine that did not let it run."""


def probe_ns() -> float | None:
    """Nanoseconds of CPU that an enter and exit add to a call; None where that cannot be told."""
    try:
        with Session.start(None, arena=_ARENA) as session:
            ns = _run(session)
    except (VprofError, OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return ns if _LEAST_NS <= ns <= _MOST_NS else None


def _run(session: Session) -> float:
    """REQUIRES: no program has joined."""
    program = native("lib/vprof/vprof-calibrate")
    pipe = subprocess.PIPE
    with subprocess.Popen([program], env=session.environment(), stdin=pipe, stdout=pipe, text=True) as process:
        try:
            _switch_on(session, process)
            said, _ = process.communicate("\n", timeout=_SECONDS)
        finally:
            process.kill()
    return float(said.removeprefix("ready"))


def _switch_on(session: Session, process: subprocess.Popen[str]) -> None:
    """Returns when all probes of the program are on. Raises VprofError when it ends first or never joins."""
    deadline, known = time.monotonic() + _SECONDS, 0
    while True:
        for module in session.request("modules")["modules"][known:]:
            known += 1
            is_program = module["path"].endswith("vprof-calibrate")
            if is_program:
                session.request(f"on {module['base'] + _OWN_SITES}-{module['base'] + module['count'] - 1}")
            session.request(f"ack {module['index']}")
            if is_program:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            raise VprofError("vprof-calibrate did not join its session")
        time.sleep(_POLL_SECONDS)
