"""A lock manager in plain Python, asked by `choose`: a slow second opinion on the compiled replay.

It keeps dictionaries and lists, and finds out anew each time who waits for whom; it shares no code with the replay.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any

from vprof.scheduling import Policy, choose


@dataclass
class Txn:
    place: int
    born: int
    steps: list[tuple[int, int, str]]
    """Work before it, object or -1, mode."""
    at: int = 0
    held: list[int] = field(default_factory=list)
    left: int = 0


@dataclass
class Lock:
    holders: dict[Txn, str] = field(default_factory=dict)
    queue: list[tuple[Txn, str, int]] = field(default_factory=list)
    ahead: list[Txn] = field(default_factory=list)


Txn.__hash__ = object.__hash__  # type: ignore[method-assign, assignment]
Txn.__eq__ = object.__eq__  # type: ignore[method-assign, assignment]


class Replay:
    """`scripts` in the order in which they begin; `born` of each, or so many `clients`. `then`: by number the one that
    its client begins next, and how long after it; these come behind all others in `scripts`."""

    def __init__(
        self,
        scripts: list[list[tuple[int, int, str]]],
        policy: Policy,
        born: list[int] | None = None,
        clients: int = 0,
        barrier: bool = True,
        servers: dict[int, int] | None = None,
        then: dict[int, tuple[int, int]] | None = None,
    ) -> None:
        self.policy, self.barrier = policy, barrier and policy.starves
        self.locks: dict[Any, Lock] = {}
        self.servers = servers or {}
        self.events: list[tuple[int, int, int, Txn]] = []
        self.order = self.deadlocks = self.restarts = self.arrivals = 0
        self.ended: dict[int, int] = {}
        self.born: dict[int, int] = {}
        self.waiting: dict[Txn, Any] = {}
        then = then or {}
        rest = iter(enumerate(scripts[: len(scripts) - len(then)]))
        pending = sorted((time, k) for k, time in enumerate(born)) if born is not None else [(0, -1)] * clients
        del pending[len(scripts) - len(then) :]
        while self.events or pending:
            if pending and (not self.events or pending[0][0] <= self.events[0][0]):
                self.now = pending.pop(0)[0]
                k, steps = next(rest, (-1, []))
                if k >= 0:
                    self.born[k] = self.now
                    self.start(Txn(k, self.now, steps))
                continue
            self.now, _, _, txn = heapq.heappop(self.events)
            if not self.step(txn):
                continue
            if born is None:
                pending.append((self.now, -1))
            if txn.place in then:
                k, gap = then[txn.place]
                self.born[k] = self.now + gap
                self.start(Txn(k, self.born[k], scripts[k]), gap)

    def start(self, txn: Txn, gap: int = 0) -> None:
        txn.at, txn.held, txn.left = 0, [], sum(work for work, _, _ in txn.steps)
        self.work(txn, gap)

    def work(self, txn: Txn, gap: int = 0) -> None:
        self.order += 1
        heapq.heappush(self.events, (self.now + gap + txn.steps[txn.at][0], self.order, 0, txn))

    def step(self, txn: Txn) -> bool:
        """Whether it has ended."""
        work, thing, mode = txn.steps[txn.at]
        txn.left -= work
        if thing < 0:
            self.ended[txn.place] = self.now
            self.release([txn])
            return True
        if self.asks(txn, thing, mode):
            txn.at += 1
            self.work(txn)
        else:
            self.undo_circles(txn)
        return False

    def lock(self, name: Any) -> Lock:
        return self.locks.setdefault(name, Lock())

    def asks(self, txn: Txn, thing: int, mode: str) -> bool:
        names = [(thing, k) for k in range(self.servers.get(thing, 1))]
        for name in names:
            lock = self.lock(name)
            if txn in lock.holders:
                if mode == "S" or lock.holders[txn] == "X":
                    return True
                if len(lock.holders) == 1:
                    lock.holders[txn] = "X"
                    return True
                lock.queue.append((txn, mode, self.now))
                self.waiting[txn] = name
                return False
        for name in names:
            lock = self.lock(name)
            shares = mode == "S" and set(lock.holders.values()) <= {"S"} and not lock.queue
            if not lock.holders or shares:
                lock.holders[txn] = mode
                txn.held.append(name)
                return True
        name = min(names, key=lambda name: len(self.lock(name).queue))
        self.lock(name).queue.append((txn, mode, self.now))
        self.waiting[txn] = name
        return False

    def circle(self, start: Txn) -> list[Txn]:
        """Of transactions that wait for each other, with `start`; [] if there is none."""
        seen = {start}

        def through(txn: Txn) -> list[Txn]:
            for other in self.lock(self.waiting[txn]).holders:
                if other is start and txn is not start:
                    return [txn]
                if other not in seen and other in self.waiting:
                    seen.add(other)
                    if found := through(other):
                        return [txn, *found]
            return []

        return through(start)

    def undo_circles(self, txn: Txn) -> None:
        victims = []
        while txn in self.waiting and (circle := self.circle(txn)):
            victim = max(circle, key=lambda one: (one.born, one.place))
            lock = self.lock(self.waiting.pop(victim))
            lock.queue = [one for one in lock.queue if one[0] is not victim]
            lock.ahead = [one for one in lock.ahead if one is not victim]
            for name in victim.held:
                self.lock(name).holders.pop(victim)
            victims.append(victim)
        if victims:
            self.deadlocks += 1
            self.restarts += len(victims)
        self.hand_over(victims)
        for victim in victims:
            self.start(victim)

    def release(self, txns: list[Txn]) -> None:
        for txn in txns:
            for name in txn.held:
                self.lock(name).holders.pop(txn)
        self.hand_over(txns)

    def hand_over(self, txns: list[Txn]) -> None:
        for name in (name for txn in txns for name in txn.held):
            lock = self.lock(name)
            if lock.queue and not lock.holders:
                self.grant(name, lock)
            elif len(lock.holders) == 1 and self.waiting.get(next(iter(lock.holders))) == name:
                [txn] = lock.holders
                lock.holders[txn] = "X"
                self.got(txn, lock)

    def grant(self, name: Any, lock: Lock) -> None:
        if not lock.ahead:
            lock.ahead = [txn for txn, _, _ in lock.queue]
        asked = [one for one in lock.queue if not self.barrier or one[0] in lock.ahead]
        waits = {txn: {name} for txn, name in self.waiting.items()}
        holds = {name: set(lock.holders) for name, lock in self.locks.items()}
        left = {txn: txn.left for txn in self.waiting}
        queue = [(txn, mode, arrived, self.now - txn.born) for txn, mode, arrived in asked]
        granted = choose(self.policy, queue, waits, holds, left)
        modes = {txn: mode for txn, mode, _ in lock.queue}
        for txn in granted:
            lock.holders[txn] = modes[txn]
            txn.held.append(name)
            self.got(txn, lock)
        assert granted and (len(granted) == 1 or {modes[txn] for txn in granted} == {"S"})

    def got(self, txn: Txn, lock: Lock) -> None:
        del self.waiting[txn]
        lock.queue = [one for one in lock.queue if one[0] is not txn]
        lock.ahead = [one for one in lock.ahead if one is not txn]
        txn.at += 1
        self.work(txn)
