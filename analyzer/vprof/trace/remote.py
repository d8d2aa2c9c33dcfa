"""Traces that lie elsewhere: `s3://`, `https://` and whatever else fsspec knows, read by ranges.

    URL -> RemotePath, a Path whose text is the URL
    RemotePath -> Remote: the file as one array of bytes, of which only the blocks that were asked for are there

The array is memory without content as large as the file; it takes room where blocks are. After a window was read they
go again, once there are more than KEPT_BYTES of them: so a file of that size is transferred once, and a larger one for
each reading. fsspec is imported when the first such path is opened.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path, PosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vprof.errors import TraceError
from vprof.tables.model import Int64

KEPT_BYTES = 1 << 28
"""Of a file, between two windows."""
BLOCK_BYTES = 1 << 18
_AHEAD_BYTES = 1 << 23
"""Transferred at once, at most; and how far a reader from begin to end looks ahead."""
_MOST_SAID = 200
"""Characters of another package's error."""


class RemotePath(PosixPath):
    """What PosixPath makes of `s3://bucket/key`, `s3:/bucket/key`, which no folder is called here. Two slashes within
    a key become one."""

    def __str__(self) -> str:
        scheme, _, rest = super().__str__().partition(":/")
        return f"{scheme}://{rest}"

    def absolute(self) -> RemotePath:
        return self

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        """All of it."""
        remote = Remote(self)
        remote.need(0, remote.size)
        return bytes(remote.content).decode(encoding or "utf-8", errors or "strict")


def path_of(text: str | os.PathLike[str]) -> Path:
    """A path here, or one elsewhere if it has `://`. Raises TraceError if that does not say where."""
    scheme, sign, rest = str(text).partition("://")
    if not sign:
        return Path(text)
    if scheme == "file":
        return Path(rest)
    if not scheme or not rest or rest.startswith("/"):
        raise TraceError(f"{text}: a path with :// names a host or a bucket, such as s3://bucket/run.trace")
    return RemotePath(text)


def matching(path: Path) -> list[Path]:
    """Those elsewhere that a pattern with `*`, `?` or `[` stands for, sorted; others as they are. Raises TraceError if
    there are none."""
    if not isinstance(path, RemotePath) or not any(sign in str(path) for sign in "*["):
        return [path]
    system, inside = _opened(path)
    found = _asked(path, lambda: sorted(system.glob(inside)))
    if not found:
        raise TraceError(f"{path}: no file has such a name")
    return [RemotePath(system.unstrip_protocol(one)) for one in found]


def size_of(path: Path) -> int:
    """In bytes. Raises OSError or TraceError if it cannot be opened."""
    return Remote(path).size if isinstance(path, RemotePath) else path.stat().st_size


def first_bytes(path: Path, count: int) -> bytes:
    """Raises TraceError if it cannot be opened."""
    if isinstance(path, RemotePath):
        system, inside = _opened(path)
        return bytes(_asked(path, lambda: system.cat_file(inside, start=0, end=count)))[:count]
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror or error}") from error


class Remote:
    """Raises TraceError, in one line, when it is not there or may not be read, here and where it is asked for more."""

    def __init__(self, path: RemotePath) -> None:
        self.path = path
        self._system, self._inside = _opened(path)
        size = _asked(path, lambda: self._system.info(self._inside)).get("size")
        whole = b""
        if size is None:  # a server that does not know gives no ranges either
            whole = bytes(_asked(path, lambda: self._system.cat_file(self._inside)))
            size = len(whole)
        self.size = int(size)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
        self._memory = mmap.mmap(-1, max(1, self.size), flags=flags)
        self.content: NDArray[np.uint8] = np.frombuffer(self._memory, np.uint8)[: self.size]
        self._there = np.zeros(-(-self.size // BLOCK_BYTES), np.bool_)
        self._is_whole = False
        if whole:
            self._keep_all(whole)

    def need(self, begin: int, end: int) -> None:
        """Bytes of the content that are to be there."""
        first, last = begin // BLOCK_BYTES, -(-min(end, self.size) // BLOCK_BYTES)
        missing = np.flatnonzero(~self._there[first:last]) + first
        most = _AHEAD_BYTES // BLOCK_BYTES
        while len(missing):
            run = int(np.argmax(np.r_[np.diff(missing), 2] != 1)) + 1
            a = int(missing[0])
            b = a + min(run, most)
            self._transfer(a * BLOCK_BYTES, min(b * BLOCK_BYTES, self.size))
            self._there[a:b] = True
            missing = missing[~self._there[missing]]

    def need_ahead(self, begin: int, end: int) -> None:
        """The same, for who goes on from there."""
        first = begin // BLOCK_BYTES
        if first < len(self._there) and not self._there[first : -(-min(end, self.size) // BLOCK_BYTES)].all():
            self.need(begin, max(end, begin + _AHEAD_BYTES))

    def need_rows(self, begins: Int64, ends: Int64) -> None:
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            self.need(begin, end)

    def release(self) -> None:
        """Whoever reads on asks anew."""
        if not self._is_whole and np.count_nonzero(self._there) * BLOCK_BYTES > KEPT_BYTES:
            self._memory.madvise(mmap.MADV_DONTNEED)
            self._there[:] = False

    def _transfer(self, begin: int, end: int) -> None:
        found = bytes(_asked(self.path, lambda: self._system.cat_file(self._inside, start=begin, end=end)))
        if len(found) == self.size and end - begin < self.size:  # a server without ranges: it sends all each time
            self._keep_all(found)
        elif len(found) != end - begin:
            told = f"bytes {begin} to {end} were asked for, {len(found)} came"
            raise TraceError(f"{self.path}: the transfer broke off: {told}")
        else:
            self._memory[begin:end] = found

    def _keep_all(self, content: bytes) -> None:
        self._memory[: self.size] = content
        self._there[:] = True
        self._is_whole = True


def _opened(path: Path) -> tuple[Any, str]:
    """The file system, and what it calls the file."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise TraceError(f"{path}: paths with :// need fsspec: pip install 'vprof[remote]'") from None
    try:
        system, inside = url_to_fs(str(path))
    except ImportError as error:
        raise TraceError(f"{path}: {_line(error)}: pip install 'vprof[remote]' has s3:// and https://") from None
    except Exception as error:
        raise TraceError(f"{path}: {_line(error)}") from None
    return system, inside


def _asked(path: Path, ask: Any) -> Any:
    """What a file system answers. Each has errors of its own, so all count."""
    try:
        return ask()
    except FileNotFoundError:
        raise TraceError(f"{path}: there is no such file") from None
    except PermissionError as error:
        raise TraceError(f"{path}: no permission to read it ({_line(error)})") from None
    except Exception as error:
        raise TraceError(f"{path}: the transfer failed: {_line(error)}") from None


def _line(error: Exception) -> str:
    """What it says, however long."""
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) <= _MOST_SAID else f"{said[:_MOST_SAID]}..."
