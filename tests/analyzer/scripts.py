"""Threads that follow scripts, run by a simulator that knows no trace: what a replay must come to.

    random_scripts(rng) -> {thread: steps}  -> Run(...)      what happened: .data, the trace as tuples; .latency
    scaled(scripts, changes) -> {thread: steps} -> Run(...)  what would have happened

Locks, semaphores and queues of tasks serve first who came first. A step is a tuple: ("work", ns), ("disk", ns),
("off", ns: another has the CPU), ("think", ns: nothing is recorded), ("enter", f[, ns of work]), ("leave",),
("lock", l), ("unlock", l), ("post", s), ("wait", s), ("begin", id), ("end",), ("put", q, id), ("take", q).
A thread waits only for threads before it, and for nobody while it holds a lock, so no scripts wait for each other.

How long a thread takes to run after it was woken depends on the step at which it waited (`delay`).
"""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Callable, Collection
from itertools import pairwise
from typing import Any

Step = tuple[Any, ...]
Scripts = dict[int, list[Step]]
Key = tuple[int, int]
"""A step: its thread and place."""
FUNCTIONS = "fghk"


class Run:
    """`starts`: when each thread begins. `idle`: how the wait for a task is recorded: "queue", "blocked" (without a
    waker) or "" (not at all)."""

    def __init__(
        self,
        scripts: Scripts,
        starts: dict[int, float],
        delay: Callable[[Key], float],
        idle: str = "queue",
    ) -> None:
        self.scripts, self.delay, self.idle = scripts, delay, idle
        self.now: float = 0
        self.place = dict.fromkeys(scripts, 0)
        self.label: dict[int, str | None] = dict.fromkeys(scripts)
        self.since: dict[int, float] = {}
        self.frames: dict[int, list[tuple[str, float]]] = {thread: [] for thread in scripts}
        self.owner: dict[str, int | None] = defaultdict(lambda: None)
        self.queue: dict[str, list[int]] = defaultdict(list)
        self.posted: dict[str, list[Key]] = defaultdict(list)
        self.tasks: dict[str, list[tuple[str, int, float]]] = defaultdict(list)
        self.segments: list[list[Any]] = []
        self.functions: list[list[Any]] = []
        self.wakeups: list[list[Any]] = []
        self.created: list[list[Any]] = []
        self.begun: dict[str, tuple[int, float]] = {}
        self.intervals: list[dict[str, Any]] = []
        self.order: dict[str, list[Any]] = defaultdict(list)
        """By lock, semaphore or queue who had it in turn: which step, or which post or task for which step."""
        self.waited: set[Key] = set()
        self.close: float = 1e300
        """The least time between somebody's arrival and a hand-over of the same thing."""
        self._do = {
            "work": self._work,
            "disk": self._disk,
            "off": self._off,
            "think": self._think,
            "enter": self._enter,
        }
        self._do |= {"leave": self._leave, "begin": self._begin, "end": self._end, "lock": self._lock}
        self._do |= {"unlock": self._unlock, "post": self._post, "wait": self._wait, "put": self._put}
        self._do |= {"take": self._take}
        self._moments: dict[str, list[float]] = defaultdict(list)
        self._ready: list[tuple[float, int, int]] = []
        self._count = 0
        for thread, start in starts.items():
            self._at(start, thread)
        while self._ready:
            self.now, _, thread = heapq.heappop(self._ready)
            self._go(thread)
        for moments in self._moments.values():
            moments.sort()
            self.close = min([self.close, *(b - a for a, b in pairwise(moments))])

    @property
    def latency(self) -> dict[str, float]:
        return {iv["sid"]: iv["end"]["t"] - iv["begin"]["t"] for iv in self.intervals}

    @property
    def data(self) -> dict[str, Any]:
        return {
            "intervals": self.intervals,
            "segments": [row for row in self.segments if row[3] > row[2]],
            "functions": self.functions,
            "wakeups": self.wakeups,
            "created": self.created,
        }

    def keeps_order_of(self, other: Run) -> bool:
        """Everything is handed over in the same order, and nobody waits who did not: of such a wait the other run tells
        nothing."""
        kinds = ("lock", "wait")
        new = {key for key in self.waited - other.waited if self.scripts[key[0]][key[1]][0] in kinds}
        return self.order == other.order and not new

    def _at(self, time: float, thread: int) -> None:
        self._count += 1
        heapq.heappush(self._ready, (time, self._count, thread))

    def _go(self, thread: int) -> None:
        while self.place[thread] < len(self.scripts[thread]):
            step = self.scripts[thread][self.place[thread]]
            goes_on = self._do[step[0]](thread, *step[1:])
            if not goes_on:
                return
            self.place[thread] += 1

    def _spend(self, thread: int, ns: float, state: str) -> bool:
        if state:
            self.segments.append([thread, self.label[thread], self.now, self.now + ns, state])
        self.place[thread] += 1
        self._at(self.now + ns, thread)
        return False

    def _work(self, thread: int, ns: float) -> bool:
        return self._spend(thread, ns, "exec")

    def _disk(self, thread: int, ns: float) -> bool:
        return self._spend(thread, ns, "disk")

    def _off(self, thread: int, ns: float) -> bool:
        return self._spend(thread, ns, "preempted")

    def _think(self, thread: int, ns: float) -> bool:
        return self._spend(thread, ns, "")

    def _enter(self, thread: int, f: str, ns: float = 0) -> bool:
        self.frames[thread].append((f, self.now))
        return self._spend(thread, ns, "exec") if ns else True

    def _leave(self, thread: int) -> bool:
        f, since = self.frames[thread].pop()
        depth = len(self.frames[thread])
        self.functions.append([thread, self.label[thread], f, f"x:{depth}", since, self.now, depth])
        return True

    def _begin(self, thread: int, sid: str) -> bool:
        self.begun[sid], self.label[thread] = (thread, self.now), sid
        return True

    def _end(self, thread: int) -> bool:
        sid = self.label[thread]
        assert sid is not None
        tid, t = self.begun[sid]
        self.intervals.append({"sid": sid, "begin": {"tid": tid, "t": t}, "end": {"tid": thread, "t": self.now}})
        self.label[thread] = None
        return True

    def _stand(self, thread: int) -> bool:
        self.since[thread] = self.now
        self.waited.add((thread, self.place[thread]))
        return False

    def _wake(self, thread: int, state: str, waker: int) -> float:
        """Returns when the thread goes on."""
        again = self.now + self.delay((thread, self.place[thread]))
        if state:
            self.segments.append([thread, self.label[thread], self.since[thread], again, state])
        if state == "blocked" and waker:
            self.wakeups.append([thread, waker, self.now])
        self.place[thread] += 1
        self._at(again, thread)
        return again

    def _lock(self, thread: int, lock: str) -> bool:
        self._moments[lock].append(self.now)
        if self.owner[lock] is not None:
            self.queue[lock].append(thread)
            return self._stand(thread)
        self.owner[lock] = thread
        self.order[lock].append((thread, self.place[thread]))
        return True

    def _unlock(self, thread: int, lock: str) -> bool:
        self._moments[lock].append(self.now)
        self.owner[lock] = following = self.queue[lock].pop(0) if self.queue[lock] else None
        if following is not None:
            self.order[lock].append((following, self.place[following]))
            self._wake(following, "blocked", thread)
        return True

    def _post(self, thread: int, semaphore: str) -> bool:
        self._moments[semaphore].append(self.now)
        post = (thread, self.place[thread])
        if self.queue[semaphore]:
            following = self.queue[semaphore].pop(0)
            self.order[semaphore].append((post, (following, self.place[following])))
            self._wake(following, "blocked", thread)
        else:
            self.posted[semaphore].append(post)
        return True

    def _wait(self, thread: int, semaphore: str) -> bool:
        self._moments[semaphore].append(self.now)
        if not self.posted[semaphore]:
            self.queue[semaphore].append(thread)
            return self._stand(thread)
        self.order[semaphore].append((self.posted[semaphore].pop(0), (thread, self.place[thread])))
        return True

    def _put(self, thread: int, queue: str, sid: str) -> bool:
        self._moments[queue].append(self.now)
        self.label[thread] = None
        if self.queue[queue]:
            following = self.queue[queue].pop(0)
            self.order[queue].append((sid, (following, self.place[following])))
            taken = self._wake(following, self.idle, 0)
            self.created.append([thread, self.now, following, taken])
            self.label[following] = sid
        else:
            self.tasks[queue].append((sid, thread, self.now))
        return True

    def _take(self, thread: int, queue: str) -> bool:
        self._moments[queue].append(self.now)
        if not self.tasks[queue]:
            self.queue[queue].append(thread)
            return self._stand(thread)
        sid, creator, made = self.tasks[queue].pop(0)
        self.order[queue].append((sid, (thread, self.place[thread])))
        self.created.append([creator, made, thread, self.now])
        self.label[thread] = sid
        return True


def random_scripts(rng: random.Random) -> Scripts:
    """Some threads that serve intervals of their own, or hand them to others; workers that take these up."""
    scripts: Scripts = {}
    producers, workers = rng.randint(1, 4), rng.randint(0, 2)
    put = 0
    owed: list[str] = []
    for thread in range(1, producers + 1):
        steps: list[Step] = []
        for k in range(rng.randint(1, 5)):
            sid = f"{thread}.{k}"
            steps += [*_between(rng), ("begin", sid), *_body(rng, 0, owed, thread < producers)]
            if workers and rng.random() < 0.5:
                steps += [("work", _ns(rng)), ("put", "q", sid), ("work", _ns(rng))]
                put += 1
            else:
                steps += [("work", _ns(rng)), ("end",), ("work", _ns(rng))]
            if rng.random() < 0.5:
                steps.append(("think", _ns(rng)))
        scripts[thread] = steps
    for number in range(workers):
        # Which worker takes how many is fixed beforehand; which of them, they find out.
        mine = put - put // 2 if number == 0 and workers == 2 else put // 2 if workers == 2 else put
        steps = [("work", _ns(rng))]
        for _ in range(mine):
            steps += [("take", "q"), *_body(rng, 0, owed, False), ("work", _ns(rng)), ("end",), ("work", _ns(rng))]
        scripts[producers + 1 + number] = steps
    return scripts


def _between(rng: random.Random) -> list[Step]:
    """What a thread does before it begins an interval: it may call the same functions then."""
    work: list[Step] = [("work", _ns(rng))]
    return [("enter", rng.choice(FUNCTIONS)), *work, ("leave",)] if rng.random() < 0.3 else work


def _ns(rng: random.Random) -> int:
    return 2 * rng.randint(1, 50_000)


def _body(rng: random.Random, depth: int, owed: list[str], posts: bool) -> list[Step]:
    """`owed`: semaphores that were posted, and for which nobody waits yet."""
    steps: list[Step] = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.random()
        inside: list[Step]
        if kind < 0.25:
            inside = [("work", _ns(rng))]
        elif kind < 0.35:
            inside = [("work", _ns(rng)), ("off", _ns(rng)), ("work", _ns(rng))]
        elif kind < 0.45:
            inside = [("disk", _ns(rng))]
        elif kind < 0.75:
            lock = rng.choice("LM")
            held: list[Step] = [("enter", rng.choice(FUNCTIONS)), ("work", _ns(rng)), ("leave",)]
            inside = [("work", _ns(rng)), ("lock", lock), *held, ("unlock", lock), ("work", _ns(rng))]
        elif kind < 0.85 and depth < 3:
            inside = _body(rng, depth + 1, owed, posts)
        elif posts:
            owed.append(f"s{len(owed)}")
            inside = [("work", _ns(rng)), ("post", owed[-1]), ("work", _ns(rng))]
        else:
            waits = [name for name in owed if name]
            inside = [("work", _ns(rng))]
            if waits:
                name = rng.choice(waits)
                owed[owed.index(name)] = ""
                inside += [("wait", name), ("work", _ns(rng))]
        steps += [("enter", rng.choice(FUNCTIONS)), *inside, ("leave",)] if rng.random() < 0.7 else inside
    return steps


def scaled(
    scripts: Scripts, changes: dict[str, Callable[[float, list[float]], float]], alike: Collection[str] = ()
) -> Scripts:
    """The scripts as they would be: each change gives a call's new time from its own and those of all calls. What
    a call took of its own counts, that of others in it too unless these are changed themselves. `alike`: functions of
    which the calls in intervals are changed, if there are any, by the times of those."""
    inside: set[Key] = set()
    took: dict[tuple[int, int], float] = {}
    owner: dict[Key, tuple[int, int] | None] = {}
    function: dict[tuple[int, int], str] = {}
    for thread, steps in scripts.items():
        stack: list[tuple[str, tuple[int, int] | None]] = []
        is_inside = False
        for i, step in enumerate(steps):
            is_inside = step[0] in ("begin", "take") or (is_inside and step[0] not in ("end", "put"))
            if step[0] == "enter":
                stack.append((step[1], _outermost(step[1], stack, (thread, i)) if step[1] in changes else None))
                if stack[-1][1] == (thread, i):
                    took[thread, i], function[thread, i] = 0.0, step[1]
                    inside.update([(thread, i)] if is_inside else [])
            elif step[0] == "leave":
                stack.pop()
            elif step[0] in ("work", "disk"):
                mine = [call for _, call in stack if call is not None]
                owner[thread, i] = mine[-1] if mine else None
                if mine:
                    took[mine[-1]] += step[1]
    of_all = {}
    for f in changes:
        calls = [call for call in took if function[call] == f]
        if f in alike and inside.intersection(calls):
            took.update({call: -1.0 for call in calls if call not in inside})  # stays as it is
            calls = [call for call in calls if call in inside]
        of_all[f] = [took[call] for call in calls]
    new: Scripts = {}
    for thread, steps in scripts.items():
        new[thread] = []
        for i, step in enumerate(steps):
            call = owner.get((thread, i))
            if call is not None and took[call] > 0:
                step = (step[0], step[1] * changes[function[call]](took[call], of_all[function[call]]) / took[call])
            if took.get((thread, i)) == 0.0:  # nothing in it that could get longer
                step = (*step, changes[step[1]](0.0, of_all[step[1]]))
            new[thread].append(step)
    return new


def _outermost(f: str, stack: list[tuple[str, Key | None]], call: Key) -> Key | None:
    return next((outer for name, outer in stack if name == f), call)
