"""Writes binary traces (runtime/TRACE_FORMAT.md section 1), of what was read from others.

    with TraceWriter(path, session) as trace: trace.event(...), trace.metadata(...), trace.records(...)

The file has its name only once it is whole: until then it is `PATH.new`.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from vprof.tables.model import Int64
from vprof.trace.chunks import CHUNK, CHUNK_MAGIC, EVENT, HEADER, MAGIC, METADATA, PADDING, PLAIN_VERSION, RECORDS


class TraceWriter:
    """`written`: records so far. Raises OSError when the file cannot be written; nothing is left of it then."""

    def __init__(self, path: Path, session: str) -> None:
        """`session`: as of `TraceFile`."""
        self.written = 0
        self._path, self._fresh = path, path.with_name(f"{path.name}.new")
        self._chunks = 0
        self._file = self._fresh.open("wb")
        self._put(_closed(HEADER.pack(MAGIC, PLAIN_VERSION, HEADER.size, 0, bytes.fromhex(session), 0)))

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
            if error is None:
                self._fresh.replace(self._path)
        finally:
            self._fresh.unlink(missing_ok=True)

    def event(self, event: dict[str, Any]) -> None:
        self._chunk(EVENT, json.dumps(event, separators=(",", ":")).encode())

    def metadata(self, module: int, payload: bytes) -> None:
        self._chunk(METADATA, payload, module)

    def records(self, uid: int, base_ticks: int, words: Int64) -> None:
        """Of one thread: rows of two words. `base_ticks`: as of the chunk that they come from."""
        self.written += len(words)
        self._chunk(RECORDS, np.ascontiguousarray(words).tobytes(), uid, base_ticks)

    def _chunk(self, kind: int, payload: bytes, subject: int = 0, base: int = 0) -> None:
        check = zlib.crc32(payload)
        self._put(_closed(CHUNK.pack(CHUNK_MAGIC, kind, len(payload), subject, self._chunks, base, 0, 0, check, 0)))
        self._put(payload + bytes(-len(payload) % PADDING))
        self._chunks += 1

    def _put(self, part: bytes) -> None:
        self._file.write(part)


def _closed(head: bytes) -> bytes:
    """With the checksum of all before it in its last four bytes."""
    return head[:-4] + zlib.crc32(head[:-4]).to_bytes(4, "little")
