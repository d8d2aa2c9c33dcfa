"""The folder of what was kept: a trace and its reason for each slow interval; so many an hour, so many bytes in all.

    FOLDER/kept/000017.trace    the records around it, and around ordinary intervals of the same time
    FOLDER/kept/000017.json     why (schema `vprof-watch/1`): written last, so what it names is whole
    FOLDER/pieces/              the recording of the last seconds

Of an hour the slowest are kept. The oldest go when the folder is full. It is read again when a watch starts, so both
rules hold over restarts.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from vprof.errors import UsageError, VprofError
from vprof.json_file import save_json
from vprof.shapes import NUMBER, TEXT, list_of, optional, table_of, whole

SCHEMA = "vprof-watch/1"
_HOUR_NS = 3600 * 10**9
_ANY = whole(0, (1 << 62) - 1)
_SHAPE = table_of(
    {
        "schema": TEXT,
        "number": whole(1, 10**9),
        "interval": TEXT,
        "type": TEXT,
        "latency_ns": _ANY,
        "limit_ns": _ANY,
        "limit": TEXT,
        "ended_ns": _ANY,
        "median": optional(TEXT),
        "ordinary": list_of(TEXT),
        "root": optional(TEXT),
        "bytes": _ANY,
        "rate": NUMBER,
    }
)


@dataclass(frozen=True)
class Kept:
    """A slow interval. `interval`, `median` and `ordinary` are ids in its trace: itself, the one of the median latency
    of its type in the same seconds, and some of the others, drawn by chance. `limit`: as it was asked for; `limit_ns`:
    what it was then. `ended_ns`: by the clock on the wall. `rate`: intervals of its type a second, then."""

    number: int
    interval: str
    type: str
    latency_ns: int
    limit_ns: int
    limit: str
    ended_ns: int
    median: str | None
    ordinary: list[str]
    root: str | None
    bytes: int
    rate: float


class Folder:
    """`kept`: by number. One process at a time may write there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept: dict[int, Kept] = {}
        for file in sorted((path / "kept").glob("*.json")):
            one = _read(file)
            self.kept[one.number] = one
        self._lock: int | None = None

    @classmethod
    def existing(cls, path: Path) -> Folder:
        """Raises UsageError when nothing ever watched into it."""
        if not (path / "kept").is_dir():
            raise UsageError(f"{path}: no folder of `vprof watch`")
        return cls(path)

    def trace(self, number: int) -> Path:
        return self.path / "kept" / f"{number:06}.trace"

    def one(self, number: int) -> Kept:
        """Raises UsageError when there is none."""
        if number not in self.kept:
            known = f"there are {min(self.kept)} to {max(self.kept)}" if self.kept else "nothing was kept yet"
            raise UsageError(f"{self.path}: number {number} is not kept ({known})")
        return self.kept[number]

    def begin(self) -> None:
        """Makes it ready to be written to. Raises VprofError when it cannot be, or another watch writes there, and
        UsageError when it has files of somebody else, since some are deleted here."""
        try:
            if self.path.is_dir() and any(self.path.iterdir()) and not (self.path / "kept").is_dir():
                raise UsageError(f"{self.path}: has other files in it: give a new folder, or one of `vprof watch`")
            (self.path / "kept").mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(self.path / "pieces", ignore_errors=True)
            (self.path / "pieces").mkdir()
        except BlockingIOError:
            raise VprofError(f"{self.path}: another `vprof watch` writes there") from None
        except OSError as error:
            raise VprofError(f"cannot write to {self.path}: {error.strerror}") from None
        for left in [*(self.path / "kept").glob("*.new"), *(self.path / "kept").glob("*.trace")]:
            if left.suffix == ".new" or int(left.stem) not in self.kept:
                left.unlink(missing_ok=True)

    def end(self) -> None:
        shutil.rmtree(self.path / "pieces", ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def next_number(self) -> int:
        return max(self.kept, default=0) + 1

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.kept.values())

    def room(self, per_hour: int, ended_ns: int) -> int:
        """What takes longer ns than this may be kept: 0 while fewer than `per_hour` were kept in the hour before."""
        hour = self._hour(ended_ns)
        return 0 if len(hour) < per_hour else min(one.latency_ns for one in hour)

    def add(self, one: Kept, per_hour: int, most_bytes: int) -> list[Kept]:
        """Keeps it, and returns what had to go for it: of the hour before the fastest, of all the oldest. REQUIRES: its
        trace is there."""
        save_json(self._reason(one.number), {"schema": SCHEMA, **asdict(one)})
        self.kept[one.number] = one
        gone = sorted(self._hour(one.ended_ns), key=lambda kept: -kept.latency_ns)[per_hour:]
        for kept in gone:
            self.remove(kept)
        while self.bytes > most_bytes and len(self.kept) > 1:
            gone.append(min(self.kept.values(), key=lambda kept: kept.ended_ns))
            self.remove(gone[-1])
        return gone

    def remove(self, one: Kept) -> None:
        self._reason(one.number).unlink(missing_ok=True)
        self.trace(one.number).unlink(missing_ok=True)
        del self.kept[one.number]

    def _hour(self, ended_ns: int) -> list[Kept]:
        return [one for one in self.kept.values() if ended_ns - _HOUR_NS < one.ended_ns <= ended_ns + _HOUR_NS]

    def _reason(self, number: int) -> Path:
        return self.path / "kept" / f"{number:06}.json"


def _read(file: Path) -> Kept:
    """Raises VprofError in one line."""
    try:
        raw: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise VprofError(f"cannot read {file}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise VprofError(f"{file}: not written by `vprof watch`") from None
    if said := _SHAPE.wrong(raw):
        raise VprofError(f"{file}: not written by `vprof watch`{said}")
    return Kept(**{one.name: raw[one.name] for one in fields(Kept)})
