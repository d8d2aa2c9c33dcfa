"""How many wait for a transaction, and how deep: dependencies.py, compiled.

A walk is a number: a slot that it has seen bears it, so nothing has to be cleared. A transaction waits for one object
here, so its direct waiters are all different.
"""

from __future__ import annotations

from vprof.scheduling.tables import (
    C_STACK,
    E_HELD,
    E_NEXT,
    E_OBJECT,
    E_SLOT,
    N_WALK,
    O_HEAD,
    S_AT,
    S_DEPTH,
    S_DONE,
    S_HELD,
    S_ON,
    S_SEEN,
    S_SIZE,
    State,
)
from vprof.tables.kernels import loop
from vprof.tables.model import NONE


@loop
def joined(state: State, start: int, walk: int) -> int:
    """How many of g(start) the walk has not seen; now it has."""
    slots, entries, objects, stack = state.slot, state.entry, state.object, state.scratch[C_STACK]
    if slots[start, S_SEEN] == walk:
        return 0
    slots[start, S_SEEN] = walk
    stack[0], depth, found = start, 1, 1
    while depth > 0:
        depth -= 1
        held = slots[stack[depth], S_HELD]
        while held != NONE:
            waiter = objects[entries[held, E_OBJECT], O_HEAD]
            while waiter != NONE:
                slot = entries[waiter, E_SLOT]
                if slots[slot, S_SEEN] != walk:
                    slots[slot, S_SEEN] = walk
                    stack[depth] = slot
                    depth += 1
                    found += 1
                waiter = entries[waiter, E_NEXT]
            held = entries[held, E_HELD]
    return found


@loop
def exact(state: State, slot: int) -> int:
    state.number[N_WALK] += 1
    return joined(state, slot, state.number[N_WALK])


@loop
def measure(state: State, start: int, walk: int) -> None:
    """Puts S_SIZE (the effective one) and S_DEPTH of all of g(start) that the walk has not finished."""
    slots, entries, stack = state.slot, state.entry, state.scratch[C_STACK]
    if slots[start, S_DONE] == walk:
        return
    _open(state, start, walk)
    stack[0], depth = start, 1
    while depth > 0:
        slot = stack[depth - 1]
        waiter = slots[slot, S_ON]
        if waiter == NONE:
            slots[slot, S_DONE] = walk
            depth -= 1
            continue
        other = entries[waiter, E_SLOT]
        if slots[other, S_DONE] == walk:
            slots[slot, S_SIZE] += slots[other, S_SIZE]
            slots[slot, S_DEPTH] = max(slots[slot, S_DEPTH], 1 + slots[other, S_DEPTH])
        elif slots[other, S_SEEN] != walk:
            _open(state, other, walk)
            stack[depth] = other
            depth += 1
            continue
        _next_waiter(state, slot)


@loop
def _open(state: State, slot: int, walk: int) -> None:
    """The walk stands at the slot's first direct waiter."""
    slots = state.slot
    slots[slot, S_SEEN], slots[slot, S_SIZE], slots[slot, S_DEPTH] = walk, 1, 1
    slots[slot, S_AT] = slots[slot, S_HELD]
    slots[slot, S_ON] = NONE
    if slots[slot, S_AT] != NONE:
        slots[slot, S_ON] = state.object[state.entry[slots[slot, S_AT], E_OBJECT], O_HEAD]
        _to_waiter(state, slot)


@loop
def _next_waiter(state: State, slot: int) -> None:
    state.slot[slot, S_ON] = state.entry[state.slot[slot, S_ON], E_NEXT]
    _to_waiter(state, slot)


@loop
def _to_waiter(state: State, slot: int) -> None:
    """On to the next of its locks that somebody waits for, if nobody is left at this one."""
    slots, entries = state.slot, state.entry
    while slots[slot, S_ON] == NONE and entries[slots[slot, S_AT], E_HELD] != NONE:
        slots[slot, S_AT] = entries[slots[slot, S_AT], E_HELD]
        slots[slot, S_ON] = state.object[entries[slots[slot, S_AT], E_OBJECT], O_HEAD]
