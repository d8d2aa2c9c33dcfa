"""Talking to the collector of a running session: requests, sites by name, the note. Protocol: runtime/SESSION.md.

Only to one of our own user, whoever made the directory: the kernel says who listens. What it says comes partly from the
recorded programs, so it is bounded, and plain when it goes into an error.

Who switches sites holds `alone()` meanwhile, so that the switch bytes and the note tell the same story. Not
thread-safe.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vprof.errors import VprofError
from vprof.session.plan import Plan, SiteIndex, Switched
from vprof.terminal import one_line

_CONNECT_SECONDS = 5.0
_REPLY_SECONDS = 60.0
"""A collector that is busy writing to a slow disk answers late, one that is stopped never."""
_MOST_REPLY_BYTES = 64 << 20
"""Every other site of all that a session can have is on: half of this."""
_MOST_SAID = 400
"""Characters of a complaint that are passed on."""
_UCRED = struct.Struct("3i")


def connect(directory: Path) -> socket.socket:
    """A connection to the collector in `directory`. Raises OSError: a PermissionError if it is another user's."""
    client = socket.socket(socket.AF_UNIX)
    try:
        client.settimeout(_CONNECT_SECONDS)
        client.connect(str(directory / "control"))
        _, uid, _ = _UCRED.unpack(client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
        if uid != os.geteuid():
            raise PermissionError(errno.EPERM, "the session of another user")
    except OSError:
        client.close()
        raise
    return client


@dataclass
class Note:
    """What the clients of a session tell each other.

    `owner`: whose plan no other may change, "" = anyone may; `switched`: what `vprof ctl` switched, on top of the plan;
    `retry`: a mark that each file is to have (trace/marks.py), "" = none.
    """

    owner: str = ""
    switched: Switched = field(default_factory=Switched)
    retry: str = ""


class Control:
    """One client. `modules` are those it knows, `sites` knows every site of them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.sites = SiteIndex()
        self.modules: list[dict[str, Any]] = []
        self._socket: socket.socket | None = None

    def request(self, line: str) -> dict[str, Any]:
        """One request, one reply. Raises VprofError with the collector's reason."""
        try:
            if self._socket is None:
                self._socket = connect(self.directory)
            self._socket.settimeout(_REPLY_SECONDS)
            self._socket.sendall(f"{line}\n".encode())
            text = _read_line(self._socket)
        except OSError as error:
            reason = error.strerror or f"silent for {_REPLY_SECONDS:.0f} s"
            raise VprofError(f"the collector does not answer ({reason}): the trace ends here") from None
        if not text:
            raise VprofError("the collector ended early: the trace ends here")
        try:
            reply = json.loads(text)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            raise VprofError(f"{self.directory}: what answers there is no collector")
        if "error" in reply:
            raise VprofError(f"collector: {one_line(str(reply['error'])[:_MOST_SAID])}")
        return reply

    def disconnect(self) -> None:
        """May be called twice."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Other clients wait, those of `vprof` that is: it is a lock on the session's directory."""
        folder = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def new_modules(self) -> list[dict[str, Any]]:
        """Modules that joined and that we do not know."""
        modules: list[dict[str, Any]] = self.request("modules")["modules"]
        return modules[len(self.modules) :]

    def join(self) -> list[dict[str, Any]]:
        """The new modules, now known with their sites. Raises VprofError when a module's metadata are unreadable."""
        new = self.new_modules()
        for module in new:
            if module["state"] == "mapped":
                self.sites.add(module)
        self.modules += new
        return new

    @property
    def programs(self) -> list[dict[str, Any]]:
        """The modules without libvprof itself, which joins first: its sites are functions of the C library."""
        return [module for module in self.modules if Path(module["path"]).name != "libvprof.so"]

    def flip(self, verb: str, numbers: list[int]) -> dict[str, Any]:
        """`on` or `off`. Returns the times before and after, in ticks; nothing without sites."""
        return self.request(f"{verb} {ranges(numbers)}") if numbers else {}

    def switch(self, plan: Plan) -> None:
        """Makes the plan that of all known modules, touching only what changes."""
        before, after = self.sites_on(), set(self.sites.numbers(plan))
        self.flip("on", sorted(after - before))
        self.flip("off", sorted(before - after))

    def mark(self, text: str) -> None:
        """Writes a remark with its time into the trace."""
        self.request(f"mark {text}")

    def rotate(self, output: Path | None) -> dict[str, Any]:
        """Finishes the current file and goes on in `output` (None: nowhere)."""
        reply = self.request(f"rotate {output or '-'}")
        if output and (retry := self.note().retry):
            self.mark(retry)
        return reply

    def note(self) -> Note:
        """The session's note. REQUIRES: `alone`, if it is to be written again."""
        raw = json.loads(self.request("plan")["note"] or "{}")
        return Note(raw.get("owner", ""), Switched(raw.get("switched", {})), raw.get("retry", ""))

    def write_note(self, note: Note) -> None:
        told = {"owner": note.owner, "switched": note.switched.rules, "retry": note.retry}
        self.request(f"note {json.dumps({key: value for key, value in told.items() if value or key != 'retry'})}")

    def sites_on(self) -> set[int]:
        """Site numbers that are on now."""
        return {number for first, count in self.request("plan")["on"] for number in range(first, first + count)}

    def stats(self) -> dict[str, Any]:
        return self.request("stats")


def _read_line(client: socket.socket) -> bytes:
    """One reply; empty if there is none any more. Raises OSError when it takes or has too much."""
    deadline = time.monotonic() + _REPLY_SECONDS
    line = bytearray()
    while not line.endswith(b"\n"):
        client.settimeout(max(deadline - time.monotonic(), 0.001))
        part = client.recv(1 << 20)
        if not part:
            return b""
        line += part
        if len(line) > _MOST_REPLY_BYTES:
            raise OSError(errno.EMSGSIZE, f"a reply of more than {_MOST_REPLY_BYTES >> 20} MB")
    return bytes(line)


def ranges(numbers: list[int]) -> str:
    """Sorted numbers as the protocol's inclusive ranges: [1, 2, 3, 7] -> "1-3 7"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in parts)
