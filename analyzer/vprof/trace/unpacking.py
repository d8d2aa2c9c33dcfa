"""Files with compressed chunks (runtime/TRACE_FORMAT.md section 1.3), as if their records were not.

payload -> unpacked (one chunk) -> Packed: the words of all records of a file, of which only those asked for are there

The array is memory without content, as large as the records are; it takes room where chunks were unpacked. After a
window was read they go again, once there are more than KEPT_BYTES of them. What unpacks is imported when it is needed.
"""

from __future__ import annotations

import mmap
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vprof.errors import TraceError
from vprof.tables.model import Int64
from vprof.trace.remote import Remote

PLAIN, ZSTD, LZ4 = 0, 1, 2
"""How a payload is compressed."""
MOST_UNPACKED = 1 << 26
MOST_TIMES = 256
"""What no chunk may claim to be more than: bytes, and times its payload."""
KEPT_BYTES = 1 << 25
"""Of a file, between two windows."""
RECORD_BYTES = 16
_RECORD_WORDS = 2

P_AT, P_COUNT, P_BEGIN, P_LENGTH, P_HOW, P_CRC = range(6)
"""Columns of the chunks of records: the first of its words, records; first byte and length of its payload in the file,
how that is compressed, its checksum."""

Bytes = NDArray[np.uint8]


class UnpackError(TraceError):
    """A payload does not give what its header says."""


def is_possible(how: int, length: int, claimed: int) -> bool:
    """Whether a chunk may say so: `claimed` bytes from a payload of `length`."""
    if how == PLAIN:
        return claimed == 0
    return how in (ZSTD, LZ4) and 0 < claimed <= min(MOST_UNPACKED, MOST_TIMES * length)


def unpacked(path: Path, payload: Bytes, how: int, size: int) -> bytes:
    """REQUIRES: `is_possible`. Raises UnpackError; and TraceError, if a package is missing."""
    try:
        content = _of_zstd(payload, size) if how == ZSTD else _of_lz4(payload, size)
    except ImportError as error:
        name = "zstandard" if how == ZSTD else "lz4"
        raise TraceError(f"{path}: is compressed, and cannot be read ({error}): pip install {name}") from None
    if len(content) != size:
        raise UnpackError(f"{path}: a compressed chunk has another length than it says")
    return content


def _of_zstd(payload: Bytes, size: int) -> bytes:
    """b"" if the frame says another size: it would get that much memory."""
    import zstandard

    try:
        if zstandard.frame_content_size(payload.data) != size:
            return b""
        return zstandard.ZstdDecompressor().decompress(payload.data, size, allow_extra_data=False)
    except zstandard.ZstdError:
        return b""


def _of_lz4(payload: Bytes, size: int) -> bytes:
    from lz4 import block

    try:
        content: bytes = block.decompress(payload, uncompressed_size=size)
        return content
    except block.LZ4BlockError:
        return b""


def as_records(planes: Any) -> Int64:
    """Rows of two words, from the bytes of all records by their place in it, and differences of first words."""
    rows = np.array(np.frombuffer(planes, np.uint8).reshape(RECORD_BYTES, -1).T, order="C").view(np.int64)
    np.cumsum(rows[:, 0], out=rows[:, 0])
    return rows


class Packed:
    """The records of a file. Raises TraceError if there is no room for them, and when a chunk is damaged."""

    def __init__(self, path: Path, chunks: Int64, content: Bytes, remote: Remote | None) -> None:
        """`chunks`: columns P_*, in the order of P_AT. `content`: of the file; `remote`: if it lies elsewhere."""
        self.path = path
        self._chunks, self._content, self._remote = chunks, content, remote
        words = int(_RECORD_WORDS * chunks[:, P_COUNT].sum())
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
        try:
            self._memory = mmap.mmap(-1, max(8, 8 * words), flags=flags)
        except OSError as error:
            raise TraceError(f"{path}: no room for its {words // _RECORD_WORDS} records ({error.strerror})") from None
        self.words: Int64 = np.frombuffer(self._memory, np.int64)[:words]
        self._there = np.zeros(len(chunks), np.bool_)
        self._bytes_there = 0

    def need(self, first_words: Int64) -> None:
        """The chunks that begin there. Where one without records does, that is the one after it, or none."""
        rows = np.searchsorted(self._chunks[:, P_AT], first_words)
        rows = rows[rows < len(self._chunks)]
        for row in rows[~self._there[rows]].tolist():
            self._unpack(row)

    def release(self) -> None:
        """Whoever reads on asks anew."""
        if self._bytes_there > KEPT_BYTES:
            self._memory.madvise(mmap.MADV_DONTNEED)
            self._there[:] = False
            self._bytes_there = 0

    def _unpack(self, row: int) -> None:
        at, count, begin, length, how, crc = self._chunks[row].tolist()
        if self._remote:
            self._remote.need(begin, begin + length)
        payload = self._content[begin : begin + length]
        if zlib.crc32(payload.data) != crc:
            raise UnpackError(f"{self.path}: the chunk at byte {begin} is damaged")
        records = records_of(self.path, payload, how, RECORD_BYTES * count)
        self.words[at : at + _RECORD_WORDS * count] = records.ravel()
        self._there[row] = True
        self._bytes_there += RECORD_BYTES * count


def records_of(path: Path, payload: Bytes, how: int, size: int) -> Int64:
    """Rows of two words. Raises as `unpacked`."""
    if how == PLAIN:
        return np.frombuffer(payload, np.int64).reshape(-1, _RECORD_WORDS)
    return as_records(unpacked(path, payload, how, size))
