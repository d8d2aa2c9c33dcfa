"""Pauses of a run, whatever made them: of the machine, as the driver's thread felt them, or from a file (`--overlay`).

A file has a line `start,end[,label]` for each pause, in seconds of CLOCK_REALTIME or as ISO 8601 (local time if without
an offset), or is a database server's log with lines `checkpoint starting` and `checkpoint complete`, each with its time
first. A line of a CSV that has no digit is a header, one that begins with # a comment.
"""

from __future__ import annotations

import csv
import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vprof.errors import UsageError
from vprof.workload.latency_file import Records

Int64 = npt.NDArray[np.int64]
Clock = Callable[[float], int]
"""From seconds of CLOCK_REALTIME to ns of CLOCK_MONOTONIC."""

MACHINE = "machine"
"""The source of those that the driver's thread felt."""

LATE_NS = 1_000_000
"""The thread that should wake each millisecond missed a beat: from here on its lateness is a pause of the machine."""

_STARTING, _COMPLETE = "point starting", "point complete"  # of a checkpoint, or of a standby's restartpoint
_OF_LOG = (_STARTING, _COMPLETE, " LOG: ")
_STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?) ?([A-Za-z]+|[+-]\d\d(?::?\d\d)?)?|(\d{9,11}\.\d{3})\b"
)
_MOST_LABELS = 20


@dataclass(frozen=True)
class Pauses:
    """Of one `source` (MACHINE, or a file) and `label`, as they lay in the run: disjoint, in order of time, cut to it.

    Times are ns of CLOCK_MONOTONIC. Pauses that overlap or touch are one."""

    source: str
    label: str
    start_ns: Int64
    end_ns: Int64

    @classmethod
    def within(cls, source: str, label: str, spans: Int64, begin_ns: int, end_ns: int) -> Pauses:
        """`spans`: rows of (start, end), in any order."""
        spans = spans[(spans[:, 1] > begin_ns) & (spans[:, 0] < end_ns) & (spans[:, 1] > spans[:, 0])]
        spans = np.clip(spans[np.argsort(spans[:, 0], kind="stable")], begin_ns, end_ns)
        if not len(spans):
            return cls(source, label, spans[:, 0], spans[:, 1])
        furthest = np.maximum.accumulate(spans[:, 1])
        first = np.r_[True, spans[1:, 0] > furthest[:-1]]
        last = np.r_[first[1:], True]
        return cls(source, label, spans[first, 0], furthest[last])

    @property
    def total_ns(self) -> int:
        return int((self.end_ns - self.start_ns).sum())


def of_machine(late: Records, begin_ns: int, end_ns: int) -> Pauses:
    """From when the thread should have woken to when it did."""
    spans = np.stack([late["intended"], late["start"]], axis=1).astype(np.int64)
    return Pauses.within(MACHINE, f"late by {LATE_NS / 1e6:g} ms or more", spans, begin_ns, end_ns)


def from_file(path: Path, clock: Clock, begin_ns: int, end_ns: int) -> list[Pauses]:
    """By label, most time first; those that are many as one; none of a log without a checkpoint. Raises UsageError
    naming file and line."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    log = any(mark in line for line in lines for mark in _OF_LOG)
    rows = list(_of_log(path, lines) if log else _of_csv(path, lines))
    if not rows and not log:
        raise UsageError(f"{path}: no pauses: give lines start,end[,label], or a log with `checkpoint starting`")
    labels = sorted({label for *_, label in rows})
    found = []
    for label in labels if len(labels) <= _MOST_LABELS else [""]:
        spans = [_span(clock, start, end) for start, end, its in rows if its == label or len(labels) > _MOST_LABELS]
        found.append(Pauses.within(path.name, label, np.array(spans, np.int64), begin_ns, end_ns))
    return sorted(found, key=lambda pauses: -pauses.total_ns)


def _span(clock: Clock, start: float, end: float) -> tuple[int, int]:
    """One that had begun before the file, or had not ended with it, is as long as any run."""
    far = 1 << 62
    return (-far if math.isinf(start) else clock(start), far if math.isinf(end) else clock(end))


def _of_csv(path: Path, lines: list[str]) -> Iterator[tuple[float, float, str]]:
    for number, row in enumerate(csv.reader(lines), 1):
        if not row or row[0].lstrip().startswith("#") or (number == 1 and not any(map(str.isdigit, row[0]))):
            continue
        where = f"{path}:{number}"
        if len(row) < 2:
            raise UsageError(f"{where}: a pause is start,end[,label]")
        start, end = (_seconds(where, text.strip()) for text in row[:2])
        if end < start:
            raise UsageError(f"{where}: the pause ends before it begins")
        yield start, end, row[2].strip() if len(row) > 2 else ""


def _seconds(where: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        try:
            return datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError):
            raise UsageError(f"{where}: '{text}' is neither seconds since 1970 nor an ISO time") from None
    if not math.isfinite(seconds) or abs(seconds) > 1e11:
        raise UsageError(f"{where}: {text} is no time in seconds since 1970")
    return seconds


def _of_log(path: Path, lines: list[str]) -> Iterator[tuple[float, float, str]]:
    """One that had begun before the log, or had not ended with it, is open at that side."""
    began: float | None = None
    label = "checkpoint"
    for number, line in enumerate(lines, 1):
        if _STARTING in line:
            began = _stamp(f"{path}:{number}", line)
        elif _COMPLETE in line:
            ended = _stamp(f"{path}:{number}", line)
            yield -math.inf if began is None else began, ended, label
            began = None
    if began is not None:
        yield began, math.inf, label


def _stamp(where: str, line: str) -> float:
    found = _STAMP.search(line)
    if not found:
        raise UsageError(f"{where}: the line has no time: let log_line_prefix begin with %m")
    date, clock, zone, seconds = found.groups()
    if seconds:
        return float(seconds)
    try:
        return datetime.fromisoformat(f"{date}T{clock}").replace(tzinfo=_zone(where, zone)).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{where}: '{found[0]}' is no time") from None


def _zone(where: str, name: str | None) -> timezone | None:
    """None: local time. Most abbreviations mean several zones, so only the machine's own are taken."""
    if name is None or name in time.tzname:
        return None
    if name in ("UTC", "GMT", "Z"):
        return UTC
    if name[0] in "+-":
        hours, minutes = int(name[1:3]), int(name[3:].lstrip(":") or 0)
        away = timedelta(hours=hours, minutes=minutes)
        return timezone(-away if name[0] == "-" else away)
    raise UsageError(f"{where}: the time zone {name} may be several: set log_timezone = 'UTC'")
