"""Waits by object: shares and queues against a slow second opinion on random schedules, and hand-made ones."""

import random
from collections import defaultdict
from fractions import Fraction
from typing import Any

import pytest
from schedules import Schedule

from vprof.path import interval_path
from vprof.path.interval_path import PathStep
from vprof.tables.model import Trace
from vprof.trace.json_trace import trace_from_dict
from vprof.variance.analysis import AnalysisOptions, analyze
from vprof.variance.objects import WaitedObject

OBJECTS = ("log", "index", "row")


def with_objects(data: dict[str, Any], seed: int) -> dict[str, Any]:
    """Each blocked segment waits for one of three objects, or nobody knows for which."""
    rng = random.Random(seed)
    segments = [
        [*segment, rng.choice((*OBJECTS, None))] if segment[4] == "blocked" else segment for segment in data["segments"]
    ]
    return {**data, "segments": segments}


def queues(segments: list[list[Any]]) -> dict[str, dict[str, int]]:
    """Nanosecond by nanosecond: who waits for what."""
    waiting: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    waits: dict[str, int] = defaultdict(int)
    before: dict[Any, tuple[str | None, int]] = {}
    for tid, _, ts, te, state, *what in sorted(segments, key=lambda s: (str(s[0]), s[2])):
        object_ = what[0] if state == "blocked" and what else None
        if object_ and te > ts:
            waits[object_] += before.get(tid) != (object_, ts)
            for t in range(ts, te):
                waiting[object_][t] += 1
        if te > ts:
            before[tid] = (object_, te)
    return {
        object_: {
            "waits": waits[object_],
            "waited_ns": sum(at.values()),
            "queued_ns": len(at),
            "queue_max": max(at.values()),
        }
        for object_, at in waiting.items()
    }


def blocked(steps: list[PathStep], within: tuple[str, ...] = ()) -> dict[str, int]:
    """By object the time of the waits that lie in no other wait for it."""
    found: dict[str, int] = defaultdict(int)
    for step in steps:
        here = step.object if step.kind == "blocked" else ""
        if here and here not in within:
            found[here] += step.stop - step.start
        for object_, ns in blocked(step.steps, (*within, here)).items():
            found[object_] += ns
    return found


def times(trace: Trace) -> dict[str, list[int]]:
    """By object: of each interval, from its path as it is printed."""
    paths = [interval_path.interval_path(trace, sid) for sid in trace.interval_ids[: len(trace.intervals.begin)]]
    each = [blocked(path.steps) for path in paths]
    return {object_: [one.get(object_, 0) for one in each] for object_ in OBJECTS}


def varied(seed: int) -> tuple[dict[str, Any], Trace, list[int]]:
    """A schedule whose latencies differ, with its trace and these: the first of a row that begins with the seed."""
    while True:
        data = with_objects(Schedule(seed).data, seed)
        trace = trace_from_dict(data)
        latency = (trace.intervals.end - trace.intervals.begin).tolist()
        if len(set(latency)) > 1:
            return data, trace, latency
        seed += 40


def share(times: list[int], latency: list[int]) -> Fraction:
    n = len(latency)
    mean, time = Fraction(sum(latency), n), Fraction(sum(times), n)
    variance = sum((x - mean) ** 2 for x in latency)
    return sum((t - time) * (x - mean) for t, x in zip(times, latency, strict=True)) / variance


@pytest.mark.parametrize("seed", range(40))
def test_shares_and_queues_are_those_of_a_slow_look(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval_path, "VISIBLE", 0)
    data, trace, latency = varied(seed)
    analysis = analyze(trace, AnalysisOptions(cpu_apart=False, client_apart=False))
    found = {one.name: one for one in analysis.waited_for.objects}
    expected, queue = times(trace), queues(data["segments"])
    assert {name: one.total_ns for name, one in found.items()} == {o: sum(ns) for o, ns in expected.items() if sum(ns)}
    assert analysis.waited_for.count == len(queue)
    for name, one in found.items():
        assert one.share == pytest.approx(float(share(expected[name], latency)))
        assert one.intervals == sum(ns > 0 for ns in expected[name])
        assert {key: getattr(one, key) for key in queue[name]} == queue[name]
        assert one.queue_mean == one.waited_ns / one.queued_ns
        assert sum(at.total_ns for at in one.waiters) <= one.total_ns


def two_locks() -> dict[str, Any]:
    """Thread 3 has `hot` and lets it go twice; thread 1 also waits for `cold`, always as long."""
    segments: list[list[Any]] = [[3, None, 0, 1000, "exec"]]
    functions: list[list[Any]] = [[3, None, "compress", None, 0, 600], [3, None, "idle", None, 600, 1000]]
    intervals, wakeups = [], []
    for tid, waits in ((1, 500), (2, 100)):
        sid = f"t{tid}"
        segments += [[tid, sid, 0, 50, "exec"], [tid, sid, 50, 50 + waits, "blocked", "hot"]]
        segments += [[tid, sid, 50 + waits, 60 + waits, "blocked", "cold"], [tid, sid, 60 + waits, 70 + waits, "exec"]]
        functions += [[tid, sid, "commit", None, 0, 70 + waits]]
        wakeups += [[tid, 3, 50 + waits], [tid, 3, 60 + waits]]
        intervals.append({"sid": sid, "begin": {"tid": tid, "t": 0}, "end": {"tid": tid, "t": 70 + waits}})
    return {"intervals": intervals, "segments": segments, "functions": functions, "wakeups": wakeups}


def test_the_lock_that_makes_latency_vary_comes_first() -> None:
    hot, cold = analyze(trace_from_dict(two_locks()), AnalysisOptions(cpu_apart=False)).waited_for.objects
    assert isinstance(hot, WaitedObject)
    assert (hot.title, cold.title) == ("hot", "cold")
    assert (hot.share, cold.share) == (pytest.approx(1), pytest.approx(0))
    assert [(at.function, at.total_ns) for at in hot.waiters] == [("commit", 600)]
    assert [(at.function, at.total_ns) for at in hot.holders] == [("compress", 600)]
    assert (hot.waits, hot.waited_ns, hot.queued_ns, hot.queue_max) == (2, 600, 500, 2)
    assert (hot.queue_mean, cold.queue_max) == (1.2, 1)
