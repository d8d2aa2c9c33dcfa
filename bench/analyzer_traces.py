"""Traces of any length for `analyzer.py`: what a busy server would record, in the format of runtime/TRACE_FORMAT.md.

Eight threads serve requests one after the other. A request is an interval of about 100 records: 96 nested calls of 24
functions in one of two shapes, whose times are drawn at random. With `locking`, it waits eight times, each time for
another thread, and a quarter of the records belong to waits.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from chunk_packing import ZSTD, compress_zstd, turned
from numpy.typing import NDArray

THREADS = 8
CALLS = 96
WAITS = 8
SHAPES = 2
FUNCTIONS = 24
_DEEPEST = 5
_TICKS_PER_NS = 2
_REQUESTS = 40
"""Per chunk, at most: some 4000 records."""
_ORIGIN = 1 << 50
_LOW48 = (1 << 48) - 1
_INVOCATION, _BEGIN, _END, _BLOCKED, _OBJECT, _PEER = 1, 3, 4, 6, 7, 8

Table = NDArray[np.int64]


@dataclass(frozen=True)
class _Shape:
    """The records of a request, in order. Times are numbers of moments; there are as many in each shape."""

    kind: Table
    aux: Table
    moment: Table
    """When the record's time is."""
    since: Table
    """The moment of a call's entry, or of a wait's begin."""
    function: Table


class _Plan:
    """Draws a tree of calls and notes its moments and records in the order in which a thread would write them."""

    def __init__(self, seed: int, waits: int) -> None:
        self._random = np.random.default_rng(seed)
        self._moments = 0
        self._rows: list[tuple[int, int, int, int, int]] = []
        self._waits = set(np.linspace(5, CALLS - 1, waits).astype(int).tolist()) if waits else set()
        self._entered = 0

    def shape(self) -> _Shape:
        begin = self._moment()
        self._rows.append((_BEGIN, 0, begin, 0, 0))
        self._call(0, CALLS - 1)
        self._rows.append((_END, 0, self._moment(), 0, 0))
        return _Shape(*np.array(self._rows, np.int64).T)

    def _moment(self) -> int:
        self._moments += 1
        return self._moments - 1

    def _call(self, depth: int, below: int) -> None:
        """A call with `below` calls inside it."""
        entered, here = self._moment(), self._entered
        self._entered += 1
        function = 4 * depth + int(self._random.integers(0, 4)) if depth else 0
        while below:
            inside = int(self._random.integers(0, below)) if depth < _DEEPEST - 1 else 0
            self._call(depth + 1, inside)
            below -= inside + 1
        if here in self._waits:
            self._wait()
        self._rows.append((_INVOCATION, depth, self._moment(), entered, function))

    def _wait(self) -> None:
        began, woken, resumed = self._moment(), self._moment(), self._moment()
        self._rows += [(_BLOCKED, 1, resumed, began, 0), (_OBJECT, 0, 0, 0, 0), (_PEER, 0, woken, 0, 0)]


class _Server:
    """One thread after the other writes a chunk of requests."""

    def __init__(self, waits: int) -> None:
        self._random = np.random.default_rng(7)
        self._shapes = [_Plan(seed, waits).shape() for seed in range(SHAPES)]
        self._stack = {name: np.stack([getattr(s, name) for s in self._shapes]) for name in vars(self._shapes[0])}
        self._events = int(self._stack["moment"].max()) + 1
        self._now = np.full(THREADS, _ORIGIN, np.int64)
        self._next_id = 1
        self.records_per_request = self._stack["kind"].shape[1]

    @property
    def now(self) -> int:
        return int(self._now.max())

    def chunk(self, thread: int, requests: int) -> tuple[int, bytes]:
        """(base ticks, records)."""
        random, n = self._random, requests
        gaps = random.gamma(1.5, 200 * _TICKS_PER_NS, (n, self._events)) + 20
        gaps *= random.lognormal(0, 0.5, (n, 1))
        base = int(self._now[thread])
        times = base + np.cumsum(gaps.ravel()).astype(np.int64).reshape(n, -1) + 1
        self._now[thread] = times[-1, -1] + 100
        pick = random.integers(0, SHAPES, n)
        kind, aux, moment, since, function = (self._stack[name][pick] for name in vars(self._shapes[0]))
        at = np.take_along_axis(times, moment, 1)
        started = np.take_along_axis(times, since, 1)
        ids = np.broadcast_to(np.arange(self._next_id, self._next_id + n)[:, None], kind.shape)
        self._next_id += n
        others = 1 + (thread + random.integers(1, THREADS, kind.shape)) % THREADS
        word = np.select(
            [kind == _INVOCATION, kind == _BLOCKED, kind == _OBJECT, kind == _PEER],
            [at - started | function << 32, started, function + 1000, others],
            ids,
        )
        at = np.where(kind == _OBJECT, 0, at)
        head = (at & _LOW48) | aux << 48
        rows = np.stack((head.view(np.uint64) | kind.view(np.uint64) << np.uint64(60), word.view(np.uint64)), -1)
        return base, rows.tobytes()


class _File:
    def __init__(self, file: BinaryIO, compress: bool) -> None:
        self._file, self._compress = file, compress
        self._chunks = 0
        head = struct.pack("<8sIIQ16s20x", b"VPROFTRC", 6 if compress else 3, 64, 0, bytes(range(16)))
        file.write(head + struct.pack("<I", zlib.crc32(head)))

    def records(self, payload: bytes, uid: int, base: int) -> None:
        if not self._compress:
            self.chunk(1, payload, uid, base)
            return
        smaller = compress_zstd(turned(np.frombuffer(payload, np.uint64).reshape(-1, 2)))
        self.chunk(1, smaller, uid, base, ZSTD, len(payload))

    def chunk(self, kind: int, payload: bytes, uid: int = 0, base: int = 0, how: int = 0, before: int = 0) -> None:
        crc = zlib.crc32(payload)
        head = struct.pack("<4sIQIIQIII", b"VPCK", kind, len(payload), uid, self._chunks, base, how, before, crc)
        self._file.write(head + struct.pack("<I", zlib.crc32(head)) + payload + bytes(-len(payload) % 16))
        self._chunks += 1

    def event(self, event: str, **keys: Any) -> None:
        self.chunk(2, json.dumps({"event": event, **keys}).encode())

    def anchor(self, ticks: int) -> None:
        ns = ticks // _TICKS_PER_NS
        self.event("anchor", ticks=ticks, monotonic_ns=ns, realtime_ns=ns)


def write(path: Path, records: int, locking: bool, compress: bool = False) -> int:
    """Writes about as many records; returns how many."""
    server = _Server(WAITS if locking else 0)
    requests = min(_REQUESTS, max(1, records // THREADS // server.records_per_request))
    per_chunk = requests * server.records_per_request
    rounds = max(1, round(records / per_chunk / THREADS))
    with path.open("wb") as file:
        trace = _File(file, compress)
        trace.event("session", clock="tsc", command=["server"], host="host", page=4096, cpus=4, collector_version="0")
        trace.anchor(_ORIGIN)
        trace.event("plan", on=[[0, FUNCTIONS]])
        for thread in range(THREADS):
            trace.event("thread", uid=thread + 1, pid=1, tid=thread + 1, name="worker", ticks=_ORIGIN, off_cpu="rseq")
        for _ in range(rounds):
            for thread in range(THREADS):
                base, payload = server.chunk(thread, requests)
                trace.records(payload, thread + 1, base)
        trace.anchor(server.now)
        written = rounds * THREADS * per_chunk
        trace.event("end", ticks=server.now, records=written, dropped=0, threads=THREADS, unslotted=0)
    return written
