"""The first reading of a trace, in this process or in several: scan.py says what it finds.

    chunks -> threads, numbered -> some threads' chunks in each task -> [scan.py] OfThreads, ... -> Scan

What is found does not depend on how the threads are shared out: tables are by thread, and counts add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vprof.jobs.tasks import Jobs, Progress, balanced
from vprof.tables.columns import i64
from vprof.tables.lookup import values_of
from vprof.tables.model import Bool, Int64
from vprof.trace.chunks import TraceFile
from vprof.trace.clock import Clock
from vprof.trace.decode import X_THREAD
from vprof.trace.lives import Lives
from vprof.trace.records import Records
from vprof.trace.scan import (
    C_COUNT,
    C_THREAD,
    NEVER,
    WAKER,
    Y_HEAD,
    Y_TIME,
    Y_WORD,
    Asked,
    DamagedError,
    OfThreads,
    Scan,
    scan_threads,
)
from vprof.trace.unpacking import UnpackError


def scan(
    file: TraceFile,
    uids: list[int],
    clock: Clock,
    borders: Int64,
    times: Int64,
    progress: Progress = lambda done: None,
    jobs: Jobs | None = None,
) -> Scan:
    """Threads are numbered in the order of `uids`, then as they turn up. `borders` in ns, sorted; `times`: rows (from,
    to) for `calls_entered`. With `jobs`, each task also checks its chunks: raises DamagedError."""
    numbers = {uid: index for index, uid in enumerate(uids)}
    for chunk in file.chunks:
        numbers.setdefault(chunk.uid, len(numbers))
    chunks = np.zeros((len(file.chunks), 7), np.int64)
    for row, chunk in zip(chunks, file.chunks, strict=True):
        row[:4] = chunk.at, chunk.count, numbers[chunk.uid], chunk.base_ticks
    asked = Asked(borders, i64(times), np.zeros(len(times), np.int64))
    if jobs is None or not len(chunks):
        parts = [scan_threads(file, clock, asked, chunks, progress=progress)]
    else:
        crc = np.array([chunk.crc for chunk in file.chunks], np.int64)
        shared = [jobs.share(_Scanning(file, clock, asked))]
        parts = _undamaged(jobs.each(_scan_some, shared, _shared_out(chunks, crc, jobs.parts), progress))
    return _put_together(numbers, borders, parts)


@dataclass(frozen=True)
class _Scanning:
    """What all tasks of a scan know."""

    file: TraceFile
    clock: Clock
    asked: Asked


def _shared_out(chunks: Int64, crc: Int64, parts: int) -> list[tuple[Int64, Int64]]:
    """The chunks of some threads each, in file order, with their checksums."""
    threads, of = np.unique(chunks[:, C_THREAD], return_inverse=True)
    sizes = np.bincount(of, chunks[:, C_COUNT], len(threads)).tolist()
    mine = [np.isin(of, part) for part in balanced(sizes, parts)]
    return [(chunks[rows], crc[rows]) for rows in mine]


def _scan_some(scanning: _Scanning, part: tuple[Int64, Int64]) -> OfThreads | None:
    """None: a chunk is damaged."""
    scanning.file.attach()
    try:
        return scan_threads(scanning.file, scanning.clock, scanning.asked, *part)
    except (DamagedError, UnpackError):
        return None


def _undamaged(parts: Sequence[OfThreads | None]) -> list[OfThreads]:
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        raise DamagedError
    return found


def _put_together(numbers: dict[int, int], borders: Int64, parts: list[OfThreads]) -> Scan:
    lives, holder = Lives.none(len(numbers)), np.zeros(len(numbers), np.bool_)
    for part in parts:
        known = part.last != NEVER
        lives.first[part.threads[known]], lives.last[part.threads[known]] = part.first[known], part.last[known]
        holder[part.threads] = part.holder
    peers = np.bitwise_or.reduce([part.peers for part in parts])
    wakers = _number_peers(numbers, peers, values_of(np.concatenate([part.fresh for part in parts])))
    wakers[: len(holder)] |= holder
    chunks, spanning = (np.concatenate(rows) for rows in zip(*((p.chunks, p.spanning) for p in parts), strict=True))
    return Scan(
        records=_grouped(list(numbers), np.concatenate([part.sparse for part in parts])),
        chunks=chunks[np.argsort(chunks[:, C_THREAD], kind="stable")],
        spanning=spanning[np.argsort(spanning[:, X_THREAD], kind="stable")],
        borders=borders,
        lives=_grown(lives, len(numbers)),
        seen=values_of(np.concatenate([part.seen for part in parts])),
        wakers=wakers,
        calls_entered=i64(sum(part.entered for part in parts)),
        waits=sum(part.waits for part in parts),
        abandoned=sum(part.abandoned for part in parts),
        backwards=sum(part.backwards for part in parts),
        unknown=sum(part.unknown for part in parts),
    )


def _grown(lives: Lives, threads: int) -> Lives:
    """With those that are only known as peers."""
    larger, n = Lives.none(threads), len(lives.first)
    larger.first[:n], larger.last[:n] = lives.first, lives.last
    return larger


def _number_peers(numbers: dict[int, int], peers: NDArray[np.uint8], fresh: Int64) -> Bool:
    """Gives threads that only occur as peers their numbers; marks those that ended a wait."""
    for uid in np.flatnonzero(peers).tolist() + fresh.tolist():
        numbers.setdefault(uid, len(numbers))
    wakers = np.zeros(len(numbers), np.bool_)
    for uid in np.flatnonzero(peers & WAKER).tolist() + fresh.tolist():
        wakers[numbers[uid]] = True
    return wakers


def _grouped(uids: list[int], sparse: Int64) -> Records:
    packed = sparse[:, Y_HEAD]
    thread = (packed >> 32).astype(np.int32)
    order = np.argsort(thread, kind="stable")
    packed = packed[order]
    return Records(
        uids,
        thread[order],
        ((packed >> 16) & 0xFF).astype(np.uint8),
        (packed & 0xFFFF).astype(np.uint16),
        sparse[order, Y_TIME],
        sparse[order, Y_WORD].view(np.uint64),
    )
