"""What is simulated, and how far it is: what each thread is at, who has which lock, who waits for what."""

from __future__ import annotations

from typing import NamedTuple

from vprof.tables.kernels import helper
from vprof.tables.model import NONE, Bool, Float, Int64
from vprof.whatif.held import Held
from vprof.whatif.machine import NOBODY
from vprof.whatif.pools import Pools

PASSES, EXECUTES, NOTHING = range(3)
"""What a thread does in the time that ends at a moment: it needs no CPU; it needs one; there is no such time."""


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


class State(NamedTuple):
    """By thread: its `next` moment; `asks`, the row of `held.hold` that it asks for next, NONE: of none before the next
    moment; `resumes`, whether it goes on when it gets a CPU, and its next moment does not come yet; `is_there`, whether
    nothing keeps its next moment but a task that is not made; `waits_for`, the lock that it waits for; `needed`, the
    moment that it waits for. By lock: the `hold` that has it, and whose that is, the `holder`.

    Lists of threads: `needs`, by moment; `asking`, by lock; `idle`, by pool: each the first, and some the last;
    `following`, by thread the one behind it. Tasks that nobody has taken: `ready`, by pool the first, and the last;
    `behind`, by task the next one. `nobody`: waits that are taken for such that nobody ended."""

    next: Int64
    asks: Int64
    resumes: Bool
    is_there: Bool
    waits_for: Int64
    needed: Int64
    hold: Int64
    holder: Int64
    needs: Int64
    asking: Int64
    last_asking: Int64
    idle: Int64
    last_idle: Int64
    following: Int64
    ready: Int64
    last_ready: Int64
    behind: Int64
    nobody: Bool


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
def take(held: Held, s: State, thread: int) -> None:
    """The thread gets the lock that it asks for. When it releases one is only known where somebody waited for that; it
    has it no longer otherwise."""
    hold = held.hold[s.asks[thread]]
    s.asks[thread] += 1
    s.waits_for[thread] = NONE
    if held.is_known[hold]:
        s.hold[held.lock[hold]] = hold
        s.holder[held.lock[hold]] = thread
