"""What a trace's lock events say of scheduling: the locks that are waited for most, and whether age tells what is left.

    LockTrace + Taken (history.py)  ->  Locked: by object what was waited for; by type age against remaining time

VATS is the best policy that does not know the future if a transaction's age says nothing of how long it goes on
(thesis sections 3.3.2 and 3.5.6). Both are taken at each moment at which a policy decides: when a lock that was waited
for comes free, of the one that gets it.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from vprof.scheduling.history import Taken
from vprof.scheduling.script import EXCLUSIVE
from vprof.tables.columns import i64
from vprof.tables.lookup import distinct
from vprof.tables.model import NONE, Bool, Float, Int64
from vprof.trace.locks import LockNames, LockTrace

LEVEL = 0.95
_LEAST = 4
"""Transactions below which no correlation is told."""


@dataclass(frozen=True)
class AtObject:
    """`name`: by what the program mostly called it where it was waited for, "" if it did not. `waited_ns`: of all that
    waited. `held_ns`: mean of those that gave it back. `queue`: most that waited at
    once."""

    object: str
    name: str
    taken: int
    exclusive: int
    waits: int
    waited_ns: int
    held_ns: float | None
    queue: int


@dataclass(frozen=True)
class AgeOfType:
    """`type`: "" for all. `correlation`: None if there are too few, or one of both is the same for all; `ci95` by
    Fisher's transformation, of as many as there are transactions: several decisions of one are not independent."""

    type: str
    decisions: int
    transactions: int
    age_ns: float
    remaining_ns: float
    correlation: float | None
    ci95: tuple[float, float] | None


@dataclass(frozen=True)
class Locked:
    """`objects`: by what was waited for, the most first; `object_count` of them were locked."""

    transactions: int
    taken: int
    waits: int
    objects: list[AtObject]
    object_count: int
    ages: list[AgeOfType]
    unowned: int
    lost: int


def locked(trace: LockTrace, found: Taken, top: int) -> Locked:
    """`top`: how many objects."""
    mine = (found.owner < len(trace.end)) & (found.owner != NONE)
    ids, which = distinct(found.object)
    waited = np.bincount(which, (found.free - found.requested), len(ids))
    hottest = np.argsort(-waited, kind="stable")[:top]
    return Locked(
        len(trace.end),
        len(which),
        int(found.waited.sum()),
        [_at(trace.names, ids[k], found, np.flatnonzero(which == k)) for k in hottest],
        len(ids),
        _ages(trace, found, mine & found.waited),
        trace.unowned,
        trace.lost,
    )


def _at(names: LockNames, thing: np.int64, found: Taken, rows: Int64) -> AtObject:
    waits = rows[found.waited[rows]]
    back = rows[found.released[rows] < np.iinfo(np.int64).max]
    return AtObject(
        str(int(thing.view(np.uint64))),
        _name(names, found, waits),
        len(rows),
        int((found.mode[rows] == EXCLUSIVE).sum()),
        len(waits),
        int((found.free[waits] - found.requested[waits]).sum()),
        float((found.released[back] - found.free[back]).mean()) if len(back) else None,
        _most_at_once(found.requested[waits], found.free[waits]),
    )


def _name(names: LockNames, found: Taken, waits: Int64) -> str:
    said = Counter(
        name
        for owner, begin, end in zip(found.owner[waits], found.requested[waits], found.granted[waits], strict=True)
        for name in names.between(owner, begin, end)
    )
    return max(sorted(said), key=said.__getitem__, default="")


def _most_at_once(begin: Int64, end: Int64) -> int:
    change = np.r_[np.ones(len(begin), np.int64), -np.ones(len(end), np.int64)]
    order = np.lexsort((change, np.r_[begin, end]))
    return int(np.cumsum(change[order]).max(initial=0))


def _ages(trace: LockTrace, found: Taken, decided: Bool) -> list[AgeOfType]:
    """Of all, then by type; with one type alone, of all."""
    rows = np.flatnonzero(decided)
    owner = found.owner[rows]
    age, left = found.free[rows] - trace.begin[owner], trace.end[owner] - found.free[rows]
    types = np.array(trace.types, object)[owner] if len(rows) else np.zeros(0, object)
    named = sorted(set(types.tolist()))
    parts = [("", np.ones(len(rows), np.bool_)), *((name, types == name) for name in named if len(named) > 1)]
    return [_age(name, owner[part], i64(age[part]), i64(left[part])) for name, part in parts if part.any()]


def _age(name: str, owner: Int64, age: Int64, left: Int64) -> AgeOfType:
    transactions = len(np.unique(owner))
    correlation = _correlation(age.astype(np.float64), left.astype(np.float64)) if transactions >= _LEAST else None
    ci95 = None if correlation is None else _interval(correlation, transactions)
    return AgeOfType(name, len(age), transactions, float(age.mean()), float(left.mean()), correlation, ci95)


def _correlation(a: Float, b: Float) -> float | None:
    """Pearson's."""
    if not np.ptp(a) or not np.ptp(b):
        return None
    return float(np.clip(np.corrcoef(a, b)[0, 1], -1, 1))


def _interval(correlation: float, n: int) -> tuple[float, float]:
    """REQUIRES: n > 3."""
    if abs(correlation) == 1:
        return correlation, correlation
    half = float(ndtri((1 + LEVEL) / 2)) / math.sqrt(n - 3)
    z = math.atanh(correlation)
    return math.tanh(z - half), math.tanh(z + half)
