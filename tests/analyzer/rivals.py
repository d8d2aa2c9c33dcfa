"""Programs whose threads compete for CPUs, locks and tasks, run by an independent simulation: what vprof would record,
and what really comes out with a function made faster.

A thread's script is a list of steps: ("work", function, ns), ("sleep", ns), ("lock", name), ("lock", name, "S") for a
lock that is shared, ("unlock", name), ("enter", function) and ("leave", function) around others, ("put", task) and,
around an interval of its own, ("begin", id) and ("end", id). ("await", name) waits for one ("tell", name) of another
thread, which may come first. A task is a name and a script, which a server runs for the interval of that name; it
begins when the task is made, and ends with the script. Servers take tasks in the order in which they were made.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

Step = tuple[Any, ...]
SLICE = 3_000_000
QUEUE = "queue"
LOOK = 8
"""How long a server looks for a task after it has done one, in ns."""


@dataclass
class _Thread:
    tid: int
    steps: deque[Step]
    serves: bool
    sid: str | None = None
    since: int = 0  # since when it does what it does
    waits_for: str = ""
    mode: str = ""  # in which it wants, or last wanted, a lock
    left: int = 0
    used: int = 0  # of its slice
    on_cpu: bool = False
    was: str = "sleep"  # what it did before it wanted a CPU
    call: tuple[str, int] | None = None
    entered: int = 0


@dataclass
class Rivals:
    """`factors`: by function how much longer it takes. Afterwards: `trace`, and `latency` by interval; `steps` of locks
    within intervals: time, "request", "grant" or "release", lock, mode, interval, thread."""

    scripts: list[list[Step]]
    servers: int
    cpus: int
    factors: dict[str, float] = field(default_factory=dict)
    trace: dict[str, Any] = field(default_factory=dict)
    latency: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._threads = [_Thread(k, deque(steps), False) for k, steps in enumerate(self.scripts)]
        self._threads += [_Thread(len(self.scripts) + k, deque(), True) for k in range(self.servers)]
        self._events: list[tuple[int, int, int]] = []
        self._want: deque[_Thread] = deque()
        self._free, self._count = self.cpus, 0
        self.steps: list[tuple[int, str, str, str, str, int]] = []
        self._held: dict[str, dict[int, str]] = {}
        self._asking: dict[str, deque[_Thread]] = {}
        self._idle: deque[_Thread] = deque()
        self._tasks: deque[tuple[str, int, int, list[Step]]] = deque()
        self._told: set[str] = set()
        self._awaiting: dict[str, _Thread] = {}
        self._rows: dict[str, list[Any]] = {name: [] for name in ("segments", "wakeups", "created", "functions")}
        self._begun: dict[str, tuple[int, int]] = {}
        self._ended: dict[str, tuple[int, int]] = {}
        for thread in self._threads:
            self._at(1 + thread.tid, thread)
        self._run()
        self.latency = {sid: self._ended[sid][1] - self._begun[sid][1] for sid in self._ended}
        self.trace = {
            "intervals": [
                {"sid": sid, "begin": _point(self._begun[sid]), "end": _point(end)} for sid, end in self._ended.items()
            ],
            **self._rows,
        }

    def _at(self, t: int, thread: _Thread) -> None:
        self._count += 1
        heappush(self._events, (t, self._count, thread.tid))

    def _segment(self, thread: _Thread, now: int, state: str, what: str = "") -> None:
        if now > thread.since:
            self._rows["segments"].append([thread.tid, thread.sid, thread.since, now, state, *([what] if what else [])])
        thread.since = now

    def _run(self) -> None:
        while self._events:
            now, _, tid = heappop(self._events)
            thread = self._threads[tid]
            if thread.on_cpu:
                self._has_run(thread, now)
            elif thread.was == "sleep":
                self._segment(thread, now, "sleep")
                thread.was = "preempted"
                self._go_on(thread, now)
            while self._free and self._want:
                self._runs(self._want.popleft(), now)

    def _runs(self, thread: _Thread, now: int) -> None:
        """It gets a CPU, after a wait for one."""
        self._free -= 1
        thread.on_cpu, thread.used = True, 0
        if thread.was == "blocked":
            self._segment(thread, now, "blocked", thread.waits_for)
            if thread.waits_for in self._held:
                self._note(thread, now, "grant", thread.waits_for)
            thread.waits_for = ""
        else:
            self._segment(thread, now, "preempted")
        self._execute(thread, now) if thread.left else self._go_on(thread, now)

    def _execute(self, thread: _Thread, now: int) -> None:
        if thread.used == SLICE and self._want:
            self._off(thread, now, "preempted")
            self._want.append(thread)
            return
        thread.used %= SLICE
        self._at(now + min(thread.left, SLICE - thread.used), thread)

    def _has_run(self, thread: _Thread, now: int) -> None:
        ran = min(thread.left, SLICE - thread.used)
        thread.left -= ran
        thread.used += ran
        if thread.left:
            self._execute(thread, now)
            return
        if thread.call:
            self._rows["functions"].append([thread.tid, thread.sid, thread.call[0], None, thread.call[1], now])
            thread.call = None
        self._go_on(thread, now)

    def _off(self, thread: _Thread, now: int, was: str) -> None:
        """It leaves its CPU, if it has one."""
        thread.was = was
        if thread.on_cpu:
            self._segment(thread, now, "exec")
            self._free += 1
            thread.on_cpu = False

    def _go_on(self, thread: _Thread, now: int) -> None:
        """Its next steps, until one of them takes time."""
        while True:
            if not thread.steps and thread.serves:
                if thread.sid is not None:
                    self._end(thread, now)
                    thread.steps.append(("work", "look", LOOK))
                    continue
                if not self._tasks:
                    self._off(thread, now, "blocked")
                    thread.waits_for = QUEUE
                    self._idle.append(thread)
                    return
                self._take(thread, now)
            if not thread.steps:
                self._off(thread, now, "done")
                return
            kind, *what = thread.steps.popleft()
            if kind == "work":
                thread.left = int(what[1] * self.factors.get(what[0], 1))
                if thread.left and not thread.on_cpu:
                    thread.steps.appendleft((kind, *what))
                    thread.left = 0
                    self._want.append(thread)
                    return
                if thread.left:
                    thread.call = what[0], now
                    self._execute(thread, now)
                    return
            elif kind == "sleep":
                self._off(thread, now, "sleep")
                self._at(now + what[0], thread)
                return
            elif kind == "lock":
                if self._lock(thread, now, what[0], what[1] if what[1:] else "X"):
                    return
            elif kind == "unlock":
                self._unlock(thread, now, what[0])
            elif kind == "await":
                if self._await(thread, now, what[0]):
                    return
            elif kind == "tell":
                self._tell(thread, now, what[0])
            elif kind == "enter":
                thread.entered = now
            elif kind == "leave":
                self._rows["functions"].append([thread.tid, thread.sid, what[0], None, thread.entered, now])
            elif kind == "put":
                self._put(thread, now, *what)
            elif kind == "begin":
                self._segment(thread, now, "exec" if thread.on_cpu else "sleep")
                thread.sid = what[0]
                self._begun[what[0]] = thread.tid, now
            else:
                assert kind == "end"
                self._end(thread, now)

    def _lock(self, thread: _Thread, now: int, lock: str, mode: str) -> bool:
        """Whether it has to wait."""
        thread.mode = mode
        self._note(thread, now, "request", lock)
        asking = self._asking.setdefault(lock, deque())
        if not asking and self._is_free(lock, mode):
            self._held.setdefault(lock, {})[thread.tid] = mode
            self._note(thread, now, "grant", lock)
            return False
        self._off(thread, now, "blocked")
        thread.waits_for = lock
        asking.append(thread)
        return True

    def _unlock(self, thread: _Thread, now: int, lock: str) -> None:
        self._note(thread, now, "release", lock)
        del self._held[lock][thread.tid]
        asking = self._asking[lock]
        while asking and self._is_free(lock, asking[0].mode):
            other = asking.popleft()
            self._held[lock][other.tid] = other.mode
            self._wake(thread, other, now)

    def _await(self, thread: _Thread, now: int, name: str) -> bool:
        """Whether it has to wait."""
        if name in self._told:
            return False
        self._off(thread, now, "blocked")
        thread.waits_for = name
        self._awaiting[name] = thread
        return True

    def _tell(self, thread: _Thread, now: int, name: str) -> None:
        self._told.add(name)
        if name in self._awaiting:
            self._wake(thread, self._awaiting.pop(name), now)

    def _is_free(self, lock: str, mode: str) -> bool:
        held = self._held.get(lock, {})
        return not held or {mode, *held.values()} == {"S"}

    def _note(self, thread: _Thread, now: int, step: str, lock: str) -> None:
        if thread.sid is not None:
            self.steps.append((now, step, lock, thread.mode, thread.sid, thread.tid))

    def _end(self, thread: _Thread, now: int) -> None:
        self._segment(thread, now, "exec" if thread.on_cpu else "sleep")
        assert thread.sid is not None
        self._ended[thread.sid] = thread.tid, now
        thread.sid = None

    def _wake(self, thread: _Thread, other: _Thread, now: int) -> None:
        self._rows["wakeups"].append([other.tid, thread.tid, now])
        self._want.append(other)

    def _put(self, thread: _Thread, now: int, sid: str, script: list[Step]) -> None:
        self._begun[sid] = thread.tid, now
        self._tasks.append((sid, thread.tid, now, script))
        if self._idle:
            self._wake(thread, self._idle.popleft(), now)

    def _take(self, thread: _Thread, now: int) -> None:
        self._segment(thread, now, "exec" if thread.on_cpu else "sleep")
        sid, maker, made, script = self._tasks.popleft()
        self._rows["created"].append([maker, made, thread.tid, now])
        thread.sid, thread.steps = sid, deque(script)


def _point(where: tuple[int, int]) -> dict[str, int]:
    return {"tid": where[0], "t": where[1]}
