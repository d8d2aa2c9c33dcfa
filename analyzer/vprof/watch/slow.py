"""Which intervals of a piece are slow, and which ordinary ones of the same time are kept beside them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from vprof.tables.model import Int64
from vprof.watch.latencies import Ended
from vprof.watch.pieces import Piece
from vprof.watch.threshold import Threshold

_ORDINARY = 1
"""Drawn by chance beside each slow one: with more, traces get large."""


@dataclass(frozen=True)
class Found:
    """One interval: its id, times in ns, its begin records (of all attempts) as (id, begin)."""

    id: int
    begin: int
    end: int
    begins: list[tuple[int, int]] = field(default_factory=list)

    @property
    def latency(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True)
class Slow:
    """A slow interval. `limit`: what it exceeds; `piece`: in which it ended; `median`, `ordinary`: of its type in that
    piece, if there are any; `rate`: intervals of its type a second there. `retried`: clients repeat what was
    aborted."""

    found: Found
    type: str
    limit: int
    piece: Piece
    median: Found | None
    ordinary: list[Found]
    rate: float
    retried: bool


def slow_ones(
    ended: Ended, piece: Piece, threshold: Threshold, most: int, room: Callable[[int], int], chance: random.Random
) -> tuple[list[Slow], int]:
    """The slowest of each type that exceed their limit, `most` of each; and how many did in all. `room`: what takes
    longer than that is worth keeping, at a time."""
    found: list[Slow] = []
    count = 0
    for type_, rows in by_type(ended):
        limit = threshold.limit(type_)
        if limit is None:
            continue
        latency = ended.latency[rows]
        beyond = rows[latency > limit]
        count += len(beyond)
        least = room(piece.end)
        slowest = beyond[np.argsort(-ended.latency[beyond], kind="stable")][:most]
        for row in slowest[ended.latency[slowest] > least].tolist():
            median, ordinary = _beside(ended, piece, rows[latency <= limit], int(np.median(latency)), chance)
            seconds = max(piece.end - piece.begin, 1) / 1e9
            is_retried = ended.attempts is not None
            one = _found(ended, row)
            found.append(Slow(one, type_, limit, piece, median, ordinary, len(rows) / seconds, is_retried))
    return sorted(found, key=lambda slow: -slow.found.latency)[:most], count


def by_type(ended: Ended) -> Iterator[tuple[str, Int64]]:
    """Rows of each type."""
    for type_ in np.unique(ended.type).tolist():
        yield str(type_), np.flatnonzero(ended.type == type_)


def _beside(
    ended: Ended, piece: Piece, rows: Int64, median: int, chance: random.Random
) -> tuple[Found | None, list[Found]]:
    """The one whose latency is nearest to the median, and some others, of rows that lie wholly in the piece."""
    rows = rows[ended.begin[rows] > piece.begin]
    if not len(rows):
        return None, []
    nearest = int(rows[np.argmin(np.abs(ended.latency[rows] - median))])
    others = [row for row in rows.tolist() if row != nearest]
    drawn = chance.sample(others, min(_ORDINARY, len(others)))
    return _found(ended, nearest), [_found(ended, row) for row in drawn]


def _found(ended: Ended, row: int) -> Found:
    begins = [(id_, begin) for number, id_, begin in ended.attempts or [] if number == row]
    return Found(int(ended.id[row]), int(ended.begin[row]), int(ended.end[row]), begins)
