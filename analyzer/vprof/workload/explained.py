"""How much of the tail pauses explain.

Let the tail be the slowest one in a thousand of the transactions (those beyond p99.9). Pauses *hold up* a transaction
if they are long enough to be the cause: they cover, of the time from its intended start to its end, at least half of
what is beyond the median latency. That some short pause lies in a long transaction is not enough.

`held_up`   the share of the tail that the pauses hold up
`by_chance` the share that they would if they lay elsewhere in the run: the mean over 999 shifts of all of them, evenly
            spread around the run as on a ring
`explained` (held_up - by_chance) / (1 - by_chance), at least 0. If a part E of the tail is slow because of the pauses,
            and they cover the rest by chance, held_up = E + (1 - E) by_chance: this is E. Null where by_chance is 1.
`p`         the share of shifts, of these and none, at which they hold up at least as much of the tail. A stall makes
            many transactions slow at once, so that a pause covers all or none of them: with a p of 0.3, chance alone
            gives such an `explained` in 3 of 10 runs.
`without`   percentiles of the transactions that the pauses do not hold up
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vprof.workload.latency_file import LatencyFile, Records
from vprof.workload.pauses import Int64, Pauses
from vprof.workload.quantiles import Quantiles
from vprof.workload.tally import Pass, latency_ns, timed

Bools = npt.NDArray[np.bool_]

_SHIFTS = 999
_MOST_SHIFTED = 2000
"""Transactions of the tail that are looked at for each shift."""


@dataclass(frozen=True)
class Slowest:
    """The slowest transaction: whether pauses held it up, how much of it they cover, how likely that was by chance."""

    latency_ns: int
    held_up: bool
    overlap_ns: int
    by_chance: float


@dataclass(frozen=True)
class Explained:
    """The fields are defined above; `tail`, `held_up` count transactions."""

    pauses: Pauses
    tail: int
    held_up: int
    by_chance: float
    explained: float | None
    p: float
    slowest: Slowest
    without_p99_ns: int | None
    without_p999_ns: int | None
    without_max_ns: int | None

    @property
    def share(self) -> float:
        """Of the tail that is held up."""
        return self.held_up / self.tail


class Ring:
    """Pauses on a ring as long as the run, so that every shift of them is as long. Transactions lie in the run: `start`
    counts from its begin, start + latency is at most its length."""

    def __init__(self, pauses: Pauses, begin_ns: int, end_ns: int, median_ns: int) -> None:
        self.begin_ns, self.length, self.median_ns = begin_ns, end_ns - begin_ns, median_ns
        starts, ends = pauses.start_ns - begin_ns, pauses.end_ns - begin_ns
        self._starts = np.r_[starts, starts + self.length]
        self._ends = np.r_[ends, ends + self.length]
        self._covered = np.r_[0, np.cumsum(self._ends - self._starts)]

    def placed(self, records: Records) -> tuple[Int64, Int64]:
        """Start and latency in the run: one may end after it."""
        start = np.clip(records["intended"] - self.begin_ns, 0, self.length)
        end = np.clip(records["end"] - self.begin_ns, 0, self.length)
        return start, np.maximum(end - start, 0)

    def overlap_ns(self, start: Int64, latencies: Int64, shift: int = 0) -> Int64:
        """How much of each the pauses cover when they lie `shift` later."""
        at = (start - shift) % self.length
        return self._before(at + latencies) - self._before(at)

    def _before(self, at: Int64) -> Int64:
        """How much of the pauses lies before each of these moments."""
        begun = np.searchsorted(self._starts, at, "right")
        ends = np.r_[0, self._ends][begun]
        found: Int64 = self._covered[begun] - np.maximum(ends - at, 0)
        return found

    def held_up(self, start: Int64, latencies: Int64, shift: int = 0) -> Bools:
        """Whether the pauses cover half of what each took longer than the median."""
        overlap, longer = self.overlap_ns(start, latencies, shift), latencies - self.median_ns
        found: Bools = (longer > 0) & (overlap > 0) & (2 * overlap >= longer)
        return found


def explain(file: LatencyFile, seen: Pass, pauses: list[Pauses], begin_ns: int, end_ns: int) -> list[Explained]:
    """What each of them explains; those of which none lay in the run are left out."""
    some = [one for one in pauses if len(one.start_ns)]
    (median_ns,) = seen.all.quantiles.at(0.5)
    if median_ns is None or not some:
        return []
    rings = [Ring(one, begin_ns, end_ns, median_ns) for one in some]
    without = _without(file, rings)
    return [_explained(seen, one, ring, rest) for one, ring, rest in zip(some, rings, without, strict=True)]


def _explained(seen: Pass, pauses: Pauses, ring: Ring, without: Quantiles) -> Explained:
    start, latencies = ring.placed(seen.tail)
    held_up = ring.held_up(start, latencies)
    chance, p, chance_of_slowest = _by_chance(ring, start, latencies)
    p99, p999, most = without.at(0.99, 0.999, 1.0)
    slowest = Slowest(
        latency_ns=int(latency_ns(seen.tail)[0]),
        held_up=bool(held_up[0]),
        overlap_ns=int(ring.overlap_ns(start[:1], latencies[:1])[0]),
        by_chance=chance_of_slowest,
    )
    return Explained(
        pauses=pauses,
        tail=len(held_up),
        held_up=int(held_up.sum()),
        by_chance=chance,
        explained=max(0.0, (float(held_up.mean()) - chance) / (1 - chance)) if chance < 1 else None,
        p=p,
        slowest=slowest,
        without_p99_ns=p99,
        without_p999_ns=p999,
        without_max_ns=most,
    )


def _by_chance(ring: Ring, start: Int64, latencies: Int64) -> tuple[float, float, float]:
    """Over all shifts: the mean share held up; the share of them with as many as unshifted; how often the first is."""
    every = -(-len(start) // _MOST_SHIFTED)
    start, latencies = start[::every], latencies[::every]
    shifts = np.linspace(0, ring.length, _SHIFTS + 2)[1:-1].astype(np.int64)
    shares, firsts = np.zeros(_SHIFTS), np.zeros(_SHIFTS)
    for i, shift in enumerate(shifts.tolist()):
        held_up = ring.held_up(start, latencies, shift)
        shares[i], firsts[i] = held_up.mean(), held_up[0]
    as_much = int((shares >= ring.held_up(start, latencies).mean()).sum())
    return float(shares.mean()), (1 + as_much) / (1 + _SHIFTS), float(firsts.mean())


def _without(file: LatencyFile, rings: list[Ring]) -> list[Quantiles]:
    """Of the transactions that are not held up, for each ring: another pass over the file."""
    found = [Quantiles() for _ in rings]
    for chunk in file.chunks():
        work = chunk[(chunk["type"] != file.lateness) & timed(chunk)]
        for ring, quantiles in zip(rings, found, strict=True):
            quantiles.add(latency_ns(work)[~ring.held_up(*ring.placed(work))])
    return found
