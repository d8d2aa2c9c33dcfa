"""The container of a binary trace: header, chunks, checksums (runtime/TRACE_FORMAT.md section 1).

file -> header check -> every complete chunk up to the first damaged one -> events, unit metadata, arrays of records
                        those that are compressed: unpacking.py
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
from vprof.trace.unpacking import (
    PLAIN,
    RECORD_BYTES,
    Packed,
    UnpackError,
    is_possible,
    records_of,
    unpacked,
)

VERSION = 6
PLAIN_VERSION = 5
"""Of files without compressed chunks."""
HEADER = struct.Struct("<8sIIQ16s20xI")
MAGIC = b"VPROFTRC"
CHUNK = struct.Struct("<4sIQIIQIIII")
CHUNK_MAGIC = b"VPCK"
RECORDS, EVENT, METADATA = 1, 2, 3
PADDING = 16
_WORD_BYTES = 8
RELEASE_BYTES = 1 << 26
"""How much of a file is read before its pages are given back."""


@dataclass
class Words:
    """The words of a file: of all of it, or of its records alone, if some are `packed`. Unless they are just mapped,
    they are there once somebody needed them, until they are released."""

    all: Int64
    mapping: mmap.mmap | None = None
    remote: Remote | None = None
    """Instead of the mapping, if it lies elsewhere."""
    packed: Packed | None = None

    @property
    def are_mapped(self) -> bool:
        """They are all there."""
        return not (self.remote or self.packed)

    def need(self, first_word: Int64, words: Int64) -> None:
        """What of it is going to be read: which chunks, by their first words, and how much of each."""
        if self.packed:
            self.packed.need(first_word)
        elif self.remote:
            begin = first_word * _WORD_BYTES
            self.remote.need_rows(begin, begin + words * _WORD_BYTES)

    def release(self) -> None:
        """Gives back the memory of what was read so far; it comes again when it is read again."""
        for part in (self.packed, self.remote):
            if part:
                part.release()
        if self.mapping is not None:
            self.mapping.madvise(mmap.MADV_DONTNEED)

    def pack(self, path: Path, chunks: Int64, content: NDArray[np.uint8]) -> None:
        """They are those of compressed chunks: columns P_*."""
        self.packed = Packed(path, chunks, content, self.remote)
        self.all = self.packed.words


@dataclass(frozen=True)
class RecordChunk:
    """So many records of one thread, the first at word `at` of the file's."""

    uid: int
    base_ticks: int
    count: int
    at: int
    crc: int
    """Of the payload as it is in the file."""
    file_words: Words

    @property
    def words(self) -> NDArray[np.uint64]:
        """Rows of two. Those of a file that is compressed, or lies elsewhere, may go when it is released."""
        self.file_words.need(np.array([self.at]), np.array([2 * self.count]))
        return self.file_words.all[self.at : self.at + 2 * self.count].view("<u8").reshape(-1, 2)


@dataclass
class TraceFile:
    """The content of a file, in file order. `stopped` says where and why reading ended early, or is empty.

    Another process gets it without what lies in the file itself: it opens that anew (`attach`)."""

    path: Path
    number: int
    session: str
    folder: str = ""
    """Which it was read from."""
    events: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[int, bytes] = field(default_factory=dict)
    chunks: list[RecordChunk] = field(default_factory=list)
    stopped: str = ""
    packed: Int64 | None = None
    """If some may be compressed: its chunks of records, columns P_* of unpacking.py."""
    lying: Words | None = None
    """None: not opened in this process."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "metadata": {}, "chunks": [], "lying": None}

    @property
    def words(self) -> Int64:
        """Of the whole file, or of its records, if some are compressed. REQUIRES: it is opened here."""
        assert self.lying
        return self.lying.all

    @property
    def is_mapped(self) -> bool:
        """Nobody needs to say what of it is going to be read."""
        return self.lying is not None and self.lying.are_mapped

    def attach(self) -> None:
        """Opens the file, if it is not. Raises TraceError when it is not there any more, or another one."""
        if self.lying is None:
            content, lying = _opened(self.path)
            there, _ = _header(self.path, content)
            if (there.session, there.number) != (self.session, self.number):
                raise TraceError(f"{self.path}: is another trace where a worker runs, or was recorded anew meanwhile")
            if self.packed is not None:
                lying.pack(self.path, self.packed, content)
            self.lying = lying

    def of(self, event: str) -> list[dict[str, Any]]:
        """The events of one name, in file order."""
        return [entry for entry in self.events if entry["event"] == event]

    def release(self) -> None:
        """As `Words.release`."""
        if self.lying:
            self.lying.release()

    def need(self, first_word: Int64, words: Int64) -> None:
        """As `Words.need`. Raises UnpackError if a compressed chunk is damaged."""
        if self.lying:
            self.lying.need(first_word, words)

    def is_damaged(self, at: int, count: int, crc: int) -> bool:
        """A chunk that is there, of so many records, whose first word is at `at`."""
        return self.packed is None and zlib.crc32(self.words[at : at + 2 * count].data) != crc


class _DamagedError(Exception):
    """Why a chunk cannot be used."""


class _Reader:
    """Reads one file from begin to end. `records`: as `read_chunks`."""

    def __init__(self, path: Path, records: bool) -> None:
        self._content, self._lying = _opened(path)
        self.file, version = _header(path, self._content)
        self.file.lying = self._lying
        self._records = records
        self._packed: list[tuple[int, ...]] | None = [] if version > PLAIN_VERSION else None
        self._next_word = 0

    def read(self) -> TraceFile:
        at, index, released, size = HEADER.size, 0, 0, len(self._content)
        while at < size:
            try:
                at = self._take_chunk(at, index)
            except _DamagedError as reason:
                self.file.stopped = f"read up to byte {at} of {size}: {reason}"
                break
            index += 1
            if at - released > RELEASE_BYTES:
                self.file.release()
                released = at
        if self._packed is not None:
            self.file.packed = np.array(self._packed, np.int64).reshape(-1, 6)
            self._lying.pack(self.file.path, self.file.packed, self._content)
        return self.file

    def _there(self, begin: int, end: int) -> NDArray[np.uint8]:
        """Those bytes of the file, fewer at its end."""
        if self._lying.remote:
            self._lying.remote.need_ahead(begin, end)
        return self._content[begin:end]

    def _take_chunk(self, at: int, index: int) -> int:
        """Adds the chunk at `at` to the file; returns where the next one starts. Raises _DamagedError."""
        head = bytes(self._there(at, at + CHUNK.size))
        if len(head) < CHUNK.size:
            raise _DamagedError("the file ends inside a chunk")
        magic, kind, length, subject, number, base, how, claimed, payload_crc, head_crc = CHUNK.unpack(head)
        if magic != CHUNK_MAGIC or head_crc != zlib.crc32(head[:-4]):
            raise _DamagedError(f"the header of chunk {index} is damaged")
        if number != index:
            raise _DamagedError(f"chunk {number} follows chunk {index - 1}")
        start = at + CHUNK.size
        if len(self._content) - start < length:
            raise _DamagedError("the file ends inside a chunk")
        if self._packed is None:
            how = claimed = PLAIN
        elif not is_possible(how, length, claimed):
            raise _DamagedError(f"chunk {index} says what it cannot be before it was compressed")
        payload = self._content[start : start + length]
        if self._records or kind != RECORDS:
            self._there(start, start + length)
            if payload_crc != zlib.crc32(payload.data):
                raise _DamagedError(f"chunk {index} is damaged")
        try:
            if kind == RECORDS:
                self._take_records(subject, base, start, payload, how, claimed, payload_crc)
            else:
                self._take_other(kind, subject, payload, how, claimed)
        except UnpackError:
            raise _DamagedError(f"chunk {index} is damaged") from None
        return int(start + length + -length % PADDING)

    def _take_records(
        self, uid: int, base: int, start: int, payload: NDArray[np.uint8], how: int, claimed: int, crc: int
    ) -> None:
        size = claimed or len(payload)
        if size % RECORD_BYTES:
            raise _DamagedError("a chunk of records has half a record")
        if base >= 1 << 63:
            raise _DamagedError("a chunk of records begins at no time")
        at, count = start // _WORD_BYTES, size // RECORD_BYTES
        if self._packed is not None:
            if self._records:
                records_of(self.file.path, payload, how, size)  # or else nobody may look at them
            at = self._next_word
            if count:  # so that each begins at another word
                self._packed.append((at, count, start, len(payload), how, crc))
            self._next_word += 2 * count
        self.file.chunks.append(RecordChunk(uid, base, count, at, crc, self._lying))

    def _take_other(self, kind: int, subject: int, payload: NDArray[np.uint8], how: int, claimed: int) -> None:
        if kind not in (EVENT, METADATA):
            return
        is_too_long = kind == EVENT and max(claimed, len(payload)) > MOST_BYTES
        content = bytes(payload) if how == PLAIN or is_too_long else unpacked(self.file.path, payload, how, claimed)
        if kind == METADATA:
            self.file.metadata[subject] = content
            return
        event = None if is_too_long else parsed(content)
        if event is None:
            raise _DamagedError("an event is not a JSON object with the key `event`")
        try:
            if checked(event):
                self.file.events.append(event)
        except EventError as error:
            raise TraceError(f"{self.file.path}: {error}: writer and reader do not fit together") from None


def read_chunks(path: Path, records: bool = True) -> TraceFile:
    """Maps a trace and sorts out its chunks. Raises TraceError when it is no trace, empty, of a newer version,
    or has an event that is not as specified. `records`: read them, too, whether they are damaged; if not, who does
    asks `is_damaged`, and `need` raises UnpackError."""
    return _Reader(path, records).read()


def _opened(path: Path) -> tuple[NDArray[np.uint8], Words]:
    """All of its bytes; of a file elsewhere, only the header is there."""
    if isinstance(path, RemotePath):
        remote = Remote(path)
        remote.need(0, HEADER.size)
        return remote.content, Words(_words(remote.content), None, remote)
    content, mapping = _mapped(path)
    return content, Words(_words(content), mapping)


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


def _header(path: Path, content: NDArray[np.uint8]) -> tuple[TraceFile, int]:
    """And its version."""
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
    return TraceFile(path, number, session.hex(), path.absolute().parent.name), version
