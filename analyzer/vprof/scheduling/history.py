"""Who had which lock, and since when: the lock events of a trace as locks taken.

    LockSteps (trace/locks.py), in the order of time  ->  Taken: one row for each lock that an owner had

A lock that was waited for came free when the last of those that had it gave it back before the grant. What lies between
that and the recorded grant is no wait for the lock, but for a CPU, or for the lock manager.

What an owner asked for and had while it waited for another lock is how the lock manager makes it wait (for a row: its
place in a queue, then the end of the transaction that has the row), so it is no lock of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.scheduling.script import EXCLUSIVE, SHARED
from vprof.tables.columns import i64
from vprof.tables.model import NONE, Bool, Int64
from vprof.trace import locks
from vprof.trace.locks import GRANT, RELEASE, REQUEST, LockSteps

_OWNER, _OBJECT, _MODE, _REQUESTED, _FREE, _GRANTED, _RELEASED, _THREAD, _BY, _AGAINST = range(10)
NEVER = 2**63 - 1


@dataclass(frozen=True)
class Taken:
    """In the order of grants. `mode`: EXCLUSIVE or SHARED. `free`: when the lock was to be had, `requested` if at once.
    `released`: NEVER if the trace ends before. `thread`: the one that asked for it; `by`: the one that released it,
    NONE if nobody did. `against`: whether others had it then in a mode that does not go together with this one: it is
    no lock as it is told, or steps of it were lost."""

    owner: Int64
    object: Int64
    mode: Int64
    requested: Int64
    free: Int64
    granted: Int64
    released: Int64
    thread: Int64
    by: Int64
    against: Bool

    @property
    def waited(self) -> Bool:
        found: Bool = self.free > self.requested
        return found


def taken(steps: LockSteps) -> Taken:
    """A request of what the owner has already, in this mode or as its only owner, is no lock taken anew. Locks within
    the wait for another one are left out."""
    table = _Table()
    for t, step, mode, thing, owner, thread in zip(
        steps.t.tolist(),
        steps.step.tolist(),
        steps.mode.tolist(),
        steps.object.tolist(),
        steps.owner.tolist(),
        steps.thread.tolist(),
        strict=True,
    ):
        if step == REQUEST:
            table.request(owner, thing, mode, t, thread)
        elif step == GRANT:
            table.grant(owner, thing, mode, t, thread)
        else:
            table.release(owner, t, thing if step == RELEASE else None, thread)
    rows = np.array(table.rows, np.int64).reshape(-1, 10)
    rows = rows[~_within_another(rows)]
    columns = [i64(column) for column in rows.T]
    return Taken(
        owner=columns[_OWNER],
        object=columns[_OBJECT],
        mode=columns[_MODE],
        requested=columns[_REQUESTED],
        free=columns[_FREE],
        granted=columns[_GRANTED],
        released=columns[_RELEASED],
        thread=columns[_THREAD],
        by=columns[_BY],
        against=columns[_AGAINST] != 0,
    )


def _within_another(rows: Int64) -> Bool:
    """Which were asked for after, and had before, another lock of their owner."""
    within = np.zeros(len(rows), np.bool_)
    latest: dict[int, int] = {}  # owner: grant
    order = np.lexsort((rows[:, _GRANTED], rows[:, _REQUESTED]))
    owners, grants = rows[order, _OWNER].tolist(), rows[order, _GRANTED].tolist()
    for k, owner, granted in zip(order.tolist(), owners, grants, strict=True):
        known = latest.get(owner, granted)
        within[k] = granted < known
        latest[owner] = max(known, granted)
    return within


class _Table:
    """The lock table as the steps so far leave it."""

    def __init__(self) -> None:
        self.rows: list[list[int]] = []
        self._asked: dict[int, dict[int, tuple[int, int, int]]] = {}  # owner, object: mode, when, thread
        self._held: dict[int, dict[int, list[list[int]]]] = {}  # owner, object: rows
        self._holders: dict[int, set[int]] = {}  # object: owners
        self._free: dict[int, int] = {}  # object: when nobody had it any more
        self._alone: dict[int, tuple[int, int]] = {}  # object: since when this owner alone had it

    def request(self, owner: int, thing: int, mode: int, t: int, thread: int) -> None:
        self._asked.setdefault(owner, {}).setdefault(thing, (mode, t, thread))

    def grant(self, owner: int, thing: int, mode: int, t: int, thread: int) -> None:
        asked, since, thread = self._asked.get(owner, {}).pop(thing, (mode, t, thread))
        wanted = EXCLUSIVE if (mode or asked) == locks.EXCLUSIVE else SHARED
        had = self._held.setdefault(owner, {}).setdefault(thing, [])
        if any(row[_MODE] >= wanted for row in had):
            return
        alone, whose = self._alone.get(thing, (since, owner))
        free = max(since, self._free.get(thing, since), alone if whose == owner else since)
        row = [owner, thing, wanted, since, free, t, NEVER, thread, NONE, self._is_against(owner, thing, wanted)]
        had.append(row)
        self.rows.append(row)
        self._holders.setdefault(thing, set()).add(owner)

    def _is_against(self, owner: int, thing: int, wanted: int) -> bool:
        others = self._holders.get(thing, set()) - {owner}
        if wanted == EXCLUSIVE:
            return bool(others)
        return any(row[_MODE] == EXCLUSIVE for other in others for row in self._held[other][thing])

    def release(self, owner: int, t: int, thing: int | None, thread: int) -> None:
        """Of one object, or of all that the owner has. Whoever asks no more keeps nobody waiting, either."""
        held, asked = self._held.get(owner, {}), self._asked.get(owner, {})
        for one in list(held) if thing is None else [thing]:
            for row in held.pop(one, ()):
                row[_RELEASED], row[_BY] = t, thread
                self._let_go(one, owner, t)
        for one in list(asked) if thing is None else [thing]:
            if asked.pop(one, None):
                self._free[one] = t

    def _let_go(self, thing: int, owner: int, t: int) -> None:
        """Who shares it and wants it alone waits until all others are gone."""
        holders = self._holders[thing]
        holders.discard(owner)
        if not holders:
            self._free[thing] = t
        elif len(holders) == 1:
            self._alone[thing] = t, next(iter(holders))
