"""The policies once more, compiled: policies.py is the plain form, and says what each does and where it is from.

waiters of an object that is free -> C_WAITER, in order of arrival -> C_PICKED, in the order in which they are taken
"""

from __future__ import annotations

import numpy as np

from vprof.scheduling.policies import POLICIES
from vprof.scheduling.script import EXCLUSIVE
from vprof.scheduling.sizes import exact, joined, measure
from vprof.scheduling.tables import (
    C_KEY,
    C_PICKED,
    C_WAITER,
    E_HELD,
    E_MODE,
    E_NEXT,
    E_OBJECT,
    E_SLOT,
    N_RANDOM,
    N_WALK,
    O_AHEAD,
    O_HEAD,
    O_WAITERS,
    S_BORN,
    S_COUNT,
    S_DEPTH,
    S_HELD,
    S_LEFT,
    S_SIZE,
    Rules,
    State,
)
from vprof.tables.kernels import loop
from vprof.tables.model import NONE

_NUMBERS = {name: number for number, name in enumerate(POLICIES)}
_FCFS, _FIFO, _RS = _NUMBERS["fcfs"], _NUMBERS["fifo"], _NUMBERS["rs"]
_VATS, _VATS_THEORY = _NUMBERS["vats"], _NUMBERS["vats-theory"]
_LDSF, _BLDSF, _HLDSF = _NUMBERS["ldsf"], _NUMBERS["bldsf"], _NUMBERS["hldsf"]
_MLF, _MBLF = _NUMBERS["mlf"], _NUMBERS["mblf"]


@loop
def pick(state: State, rules: Rules, thing: int) -> int:
    """How many of the object's waiters are granted it: their entries are in C_PICKED. REQUIRES: somebody waits."""
    waiters = _waiters_ahead(state, rules, thing)
    policy, keys = rules.policy, state.scratch[C_KEY]
    if policy == _FCFS:
        return _with_all_shared(state, waiters, 0)
    if policy in (_FIFO, _RS, _VATS):
        for k in range(waiters):
            slot = state.entry[state.scratch[C_WAITER, k], E_SLOT]
            keys[k] = k if policy == _FIFO else state.slot[slot, S_BORN] if policy == _VATS else _draw(state)
        return _until_conflict(state, waiters)
    if policy == _VATS_THEORY:
        for k in range(waiters):
            keys[k] = -state.slot[state.entry[state.scratch[C_WAITER, k], E_SLOT], S_BORN]
        return _only(state, _largest(state, waiters))
    if policy in (_LDSF, _BLDSF, _HLDSF):
        return _by_size(state, rules, waiters)
    _measure_locks(state, policy, waiters)
    return _with_all_shared(state, waiters, _largest(state, waiters))


@loop
def _waiters_ahead(state: State, rules: Rules, thing: int) -> int:
    """Of all, or of those ahead of the barrier, which goes to the end of the queue when nobody is ahead of it."""
    table, objects = state.entry, state.object
    count = objects[thing, O_WAITERS]
    if rules.barrier:
        if objects[thing, O_AHEAD] == 0:
            objects[thing, O_AHEAD] = count
        count = objects[thing, O_AHEAD]
    entry = objects[thing, O_HEAD]
    for k in range(count):
        state.scratch[C_WAITER, k] = entry
        entry = table[entry, E_NEXT]
    return int(count)


@loop
def _draw(state: State) -> int:
    """SplitMix64 without its last bit, so that no number is negative."""
    seed = np.uint64(state.number[N_RANDOM]) + np.uint64(0x9E3779B97F4A7C15)
    state.number[N_RANDOM] = np.int64(seed)
    mixed = (seed ^ (seed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int(np.int64((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(1)))


@loop
def _only(state: State, k: int) -> int:
    state.scratch[C_PICKED, 0] = state.scratch[C_WAITER, k]
    return 1


@loop
def _with_all_shared(state: State, waiters: int, first: int) -> int:
    """The waiter at `first`; if it shares, all that do."""
    if state.entry[state.scratch[C_WAITER, first], E_MODE] == EXCLUSIVE:
        return _only(state, first)
    return _all_shared(state, waiters)


@loop
def _until_conflict(state: State, waiters: int) -> int:
    """In the order of C_KEY, least first: all that share in front of the first exclusive one, or that one alone."""
    scratch, entries = state.scratch, state.entry
    bound, least = NONE, 0
    for k in range(waiters):
        key = scratch[C_KEY, k]
        if entries[scratch[C_WAITER, k], E_MODE] == EXCLUSIVE and (bound == NONE or key < least):
            bound, least = k, key
    count = 0
    for k in range(waiters):
        key = scratch[C_KEY, k]
        if entries[scratch[C_WAITER, k], E_MODE] != EXCLUSIVE and (
            bound == NONE or key < least or (key == least and k < bound)
        ):
            count = _insert(state, count, k, key)
    return count if count > 0 else _only(state, bound)


@loop
def _insert(state: State, count: int, k: int, key: int) -> int:
    """The waiter at k among those picked, which are sorted by key, least first. Their keys stand at the front of C_KEY,
    where no waiter's key is needed any more."""
    scratch, at = state.scratch, count
    entry = scratch[C_WAITER, k]
    while at > 0 and scratch[C_KEY, at - 1] > key:
        scratch[C_KEY, at] = scratch[C_KEY, at - 1]
        scratch[C_PICKED, at] = scratch[C_PICKED, at - 1]
        at -= 1
    scratch[C_KEY, at] = key
    scratch[C_PICKED, at] = entry
    return count + 1


@loop
def _largest(state: State, waiters: int) -> int:
    """The first waiter with the largest C_KEY."""
    best = 0
    for k in range(1, waiters):
        if state.scratch[C_KEY, k] > state.scratch[C_KEY, best]:
            best = k
    return best


@loop
def _measure_locks(state: State, policy: int, waiters: int) -> None:
    """C_KEY of mlf, mblf, ddf."""
    state.number[N_WALK] += 1
    for k in range(waiters):
        slot = state.entry[state.scratch[C_WAITER, k], E_SLOT]
        if policy == _MLF:
            state.scratch[C_KEY, k] = state.slot[slot, S_COUNT]
        elif policy == _MBLF:
            state.scratch[C_KEY, k] = _blocking(state, slot)
        else:
            measure(state, slot, state.number[N_WALK])
            state.scratch[C_KEY, k] = state.slot[slot, S_DEPTH]


@loop
def _blocking(state: State, slot: int) -> int:
    """How many of its locks somebody waits for."""
    count, held = 0, state.slot[slot, S_HELD]
    while held != NONE:
        if state.object[state.entry[held, E_OBJECT], O_HEAD] != NONE:
            count += 1
        held = state.entry[held, E_HELD]
    return count


@loop
def _by_size(state: State, rules: Rules, waiters: int) -> int:
    """ldsf, bldsf, hldsf: C_KEY are sizes of g."""
    _measure_sizes(state, rules.effective, waiters)
    best, most = _best_exclusive(state, rules, waiters)
    if rules.policy == _LDSF:
        if best != NONE and most > _together(state, rules.effective, waiters):
            return _only(state, best)
        return _all_shared(state, waiters)
    if rules.policy == _HLDSF:
        if best != NONE and most > _speed_of_shared(state, waiters):
            return _only(state, best)
        return _all_shared(state, waiters)
    shared = _sort_shared(state, waiters)
    count, speed = _batch(state, rules, shared)
    return _only(state, best) if best != NONE and most > speed else count


@loop
def _measure_sizes(state: State, effective: bool, waiters: int) -> None:
    state.number[N_WALK] += 1
    walk = state.number[N_WALK]
    for k in range(waiters):
        slot = state.entry[state.scratch[C_WAITER, k], E_SLOT]
        if effective:
            measure(state, slot, walk)
            state.scratch[C_KEY, k] = state.slot[slot, S_SIZE]
        else:
            state.scratch[C_KEY, k] = exact(state, slot)


@loop
def _best_exclusive(state: State, rules: Rules, waiters: int) -> tuple[int, float]:
    """The exclusive waiter with the most, and how much: the size, or by hldsf size by time."""
    best, most = NONE, 0.0
    for k in range(waiters):
        entry = state.scratch[C_WAITER, k]
        if state.entry[entry, E_MODE] == EXCLUSIVE:
            value = float(state.scratch[C_KEY, k])
            if rules.policy == _HLDSF:
                value = _speed(value, state.slot[state.entry[entry, E_SLOT], S_LEFT])
            if best == NONE or value > most:
                best, most = k, value
    return best, most


@loop
def _speed(size: float, left: int) -> float:
    return size / left if left > 0 else np.inf if size > 0 else 0.0


@loop
def _together(state: State, effective: bool, waiters: int) -> int:
    """The union of the shared ones' g; of effective sizes their sum."""
    total = 0
    state.number[N_WALK] += 1
    walk = state.number[N_WALK]
    for k in range(waiters):
        entry = state.scratch[C_WAITER, k]
        if state.entry[entry, E_MODE] != EXCLUSIVE:
            total += state.scratch[C_KEY, k] if effective else joined(state, state.entry[entry, E_SLOT], walk)
    return total


@loop
def _speed_of_shared(state: State, waiters: int) -> float:
    total, longest = 0, 0
    for k in range(waiters):
        entry = state.scratch[C_WAITER, k]
        if state.entry[entry, E_MODE] != EXCLUSIVE:
            total += state.scratch[C_KEY, k]
            longest = max(longest, state.slot[state.entry[entry, E_SLOT], S_LEFT])
    return _speed(float(total), longest)


@loop
def _all_shared(state: State, waiters: int) -> int:
    count = 0
    for k in range(waiters):
        if state.entry[state.scratch[C_WAITER, k], E_MODE] != EXCLUSIVE:
            state.scratch[C_PICKED, count] = state.scratch[C_WAITER, k]
            count += 1
    return count


@loop
def _sort_shared(state: State, waiters: int) -> int:
    """To C_PICKED, largest g first; C_KEY: their sizes, negative."""
    count = 0
    for k in range(waiters):
        if state.entry[state.scratch[C_WAITER, k], E_MODE] != EXCLUSIVE:
            count = _insert(state, count, k, -state.scratch[C_KEY, k])
    return count


@loop
def _batch(state: State, rules: Rules, shared: int) -> tuple[int, float]:
    """How many of C_PICKED make progress fastest, and how fast."""
    best, count, total = 0.0, 0, 0
    state.number[N_WALK] += 1
    walk = state.number[N_WALK]
    for k in range(shared):
        if rules.exact_union:
            total += joined(state, state.entry[state.scratch[C_PICKED, k], E_SLOT], walk)
        else:
            total -= state.scratch[C_KEY, k]
        speed = total / rules.delay[k + 1]
        if speed > best:
            best, count = speed, k + 1
    return count, best
