"""The policies: which waiters are granted a lock when it comes free.

    choose("vats", queue, waits, holds)  ->  the transactions granted, in the order in which the policy takes them

Each policy is a small class with one method, `grant`. Its docstring names its source, a section of the thesis "On the
Performance Predictability of Database Systems" (chapters 3 and 4), and its cost: n waiters, of which s ask for a shared
lock; G is the size of the dependency graph. Wherever two are equal by a policy's own measure, the one that arrived
earlier comes first, then the one that stands in front in the queue.

The object is free when a policy is asked: all that held it have released it. Whoever is granted an exclusive lock is
granted it alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from vprof.errors import UsageError
from vprof.scheduling.dependencies import Dependencies, Object, Txn

_MASK = 2**64 - 1


class Request(NamedTuple):
    """One waiter: `mode` "S" or "X"; `arrived` in the queue; `age` since the transaction's birth; both in any unit."""

    txn: Txn
    mode: str
    arrived: float
    age: float


class Locks(NamedTuple):
    """What a policy may know beside the queue. `remaining`: how long a transaction is expected to go on."""

    graph: Dependencies
    remaining: Callable[[Txn], float]


class Policy(ABC):
    """`starves`: a request may wait for ever while others come, so the barrier of thesis section 4.5 belongs to it:
    those that
    came after the queue's requests were last counted wait until all these are granted."""

    name: str
    starves = False

    @abstractmethod
    def grant(self, queue: Sequence[Request], locks: Locks) -> list[Txn]:
        """Who is granted. `queue` is not empty, and in order of arrival."""


class Fcfs(Policy):
    """The earliest in the queue, and all waiters compatible with it. Source: thesis section 3.3.1. O(n)."""

    name = "fcfs"

    def grant(self, queue: Sequence[Request], locks: Locks) -> list[Txn]:
        return _with_all_shared(queue[0], queue)


class Fifo(Policy):
    """From the head, until the first that cannot be granted. Source: thesis section 4.5. O(n)."""

    name = "fifo"

    def grant(self, queue: Sequence[Request], locks: Locks) -> list[Txn]:
        return _until_conflict(queue)


class Vats(Policy):
    """Eldest first; each that conflicts with nothing in front of it, granted or waiting. Source: thesis
    section 3.3.2, the implemented form. O(n log n)."""

    name = "vats"

    def grant(self, queue: Sequence[Request], locks: Locks) -> list[Txn]:
        return _until_conflict(sorted(queue, key=lambda one: -one.age))


class VatsTheory(Policy):
    """The one eldest, alone, also if it shares. Source: thesis section 3.3.2, as Theorem 3.1 has it. O(n)."""

    name = "vats-theory"

    def grant(self, queue: Sequence[Request], locks: Locks) -> list[Txn]:
        return [max(queue, key=lambda one: one.age).txn]


class Rs(Policy):
    """As VATS, the order random: the same `seed` gives the same orders. Source: thesis section 3.5.2. O(n log n)."""

    name = "rs"

    def __init__(self, seed: int = 0) -> None:
        self._state = seed

    def grant(self, queue: Sequence[Request], locks: Locks) -> list[Txn]:
        keyed = sorted(((self._draw(), k) for k in range(len(queue))), key=lambda pair: pair[0])
        return _until_conflict([queue[k] for _, k in keyed])

    def _draw(self) -> int:
        """SplitMix64, which the simulator draws by, too."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _MASK
        return mixed ^ mixed >> 31


class _BySize(Policy):
    """`sizes`: "exact", or "effective" (thesis section 4.5), which takes O(G) for the whole queue where exact ones take
    O(n G)."""

    starves = True

    def __init__(self, sizes: str = "exact") -> None:
        self.effective = sizes == "effective"

    def size(self, graph: Dependencies, txn: Txn) -> int:
        return graph.effective_size(txn) if self.effective else graph.exact_size(txn)

    def together(self, graph: Dependencies, txns: Sequence[Txn]) -> int:
        """The size of the union of their g; of effective sizes only the sum is known."""
        return sum(self.size(graph, txn) for txn in txns) if self.effective else len(graph.union(txns))


class Ldsf(_BySize):
    """The exclusive one with the largest g if that is larger than the union of the shared ones' g, else all shared
    ones. Source: thesis section 4.3.2 (the printed Algorithm 5 has the branch inverted; its prose is right). O(n G)."""

    name = "ldsf"

    def grant(self, queue: Sequence[Request], locks: Locks) -> list[Txn]:
        shared, exclusive = _by_mode(queue)
        sizes = [self.size(locks.graph, txn) for txn in exclusive]
        if max(sizes, default=0) > self.together(locks.graph, shared):
            return [exclusive[_first_largest(sizes)]]
        return shared


class Bldsf(_BySize):
    """The batch of shared ones that maximises q = union of g / f(k), k of them; an exclusive one whose g is larger than
    q; where these are equal, the batch. Source: thesis section 4.4.2. O(n G + s log s).

    As there in practice (thesis section 4.5) the batch is the first k of the shared ones sorted by g. Their union
    counts as the sum, or exactly (`union`). The best of all batches is NP-hard to find (maximum coverage). Of
    equal q the smallest batch. `delay` is f: f(1) = 1, increasing, f(k) <= k (thesis section 4.4.1)."""

    name = "bldsf"

    def __init__(self, sizes: str = "exact", union: str = "sum", delay: str = "log2") -> None:
        super().__init__(sizes)
        self.exact_union, self.delay = union == "exact" and not self.effective, DELAYS[delay]

    def grant(self, queue: Sequence[Request], locks: Locks) -> list[Txn]:
        shared, exclusive = _by_mode(queue)
        sized = sorted(((self.size(locks.graph, txn), txn) for txn in shared), key=lambda pair: -pair[0])
        best, count, total = 0.0, 0, 0
        for k, (size, _) in enumerate(sized, 1):
            total = len(locks.graph.union(txn for _, txn in sized[:k])) if self.exact_union else total + size
            if total / self.delay(k) > best:
                best, count = total / self.delay(k), k
        sizes = [self.size(locks.graph, txn) for txn in exclusive]
        if max(sizes, default=0) > best:
            return [exclusive[_first_largest(sizes)]]
        return [txn for _, txn in sized[:count]]


class Hldsf(_BySize):
    """As LDSF by g / expected remaining time; for the shared ones the sum of their g by the greatest expectation.
    Source: thesis section 4.7.2, where no stable gain was found. O(n G)."""

    name = "hldsf"

    def grant(self, queue: Sequence[Request], locks: Locks) -> list[Txn]:
        shared, exclusive = _by_mode(queue)
        speeds = [_speed(self.size(locks.graph, txn), locks.remaining(txn)) for txn in exclusive]
        total = sum(self.size(locks.graph, txn) for txn in shared)
        if max(speeds, default=0.0) > _speed(total, max(map(locks.remaining, shared), default=1.0)):
            return [exclusive[_first_largest(speeds)]]
        return shared


class _Largest(Policy):
    """Whoever has the largest measure; if it shares, all shared ones with it (thesis section 4.6.1)."""

    starves = True

    @abstractmethod
    def measure(self, graph: Dependencies, txn: Txn) -> int: ...

    def grant(self, queue: Sequence[Request], locks: Locks) -> list[Txn]:
        measures = [self.measure(locks.graph, one.txn) for one in queue]
        return _with_all_shared(queue[_first_largest(measures)], queue)


class Mlf(_Largest):
    """Most locks held. Source: thesis section 4.3.1. O(n)."""

    name = "mlf"

    def measure(self, graph: Dependencies, txn: Txn) -> int:
        return graph.locks_held(txn)


class Mblf(_Largest):
    """Most locks held that somebody waits for. Source: thesis section 4.3.1. O(n + locks held)."""

    name = "mblf"

    def measure(self, graph: Dependencies, txn: Txn) -> int:
        return graph.blocking_locks(txn)


class Ddf(_Largest):
    """Deepest chain of waiters. Source: thesis section 4.3.1. O(n G); one walk for the whole queue would be O(G)."""

    name = "ddf"

    def measure(self, graph: Dependencies, txn: Txn) -> int:
        return graph.depth(txn)


POLICIES: dict[str, type[Policy]] = {
    one.name: one for one in (Fcfs, Fifo, Rs, Vats, VatsTheory, Ldsf, Bldsf, Hldsf, Mlf, Mblf, Ddf)
}

DELAYS: dict[str, Callable[[int], float]] = {
    "log2": lambda k: math.log2(1 + k),
    "one": lambda k: 1.0,
    "sqrt-log2": lambda k: math.sqrt(math.log2(1 + k)),
    "sqrt": math.sqrt,
    "half": lambda k: 0.5 * (1 + k),
    "k": float,
}
"""The delay factors f(k) of thesis section 4.6.7: how much longer the slowest of k takes than one."""


def policy_named(name: str) -> Policy:
    """With its usual options. Raises UsageError if there is none."""
    known = name.strip().lower().replace("_", "-")
    if known not in POLICIES:
        raise UsageError(f"no policy '{name}': there are {', '.join(POLICIES)}")
    return POLICIES[known]()


def choose(
    policy: str | Policy,
    queue: Iterable[tuple[Txn, str, float, float]],
    waits: Mapping[Txn, Collection[Object]],
    holds: Mapping[Object, Collection[Txn]],
    expected_remaining: Mapping[Txn, float] | None = None,
) -> list[Txn]:
    """The transactions that are granted an object that has come free.

    `queue`: (transaction, "S" or "X", when it arrived, its age since its birth); of those behind a starvation barrier
    it has none. `waits` {transaction: {object}} and `holds` {object: {transaction}} are the rest of the lock table;
    what they say of the free object itself does not matter. `expected_remaining`: for `hldsf`; whoever is not in it
    counts as the mean of the others, and without it all are equal.

    Raises UsageError for an unknown policy, and for a mode that is none.
    """
    chosen = policy_named(policy) if isinstance(policy, str) else policy
    requests = sorted((Request(*one) for one in queue), key=lambda one: one.arrived)
    for one in requests:
        if one.mode not in ("S", "X"):
            raise UsageError(f"the mode of {one.txn!r} is {one.mode!r}: there are S (shared) and X (exclusive)")
    if not requests:
        return []
    known = expected_remaining or {}
    usual = sum(known.values()) / len(known) if known else 1.0
    return chosen.grant(requests, Locks(Dependencies(waits, holds), lambda txn: known.get(txn, usual)))


def _by_mode(queue: Sequence[Request]) -> tuple[list[Txn], list[Txn]]:
    """The shared and the exclusive ones."""
    return [one.txn for one in queue if one.mode == "S"], [one.txn for one in queue if one.mode == "X"]


def _with_all_shared(first: Request, queue: Sequence[Request]) -> list[Txn]:
    return [first.txn] if first.mode == "X" else _by_mode(queue)[0]


def _until_conflict(ordered: Sequence[Request]) -> list[Txn]:
    """The first alone if it is exclusive, else all that share in front of the first that is exclusive: whoever is
    behind that one conflicts with it."""
    if ordered[0].mode == "X":
        return [ordered[0].txn]
    return [one.txn for one in takewhile(lambda one: one.mode == "S", ordered)]


def _first_largest(measures: Sequence[float]) -> int:
    return max(range(len(measures)), key=measures.__getitem__)


def _speed(size: int, remaining: float) -> float:
    """Progress by time; without end if it ends at once."""
    return size / remaining if remaining > 0 else math.inf * size if size else 0.0
