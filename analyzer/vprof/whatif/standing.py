"""What is simulated, and how far it is: what each thread is at, who has which lock, who waits for what."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vprof.tables.kernels import helper
from vprof.tables.model import NONE, Bool, Float, Int64
from vprof.whatif.held import Held
from vprof.whatif.machine import NOBODY
from vprof.whatif.pools import Pools

PASSES, EXECUTES, NOTHING = range(3)
"""What a thread does in the time that ends at a moment: it needs no CPU; it needs one; there is no such time."""
NOT_MADE = np.int64(-2)
"""Of a task: nobody can have taken it yet."""


class Plan(NamedTuple):
    """By moment, of the time that ends there: what is done, one of the three above, for `length` ns (`arrives` as in
    `Lengths`), or `wait`, the row of `graph.waits` it belongs to, NONE if none of those that are kept. By wait its
    `delay`, ns. `more`: by moment, ns until its thread goes on."""

    does: Int64
    wait: Int64
    length: Float
    arrives: Bool
    more: Float
    delay: Float
    held: Held
    pools: Pools


class Search(NamedTuple):
    """Of threads that wait for each other. `number` of the last one; by thread: the one that was `seen` by last, and
    `via` which thread; `stack`: threads to be looked at."""

    number: Int64
    seen: Int64
    via: Int64
    stack: Int64


class State(NamedTuple):
    """By thread: its `next` moment; `asks`, the row of `held.hold` that it asks for next, NONE: of none before the next
    moment; `resumes`, whether it goes on when it gets a CPU, and its next moment does not come yet; `is_there`, whether
    nothing keeps its next moment but a task that is not made; `waits_for`, the lock that it waits for; `needed`, the
    moment that it waits for. By lock: the `hold` that has it, of several the first; by hold `beside`, the next one that
    has the lock, `holder`, whose it is, and `gone`, whether it is released.

    Lists of threads: `needs`, by moment; `asking`, by lock; `idle`, by pool: each the first, and some the last;
    `following`, by thread the one behind it. Tasks that nobody has taken: `ready`, by pool the first, and the last;
    `behind`, by task the next one; `taken_by`, by task the thread that took it,
    NONE if nobody has, or NOT_MADE. `nobody`: waits that are taken for such that nobody ended. `search`: of circles.py.
    """

    next: Int64
    asks: Int64
    resumes: Bool
    is_there: Bool
    waits_for: Int64
    needed: Int64
    hold: Int64
    beside: Int64
    holder: Int64
    gone: Bool
    needs: Int64
    asking: Int64
    last_asking: Int64
    idle: Int64
    last_idle: Int64
    following: Int64
    ready: Int64
    last_ready: Int64
    behind: Int64
    taken_by: Int64
    nobody: Bool
    search: Search


@helper
def append(first: Int64, last: Int64, following: Int64, which: int, one: int) -> None:
    """To a list of threads, or of tasks."""
    following[one] = NONE
    if first[which] == NONE:
        first[which] = one
    else:
        following[last[which]] = one
    last[which] = one


@helper
def drop(first: Int64, following: Int64, which: int, thread: int) -> int:
    """Takes a thread out of a list. Returns the one before it, NONE if there is none. REQUIRES: it is in the list."""
    before, other = NOBODY, first[which]
    while other != thread:
        before, other = other, following[other]
    if before == NONE:
        first[which] = following[thread]
    else:
        following[before] = following[thread]
    return int(before)


@helper
def has_turn(held: Held, s: State, hold: int) -> bool:
    """Whether who asks for it gets it at once: it goes together with those that have the lock, and nobody asked before,
    or its owner has the lock already."""
    lock = held.lock[hold]
    return goes_along(held, s, hold) and (s.asking[lock] == NONE or _has_already(held, s, hold))


@helper
def goes_along(held: Held, s: State, hold: int) -> bool:
    """With those that have the lock: there is none, they all share it, or they are of one owner."""
    other = s.hold[held.lock[hold]]
    while other != NONE:
        if not (held.shared[hold] and held.shared[other]) and not same_owner(held, hold, other):
            return False
        other = s.beside[other]
    return True


@helper
def same_owner(held: Held, hold: int, other: int) -> bool:
    return bool(held.owner[hold] != NONE and held.owner[hold] == held.owner[other])


@helper
def _has_already(held: Held, s: State, hold: int) -> bool:
    """Whether its owner has the lock: it wants it in another mode."""
    other = s.hold[held.lock[hold]]
    while other != NONE:
        if same_owner(held, hold, other):
            return True
        other = s.beside[other]
    return False


@helper
def ask(held: Held, s: State, thread: int) -> None:
    """The thread waits for the lock: behind those that asked before, but for who has it already."""
    hold = held.hold[s.asks[thread]]
    lock = held.lock[hold]
    if s.asking[lock] != NONE and _has_already(held, s, hold):
        s.following[thread] = s.asking[lock]
        s.asking[lock] = thread
    else:
        append(s.asking, s.last_asking, s.following, lock, thread)


@helper
def take(held: Held, s: State, thread: int) -> None:
    """The thread gets the lock that it asks for. It has it no longer than that where it is not known when it releases
    it, or that was before. Of a lock whose owners are not known, others that have it have it no more: it went to one
    more to end a circle."""
    hold = held.hold[s.asks[thread]]
    lock = held.lock[hold]
    s.asks[thread] += 1
    s.waits_for[thread] = NONE
    if held.is_known[hold] and not s.gone[hold]:
        s.beside[hold] = s.hold[lock] if held.owner[hold] != NONE else NOBODY
        s.hold[lock] = hold
        s.holder[hold] = thread


@helper
def give_back(held: Held, s: State, hold: int) -> bool:
    """Returns whether it was had."""
    lock = held.lock[hold]
    s.gone[hold] = True
    other = s.hold[lock]
    while other != NONE and other != hold:
        other = s.beside[other]
    if other == NONE:
        return False
    drop(s.hold, s.beside, lock, hold)
    return True
