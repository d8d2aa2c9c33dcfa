"""What a run's transactions did and how long they took, by type: one pass over the file of latencies.

A latency is end - intended start: in an open loop it counts from when the transaction should have begun, so what a
stalled server kept from beginning is counted in full. Timed are the transactions that were answered (committed, rolled
back by their own rule) and those unfinished when the run ended, with the time that they had waited by then: leaving
these out would hide what a stall at the end did. Those that gave up or failed are counted, not timed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from vprof.workload.latency_file import COMMITTED, OUTCOMES, RECORD, ROLLED_BACK, UNFINISHED, LatencyFile, Records
from vprof.workload.moments import Moments
from vprof.workload.over_time import OverTime
from vprof.workload.quantiles import Quantiles

NS_PER_WAKE = 1_000_000
"""Of the driver's thread."""
_FEWEST_SLOWEST = 1000
TAIL = 1000
"""One in so many transactions is beyond p99.9."""


@dataclass
class Tally:
    """Of transactions of one type, or of all: `outcomes` in the file's numbers, `retries` beyond first tries."""

    outcomes: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(OUTCOMES), np.int64))
    retries: int = 0
    moments: Moments = field(default_factory=Moments)
    quantiles: Quantiles = field(default_factory=Quantiles)

    def add(self, records: Records) -> None:
        self.outcomes += np.bincount(records["outcome"], minlength=len(OUTCOMES))
        self.retries += int(np.maximum(records["tries"].astype(np.int64) - 1, 0).sum())
        self.add_ns(latency_ns(records[timed(records)]))

    def add_ns(self, values: npt.NDArray[np.int64]) -> None:
        """Latencies alone."""
        self.moments += Moments.of(values)
        self.quantiles.add(values)

    def join(self, other: Tally) -> None:
        self.outcomes += other.outcomes
        self.retries += other.retries
        self.moments += other.moments
        self.quantiles.join(other.quantiles)

    @property
    def answered(self) -> int:
        return int(self.outcomes[COMMITTED] + self.outcomes[ROLLED_BACK])

    @property
    def count(self) -> int:
        return int(self.outcomes.sum())


def timed(records: Records) -> npt.NDArray[np.bool_]:
    """Which of them have a latency."""
    found: npt.NDArray[np.bool_] = np.isin(records["outcome"], (COMMITTED, ROLLED_BACK, UNFINISHED))
    return found


def latency_ns(records: Records) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.int64] = records["end"] - records["intended"]
    return found


@dataclass(frozen=True)
class Pass:
    """`lateness` of the driver's thread; `slowest` timed transactions, all beyond p99.9 among them, slowest first;
    `late`: records of the driver's thread whose lateness is at or beyond a bound; `waiting_since_ns`: intended start of
    the oldest transaction that was unfinished; `waits`: how long those of the second half waited to begin."""

    by_type: dict[str, Tally]
    all: Tally
    lateness: Tally
    slowest: Records
    late: Records
    over_time: OverTime
    waits: Quantiles
    waiting_since_ns: int | None

    @property
    def tail(self) -> Records:
        """The transactions beyond p99.9: the slowest one in a thousand, at least one if there is any."""
        return self.slowest[: -(-self.all.moments.count // TAIL)]


class _Reading:
    """What is kept between two chunks."""

    def __init__(self, file: LatencyFile, begin_ns: int, end_ns: int, late_ns: int) -> None:
        self.tallies = [Tally() for _ in file.types]
        wakes = (end_ns - begin_ns) // NS_PER_WAKE
        self.over_time = OverTime.of(begin_ns, end_ns, max(0, file.count - wakes))
        self.slowest = np.zeros(0, RECORD)
        self.late: list[Records] = []
        self.waits = Quantiles()
        self._half_ns = (begin_ns + end_ns) // 2
        self.waiting: list[int] = []
        self._own = file.lateness
        self._keep = max(_FEWEST_SLOWEST, file.count // TAIL + 1)
        self._late_ns = late_ns

    def add(self, chunk: Records) -> None:
        own = chunk["type"] == self._own
        self._add_wakes(chunk[own])
        work = chunk[~own]
        for type_ in np.unique(work["type"]):
            self.tallies[type_].add(work[work["type"] == type_])
        self.waiting.extend(work["intended"][work["outcome"] == UNFINISHED].tolist())
        self.waiting = [min(self.waiting)] if self.waiting else []
        second = work[(work["intended"] >= self._half_ns) & (work["start"] >= work["intended"])]
        self.waits.add(second["start"] - second["intended"])
        work = work[timed(work)]
        self.over_time.add(work["intended"], latency_ns(work))
        self.slowest = _slowest(np.concatenate([self.slowest, work]), self._keep)

    def _add_wakes(self, wakes: Records) -> None:
        delays = wakes["start"] - wakes["intended"]
        self.tallies[self._own].add_ns(np.maximum(delays, 0))
        self.late.append(wakes[delays >= self._late_ns])


def read(file: LatencyFile, begin_ns: int, end_ns: int, late_ns: int) -> Pass:
    """`late_ns`: the bound of a lateness that is kept."""
    reading = _Reading(file, begin_ns, end_ns, late_ns)
    for chunk in file.chunks():
        reading.add(chunk)
    whole = Tally()
    for tally in reading.tallies[:-1]:
        whole.join(tally)
    slowest = reading.slowest
    return Pass(
        by_type=dict(zip(file.types[:-1], reading.tallies, strict=False)),
        all=whole,
        lateness=reading.tallies[-1],
        slowest=slowest[np.argsort(-latency_ns(slowest), kind="stable")],
        late=np.concatenate([np.zeros(0, RECORD), *reading.late]),
        over_time=reading.over_time,
        waits=reading.waits,
        waiting_since_ns=reading.waiting[0] if reading.waiting else None,
    )


def _slowest(records: Records, most: int) -> Records:
    """So many of them, in no order."""
    if len(records) <= most:
        return records
    return records[np.argpartition(latency_ns(records), len(records) - most)[-most:]]
