"""Random schedules: threads and processes that compete for locks, hand over tasks, wait for each other and are forked.

    Schedule(seed)  ->  .data: the trace as tuples;  .threads: what each thread did, and who ended each of its waits

A small simulation of real primitives: first-come-first-served locks, condition variables, one-shot events, queues of
tasks, fork and join, waits that time out, I/O, time off the CPU. What happened is noted down as it happens, so the
answer (schedule_answer.py) is known without any walk. Each thread acts at times of its own (modulo MOST_THREADS): no
two things happen at once. Whatever a thread does, it executes a little before.
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
class Wait:
    """`ended_by` woke the thread, or made its task, at `ended_at`; None: a timeout, I/O, or nobody."""

    ended_by: Thread | None = None
    ended_at: int = 0


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


class Schedule:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 0
        self.threads: list[Thread] = []
        self.intervals: list[dict[str, Any]] = []
        self.begun: dict[str, tuple[str, int]] = {}
        self.wakeups: list[list[Any]] = []
        self.created: list[list[Any]] = []
        self.locks = [Lock(), Lock()]
        self.tasks: list[Task] = []
        self.idle: list[Thread] = []
        self.idle_state = self.rng.choice(("queue", "blocked"))
        self.inbox: list[str] = []
        self.clients = 0
        self._programs: list[Program] = []
        self._ready: list[tuple[int, int, int]] = []
        self._play()
        self.data = self._tuples()

    def _play(self) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.clients += 1
            self._start("1", self._client)
        for _ in range(self.rng.randint(1, 2)):
            self._start("1", self._worker)
        self._start("1", self._dispatcher)
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

    def _finish(self) -> None:
        self.now += MOST_THREADS
        for thread in self.threads:
            if not thread.exited.done:
                self._close(thread, thread.waits_in if thread.wait else "exec", thread.wait)
            for name, site, fs, label, depth in thread.frames:
                thread.calls.append([thread.tid, label, name, site, fs, self.now, depth])

    def _tuples(self) -> dict[str, Any]:
        spans = [[t.tid, s.label, s.start, s.stop, s.state] for t in self.threads for s in t.spans]
        calls = [call for t in self.threads for call in t.calls]
        return {
            "intervals": self.intervals,
            "segments": spans,
            "functions": calls,
            "wakeups": self.wakeups,
            "created": self.created,
        }

    # -- what the programs do

    def _client(self, thread: Thread) -> Program:
        for k in range(self.rng.randint(1, 3)):
            sid = f"{thread.tid}#{k}"
            yield from self._execute(thread, 9)
            self._relabel(thread, sid)
            self.begun[sid] = (thread.tid, self.now)
            yield from self._body(thread, 0)
            yield from self._execute(thread, 9)
            how = self.rng.random()
            if how < 0.6:
                self._end(thread, sid)
            elif how < 0.8:
                self._push(thread, Task(sid, thread, self.now, thread.context(sid), None))
            else:
                self.inbox.append(sid)
            if how >= 0.6 and self.rng.random() < 0.7:
                yield from self._execute(thread, 9)
                self._relabel(thread, None)
        self.clients -= 1

    def _worker(self, thread: Thread) -> Program:
        while True:
            yield from self._execute(thread, 9)
            if self.tasks:
                task = self.tasks.pop(0)
            else:
                self.idle.append(thread)
                yield from self._stand(thread, self.idle_state)
                assert thread.given is not None
                task = thread.given
            self._take(thread, task)
            yield from self._body(thread, 1)
            yield from self._execute(thread, 9)
            if task.done is None:
                self._end(thread, task.sid)
            else:
                self._set(thread, task.done)
                yield from self._execute(thread, 9)
                self._relabel(thread, None)

    def _dispatcher(self, thread: Thread) -> Program:
        """Makes tasks for intervals that it does not work for."""
        while self.clients or self.inbox:
            yield from self._execute(thread, 60)
            if self.inbox:
                sid = self.inbox.pop(0)
                self._push(thread, Task(sid, thread, self.now, None, None))

    def _body(self, thread: Thread, depth: int) -> Program:
        for _ in range(self.rng.randint(1, 3)):
            step = self.rng.choice(
                [self._run, self._run, self._off, self._sleep, self._locked, self._locked, self._waits, self._notify]
                + [self._subtask, self._forked, self._other] * (depth < 2)
                + [self._deeper] * (depth < 3)
            )
            if self.rng.random() < 0.6:
                yield from self._call(thread, step.__name__.strip("_"), step, depth)
            else:
                yield from step(thread, depth)

    def _deeper(self, thread: Thread, depth: int) -> Program:
        yield from self._body(thread, depth + 1)

    def _run(self, thread: Thread, depth: int) -> Program:
        yield from self._execute(thread, 90)

    def _off(self, thread: Thread, depth: int) -> Program:
        yield from self._execute(thread, 9)
        self._close(thread, "exec")
        yield self._slot(thread, self.now + self.rng.randint(1, 60))
        self._close(thread, self.rng.choice(("preempted", "fault", "disk", "off_cpu")))

    def _sleep(self, thread: Thread, depth: int) -> Program:
        """I/O or a wait that times out."""
        yield from self._execute(thread, 9)
        yield from self._stand(thread, "blocked", timeout=60)

    def _locked(self, thread: Thread, depth: int) -> Program:
        lock = self.rng.choice(self.locks)
        if any(one.owner is thread for one in self.locks):
            return
        yield from self._acquire(thread, lock)
        for _ in range(self.rng.randint(0, 2)):
            yield from self.rng.choice((self._run, self._off, self._sleep))(thread, depth)
        yield from self._execute(thread, 9)
        self._release(thread, lock)

    def _waits(self, thread: Thread, depth: int) -> Program:
        """A condition variable: waits without its lock, and has it again afterwards."""
        lock = self.rng.choice(self.locks)
        if any(one.owner is thread for one in self.locks):
            return
        yield from self._acquire(thread, lock)
        yield from self._execute(thread, 9)
        lock.waiting.append(thread)
        self._release(thread, lock)
        yield from self._stand(thread, "blocked", timeout=200)
        if thread in lock.waiting:
            lock.waiting.remove(thread)
            yield from self._acquire(thread, lock)
        yield from self._execute(thread, 9)
        self._release(thread, lock)

    def _notify(self, thread: Thread, depth: int) -> Program:
        """With the lock, which the woken then wait for, or without."""
        lock = self.rng.choice(self.locks)
        with_lock = self.rng.random() < 0.7 and not any(one.owner is thread for one in self.locks)
        if with_lock:
            yield from self._acquire(thread, lock)
        yield from self._execute(thread, 9)
        for waiter in lock.waiting[: self.rng.randint(1, 2)]:
            lock.waiting.remove(waiter)
            if lock.owner is None:
                lock.owner = waiter
                self._wake(thread, waiter)
            else:
                self._ends(thread, waiter)
                lock.queue.append(waiter)
        if with_lock:
            yield from self._execute(thread, 9)
            self._release(thread, lock)

    def _subtask(self, thread: Thread, depth: int) -> Program:
        """Has a worker do a part, and waits for it, but not for ever."""
        if thread.label is None:
            return
        yield from self._execute(thread, 9)
        done = Event()
        self._push(thread, Task(thread.label, thread, self.now, thread.context(thread.label), done))
        yield from self._wait_for(thread, done, timeout=300)

    def _forked(self, thread: Thread, depth: int) -> Program:
        """A child process that works for the same interval or for none; is waited for or not."""
        yield from self._execute(thread, 9)
        if len(self.threads) >= MOST_THREADS:
            return
        child = self._start(str(len(self.threads) + 10), self._child)
        if self.rng.random() < 0.7 and thread.label is not None:
            child.label = thread.label
            task = (thread, self.now, thread.context(thread.label))
            child.contexts.append(Context(thread.label, child.since, task=task))
            self.created.append([thread.tid, self.now, child.tid, child.since])
        if self.rng.random() < 0.7:
            yield from self._wait_for(thread, child.exited)

    def _child(self, thread: Thread) -> Program:
        yield from self._body(thread, 2)

    def _other(self, thread: Thread, depth: int) -> Program:
        """Does something for another interval, or for none, in between."""
        before = thread.label
        yield from self._execute(thread, 9)
        self._relabel(thread, self.rng.choice([None, *self.begun]))
        yield from self.rng.choice((self._run, self._deeper))(thread, depth)
        yield from self._execute(thread, 9)
        self._relabel(thread, before)

    # -- what the primitives do

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

    def _ends(self, waker: Thread, thread: Thread) -> None:
        """No timeout can end the wait any more. Of several wakers the last one counts."""
        assert thread.wait is not None
        thread.wait.ended_by, thread.wait.ended_at = waker, self.now
        thread.wakes += 1
        if thread.waits_in == "blocked":
            self.wakeups.append([thread.tid, waker.tid, self.now])

    def _wake(self, waker: Thread, thread: Thread) -> None:
        self._ends(waker, thread)
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
