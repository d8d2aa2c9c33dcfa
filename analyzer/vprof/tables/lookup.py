"""Joining two tables on a key and the latest time: which begin does this end belong to, which label held then; and the
distinct values of a column."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vprof.tables.columns import i64
from vprof.tables.kernels import helper, kernel, loop, maker, roomy
from vprof.tables.model import NONE, Int32, Int64

Number = TypeVar("Number", bound=np.generic)


def latest(key: NDArray[Any], t: Int64, asked_key: NDArray[Any], asked_t: Int64) -> Int64:
    """For each asked (key, time) the row of the table with that key and the latest time not after it, or -1. Of rows
    with the same key and time it is the last."""
    key, asked_key = _words(key), _words(asked_key)
    is_sorted = (key[1:] > key[:-1]) | (key[1:] == key[:-1]) & (t[1:] >= t[:-1])
    if is_sorted.all():
        return _latest(asked_key, i64(asked_t), key, i64(t))
    order = np.lexsort((t, key))
    found = _latest(asked_key, i64(asked_t), key[order], i64(t[order]))
    return np.where(found >= 0, order[found], NONE)


def _words(key: NDArray[Any]) -> Int64:
    return key.view(np.int64) if key.dtype == np.uint64 else i64(key)


@kernel
def _latest(asked_key: Int64, asked_t: Int64, key: Int64, t: Int64) -> Int64:
    """`latest` in a sorted table."""
    found = np.empty(len(asked_key), np.int64)
    _find_latest(found, asked_key, asked_t, key, t)
    return found


@loop
def _find_latest(found: Int64, asked_key: Int64, asked_t: Int64, key: Int64, t: Int64) -> None:
    """It looks in ever larger steps from where it was: what is asked next mostly lies a few rows behind."""
    low = 0
    for i in range(len(found)):
        high = low
        if low > 0 and _is_after(key[low - 1], t[low - 1], asked_key[i], asked_t[i]):
            low = 0
        else:
            step = 1
            while high < len(key) and not _is_after(key[high], t[high], asked_key[i], asked_t[i]):
                low, high = high + 1, high + 1 + step
                step *= 2
            high = min(high, len(key))
        while low < high:
            middle = (low + high) // 2
            if _is_after(key[middle], t[middle], asked_key[i], asked_t[i]):
                high = middle
            else:
                low = middle + 1
        found[i] = low - 1 if low > 0 and key[low - 1] == asked_key[i] else NONE


@helper
def _is_after(key: int, t: int, asked_key: int, asked_t: int) -> bool:
    return key > asked_key or (key == asked_key and t > asked_t)


def values_of(column: NDArray[Number]) -> NDArray[Number]:
    """Each value once, in order. (np.unique takes a hash table, which takes twenty times as long, and imports
    numpy.ma, which takes as long to import as a small trace to read.)"""
    ordered = np.sort(column)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


@kernel
def grouped(key: Int32, keys: int) -> tuple[Int64, Int64]:
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
def distinct(key: Int64) -> tuple[Int64, Int64]:
    """Each value once, in the order of first sight, and for every row the position of its own."""
    found, which = np.empty(512, np.int64), np.empty(len(key), np.int64)
    slots = _slots(found, 0)
    i, n = _tell_apart(0, 0, key, slots, found, which)
    while i < len(key):
        found = roomy(found, n, n)
        slots = _slots(found, n)
        i, n = _tell_apart(i, n, key, slots, found, which)
    return found[:n].copy(), which


@loop
def _tell_apart(i: int, n: int, key: Int64, slots: Int64, found: Int64, which: Int64) -> tuple[int, int]:
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
def _slot(key: int, found: Int64, slots: Int64) -> int:
    """Where the key is, or is to be put."""
    mixed = key * 0x1E3779B97F4A7C15
    slot = (mixed ^ (mixed >> 29)) & (len(slots) - 1)
    while slots[slot] != NONE and found[slots[slot]] != key:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@maker
def _slots(found: Int64, n: int) -> Int64:
    """The slots of the first n values; there are always twice as many as values, and their number is a power of two."""
    size = 1024
    while size < 2 * len(found):
        size *= 2
    slots = np.full(size, NONE, np.int64)
    for k in range(n):
        slots[_slot(found[k], found, slots)] = k
    return slots
