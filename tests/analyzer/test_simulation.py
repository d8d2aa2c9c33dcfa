"""The simulation of a trace: the replay where nobody competes; what an independent simulation of the program gives,
where threads compete for CPUs, locks and tasks."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import lock_convoy, random_history, worker_pool
from properties import LOT, lots, named
from rivals import LOOK, Rivals
from schedules import Schedule

from vprof.errors import UsageError, VprofError
from vprof.tables.kinds import EXEC
from vprof.tables.model import Float, Recorded, Trace
from vprof.trace.json_trace import trace_from_dict
from vprof.trace.sources import Loaded
from vprof.trace.window import WHOLE
from vprof.variance.analysis import AnalysisOptions
from vprof.whatif.changes import parse, resolve
from vprof.whatif.held import nothing_held
from vprof.whatif.logged import Logged, nothing_logged
from vprof.whatif.model import REPLAY, SIMULATION, Model
from vprof.whatif.pools import no_pools
from vprof.whatif.prediction import Replays, load
from vprof.whatif.replay import as_recorded, replay
from vprof.whatif.resources import plan, resources
from vprof.whatif.scales import Totals, lengths, prepare
from vprof.whatif.simulated import by_rank
from vprof.whatif.simulation import simulate
from vprof.whatif.standing import EXECUTES, PASSES, Plan
from vprof.whatif.windows import Looks

MODEL = Model()


@lots(2000)
def test_where_nobody_competes_it_is_the_replay(first: int) -> None:
    """With CPUs for all, and all waits ended as they were; also where everything takes another time."""
    for seed in range(first, first + LOT):
        with named(seed):
            trace = trace_from_dict(Schedule(seed).data)
            looks = Looks(Loaded(trace), [], MODEL)
            part, built = looks.next(looks.read(trace, WHOLE), WHOLE)
            graph, rng = built.graph, np.random.default_rng(seed)
            executes = (np.r_[part.rows.state, -1][graph.segment] == EXEC) & (graph.wait == -1)
            for factor in (np.ones(len(graph.time)), rng.integers(0, 4, len(graph.time))):
                same = as_recorded(graph)
                same = same._replace(length=same.length * factor)
                does = np.where(executes, EXECUTES, PASSES)
                given = (same.length, same.arrives, same.more, same.delay, nothing_held(graph), no_pools(graph))
                found = simulate(graph, Plan(does, graph.wait, *given), len(trace.threads) + 1)
                assert np.array_equal(found.at, replay(graph, same).at)


def simulated(trace: Trace, cpus: int, *changes: str, told: Logged | None = None) -> dict[str, float]:
    """By interval its latency. `told`: locks of which the program told."""
    told = told or nothing_logged()
    called = np.ones(len(trace.program.functions), np.bool_)
    totals = Totals(resolve([parse(change) for change in changes], trace, lambda: called))
    looks = Looks(Loaded(trace), [totals.changes], MODEL, told.moments)
    part, built = looks.next(looks.read(trace, WHOLE), WHOLE)
    one = prepare(part, built, totals.changes, looks.of_function[0], scales_cpu=True)
    totals.add(0, one)
    of = resources(built, part.rows, trace.segments, cpus, told)
    times = simulate(built.graph, plan(of, lengths(0, one, totals, False)), cpus)
    begin, end = np.full((2, len(trace.interval_ids)), np.nan)
    begin[part.begins], end[part.ends] = times.at[built.begin], times.at[built.end]
    return dict(zip(trace.interval_ids, (end - begin).tolist(), strict=True))


def work(rng: random.Random, function: str, most: int) -> tuple[str, str, int]:
    return "work", function, 8 * rng.randint(1, most // 8)


def clients(rng: random.Random, count: int, rounds: int, inside: Any, most_sleep: int) -> list[list[tuple[Any, ...]]]:
    """Threads that sleep, and then work for an interval. `inside`: of its number, the steps of that."""
    scripts = []
    for k in range(count):
        script: list[tuple[Any, ...]] = []
        for i in range(rounds):
            script += [("sleep", rng.randint(1, most_sleep)), ("begin", f"{k}.{i}"), *inside(rng), ("end", f"{k}.{i}")]
        scripts.append(script)
    return scripts


@lots(200)
def test_threads_that_compete_for_cpus(first: int) -> None:
    """Comes out to the nanosecond, with a function made faster, too."""
    waited = 0
    for seed in range(first, first + LOT):
        with named(seed):
            rng = random.Random(seed)
            cpus = rng.randint(1, 3)
            scripts = clients(
                rng, rng.randint(2, 6), 6, lambda rng: [work(rng, rng.choice("fg"), 5_000_000) for _ in "12"], 6_000_000
            )
            trace = trace_from_dict(Rivals(scripts, 0, cpus).trace)
            waited += bool((trace.segments.state != EXEC).sum() > len(trace.intervals.begin))
            assert simulated(trace, cpus) == Rivals(scripts, 0, cpus).latency
            for change, factors in (("f=0.125", {"f": 0.125}), ("g=0.5", {"g": 0.5}), ("f=0", {"f": 0})):
                try:
                    found = simulated(trace, cpus, change)
                except UsageError:
                    continue  # it never ran
                assert found == pytest.approx(Rivals(scripts, 0, cpus, factors).latency, abs=2), change
    assert waited > LOT / 2


@lots(200)
def test_a_free_thread_takes_the_next_task(first: int) -> None:
    """Whichever thread took it before: comes out but for the looks for tasks, of some ns, where all have CPUs."""
    for seed in range(first, first + LOT):
        with named(seed):
            rng = random.Random(seed)
            makers = [
                [
                    step
                    for i in range(60)
                    for step in (
                        ("work", "m", 8 * rng.randint(1, 300_000)),
                        ("put", f"{k}.{i}", [work(rng, rng.choice("fg"), 4_000_000)]),
                    )
                ]
                for k in range(2)
            ]
            trace = trace_from_dict(Rivals(makers, 3, 9).trace)
            assert simulated(trace, 9) == pytest.approx(Rivals(makers, 3, 9).latency, abs=60 * LOOK)
            for factor in (0.125, 0.5):
                found = simulated(trace, 9, f"f={factor}")
                assert found == pytest.approx(Rivals(makers, 3, 9, {"f": factor}).latency, abs=60 * LOOK)


def mean_ratio(found: dict[str, float], before: dict[str, float]) -> float:
    return float(np.mean(list(found.values())) / np.mean(list(before.values())))


def locked(rng: random.Random) -> list[tuple[Any, ...]]:
    return [work(rng, "g", 300_000), ("lock", "L"), work(rng, "f", 2_000_000), ("unlock", "L")]


@pytest.mark.parametrize("cpus", [2, 8])
@lots(100)
def test_threads_that_compete_for_a_lock(first: int, cpus: int) -> None:
    """Of a function that is always called with the lock, it is known who has that, also where nobody waited."""
    base, off = [], []
    for seed in range(first, first + LOT):
        rng = random.Random(seed)
        scripts = clients(rng, 6, 12, locked, 8_000_000)
        before = Rivals(scripts, 0, cpus)
        trace = trace_from_dict(before.trace)
        now = simulated(trace, cpus, "f=1")
        base.append(mean_ratio(now, before.latency))
        for factor in (0.5, 0.125):
            after = Rivals(scripts, 0, cpus, {"f": factor}).latency
            off.append(mean_ratio(simulated(trace, cpus, f"f={factor}"), now) - mean_ratio(after, before.latency))
    assert np.mean(base) == pytest.approx(1, abs=0.02)
    assert np.std(base) < 0.05
    assert np.mean(off) == pytest.approx(0, abs=0.01)
    assert np.std(off) < 0.03


@pytest.mark.parametrize("cpus", [2, 8])
@lots(100)
def test_threads_that_compete_for_a_lock_without_such_a_function(first: int, cpus: int) -> None:
    """Who had a lock that nobody waited for is not known, so the mean of many runs counts."""
    base = []
    for seed in range(first, first + LOT):
        rng = random.Random(seed)
        before = Rivals(clients(rng, 6, 12, locked, 8_000_000), 0, cpus)
        base.append(mean_ratio(simulated(trace_from_dict(before.trace), cpus, "g=1"), before.latency))
    assert np.mean(base) == pytest.approx(1, abs=0.1)


def test_a_circle_of_waits_ends_at_once() -> None:
    """What thread 1 had from 10 to 20 and from 65 on looks like one hold from 10 to 100. So thread 2 would wait for it
    from 25 on, while thread 1 waits from 40 on for what thread 2 does at 60; and thread 4 runs much longer."""
    rows = [
        *([1, "A", 0, 5, "exec"], [1, "A", 5, 10, "blocked", "L"], [1, "A", 10, 40, "exec"]),
        *([1, "A", 40, 60, "blocked", "other"], [1, "A", 60, 110, "exec"], [4, "D", 0, 10_000, "exec"]),
        *([2, "B", 0, 25, "exec"], [2, "B", 25, 35, "blocked", "L"], [2, "B", 35, 70, "exec"]),
        *([2, "B", 70, 100, "blocked", "L"], [2, "B", 100, 110, "exec"]),
        *([3, "C", 0, 1, "exec"], [3, "C", 1, 3, "blocked", "L"], [3, "C", 3, 40, "exec"]),
    ]
    ends = {"A": (1, 110), "B": (2, 110), "C": (3, 40), "D": (4, 10_000)}
    trace = trace_from_dict(
        {
            "intervals": [
                {"sid": sid, "begin": {"tid": tid, "t": 0}, "end": {"tid": tid, "t": t}}
                for sid, (tid, t) in ends.items()
            ],
            "segments": rows,
            "wakeups": [[3, 1, 3], [1, 3, 10], [2, 3, 35], [1, 2, 60], [2, 1, 100]],
            "functions": [],
        }
    )
    assert simulated(trace, 4)["D"] == 10_000
    assert max(simulated(trace, 4)[sid] for sid in "ABC") < 200


@lots(300)
def test_a_circle_through_a_task_ends_at_once(first: int) -> None:
    """Clients and servers take one mutex, and a client waits until a server has done its task; who is in no circle
    works on. In the simulation another server may have the task, or all servers others, and wait for a mutex that the
    client is taken to have."""
    for seed in range(first, first + LOT):
        with named(seed):
            rng = random.Random(seed)
            scripts = [[step for i in range(12) for step in asks(rng, f"{k}.{i}")] for k in range(4)]
            lone: list[tuple[Any, ...]] = [("begin", "alone"), ("work", "h", 80_000_000_000), ("end", "alone")]
            trace = trace_from_dict(Rivals([*scripts, lone], rng.randint(1, 4), 8).trace)
            found = simulated(trace, 8)
            assert found.pop("alone") == 80_000_000_000
            assert max(found.values()) < 1_000_000_000


def asks(rng: random.Random, sid: str) -> list[tuple[Any, ...]]:
    """A client's steps."""
    does = [work(rng, "f", 2_000_000), ("lock", "M"), work(rng, "g", 2_000_000), ("unlock", "M")]
    queues = [("lock", "M"), work(rng, "g", 2_000_000), ("put", sid, [*does, ("tell", sid)]), ("unlock", "M")]
    return [("sleep", rng.randint(1, 4_000_000)), *queues, ("await", sid)]


@lots(300)
def test_it_ends_whatever_the_trace_is(first: int) -> None:
    """Also where waits end each other, which no program can do; and every interval takes a time."""
    for seed in range(first, first + LOT):
        with named(seed):
            for data in (random_history(seed), lock_convoy(seed)[0], worker_pool(seed)[0], Schedule(seed).data):
                trace = trace_from_dict(data)
                for cpus in (1, 2):
                    found = simulated(trace, cpus)
                    assert all(ns == ns and ns > -np.inf for ns in found.values())


@pytest.mark.parametrize(
    ("changes", "expected"), [(["f=0"], 10), (["f=0.5"], 25), (["f=constant"], 40), (["f=-300us"], 10 + 30 * 12 / 15)]
)
def test_waits_for_other_programs_scale_with_what_they_interrupt(changes: list[str], expected: float) -> None:
    """f works from 0 to 10 and from 25 to 30; then the thread is off its CPU once more, and outside of f."""
    pieces = [(0, 10, "exec"), (10, 25, "preempted"), (25, 30, "exec"), (30, 38, "preempted"), (38, 40, "exec")]
    unit = 100_000
    data = {
        "intervals": [{"sid": "u", "begin": {"tid": 1, "t": 0}, "end": {"tid": 1, "t": 40 * unit}}],
        "segments": [[1, "u", begin * unit, end * unit, state] for begin, end, state in pieces],
        "functions": [[1, "u", "f", "", 0, 30 * unit]],
    }
    assert simulated(trace_from_dict(data), 2, *changes) == {"u": pytest.approx(expected * unit)}


def test_a_short_call_that_lost_its_cpu_does_not_lose_it_for_hours_as_a_longer_one() -> None:
    """f works for 1 us, in which it was off its CPU for 1 ms, and in another interval for 1999 us."""
    us = 1000
    rows = [("a", 0, 1, "exec"), ("a", 1, 1000, "preempted"), ("a", 1000, 1001, "exec"), ("b", 2000, 3998, "exec")]
    data = {
        "intervals": [
            {"sid": "a", "begin": {"tid": 1, "t": 0}, "end": {"tid": 1, "t": 1001 * us}},
            {"sid": "b", "begin": {"tid": 1, "t": 2000 * us}, "end": {"tid": 1, "t": 3998 * us}},
        ],
        "segments": [[1, sid, begin * us, end * us, state] for sid, begin, end, state in rows],
        "functions": [[1, "a", "f", "", 0, 1001 * us], [1, "b", "f", "", 2000 * us, 3998 * us]],
    }
    trace = trace_from_dict(data)
    assert simulated(trace, 2, "f=constant") == {"a": pytest.approx((999 + 1000) * us), "b": pytest.approx(1000 * us)}
    assert simulated(trace, 2, "f=+2us") == {"a": pytest.approx((999 + 4) * us), "b": pytest.approx(2000 * us)}
    assert simulated(trace, 2, "f=2")["a"] == pytest.approx(2002 * us)


def recorded(scripts: list[list[tuple[Any, ...]]], cpus: int) -> Trace:
    """As if `vprof record` had made it."""
    return replace(trace_from_dict(Rivals(scripts, 0, cpus).trace), recorded=[Recorded(cpus=cpus)])


def test_a_simulation_is_taken_where_it_says_more() -> None:
    """Of several sets of changes for each. Together the intervals count that do so under each of them."""
    rng = random.Random(1)
    inside: Any = lambda rng: [work(rng, "f", 4_000_000), work(rng, "g", 2_000_000)]  # noqa: E731
    trace = recorded(clients(rng, 6, 30, inside, 6_000_000), 2)
    replays = Replays(load([Loaded(trace)], AnalysisOptions()))
    sets = [[parse("f=0.5")], [parse("[preempted]=0.5")], [parse("g=constant")]]
    ways = [(one.way, bool(one.why_replay)) for one in replays.outcomes(sets) if not isinstance(one, str)]
    assert ways == [(SIMULATION, False), (REPLAY, True), (SIMULATION, False)]
    for changes, one in zip(sets, replays.outcomes(sets), strict=True):
        assert not isinstance(one, str)
        alone = replays.predict(changes)
        assert alone.found.way == one.way
        assert alone.outcome["mean"].ratio == pytest.approx(one.outcome["mean"].ratio, rel=0.02)
    now, then = replays.predict([parse("f=1")], factors=False), replays.predict(sets[0], factors=False)
    assert now.found.nearness == {"mean": pytest.approx(1), "variance": pytest.approx(1), "p99": pytest.approx(1)}
    assert np.array_equal(now.latency_ns, now.predicted_ns) and now.outcome["variance"].ratio == 1
    assert then.outcome["mean"].ratio == pytest.approx(then.predicted_ns.mean() / then.latency_ns.mean(), rel=0.01)


def test_intervals_of_which_each_has_a_thread_are_replayed() -> None:
    """No thread begins two, so each of them ends when some thread has done all it did."""
    scripts = clients(random.Random(2), 30, 1, lambda rng: [work(rng, "f", 4_000_000)], 90_000_000)
    loads = load([Loaded(recorded(scripts, 2))], AnalysisOptions())
    found = Replays(loads).predict([parse("f=0.5")], factors=False).found
    assert found.way == REPLAY and found.why_replay.startswith("only 0 % of the intervals end before")
    with pytest.raises(VprofError, match=r"^--model simulation: only 0 % of the intervals"):
        Replays(loads, Model(way=SIMULATION)).predict([parse("f=0.5")], factors=False)


def test_latencies_come_out_as_recorded_without_a_change() -> None:
    """And with one, in proportion to those of the same rank."""
    base, recorded = np.array([10.0, 30.0, 20.0]), np.array([11.0, 22.0, 40.0])
    assert by_rank(base, base, recorded).tolist() == [11, 40, 22]
    found: Float = by_rank(np.array([60.0, 5.0, 10.0]), base, recorded)
    assert found.tolist() == [80, 5.5, 11]
