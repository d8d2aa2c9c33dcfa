"""The container of a binary trace: header, chunks, checksums (runtime/TRACE_FORMAT.md section 1).

file -> header check -> every complete chunk up to the first damaged one -> events, unit metadata, arrays of records
"""

from __future__ import annotations

import mmap
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vprof.errors import TraceError
from vprof.tables.model import Int64
from vprof.trace.events import MOST_BYTES, EventError, checked, parsed
from vprof.trace.remote import Remote, RemotePath, first_bytes

VERSION = 5
HEADER = struct.Struct("<8sIIQ16s20xI")
MAGIC = b"VPROFTRC"
CHUNK = struct.Struct("<4sIQIIQQII")
CHUNK_MAGIC = b"VPCK"
RECORDS, EVENT, METADATA = 1, 2, 3
PADDING = 16
_RECORD_BYTES = 16
_WORD_BYTES = 8
RELEASE_BYTES = 1 << 26
"""How much of a file is read before its pages are given back."""


@dataclass(frozen=True)
class RecordChunk:
    """Records of one thread, as they lie in the mapped file: rows of two words, the first at word `at` of the file."""

    uid: int
    base_ticks: int
    words: NDArray[np.uint64]
    at: int = 0
    crc: int = 0


@dataclass
class TraceFile:
    """The content of a file, in file order. `stopped` says where and why reading ended early, or is empty.

    Another process gets it without what lies in the file itself: it maps that anew (`attach`)."""

    path: Path
    number: int
    session: str
    folder: str = ""
    """Which it was read from."""
    events: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[int, bytes] = field(default_factory=dict)
    chunks: list[RecordChunk] = field(default_factory=list)
    stopped: str = ""
    words: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The whole file as words."""
    mapping: mmap.mmap | None = None
    remote: Remote | None = None
    """Instead of the mapping, if it lies elsewhere."""

    def __getstate__(self) -> dict[str, Any]:
        return {
            **vars(self),
            "metadata": {},
            "chunks": [],
            "words": self.words[:0].copy(),
            "mapping": None,
            "remote": None,
        }

    def attach(self) -> None:
        """Maps the file, if it is not. Raises TraceError when it is not there any more, or another one."""
        if self.mapping is None and self.remote is None:
            content, self.mapping, self.remote = _opened(self.path)
            there = _header(self.path, content)
            if (there.session, there.number) != (self.session, self.number):
                raise TraceError(f"{self.path}: is another trace where a worker runs, or was recorded anew meanwhile")
            self.words = _words(content)

    def of(self, event: str) -> list[dict[str, Any]]:
        """The events of one name, in file order."""
        return [entry for entry in self.events if entry["event"] == event]

    def release(self) -> None:
        """Gives back the memory of the pages read so far; they come again from the file when they are read again."""
        if self.mapping is not None:
            self.mapping.madvise(mmap.MADV_DONTNEED)
        if self.remote is not None:
            self.remote.release()

    def need(self, first_word: Int64, words: Int64) -> None:
        """What of it is going to be read, from where and how much."""
        if self.remote is not None:
            begin = first_word * _WORD_BYTES
            self.remote.need_rows(begin, begin + words * _WORD_BYTES)


class _DamagedError(Exception):
    """Why a chunk cannot be used."""


def read_chunks(path: Path, records: bool = True) -> TraceFile:
    """Maps a trace and sorts out its chunks. Raises TraceError when it is no trace, empty, of a newer version,
    or has an event that is not as specified. `records`: read them, too, whether they are damaged; if not, who does
    asks `is_damaged`."""
    content, mapping, remote = _opened(path)
    size = len(content)
    file = _header(path, content)
    file.mapping, file.remote, file.words = mapping, remote, _words(content)
    at, index, released = HEADER.size, 0, 0
    while at < size:
        try:
            at = _take_chunk(file, content, at, index, records)
        except _DamagedError as reason:
            file.stopped = f"read up to byte {at} of {size}: {reason}"
            break
        index += 1
        if at - released > RELEASE_BYTES:
            file.release()
            released = at
    return file


def is_damaged(words: NDArray[np.int64], at: int, count: int, crc: int) -> bool:
    """A chunk of so many records whose first word is at `at`."""
    return zlib.crc32(words[at : at + 2 * count].data) != crc


def _opened(path: Path) -> tuple[NDArray[np.uint8], mmap.mmap | None, Remote | None]:
    """All of its bytes; of a file elsewhere, only the header is there."""
    if isinstance(path, RemotePath):
        remote = Remote(path)
        remote.need(0, HEADER.size)
        return remote.content, None, remote
    return *_mapped(path), None


def _mapped(path: Path) -> tuple[NDArray[np.uint8], mmap.mmap | None]:
    try:
        with path.open("rb") as opened:
            size = path.stat().st_size
            mapping = mmap.mmap(opened.fileno(), size, access=mmap.ACCESS_READ) if size else None
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from None
    return np.frombuffer(mapping if mapping else b"", np.uint8), mapping


def _words(content: NDArray[np.uint8]) -> NDArray[np.int64]:
    words: NDArray[np.int64] = content[: len(content) // 8 * 8].view("<i8")
    return words


def is_trace(path: Path) -> bool:
    """Whether a file starts like a binary trace. Raises TraceError when it cannot be opened."""
    return first_bytes(path, len(MAGIC)) == MAGIC


def _header(path: Path, content: NDArray[np.uint8]) -> TraceFile:
    head = bytes(content[: HEADER.size])
    if not head:
        raise TraceError(f"{path}: empty: the recorder wrote nothing; record again")
    if not head.startswith(MAGIC[: len(head)]):
        raise TraceError(f"{path}: not a vprof trace: make one with `vprof record -o FILE -- PROGRAM`")
    if len(head) < HEADER.size:
        raise TraceError(f"{path}: ends inside its header, nothing was recorded: record again")
    _, version, header_size, number, session, crc = HEADER.unpack(head)
    if version > VERSION:
        raise TraceError(
            f"{path}: version {version} of the trace format, this vprof reads up to {VERSION}: upgrade vprof"
        )
    if crc != zlib.crc32(head[:-4]) or header_size != HEADER.size:
        raise TraceError(f"{path}: its header is damaged: record again")
    return TraceFile(path, number, session.hex(), path.absolute().parent.name)


def _take_chunk(file: TraceFile, content: NDArray[np.uint8], at: int, index: int, records: bool) -> int:
    """Adds the chunk at `at` to the file; returns where the next one starts. Raises _DamagedError. `records`: as
    `read_chunks`."""
    if file.remote:
        file.remote.need_ahead(at, at + CHUNK.size)
    head = bytes(content[at : at + CHUNK.size])
    if len(head) < CHUNK.size:
        raise _DamagedError("the file ends inside a chunk")
    magic, kind, length, subject, number, base, _, payload_crc, head_crc = CHUNK.unpack(head)
    if magic != CHUNK_MAGIC or head_crc != zlib.crc32(head[:-4]):
        raise _DamagedError(f"the header of chunk {index} is damaged")
    if number != index:
        raise _DamagedError(f"chunk {number} follows chunk {index - 1}")
    start = at + CHUNK.size
    payload = content[start : start + length]
    if len(payload) < length:
        raise _DamagedError("the file ends inside a chunk")
    if file.remote and (records or kind != RECORDS):
        file.remote.need_ahead(start, start + length)
    if (records or kind != RECORDS) and payload_crc != zlib.crc32(payload.data):
        raise _DamagedError(f"chunk {index} is damaged")
    _store(file, kind, subject, base, payload, start, payload_crc)
    return int(start + length + -length % PADDING)


def _store(
    file: TraceFile, kind: int, subject: int, base: int, payload: NDArray[np.uint8], start: int, crc: int
) -> None:
    if kind == RECORDS:
        if len(payload) % _RECORD_BYTES:
            raise _DamagedError("a chunk of records has half a record")
        if base >= 1 << 63:
            raise _DamagedError("a chunk of records begins at no time")
        at = start // _WORD_BYTES
        file.chunks.append(RecordChunk(subject, base, payload.view("<u8").reshape(-1, 2), at, crc))
    elif kind == EVENT:
        event = _event(payload)
        try:
            if checked(event):
                file.events.append(event)
        except EventError as error:
            raise TraceError(f"{file.path}: {error}: writer and reader do not fit together") from None
    elif kind == METADATA:
        file.metadata[subject] = bytes(payload)


def _event(payload: NDArray[np.uint8]) -> dict[str, Any]:
    event = parsed(bytes(payload)) if len(payload) <= MOST_BYTES else None
    if event is None:
        raise _DamagedError("an event is not a JSON object with the key `event`")
    return event
