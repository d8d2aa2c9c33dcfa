"""Random and simulated histories of threads, as JSON traces.

`random_history` is wilder than any program: arbitrary states, labels, wakers and tasks, for comparison with the
reference. `lock_convoy` and `worker_pool` simulate a real discipline, whose critical paths can be told without any
walk.
"""

from __future__ import annotations

import random
from typing import Any

History = dict[str, Any]


def random_history(seed: int) -> History:
    rng = random.Random(seed)
    span = rng.randint(20, 120)
    threads = list(range(1, rng.randint(2, 6)))
    sids = [f"i{k}" for k in range(rng.randint(1, 4))]
    segments = [s for tid in threads for s in _random_segments(rng, tid, span, sids)]
    functions = [f for tid in threads for f in _random_calls(rng, tid, 0, span, 0)]
    blocked = [s for s in segments if s[4] == "blocked"]
    wakeups = []
    for s in blocked:
        for t in rng.sample(range(s[2] + 1, s[3] + 1), min(rng.choice((0, 1, 1, 1, 2)), s[3] - s[2])):
            wakeups.append([s[0], rng.choice(threads), t])
    created = []
    for s in segments:
        if rng.random() < 0.35 and s[2] > 0:
            made = rng.sample(range(max(0, s[2] - 40), s[2]), 1)
            created += [[rng.choice(threads), t, s[0], s[2]] for t in made]
    intervals = []
    for sid in sids:
        begin, end = sorted(rng.sample(range(span + 1), 2))
        intervals.append(_interval(sid, rng.choice(threads), begin, rng.choice(threads), end))
    return _history(intervals, segments, functions, wakeups, created)


def _random_segments(rng: random.Random, tid: int, span: int, sids: list[str]) -> list[list[Any]]:
    out = []
    now = rng.randint(0, 5)
    while now < span:
        end = min(span, now + rng.randint(1, 15))
        label = rng.choice([*sids, *sids, None])
        states = ("exec", "blocked", "queue", "preempted", "fault", "disk", "off_cpu", "sleep", "memory")
        state = rng.choices(states, (8, 8, 2, 2, 1, 1, 1, 1, 1))[0]
        out.append([tid, label, now, end, state])
        now = end + rng.choice((0, 0, 0, 1, 3))
    return out


def _random_calls(rng: random.Random, tid: int, start: int, stop: int, depth: int) -> list[list[Any]]:
    out = []
    now = start
    while now < stop and depth < 4 and rng.random() < 0.8:
        begin = rng.randint(now, stop - 1)
        end = rng.randint(begin + 1, stop)
        name = rng.choice("abcde")
        site = rng.choice(("", f"{rng.choice('xy')}:1"))
        out.append([tid, None, name, site, begin, end, depth])
        out += _random_calls(rng, tid, begin, end, depth + 1)
        now = end
    return out


def lock_convoy(seed: int, threads: int = 4, rounds: int = 6) -> tuple[History, dict[int, int]]:
    """Threads work, take one first-come-first-served lock, work under it, release. One interval per round and thread.

    Returns the history and who held the lock, by nanosecond: during a wait the path runs on the holder.
    """
    rng = random.Random(seed)
    ready = sorted((rng.randint(0, 10), tid) for tid in range(1, threads + 1))
    arrivals = [(t + rng.randint(1, 20), t, tid, 0) for t, tid in ready]
    free_at, last_holder = 0, 0
    segments, wakeups, intervals, functions = [], [], [], []
    holder: dict[int, int] = {}
    while arrivals:
        arrivals.sort()
        at, begin, tid, done = arrivals.pop(0)
        got = max(at, free_at)
        released = got + rng.randint(2, 15)
        end = released + rng.randint(1, 5)
        sid = f"t{tid}r{done}"
        segments.append([tid, sid, begin, at, "exec"])
        if got > at:
            segments.append([tid, sid, at, got, "blocked"])
            wakeups.append([tid, last_holder, got])
            functions.append([tid, sid, "lock", "work:2", at, got, 1])
        segments.append([tid, sid, got, end, "exec"])
        functions += [[tid, sid, "work", "", begin, end, 0], [tid, sid, "held", "work:3", got, released, 1]]
        intervals.append(_interval(sid, tid, begin, tid, end))
        holder.update(dict.fromkeys(range(got, released), tid))
        free_at, last_holder = released, tid
        if done + 1 < rounds:
            again = end + rng.randint(0, 9)
            arrivals.append((again + rng.randint(1, 20), again, tid, done + 1))
    return _history(intervals, segments, functions, wakeups, []), holder


def worker_pool(
    seed: int, tasks: int = 12, workers: int = 3
) -> tuple[History, dict[str, list[tuple[str, int, int, int]]]]:
    """A listener receives requests and hands them to the first free worker. Returns the history and each path."""
    rng = random.Random(seed)
    free = dict.fromkeys(range(2, workers + 2), 0)
    segments, functions, created, intervals = [], [], [], []
    expected = {}
    now = 0
    for k in range(tasks):
        begin = now + rng.randint(0, 4)
        made = begin + rng.randint(1, 5)
        now = made + rng.randint(0, 3)
        worker = min(free, key=lambda w: (free[w], w))
        start = max(free[worker], made + 1) + rng.randint(0, 2)
        end = start + rng.randint(5, 30)
        free[worker] = end
        sid = f"r{k}"
        segments += [[1, sid, begin, now, "exec"], [worker, sid, start, end, "exec"]]
        functions += [[1, sid, "recv", "", begin, now, 0], [worker, sid, "handle", "", start, end, 0]]
        created.append([1, made, worker, start])
        intervals.append(_interval(sid, 1, begin, worker, end))
        expected[sid] = [("exec", 1, begin, made), ("queue", worker, made, start), ("exec", worker, start, end)]
    return _history(intervals, segments, functions, [], created), expected


def _interval(sid: str, begin_tid: int, begin: int, end_tid: int, end: int) -> dict[str, Any]:
    return {"sid": sid, "begin": {"tid": begin_tid, "t": begin}, "end": {"tid": end_tid, "t": end}}


def _history(intervals: Any, segments: Any, functions: Any, wakeups: Any, created: Any) -> History:
    return {
        "intervals": intervals,
        "segments": segments,
        "functions": functions,
        "wakeups": wakeups,
        "created": created,
    }
