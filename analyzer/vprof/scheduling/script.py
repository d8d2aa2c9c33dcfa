"""Transactions as scripts: what a replay with another policy takes, whether a file, a generator or a trace made it.

A transaction is rows: so much work, then a lock. Its last row has no lock: there it ends, and releases all.

    work  40 us   lock  row 7, exclusive
    work 100 us   lock  row 2, shared
    work 100 us   lock  NONE
"""

from __future__ import annotations

from dataclasses import dataclass, field

from vprof.tables.model import NONE, Int64

EXCLUSIVE, SHARED = 1, 0


@dataclass(frozen=True)
class Traced:
    """What was measured where the script comes from: the lock manager's policy, mean and variance of the latencies."""

    policy: str
    mean_ns: float
    variance_ns2: float


@dataclass(frozen=True)
class Script:
    """`first`: of each transaction its first row, and the number of rows. By row: `work` in ns; `lock`, 2 * object +
    EXCLUSIVE or SHARED, or NONE. `born`: when each begins, ns, in order; None: `clients` or `rate` (a second) say it.
    `objects`: names; a generator has none, but counts them (`object_count`). `tail`: how long each goes on, ns, when it
    has released its locks. `follows`: the transaction that the same client had before, another one for each, NONE if
    none is known: it begins `gap` ns after that one has released its locks, whenever it was born; None: none does."""

    first: Int64
    work: Int64
    lock: Int64
    object_count: int
    objects: list[str] = field(default_factory=list)
    born: Int64 | None = None
    clients: int | None = None
    rate: float | None = None
    traced: Traced | None = None
    tail: Int64 | None = None
    follows: Int64 | None = None
    gap: Int64 | None = None

    @property
    def count(self) -> int:
        return len(self.first) - 1

    @property
    def locks(self) -> int:
        """How many lock steps."""
        return int((self.lock != NONE).sum())
