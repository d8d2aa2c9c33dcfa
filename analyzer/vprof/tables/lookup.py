"""Joining two tables on a key and the latest time: which begin does this end belong to, which label held then; and the
distinct values of a column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vprof.kernels import helper, kernel, maker
from vprof.model import NONE, Int64


def latest(key: NDArray[Any], t: Int64, asked_key: NDArray[Any], asked_t: Int64) -> Int64:
    """For each asked (key, time) the row of the table with that key and the latest time not after it, or -1."""
    keys = np.concatenate([key, asked_key])
    times = np.concatenate([t, asked_t])
    asks = np.arange(len(keys)) >= len(key)
    order = np.lexsort((asks, times, keys))
    row = np.where(asks[order], -1, np.arange(len(order)))
    position = np.maximum.accumulate(row)
    found = np.where(position >= 0, order[position], -1)
    found = np.where((found >= 0) & (keys[found] == keys[order]), found, -1)
    answer = np.empty(len(keys), np.int64)
    answer[order] = found
    return answer[len(key) :]


@kernel
def grouped(key, keys):  # type: ignore[no-untyped-def]
    """Where the rows with each of the keys 0 .. keys - 1 begin, and these rows, in their order; NONE is no key."""
    first = np.zeros(keys + 2, np.int64)
    for i in range(len(key)):
        first[key[i] + 2] += key[i] != NONE
    for k in range(keys + 1):
        first[k + 1] += first[k]
    row = np.empty(first[keys + 1], np.int64)
    for i in range(len(key)):
        if key[i] != NONE:
            row[first[key[i] + 1]] = i
            first[key[i] + 1] += 1
    return first[:-1], row


@kernel
def distinct(key):  # type: ignore[no-untyped-def]
    """Each value once, in the order of first sight, and for every row the position of its own."""
    slots, found = np.full(1024, NONE, np.int64), np.empty(512, np.int64)
    which = np.empty(len(key), np.int64)
    i, n = _tell_apart(0, 0, key, slots, found, which)
    while i < len(key):
        found, slots = _doubled(found)
        i, n = _tell_apart(i, n, key, slots, found, which)
    return found[:n].copy(), which


@helper
def _tell_apart(i, n, key, slots, found, which):  # type: ignore[no-untyped-def]
    """From row i on, with n values found so far: the row at which `found` is full, and how many there are."""
    while i < len(key):
        slot = _slot(key[i], found, slots)
        if slots[slot] == NONE:
            if n == len(found):
                break
            slots[slot], found[n] = n, key[i]
            n += 1
        which[i] = slots[slot]
        i += 1
    return i, n


@helper
def _slot(key, found, slots):  # type: ignore[no-untyped-def]
    """Where the key is, or is to be put."""
    mixed = key * 0x1E3779B97F4A7C15
    slot = (mixed ^ (mixed >> 29)) & (len(slots) - 1)
    while slots[slot] != NONE and found[slots[slot]] != key:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@maker
def _doubled(found):  # type: ignore[no-untyped-def]
    larger, slots = np.empty(2 * len(found), np.int64), np.full(4 * len(found), NONE, np.int64)
    for k in range(len(found)):
        larger[k] = found[k]
        slots[_slot(found[k], larger, slots)] = k
    return larger, slots
