"""Random histories of threads: the same story told as records and as the tuples a reader must make of them.

All threads share one clock that moves on with every action. Times of the story are ns; in the records a tick is half a
nanosecond and the low 48 bits run over in the middle.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from writer import Thread, Writer

ORIGIN = (1 << 48) - 5_000


@dataclass
class Actor:
    """A thread of the story: what it does now, and what it has done as tuples."""

    index: int
    records: Thread
    since: int
    label: int | None = None
    frames: list[tuple[int, int, int | None]] = field(default_factory=list)
    waiting: int | None = None
    taken: tuple[int, int, int] | None = None


class History:
    """Plays `steps` random actions. `segments` and so on are the tuples expected, as `tuples.Tuples` gives them.

    `holds`: those who end a wait had what it was for, and others before them; `wakeups` are not those expected then.
    """

    def __init__(self, seed: int, threads: int, steps: int, holds: bool = False) -> None:
        self._holds = holds
        self._chance = random.Random(seed)
        self.now = 0
        self.writer = Writer(anchors=[(ORIGIN, 0), (ORIGIN + 2_000_000, 1_000_000)])
        self.segments: list[tuple[Any, ...]] = []
        self.calls: list[tuple[Any, ...]] = []
        self.wakeups: list[tuple[Any, ...]] = []
        self.created: list[tuple[Any, ...]] = []
        self.finished: dict[int, tuple[Any, ...]] = {}
        self.aborted = 0
        self._begun: dict[int, tuple[int, int]] = {}
        self._tasks: list[tuple[int, int, int, int]] = []
        self._actors = [Actor(n, self.writer.thread(n + 1, ticks=ORIGIN), 0) for n in range(threads)]
        for _ in range(steps):
            self._step()
        self._finish()

    @property
    def unfinished(self) -> int:
        return len(self._begun)

    def intervals(self) -> list[tuple[Any, ...]]:
        return sorted(self.finished.values(), key=lambda row: (row[2][1], int(row[0])))

    def _tick(self) -> int:
        """Time moves on; returns it in ticks."""
        self.now += self._chance.randint(1, 40)
        return ORIGIN + 2 * self.now

    def _step(self) -> None:
        actor = self._chance.choice(self._actors)
        if self._chance.random() < 0.05:
            actor.records.cut()
        if actor.waiting is not None:
            self._resume(actor)
        elif actor.taken is not None:
            self._take_up(actor)
        else:
            actions = [self._enter, self._enter, self._leave, self._leave, self._begin, self._end, self._switch]
            actions += [self._let_go] * 2 * self._holds
            self._chance.choice([*actions, self._wait, self._off_cpu, self._enqueue, self._dequeue])(actor)

    def _enter(self, actor: Actor) -> None:
        self._tick()
        actor.frames.append((self._chance.randint(1, 9), self.now, actor.label))

    def _leave(self, actor: Actor) -> None:
        if actor.frames:
            leave = self._tick()
            function, entered, label = actor.frames.pop()
            depth = len(actor.frames)
            actor.records.invocation(function, ORIGIN + 2 * entered, leave, depth)
            self.calls.append((actor.index, _name(label), f"site {function}", entered, self.now, depth))

    def _relabel(self, actor: Actor, label: int | None) -> None:
        self._close(actor, "exec")
        actor.label = label

    def _close(self, actor: Actor, state: str) -> None:
        if self.now > actor.since:
            self.segments.append((actor.index, _name(actor.label), actor.since, self.now, state))
        actor.since = self.now

    def _begin(self, actor: Actor) -> None:
        id_ = self._chance.randint(1, (1 << 64) - 1)
        age = self._chance.choice([None, None, 0, self._chance.randint(1, 300), -5, -(1 << 63), 3_600_000_000_001])
        actor.records.begin(id_, self._tick(), id_ % 3, age)  # types without names are none
        created = self.now - age if age and 0 < age <= 300 else self.now
        self._begun[id_] = (actor.index, created)
        if created < self.now:
            self.created.append((-1, created, actor.index, self.now))
        self._relabel(actor, id_)

    def _end(self, actor: Actor) -> None:
        if self._begun:
            id_ = self._chance.choice(list(self._begun))
            begin = self._begun.pop(id_)
            aborted = self._chance.random() < 0.2
            actor.records.end(id_, self._tick(), aborted)
            self._relabel(actor, None)
            if aborted:
                self.aborted += 1
            else:
                self.finished[id_] = (str(id_), "", begin, (actor.index, self.now))

    def _switch(self, actor: Actor) -> None:
        label = self._chance.choice([None, *self._begun])
        actor.records.on_behalf(label or 0, self._tick())
        self._relabel(actor, label)

    def _off_cpu(self, actor: Actor) -> None:
        self._tick()
        self._close(actor, "exec")
        bits, state = self._chance.choice(
            [(1, "preempted"), (2, "blocked"), (6, "fault"), (10, "disk"), (3, "off_cpu"), (130, "memory")]
        )
        noticed = self._tick()
        actor.records.off_cpu(noticed, self.now - actor.since, bits)
        self._close(actor, state)

    def _wait(self, actor: Actor) -> None:
        self._tick()
        self._close(actor, "exec")
        actor.waiting = self.now

    def _let_go(self, actor: Actor) -> None:
        """What somebody may wait for: since when it had that is sometimes not known."""
        since = ORIGIN + 2 * self._chance.randint(max(0, self.now - 400), self.now)
        actor.records.held(0 if self._chance.random() < 0.1 else since, self._tick())

    def _resume(self, actor: Actor) -> None:
        """Somebody acts after the wait began, then the thread goes on."""
        assert actor.waiting is not None
        peer = self._chance.choice(self._actors)
        known = self._chance.random() < 0.8
        if known and self._holds:
            self._let_go(peer)
        elif known:
            self._tick()
        woke, woke_ns = (ORIGIN + 2 * self.now if known else 0), self.now
        actor.records.blocked(ORIGIN + 2 * actor.waiting, self._tick(), peer.records.uid if woke else 0, woke)
        if woke:
            self.wakeups.append((actor.index, peer.index, woke_ns, (actor.waiting, self.now)))
        self._close(actor, "blocked")
        actor.waiting = None

    def _enqueue(self, actor: Actor) -> None:
        if actor.label is not None:
            task = self._chance.randint(0, (1 << 64) - 1)
            actor.records.enqueue(task, self._tick())
            self._tasks.append((task, actor.index, self.now, actor.label))

    def _dequeue(self, actor: Actor) -> None:
        if self._tasks:
            task, creator, made, label = self._tasks.pop(self._chance.randrange(len(self._tasks)))
            actor.records.dequeue(task, self._tick())
            actor.taken = (creator, made, label)

    def _take_up(self, actor: Actor) -> None:
        assert actor.taken is not None
        creator, made, label = actor.taken
        actor.records.on_behalf(label, self._tick())
        self._relabel(actor, label)
        self.created.append((creator, made, actor.index, self.now))
        actor.taken = None

    def _finish(self) -> None:
        for actor in self._actors:
            if actor.waiting is not None:
                self._resume(actor)
            if actor.taken is not None:
                self._take_up(actor)
            while actor.frames:
                self._leave(actor)
        self._tick()
        for actor in self._actors:
            stored = sum(len(payload) for *_, payload in actor.records.chunks(0)) // 16
            account = {"written": stored, "stored": stored, "dropped": 0}
            self.writer.event("thread_end", uid=actor.records.uid, ticks=ORIGIN + 2 * self.now, **account)
            self._close(actor, "exec")
        self.writer.end = ORIGIN + 2 * self.now


def _name(label: int | None) -> str | None:
    return None if label is None else str(label)
