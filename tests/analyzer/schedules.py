"""Random schedules: threads and processes that compete for locks, hand over tasks, wait for each other and are forked.

    Schedule(seed)  ->  .data: the trace as tuples;  .threads: what each thread did, and who ended each of its waits

What happened is noted down as it happens (simulation.py), so the answer (schedule_answer.py) is known without any walk.
Here is what the threads do: clients, workers and a dispatcher, and the bodies of their calls.
"""

from __future__ import annotations

from simulation import MOST_THREADS, Context, Event, Hold, Lock, Machine, Program, SharedLock, Task, Thread


class Schedule(Machine):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.locks = [Lock(), Lock()]
        self.shared = SharedLock()
        self.idle_state = self.rng.choice(("queue", "blocked"))
        self.inbox: list[str] = []
        self.clients = 0
        self._begin()
        self.run()
        self.data = self.tuples()

    def _begin(self) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.clients += 1
            self._start("1", self._client)
        for _ in range(self.rng.randint(1, 2)):
            self._start("1", self._worker)
        self._start("1", self._dispatcher)

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
                + [self._read, self._read, self._read, self._write]
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
        self._close(thread, self.rng.choice(("preempted", "fault", "disk", "off_cpu", "memory")))

    def _sleep(self, thread: Thread, depth: int) -> Program:
        """I/O or a wait that times out."""
        yield from self._execute(thread, 9)
        yield from self._stand(thread, "blocked", timeout=60)

    def _locked(self, thread: Thread, depth: int) -> Program:
        lock = self.rng.choice(self.locks)
        if self._has_a_lock(thread):
            return
        yield from self._acquire(thread, lock)
        for _ in range(self.rng.randint(0, 2)):
            yield from self.rng.choice((self._run, self._off, self._sleep))(thread, depth)
        yield from self._execute(thread, 9)
        self._release(thread, lock)

    def _has_a_lock(self, thread: Thread) -> bool:
        holds = [hold for hold in (*self.shared.readers, self.shared.writer) if hold]
        return any(lock.owner is thread for lock in self.locks) or any(hold.thread is thread for hold in holds)

    def _read(self, thread: Thread, depth: int) -> Program:
        yield from self._share(thread, depth, False)

    def _write(self, thread: Thread, depth: int) -> Program:
        yield from self._share(thread, depth, True)

    def _share(self, thread: Thread, depth: int, writes: bool) -> Program:
        lock = self.shared
        if self._has_a_lock(thread):
            return
        yield from self._execute(thread, 9)
        hold = Hold(thread, self.now)
        if lock.writer or (writes and lock.readers):
            lock.queue.append((hold, writes))
            yield from self._stand(thread, "blocked")
        else:
            self._give(lock, hold, writes)
        for _ in range(self.rng.randint(1, 3)):
            yield from self.rng.choice((self._run, self._off, self._sleep))(thread, depth)
        yield from self._execute(thread, 9)
        self._leave(thread, lock)

    def _waits(self, thread: Thread, depth: int) -> Program:
        """A condition variable: waits without its lock, and has it again afterwards."""
        lock = self.rng.choice(self.locks)
        if self._has_a_lock(thread):
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
        with_lock = self.rng.random() < 0.7 and not self._has_a_lock(thread)
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
