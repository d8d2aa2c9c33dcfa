"""The lock manager's state while scripts are replayed, as int64 tables that compiled loops share.

    slot: a transaction that is under way --- its entries: locks that it holds, and the one it waits for
    object: a lock --- its entries: holders in the order of their grants, waiters in the order of their arrival

An entry hangs in the list of its object (holders, or waiters), and once it is held also in that of its slot. Slots and
entries that are given back are used again, so the state is as large as what is under way, not as the scripts. An object
with several servers is as many objects in a row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vprof.tables.kernels import helper
from vprof.tables.model import NONE, Float, Int64

(
    S_TXN,
    S_ROW,
    S_BORN,
    S_NUMBER,
    S_WAITS,
    S_HELD,
    S_LAST,
    S_COUNT,
    S_LEFT,
    S_SEEN,
    S_DONE,
    S_SIZE,
    S_DEPTH,
    S_AT,
    S_ON,
    S_COLUMNS,
) = range(16)
"""A slot: its transaction and that one's row, birth, number in the order of beginning; the entry it waits with; the
first and last entry it holds, and how many; work left, ns. For walks: the walk that saw it, the one that finished it,
effective size and depth found then, and where the walk stands."""

E_SLOT, E_OBJECT, E_MODE, E_NEXT, E_PREVIOUS, E_HELD, E_COLUMNS = range(7)
"""An entry: EXCLUSIVE or SHARED; its neighbours in the object's list; the next one that its slot holds."""

O_FIRST, O_LAST, O_HOLDERS, O_HEAD, O_TAIL, O_WAITERS, O_AHEAD, O_COLUMNS = range(8)
"""An object: its holders and how many, its waiters and how many, and how many of these are ahead of the barrier."""

(
    N_NOW,
    N_EVENTS,
    N_SLOT,
    N_SLOTS,
    N_ENTRY,
    N_ENTRIES,
    N_HEAP,
    N_BEGUN,
    N_ENDED,
    N_WALK,
    N_DEADLOCKS,
    N_RESTARTS,
    N_WAITS,
    N_RANDOM,
    N_COLUMNS,
) = range(15)
"""Numbers: the time, ns; events so far; the first free slot and entry, and how many were ever used; events to come;
transactions begun and ended; walks through the graph; deadlocks, restarts, waits; the state of random numbers."""

H_TIME, H_ORDER, H_SLOT, H_COLUMNS = range(4)
"""An event to come: a slot's work ends. Of two at one time the one that was put in first comes first."""


class Rules(NamedTuple):
    """`policy`: its index in POLICIES. `barrier`: requests behind it wait. `closed`: a transaction begins where one
    ends. `delay`: f(k) of bldsf by k. `servers`: of each object of the script the first of its own, and the number of
    all at the end."""

    policy: int
    barrier: bool
    effective: bool
    exact_union: bool
    closed: bool
    delay: Float
    servers: Int64


class Rows(NamedTuple):
    """The script as compiled loops read it. `order`: in which the transactions begin; behind the `firsts` come those
    that follow others. By place in that order: `born`, when they begin, which a closed loop fills, and `ended`, which
    is filled; the place of the one that `follows` it, or NONE, `gap` ns later."""

    first: Int64
    work: Int64
    lock: Int64
    order: Int64
    born: Int64
    ended: Int64
    follows: Int64
    gap: Int64
    firsts: int


class State(NamedTuple):
    """`scratch`: rows for lists of entries and slots that a decision needs."""

    slot: Int64
    entry: Int64
    object: Int64
    heap: Int64
    number: Int64
    scratch: Int64


C_WAITER, C_PICKED, C_KEY, C_STACK, C_VICTIM, C_ROWS = range(6)
"""Scratch: the waiters of whom some are picked, those that are picked, a measure of each, stacks of walks, victims."""


def new_state(objects: int, slots: int, seed: int) -> State:
    number = np.zeros(N_COLUMNS, np.int64)
    number[N_SLOT] = number[N_ENTRY] = NONE
    number[N_RANDOM] = seed
    things = np.zeros((objects, O_COLUMNS), np.int64)
    things[:, [O_FIRST, O_LAST, O_HEAD, O_TAIL]] = NONE
    return State(
        np.zeros((slots, S_COLUMNS), np.int64),
        np.zeros((8 * slots, E_COLUMNS), np.int64),
        things,
        np.zeros((slots, H_COLUMNS), np.int64),
        number,
        np.zeros((C_ROWS, slots), np.int64),
    )


@helper
def new_slot(state: State) -> int:
    """REQUIRES: there is room."""
    number = state.number
    slot = number[N_SLOT]
    if slot == NONE:
        slot = number[N_SLOTS]
        number[N_SLOTS] += 1
    else:
        number[N_SLOT] = state.slot[slot, S_ROW]
    return int(slot)


@helper
def free_slot(state: State, slot: int) -> None:
    state.slot[slot, S_ROW] = state.number[N_SLOT]
    state.number[N_SLOT] = slot


@helper
def new_entry(state: State, slot: int, thing: int, mode: int) -> int:
    """In no list yet. REQUIRES: there is room."""
    number, table = state.number, state.entry
    entry = number[N_ENTRY]
    if entry == NONE:
        entry = number[N_ENTRIES]
        number[N_ENTRIES] += 1
    else:
        number[N_ENTRY] = table[entry, E_NEXT]
    table[entry, E_SLOT], table[entry, E_OBJECT], table[entry, E_MODE] = slot, thing, mode
    table[entry, E_HELD] = NONE
    return int(entry)


@helper
def free_entry(state: State, entry: int) -> None:
    state.entry[entry, E_NEXT] = state.number[N_ENTRY]
    state.number[N_ENTRY] = entry


@helper
def append(state: State, entry: int, first: int, last: int, count: int) -> None:
    """To the list of its object with these columns."""
    table, thing = state.entry, state.object[state.entry[entry, E_OBJECT]]
    table[entry, E_NEXT], table[entry, E_PREVIOUS] = NONE, thing[last]
    if thing[last] == NONE:
        thing[first] = entry
    else:
        table[thing[last], E_NEXT] = entry
    thing[last] = entry
    thing[count] += 1


@helper
def unlink(state: State, entry: int, first: int, last: int, count: int) -> None:
    """From the list of its object with these columns."""
    table, thing = state.entry, state.object[state.entry[entry, E_OBJECT]]
    after, before = table[entry, E_NEXT], table[entry, E_PREVIOUS]
    if before == NONE:
        thing[first] = after
    else:
        table[before, E_NEXT] = after
    if after == NONE:
        thing[last] = before
    else:
        table[after, E_PREVIOUS] = before
    thing[count] -= 1


@helper
def push(state: State, time: int, slot: int) -> None:
    """The slot's work ends at `time`."""
    heap, number = state.heap, state.number
    n, order = number[N_HEAP], number[N_EVENTS]
    number[N_HEAP] += 1
    number[N_EVENTS] += 1
    while n > 0:
        above = (n - 1) >> 1
        if heap[above, H_TIME] <= time:
            break
        heap[n, H_TIME], heap[n, H_ORDER], heap[n, H_SLOT] = (
            heap[above, H_TIME],
            heap[above, H_ORDER],
            heap[above, H_SLOT],
        )
        n = above
    heap[n, H_TIME], heap[n, H_ORDER], heap[n, H_SLOT] = time, order, slot


@helper
def pop(state: State) -> int:
    """The slot of the earliest event. REQUIRES: there is one."""
    heap, number = state.heap, state.number
    number[N_HEAP] -= 1
    last, slot, n = number[N_HEAP], heap[0, H_SLOT], 0
    time, order, moved = heap[last, H_TIME], heap[last, H_ORDER], heap[last, H_SLOT]
    while 2 * n + 1 < last:
        below = 2 * n + 1
        if below + 1 < last and _earlier(heap, below + 1, heap[below, H_TIME], heap[below, H_ORDER]):
            below += 1
        if not _earlier(heap, below, time, order):
            break
        heap[n, H_TIME], heap[n, H_ORDER], heap[n, H_SLOT] = (
            heap[below, H_TIME],
            heap[below, H_ORDER],
            heap[below, H_SLOT],
        )
        n = below
    heap[n, H_TIME], heap[n, H_ORDER], heap[n, H_SLOT] = time, order, moved
    return int(slot)


@helper
def _earlier(heap: Int64, n: int, time: int, order: int) -> bool:
    return bool(heap[n, H_TIME] < time or (heap[n, H_TIME] == time and heap[n, H_ORDER] < order))
