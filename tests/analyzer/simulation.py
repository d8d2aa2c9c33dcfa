"""A simulation of threads and processes with real primitives, whose every wait is known to end by somebody.

    Machine: programs as generators -> spans, calls, wake-ups, tasks handed over, noted down as they happen

Locks first come, first served; read-write locks with several readers, condition variables, one-shot events, a queue of
tasks, fork and join, waits that time out. Each thread acts at times of its own (modulo MOST_THREADS): no two things
happen at once. Whatever a thread does, it executes a little before.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Program = Iterator[int | None]
"""Yields when the thread goes on, None: when somebody wakes it."""

MOST_THREADS = 8


@dataclass
class Hold:
    """A thread had a lock, or queued for it, from `since` on, until it let it go."""

    thread: Thread
    since: int
    release: int = 0


@dataclass
class Wait:
    """`ended_by` woke the thread, or made its task, at `ended_at`; None: a timeout, I/O, or nobody. `holds`: of the
    read-write lock that it waits for, those that ended meanwhile, in that order."""

    ended_by: Thread | None = None
    ended_at: int = 0
    holds: list[Hold] = field(default_factory=list)


@dataclass
class Span:
    """A thread's state over [start, stop)."""

    start: int
    stop: int
    state: str
    label: str | None
    wait: Wait | None


@dataclass
class Context:
    """A thread works for an interval over [start, stop). `task`: taken over from (creator, when, the creator's
    context); that context is None if the creator did not work for the interval then."""

    sid: str
    start: int
    stop: int = 1 << 60
    task: tuple[Thread, int, Context | None] | None = None


@dataclass(eq=False)
class Thread:
    tid: str
    number: int
    since: int
    label: str | None = None
    spans: list[Span] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)
    frames: list[list[Any]] = field(default_factory=list)
    calls: list[list[Any]] = field(default_factory=list)
    wait: Wait | None = None
    waits_in: str = ""
    given: Task | None = None
    wakes: int = 0
    exited: Event = field(default_factory=lambda: Event())

    def context(self, sid: str) -> Context | None:
        """The one it is in, if it works for that interval."""
        return self.contexts[-1] if self.label == sid else None


@dataclass
class Lock:
    owner: Thread | None = None
    queue: list[Thread] = field(default_factory=list)
    waiting: list[Thread] = field(default_factory=list)
    """For the lock's condition variable."""


@dataclass
class SharedLock:
    """Readers come in while no writer has it, also if one waits: he gets it when the last of them has left."""

    writer: Hold | None = None
    readers: list[Hold] = field(default_factory=list)
    queue: list[tuple[Hold, bool]] = field(default_factory=list)
    """With whether it wants to write."""


@dataclass
class Event:
    done: bool = False
    waiting: list[Thread] = field(default_factory=list)


@dataclass
class Task:
    """`done`: what to set afterwards; None: the worker ends the interval."""

    sid: str
    creator: Thread
    made: int
    context: Context | None
    done: Event | None


class Machine:
    """Time goes on in `run`, from one thread's moment to the next; `rng` decides all that is left to chance."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 0
        self.threads: list[Thread] = []
        self.intervals: list[dict[str, Any]] = []
        self.begun: dict[str, tuple[str, int]] = {}
        self.wakeups: list[list[Any]] = []
        self.created: list[list[Any]] = []
        self.tasks: list[Task] = []
        self.idle: list[Thread] = []
        self._programs: list[Program] = []
        self._ready: list[tuple[int, int, int]] = []

    def run(self) -> None:
        """Until nothing can happen any more."""
        while self._ready:
            self.now, number, wakes = heapq.heappop(self._ready)
            thread = self.threads[number]
            if thread.wakes != wakes:
                continue
            thread.wakes += 1
            for at in self._programs[number]:
                if at is not None:
                    heapq.heappush(self._ready, (at, number, thread.wakes))
                break
        self._finish()

    def _finish(self) -> None:
        self.now += MOST_THREADS
        for thread in self.threads:
            if not thread.exited.done:
                self._close(thread, thread.waits_in if thread.wait else "exec", thread.wait)
            for name, site, fs, label, depth in thread.frames:
                thread.calls.append([thread.tid, label, name, site, fs, self.now, depth])

    def tuples(self) -> dict[str, Any]:
        spans = [[t.tid, s.label, s.start, s.stop, s.state] for t in self.threads for s in t.spans]
        calls = [call for t in self.threads for call in t.calls]
        return {
            "intervals": self.intervals,
            "segments": spans,
            "functions": calls,
            "wakeups": self.wakeups,
            "created": self.created,
        }

    def _start(self, pid: str, program: Callable[[Thread], Program]) -> Thread:
        thread = Thread(f"{pid}/{len(self.threads) + 1}", len(self.threads), 0)
        thread.since = self._slot(thread, self.now + self.rng.randint(1, 30))
        self.threads.append(thread)
        self._programs.append(self._life(thread, program))
        heapq.heappush(self._ready, (thread.since, thread.number, 0))
        return thread

    def _life(self, thread: Thread, program: Callable[[Thread], Program]) -> Program:
        yield from self._call(thread, program.__name__.strip("_"), program)
        self._close(thread, "exec")
        if thread.label is not None:
            self._relabel(thread, None)
        self._set(thread, thread.exited)

    def _slot(self, thread: Thread, t: int) -> int:
        """The first time from t on that is the thread's own."""
        return t + (thread.number - t) % MOST_THREADS

    def _execute(self, thread: Thread, most: int) -> Program:
        yield self._slot(thread, self.now + self.rng.randint(1, most))

    def _call(self, thread: Thread, name: str, inside: Callable[..., Program], *arguments: Any) -> Program:
        site = f"{self.rng.choice('xy')}:{self.rng.randint(1, 2)}"
        thread.frames.append([name, site, self.now, thread.label, len(thread.frames)])
        yield from inside(thread, *arguments)
        yield from self._execute(thread, 9)
        name, site, fs, label, depth = thread.frames.pop()
        thread.calls.append([thread.tid, label, name, site, fs, self.now, depth])

    def _close(self, thread: Thread, state: str, wait: Wait | None = None) -> None:
        if thread.since < self.now:
            thread.spans.append(Span(thread.since, self.now, state, thread.label, wait))
        thread.since = self.now

    def _relabel(self, thread: Thread, sid: str | None, task: Task | None = None) -> None:
        self._close(thread, "exec")
        if thread.label is not None:
            thread.contexts[-1].stop = self.now
        thread.label = sid
        if sid is not None:
            taken = (task.creator, task.made, task.context) if task else None
            thread.contexts.append(Context(sid, self.now, task=taken))

    def _take(self, thread: Thread, task: Task) -> None:
        self._relabel(thread, task.sid, task)
        self.created.append([task.creator.tid, task.made, thread.tid, self.now])

    def _end(self, thread: Thread, sid: str) -> None:
        tid, begin = self.begun[sid]
        self.intervals.append(
            {"sid": sid, "begin": {"tid": tid, "t": begin}, "end": {"tid": thread.tid, "t": self.now}, "type": tid}
        )
        self._relabel(thread, None)

    def _stand(self, thread: Thread, state: str, timeout: int | None = None) -> Program:
        self._close(thread, "exec")
        thread.wait, thread.waits_in = Wait(), state
        yield None if timeout is None else self._slot(thread, self.now + self.rng.randint(1, timeout))
        self._close(thread, state, thread.wait)
        thread.wait = None

    def _ends(self, waker: Thread, thread: Thread, since: int | None = None) -> None:
        """No timeout can end the wait any more. Of several wakers the last one counts."""
        assert thread.wait is not None
        thread.wait.ended_by, thread.wait.ended_at = waker, self.now
        thread.wakes += 1
        if thread.waits_in == "blocked":
            told = [] if since is None else ["lock", since]
            self.wakeups.append([thread.tid, waker.tid, self.now, *told])

    def _wake(self, waker: Thread, thread: Thread, since: int | None = None) -> None:
        self._ends(waker, thread, since)
        heapq.heappush(
            self._ready, (self._slot(thread, self.now + self.rng.randint(1, 20)), thread.number, thread.wakes)
        )

    def _acquire(self, thread: Thread, lock: Lock) -> Program:
        yield from self._execute(thread, 9)
        if lock.owner is None:
            lock.owner = thread
        else:
            lock.queue.append(thread)
            yield from self._stand(thread, "blocked")

    def _release(self, thread: Thread, lock: Lock) -> None:
        lock.owner = lock.queue.pop(0) if lock.queue else None
        if lock.owner is not None:
            self._wake(thread, lock.owner)

    def _give(self, lock: SharedLock, hold: Hold, writes: bool) -> None:
        if writes:
            lock.writer = hold
        else:
            lock.readers.append(hold)

    def _leave(self, thread: Thread, lock: SharedLock) -> None:
        """The last one out lets in one writer, or the readers before him. All who wait learn since when the thread had
        the lock."""
        hold = lock.writer or next(hold for hold in lock.readers if hold.thread is thread)
        hold.release = self.now
        lock.writer, lock.readers = None, [other for other in lock.readers if other is not hold]
        for waiting, _ in lock.queue:
            assert waiting.thread.wait is not None
            waiting.thread.wait.holds.append(hold)
        told = [waiting.thread for waiting, _ in lock.queue]
        while lock.queue and not lock.writer and not (lock.queue[0][1] and lock.readers):
            waiting, writes = lock.queue.pop(0)
            self._give(lock, waiting, writes)
            told.remove(waiting.thread)
            self._wake(thread, waiting.thread, hold.since)
        self.wakeups += [[other.tid, thread.tid, self.now, "lock", hold.since] for other in told]

    def _wait_for(self, thread: Thread, event: Event, timeout: int | None = None) -> Program:
        yield from self._execute(thread, 9)
        if not event.done:
            event.waiting.append(thread)
            yield from self._stand(thread, "blocked", timeout)
            if thread in event.waiting:
                event.waiting.remove(thread)

    def _set(self, thread: Thread, event: Event) -> None:
        event.done = True
        for waiting in event.waiting:
            self._wake(thread, waiting)
        event.waiting = []

    def _push(self, thread: Thread, task: Task) -> None:
        if self.idle:
            worker = self.idle.pop(0)
            worker.given = task
            self._wake(thread, worker)
        else:
            self.tasks.append(task)
