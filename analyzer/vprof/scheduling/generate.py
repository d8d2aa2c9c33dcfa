"""The microbenchmark of thesis section 4.6.1 as a script: few records that all want, by Zipf's law.

A transaction is some statements on different records, the k-th most wanted one drawn in proportion to 1 / k^theta. Each
statement takes an exclusive lock, with the probability `writes`, or else a shared one, and then works; times are
exponential, as the theorems of chapter 4 have it: what a transaction has done says nothing of what is to come. Records
come in any order, so that deadlocks occur.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vprof.scheduling.script import Script
from vprof.tables.model import NONE, Int64


@dataclass(frozen=True)
class Zipf:
    """`work_ns`: the mean of a statement's work."""

    transactions: int = 20_000
    records: int = 20_000
    statements: int = 5
    theta: float = 0.8
    writes: float = 0.6
    work_ns: float = 100_000.0


def zipf(wanted: Zipf, seed: int, clients: int | None = None, rate: float | None = None) -> Script:
    """REQUIRES: no more statements than records. The same seed gives the same script."""
    rng = np.random.default_rng([seed, 1])
    shape = (wanted.transactions, wanted.statements)
    mode = rng.random(shape) < wanted.writes
    lock = np.full((shape[0], shape[1] + 1), NONE, np.int64)
    lock[:, :-1] = 2 * _records(wanted, rng) + mode
    work = np.zeros_like(lock)
    work[:, 1:] = rng.exponential(wanted.work_ns, shape)
    first = np.arange(shape[0] + 1, dtype=np.int64) * (shape[1] + 1)
    return Script(first, work.ravel(), lock.ravel(), wanted.records, clients=clients, rate=rate)


def _records(wanted: Zipf, rng: np.random.Generator) -> Int64:
    """Of each transaction different ones: one that it has already is drawn again."""
    weights = np.cumsum(np.arange(1, wanted.records + 1, dtype=np.float64) ** -wanted.theta)
    found = np.full((wanted.transactions, wanted.statements), NONE, np.int64)
    for column in range(wanted.statements):
        again = np.arange(wanted.transactions)
        while len(again):
            drawn = np.searchsorted(weights, rng.random(len(again)) * weights[-1], side="right")
            found[again, column] = np.minimum(drawn, wanted.records - 1)
            twice = (found[again, :column] == found[again, column, np.newaxis]).any(axis=1)
            again = again[twice]
    return found
