"""Deadlocks: a transaction that begins to wait may close a circle of such as wait for each other.

All that hold an object keep its waiters waiting, and hand-overs go to transactions that wait no more: so a circle is
closed only where a wait begins, and passes that transaction.
"""

from __future__ import annotations

from vprof.scheduling.tables import (
    C_STACK,
    E_NEXT,
    E_OBJECT,
    E_SLOT,
    N_WALK,
    O_FIRST,
    S_BORN,
    S_NUMBER,
    S_ON,
    S_SEEN,
    S_WAITS,
    State,
)
from vprof.tables.kernels import loop
from vprof.tables.model import NONE


@loop
def youngest_in_circle(state: State, start: int) -> int:
    """Of the first circle through `start` that a search in depth finds, going through holders in the order of their
    grants; NONE if there is none. Of two born at once the one that began later is younger."""
    slots, entries, stack = state.slot, state.entry, state.scratch[C_STACK]
    state.number[N_WALK] += 1
    walk = state.number[N_WALK]
    stack[0], depth = start, 1
    slots[start, S_SEEN] = walk
    _at_holders(state, start)
    while depth > 0:
        slot = stack[depth - 1]
        holder = slots[slot, S_ON]
        if holder == NONE:
            depth -= 1
            continue
        slots[slot, S_ON] = entries[holder, E_NEXT]
        other = entries[holder, E_SLOT]
        if other == start and slot != start:
            return _youngest(state, depth)
        if slots[other, S_SEEN] != walk and slots[other, S_WAITS] != NONE:
            slots[other, S_SEEN] = walk
            _at_holders(state, other)
            stack[depth] = other
            depth += 1
    return NONE


@loop
def _at_holders(state: State, slot: int) -> None:
    """S_ON: the first holder of what the slot waits for."""
    waits = state.slot[slot, S_WAITS]
    state.slot[slot, S_ON] = state.object[state.entry[waits, E_OBJECT], O_FIRST]


@loop
def _youngest(state: State, count: int) -> int:
    slots, stack = state.slot, state.scratch[C_STACK]
    found = stack[0]
    for k in range(1, count):
        slot = stack[k]
        born, other = slots[slot, S_BORN], slots[found, S_BORN]
        if born > other or (born == other and slots[slot, S_NUMBER] > slots[found, S_NUMBER]):
            found = slot
    return int(found)
