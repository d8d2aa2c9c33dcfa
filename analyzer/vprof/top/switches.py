"""What `top` switches in a session, and puts back when it leaves.

    functions -> [plan.py of session] sites -> switch bytes, and the note: what joins later has it, too

While it looks, the session is its own: whoever else cuts the recording into files, or switches probes, is refused.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from vprof.errors import UsageError, VprofError
from vprof.session.control import Control, Note
from vprof.session.owned import Session
from vprof.session.plan import Plan, Switched
from vprof.terminal import one_line

_OWNER = "vprof top"
_OURS = re.compile(r"vprof top \(pid (\d+)\)")


class Switches:
    """`on`: names of functions that are on, as of the last `look`."""

    def __init__(self, session: Control, root: str | None) -> None:
        self.on: list[str] = []
        self._session, self._root = session, root
        self._before: Note | None = None
        self._file: str | None = None
        self._on_before: set[int] = set()
        self._switched: dict[str, bool] = {}
        self._known: tuple[int, set[int]] | None = None

    def begin(self) -> None:
        """Raises VprofError when somebody else has the session, UsageError when its programs have no such root."""
        session = self._session
        with session.alone():
            note, self._file = session.note(), session.stats()["file"]
            found = _OURS.fullmatch(note.owner)
            if found and not _runs(int(found[1])):
                # It was killed: nobody else was there before, and nobody wants what it recorded.
                note, self._file = replace(note, owner=""), None
            if note.owner:
                raise VprofError(f"{one_line(note.owner)} has this session: wait until it is done")
            if not isinstance(session, Session):
                session.join()
            self._before, self._on_before = note, session.sites_on()
            session.write_note(replace(note, owner=f"{_OWNER} (pid {os.getpid()})"))
        if session.programs and (said := self.unmatched()):
            raise UsageError(said)
        if self._root:
            self.switch([self._root], True)

    def unmatched(self) -> str:
        """Why the programs have no such root, "" if they have."""
        return next(iter(self._session.sites.unmatched(Plan.of([self._root]))), "") if self._root else ""

    def switch(self, names: list[str], on: bool) -> int:
        """Returns how many sites. Raises UsageError when that would end the intervals."""
        if not on and self._root in names:
            raise UsageError(f"{self._root} stays on: its calls are the intervals")
        session, plan = self._session, Plan.of(names)
        with session.alone():
            note = session.note()
            switched = note.switched.then(Switched.of(plan, on))
            session.write_note(replace(note, switched=switched))
            numbers, before = set(session.sites.numbers(plan)), session.sites_on()
            changed = sorted(numbers - before if on else numbers & before)
            session.flip("on" if on else "off", changed)
        self._switched |= dict.fromkeys(names, on)
        return len(changed)

    def look(self) -> None:
        """What is on now. Many sites are gone through only when that has changed."""
        session = self._session
        now = len(session.modules), session.sites_on()
        if now != self._known:
            self._known = now
            self.on = sorted({name for name, _, sites in session.sites.sites() if not now[1].isdisjoint(sites)})

    def roots(self) -> list[int]:
        """Numbers of the root's sites."""
        return self._session.sites.numbers(Plan.of([self._root])) if self._root else []

    def leave(self) -> None:
        """As it was: what we switched goes back, the recording goes on in another file if there was one."""
        if self._before is None:
            return
        session, before = self._session, self._before
        with session.alone():
            on = set(session.sites.numbers(Plan.of(name for name, on in self._switched.items() if on)))
            off = set(session.sites.numbers(Plan.of(name for name, on in self._switched.items() if not on)))
            now = session.sites_on()
            session.flip("off", sorted((on - self._on_before) & now))
            session.flip("on", sorted(((on | off) & self._on_before) - now))
            session.write_note(replace(before, retry=session.note().retry))
        session.rotate(Path(f"{self._file}.after-top") if self._file else None)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
