"""Writes traces by hand, for tests only: a second reading of runtime/TRACE_FORMAT.md, independent of the reader.

    trace = Writer()
    worker = trace.thread(1)
    worker.invocation(site=7, enter=100, leave=200)
    trace.save(path)

Ticks are nanoseconds unless a test sets other anchors.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

LOW48 = (1 << 48) - 1
LONG = 0xFFFFFFFF


def header(version: int = 5, number: int = 0, session: bytes = bytes(range(16))) -> bytes:
    head = struct.pack("<8sIIQ16s20x", b"VPROFTRC", version, 64, number, session)
    return head + struct.pack("<I", zlib.crc32(head))


def chunk(kind: int, payload: bytes, number: int, subject: int = 0, base: int = 0) -> bytes:
    head = struct.pack("<4sIQIIQQI", b"VPCK", kind, len(payload), subject, number, base, 0, zlib.crc32(payload))
    return head + struct.pack("<I", zlib.crc32(head)) + payload + bytes(-len(payload) % 16)


def record(kind: int, time: int, aux: int, word: int) -> bytes:
    return struct.pack("<QQ", (time & LOW48) | aux << 48 | kind << 60, word)


class Thread:
    """The records of one thread, written in the order of the calls. Each method is a kind of section 2."""

    def __init__(self, uid: int) -> None:
        self.uid = uid
        self.times: list[int] = []
        self.records: list[bytes] = []
        self.cuts: list[int] = []

    def invocation(self, site: int, enter: int, leave: int, depth: int = 0, kind: int = 1, call: int = 0) -> None:
        duration, place = leave - enter, site << 32 | call << 54
        if duration >= LONG:
            self._add(leave, record(2, leave, 0, enter), record(kind, leave, depth, LONG | place))
        else:
            self._add(leave, record(kind, leave, depth, duration | place))

    def abandoned(self, site: int, enter: int, noticed: int, depth: int = 0, call: int = 0) -> None:
        self.invocation(site, enter, noticed, depth, kind=14, call=call)

    def begin(self, id_: int, t: int, label: int = 0, age_ns: int | None = None) -> None:
        """`age_ns`: so long before the request was created; None: nothing was told."""
        told = [] if age_ns is None else [record(7, 0, 0, age_ns & (1 << 64) - 1)]
        self._add(t, record(3, t, label, id_), *told)

    def end(self, id_: int, t: int, aborted: bool = False, label: int = 0) -> None:
        self._add(t, record(4, t, int(aborted) | label << 1, id_))

    def on_behalf(self, id_: int, t: int) -> None:
        self._add(t, record(5, t, 0, id_))

    def blocked(
        self,
        began: int,
        resumed: int,
        peer: int = 0,
        woke: int = 0,
        flags: int | None = None,
        object_: int = 0xBEEF,
        class_: int = 1,
    ) -> None:
        """A wait; without a peer it is one that nobody is known to have ended."""
        flags = (0 if peer else 1) if flags is None else flags
        self._add(resumed, record(6, resumed, class_, began), record(7, 0, 0, object_), record(8, woke, flags, peer))

    def held(self, since: int, release: int, object_: int = 0xBEEF, class_: int = 1) -> None:
        """Had an object others waited for when it let it go; since 0: not known."""
        self._add(release, record(0, release, 1 << 8 | class_, since), record(7, 0, 0, object_))

    def named(self, name: int, since: int, t: int) -> None:
        """What it has waited for since then has this name, unless it has one."""
        self._add(t, record(0, t, 3 << 8, (since & LOW48) << 16 | name))

    def lock(self, step: int, t: int, object_: int = 0, mode: int = 0, owner: int = 0) -> None:
        """A step of a logical lock: 0 request, 1 grant, 2 release, 3 of all; mode 0 not told, 1 shared, 2 exclusive."""
        self._add(t, record(0, t, 4 << 8 | mode << 2 | step, owner), record(7, 0, 0, object_))

    def enqueue(self, task: int, t: int) -> None:
        self._add(t, record(9, t, 0, task))

    def dequeue(self, task: int, t: int) -> None:
        self._add(t, record(10, t, 0, task))

    def created(self, t: int, creator: int, at: int) -> None:
        self._add(t, record(11, t, 0, 0), record(8, at, 0, creator))

    def lost(self, start: int, end: int, count: int) -> None:
        self._add(end, record(12, end, 0, start), record(13, 0, 0, count))

    def off_cpu(self, t: int, ns: int, bits: int) -> None:
        """Noticed at t: for so long, preempted (1), blocked (2), a major fault (4), a read from a device (8),
        in a call for storage (16)."""
        self._add(t, record(15, t, bits, ns))

    def raw(self, kind: int, time: int, aux: int = 0, word: int = 0) -> None:
        self._add(time, record(kind, time, aux, word))

    def cut(self) -> None:
        """Starts a new chunk with the next record."""
        self.cuts.append(len(self.records))

    def _add(self, time: int, *records: bytes) -> None:
        self.times += [time] * len(records)
        self.records += records

    def chunks(self, start: int) -> list[tuple[int, int, bytes]]:
        """(uid, base ticks, payload) of each chunk, the first numbered `start`."""
        borders = [0, *self.cuts, len(self.records)]
        return [(self.uid, min(self.times[a:b]), b"".join(self.records[a:b])) for a, b in pairwise(borders) if a < b]


@dataclass
class Writer:
    """A whole file. Everything a real file has is there, unless a test takes it away."""

    anchors: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0), (1 << 40, 1 << 40)])
    clock: str = "tsc"
    host: str = "host"
    on: list[list[int]] = field(default_factory=lambda: [[0, 100]])
    names: dict[int, str] = field(default_factory=dict)
    end: int | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    units: list[bytes] = field(default_factory=list)
    header: bytes = field(default_factory=header)
    probe_ps: int | None = None
    cpus: int | None = None
    offered_rate: float | None = None

    def thread(self, uid: int, name: str = "worker", ticks: int | None = None) -> Thread:
        thread = Thread(uid)
        self.threads.append(thread)
        if ticks is not None:
            self.event("thread", uid=uid, pid=100, tid=100 + uid, name=name, ticks=ticks)
        return thread

    def event(self, event: str, **keys: Any) -> None:
        self.events.append({"event": event, **keys})

    def unit(self, payload: dict[str, Any], address: int = 0x4040) -> None:
        """One unit of module 0; see `unit()` for its payload."""
        text = json.dumps(payload).encode()
        count = sum(function["site"] is not None for function in payload["functions"])
        head = struct.pack("<4sIQII", b"VPUM", 1, address, count, len(text))
        self.units.append(head + text + bytes(-len(text) % 8))

    def chunks(self) -> list[bytes]:
        """The chunks of the file, in order."""
        parts: list[tuple[int, int, int, bytes]] = []

        def event(name: str, **keys: Any) -> None:
            parts.append((2, 0, 0, json.dumps({"event": name, **keys}).encode()))

        known = {"probe_ps": self.probe_ps, "cpus": self.cpus, "offered_rate": self.offered_rate}
        more = {key: value for key, value in known.items() if value is not None}
        event("session", clock=self.clock, command=["prog"], host=self.host, page=4096, collector_version="0", **more)
        for ticks, ns in self.anchors[:1]:
            event("anchor", ticks=ticks, monotonic_ns=ns, realtime_ns=ns)
        if self.units:
            event("module", index=0, path="prog", base=0, count=4096, section_addr=0x4000, state="mapped")
            parts.append((3, 0, 0, b"".join(self.units)))
        event("plan", on=self.on)
        for keys in self.events:
            parts.append((2, 0, 0, json.dumps(keys).encode()))
        for thread in self.threads:
            parts += [(1, uid, base, payload) for uid, base, payload in thread.chunks(len(parts))]
        for ticks, ns in self.anchors[1:]:
            event("anchor", ticks=ticks, monotonic_ns=ns, realtime_ns=ns)
        last = max((time for thread in self.threads for time in thread.times), default=0)
        stored = sum(len(payload) for kind, _, _, payload in parts if kind == 1) // 16
        ticks = last if self.end is None else self.end
        event("end", ticks=ticks, records=stored, dropped=0, threads=len(self.threads))
        return [chunk(kind, payload, n, subject, base) for n, (kind, subject, base, payload) in enumerate(parts)]

    def save(self, path: Path) -> Path:
        path.write_bytes(self.header + b"".join(self.chunks()))
        return path


def function(
    name: str,
    site: int | None,
    calls: tuple[int, ...] = (),
    indirect: tuple[str, ...] = (),
    noreturn: bool = False,
    left: str | None = None,
) -> dict[str, Any]:
    """A function of a unit; `calls` are indices into its symbols."""
    return {
        "id": f"c:@F@{name}",
        "name": name,
        "file": "/src/a.c",
        "line": 1,
        "site": site,
        "left": left,
        "effort": 9,
        "noreturn": noreturn,
        "calls": [[callee, 2] for callee in calls],
        "indirect": [[type_, 3] for type_ in indirect],
    }


def unit(
    functions: list[dict[str, Any]],
    symbols: tuple[str, ...] = (),
    noreturn: tuple[str, ...] = (),
    taken: tuple[tuple[int, str], ...] = (),
    **more: Any,
) -> dict[str, Any]:
    """A unit's payload; symbols are named by their plain names."""
    return {
        "schema": "vprof-unit/1",
        "unit": "/src/a.c",
        "language": "c",
        "status": "instrumented",
        "reason": "",
        "functions": functions,
        "symbols": [{"id": f"c:@F@{name}", "name": name, "noreturn": name in noreturn} for name in symbols],
        "taken": [list(pair) for pair in taken],
        "matched": [],
        **more,
    }
