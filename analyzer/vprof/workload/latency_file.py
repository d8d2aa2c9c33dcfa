"""The file of latencies that the driver writes (workloads/README.md): its header, and its records chunk by chunk."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vprof.errors import VprofError

Records = npt.NDArray[np.void]
"""Rows of RECORD."""

RECORD = np.dtype(
    [
        ("intended", "<i8"),
        ("start", "<i8"),
        ("end", "<i8"),
        ("type", "<u4"),
        ("outcome", "<u2"),
        ("tries", "<u2"),
    ]
)
"""Times are ns of CLOCK_MONOTONIC."""

MAGIC, VERSION = b"VPROFLAT", 1
HEADER = struct.Struct("<8sIIIIq")
LATENESS = "[lateness]"
"""The type whose records say when a thread that wakes each millisecond did so. It is the last one."""

COMMITTED, ROLLED_BACK, GAVE_UP, FAILED, UNFINISHED = range(5)
OUTCOMES = ("committed", "rolled_back", "gave_up", "failed", "unfinished")
"""In the file's numbers."""

_CHUNK = 1 << 18
_MOST_TYPES = 1 << 10


@dataclass(frozen=True)
class LatencyFile:
    """`types` are all names, that of the lateness thread too; `count` whole records."""

    path: Path
    types: list[str]
    begin_ns: int
    offset: int
    count: int

    @classmethod
    def open(cls, path: Path) -> LatencyFile:
        """Raises VprofError when it is no file of latencies."""
        try:
            with path.open("rb") as file:
                types, begin_ns = _header(path, file.read(HEADER.size), file)
                offset = file.tell()
            size = path.stat().st_size
        except OSError as error:
            raise VprofError(f"{path}: {error.strerror}") from None
        return cls(path, types, begin_ns, offset, max(0, size - offset) // RECORD.itemsize)

    def chunks(self, most: int = _CHUNK) -> Iterator[Records]:
        """All records, at most so many at a time. Raises VprofError for one that no driver writes."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            left = self.count
            while left > 0:
                chunk = np.fromfile(file, RECORD, min(left, most))
                if not len(chunk):
                    return
                left -= len(chunk)
                self._check(chunk)
                yield chunk

    @property
    def lateness(self) -> int:
        """The number of the type whose records are of the driver's thread."""
        return len(self.types) - 1

    def _check(self, chunk: Records) -> None:
        wrong = (chunk["end"] < chunk["intended"]) | (chunk["type"] >= len(self.types))
        wrong |= chunk["outcome"] >= len(OUTCOMES)
        if wrong.any():
            raise VprofError(f"{self.path}: a record is damaged: {chunk[wrong][0]}")


def _header(path: Path, head: bytes, file: Any) -> tuple[list[str], int]:
    """The names of the types, and when what counts began; the file stands at its first record afterwards."""
    if len(head) < HEADER.size or not head.startswith(MAGIC):
        raise VprofError(f"{path}: this is no file of latencies of vprof-load-driver")
    _, version, size, count, length, begin_ns = HEADER.unpack(head)
    if version != VERSION or size != RECORD.itemsize:
        raise VprofError(f"{path}: version {version} of the file is not known: use the driver of this vprof")
    names = file.read(length) if length < 1 << 20 else b""
    types = [name.decode("utf-8", "replace") for name in names.split(b"\0")[:count]]
    if not 0 < count <= _MOST_TYPES or len(names) < length or len(types) != count or types[-1] != LATENESS:
        raise VprofError(f"{path}: the header is damaged")
    return types, begin_ns
