"""The replay: transactions go through their scripts, and an object that comes free is handed over by a policy.

WHAT HAPPENS. A transaction works, asks for a lock, and works on once it has it: strict two-phase locking. It is granted
at once if nobody holds the object, or if it shares, all holders do, and nobody waits (thesis section 3.3.1). Else it
waits until all holders have ended; then the policy says which waiters are granted. At its end a transaction releases
all. Of a circle the youngest is undone, which takes no time, and begins again with the age that it has.

Whoever holds an object shared and asks for it exclusively waits until it is the only holder, and goes before all that
wait; it is granted at once if it is the only one. An object with several servers grants at one that is free, else the
request waits at the one with the fewest waiters. There is a CPU for each transaction.

HOW. The next event, the end of some work, is taken from a heap: one step per lock and transaction, and the time of
decisions. Events of one time happen in the order in which they were put in; transactions that arrive come first. One
that follows another one is put in when that ends.
"""

from __future__ import annotations

from vprof.scheduling.deadlocks import youngest_in_circle
from vprof.scheduling.grants import pick
from vprof.scheduling.script import EXCLUSIVE
from vprof.scheduling.tables import (
    C_PICKED,
    C_VICTIM,
    E_HELD,
    E_MODE,
    E_NEXT,
    E_OBJECT,
    E_SLOT,
    H_TIME,
    N_BEGUN,
    N_DEADLOCKS,
    N_ENDED,
    N_ENTRIES,
    N_ENTRY,
    N_HEAP,
    N_NOW,
    N_RESTARTS,
    N_SLOT,
    N_SLOTS,
    N_WAITS,
    O_AHEAD,
    O_FIRST,
    O_HEAD,
    O_HOLDERS,
    O_LAST,
    O_TAIL,
    O_WAITERS,
    S_BORN,
    S_COUNT,
    S_HELD,
    S_LAST,
    S_LEFT,
    S_NUMBER,
    S_ROW,
    S_TXN,
    S_WAITS,
    Rows,
    Rules,
    State,
    append,
    free_entry,
    free_slot,
    new_entry,
    new_slot,
    pop,
    push,
    unlink,
)
from vprof.tables.kernels import helper, kernel, loop
from vprof.tables.model import NONE

_FOREVER = 2**63 - 1


@kernel
def go(rows: Rows, rules: Rules, state: State) -> bool:
    """Until all transactions have ended, true; or until the state has to be made larger, false."""
    return _go(rows, rules, state)


@loop
def _go(rows: Rows, rules: Rules, state: State) -> bool:
    number, heap, arrivals = state.number, state.heap, len(rows.order)
    while number[N_ENDED] < arrivals:
        if not _has_room(state):
            return False
        begun = number[N_BEGUN]
        arrives = rows.born[begun] if begun < rows.firsts else _FOREVER
        if number[N_HEAP] == 0 or arrives <= heap[0, H_TIME]:
            number[N_NOW] = arrives
            number[N_BEGUN] += 1
            _begin(rows, state, begun, arrives)
        else:
            number[N_NOW] = heap[0, H_TIME]
            _step(rows, rules, state, pop(state))
    return True


@helper
def _has_room(state: State) -> bool:
    """For one more slot and one more entry, which is what an event may need."""
    number = state.number
    has_slot = number[N_SLOT] != NONE or number[N_SLOTS] < len(state.slot)
    return bool(has_slot and (number[N_ENTRY] != NONE or number[N_ENTRIES] < len(state.entry)))


@loop
def _begin(rows: Rows, state: State, place: int, born: int) -> None:
    """The transaction at this place, now or later."""
    slot, txn = new_slot(state), rows.order[place]
    mine = state.slot[slot]
    mine[S_TXN], mine[S_BORN], mine[S_NUMBER] = txn, born, place
    _from_the_top(rows, state, slot, born)


@loop
def _from_the_top(rows: Rows, state: State, slot: int, since: int) -> None:
    """It holds nothing and waits for nothing."""
    mine = state.slot[slot]
    first, end = rows.first[mine[S_TXN]], rows.first[mine[S_TXN] + 1]
    mine[S_ROW], mine[S_COUNT], mine[S_LEFT] = first, 0, 0
    mine[S_WAITS] = mine[S_HELD] = mine[S_LAST] = NONE
    for row in range(first, end):
        mine[S_LEFT] += rows.work[row]
    push(state, since + rows.work[first], slot)


@helper
def _step(rows: Rows, rules: Rules, state: State, slot: int) -> None:
    """The slot's work has ended: it asks for a lock, or has come to its end."""
    row = state.slot[slot, S_ROW]
    state.slot[slot, S_LEFT] -= rows.work[row]
    if rows.lock[row] == NONE:
        _end(rows, rules, state, slot)
    elif _request(rules, state, slot, rows.lock[row] >> 1, rows.lock[row] & 1):
        _go_on(rows, state, slot)
    else:
        state.number[N_WAITS] += 1
        _undo_circles(rows, rules, state, slot)


@loop
def _go_on(rows: Rows, state: State, slot: int) -> None:
    """Behind the lock that it was granted."""
    row = state.slot[slot, S_ROW] + 1
    state.slot[slot, S_ROW] = row
    push(state, state.number[N_NOW] + rows.work[row], slot)


@loop
def _end(rows: Rows, rules: Rules, state: State, slot: int) -> None:
    number, place = state.number, state.slot[slot, S_NUMBER]
    rows.ended[place] = number[N_NOW]
    number[N_ENDED] += 1
    if rules.closed and number[N_BEGUN] < len(rows.born):
        rows.born[number[N_BEGUN]] = number[N_NOW]
    _let_go(state, slot)
    _hand_over(rows, rules, state, slot)
    free_slot(state, slot)
    after = rows.follows[place]
    if after != NONE:
        rows.born[after] = number[N_NOW] + rows.gap[place]
        _begin(rows, state, after, rows.born[after])


@loop
def _request(rules: Rules, state: State, slot: int, thing: int, mode: int) -> bool:
    """Whether it is granted at once; else the slot waits now."""
    first, end = rules.servers[thing], rules.servers[thing + 1]
    for server in range(first, end):
        held = _held(state, slot, server)
        if held != NONE:
            return _again(state, slot, held, mode)
    fewest = first
    for server in range(first, end):
        if _is_free(state, server, mode):
            entry = new_entry(state, slot, server, mode)
            _hold(state, slot, entry)
            return True
        if state.object[server, O_WAITERS] < state.object[fewest, O_WAITERS]:
            fewest = server
    _wait(state, slot, fewest, mode)
    return False


@loop
def _held(state: State, slot: int, thing: int) -> int:
    """The entry by which the slot holds the object, NONE if it does not: the shorter of two lists is searched."""
    entries = state.entry
    held, holder = state.slot[slot, S_HELD], state.object[thing, O_FIRST]
    while held != NONE and holder != NONE:
        if entries[held, E_OBJECT] == thing:
            return int(held)
        if entries[holder, E_SLOT] == slot:
            return int(holder)
        held, holder = entries[held, E_HELD], entries[holder, E_NEXT]
    return NONE


@helper
def _is_free(state: State, thing: int, mode: int) -> bool:
    """For this request: nobody holds it, or all share and nobody waits."""
    objects = state.object
    if objects[thing, O_HOLDERS] == 0:
        return True
    if mode == EXCLUSIVE or objects[thing, O_WAITERS] > 0:
        return False
    return bool(state.entry[objects[thing, O_FIRST], E_MODE] != EXCLUSIVE)


@loop
def _again(state: State, slot: int, held: int, mode: int) -> bool:
    """What it holds already: true unless others share what it wants for itself."""
    entries, thing = state.entry, state.entry[held, E_OBJECT]
    if mode != EXCLUSIVE or entries[held, E_MODE] == EXCLUSIVE:
        return True
    if state.object[thing, O_HOLDERS] == 1:
        entries[held, E_MODE] = EXCLUSIVE
        return True
    _wait(state, slot, thing, mode)
    return False


@helper
def _hold(state: State, slot: int, entry: int) -> None:
    mine = state.slot[slot]
    append(state, entry, O_FIRST, O_LAST, O_HOLDERS)
    state.entry[entry, E_HELD] = NONE
    if mine[S_LAST] == NONE:
        mine[S_HELD] = entry
    else:
        state.entry[mine[S_LAST], E_HELD] = entry
    mine[S_LAST] = entry
    mine[S_COUNT] += 1


@helper
def _wait(state: State, slot: int, thing: int, mode: int) -> None:
    entry = new_entry(state, slot, thing, mode)
    append(state, entry, O_HEAD, O_TAIL, O_WAITERS)
    state.slot[slot, S_WAITS] = entry


@helper
def _wait_no_more(state: State, slot: int) -> int:
    """The entry with which it waited, in no list now."""
    entry = state.slot[slot, S_WAITS]
    thing = state.object[state.entry[entry, E_OBJECT]]
    if thing[O_AHEAD] > 0 and _is_ahead(state, entry):
        thing[O_AHEAD] -= 1
    unlink(state, entry, O_HEAD, O_TAIL, O_WAITERS)
    state.slot[slot, S_WAITS] = NONE
    return int(entry)


@loop
def _is_ahead(state: State, entry: int) -> bool:
    """Of the barrier of its object."""
    thing = state.object[state.entry[entry, E_OBJECT]]
    ahead = thing[O_HEAD]
    for _ in range(thing[O_AHEAD]):
        if ahead == entry:
            return True
        ahead = state.entry[ahead, E_NEXT]
    return False


@loop
def _undo_circles(rows: Rows, rules: Rules, state: State, slot: int) -> None:
    """Undoes transactions until the one that has begun to wait closes no circle; then what they held is handed over,
    and they begin again."""
    victims, count = state.scratch[C_VICTIM], 0
    while state.slot[slot, S_WAITS] != NONE:
        victim = youngest_in_circle(state, slot)
        if victim == NONE:
            break
        free_entry(state, _wait_no_more(state, victim))
        _let_go(state, victim)
        victims[count] = victim
        count += 1
    if count > 0:
        state.number[N_DEADLOCKS] += 1
        state.number[N_RESTARTS] += count
    for k in range(count):
        _hand_over(rows, rules, state, victims[k])
    for k in range(count):
        _from_the_top(rows, state, victims[k], state.number[N_NOW])


@helper
def _let_go(state: State, slot: int) -> None:
    """It holds nothing any more, but its list still has the entries."""
    held = state.slot[slot, S_HELD]
    while held != NONE:
        unlink(state, held, O_FIRST, O_LAST, O_HOLDERS)
        held = state.entry[held, E_HELD]


@loop
def _hand_over(rows: Rows, rules: Rules, state: State, slot: int) -> None:
    """What it let go, in the order in which it was granted."""
    held = state.slot[slot, S_HELD]
    while held != NONE:
        thing, after = state.entry[held, E_OBJECT], state.entry[held, E_HELD]
        free_entry(state, held)
        held = after
        if state.object[thing, O_WAITERS] > 0:
            if state.object[thing, O_HOLDERS] == 0:
                _grant(rows, rules, state, thing)
            elif state.object[thing, O_HOLDERS] == 1:
                _upgrade(rows, state, thing)


@loop
def _grant(rows: Rows, rules: Rules, state: State, thing: int) -> None:
    picked, count = state.scratch[C_PICKED], pick(state, rules, thing)
    for k in range(count):
        slot = state.entry[picked[k], E_SLOT]
        _hold(state, slot, _wait_no_more(state, slot))
        _go_on(rows, state, slot)


@loop
def _upgrade(rows: Rows, state: State, thing: int) -> None:
    """The only holder gets for itself what it shared, if it waits for that."""
    holder = state.object[thing, O_FIRST]
    slot = state.entry[holder, E_SLOT]
    waits = state.slot[slot, S_WAITS]
    if waits != NONE and state.entry[waits, E_OBJECT] == thing:
        free_entry(state, _wait_no_more(state, slot))
        state.entry[holder, E_MODE] = EXCLUSIVE
        _go_on(rows, state, slot)
