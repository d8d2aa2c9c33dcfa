"""Simulations of traces whose programs told of their locks: what an independent simulation of the program gives."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from histories import lock_convoy, random_history, worker_pool
from properties import LOT, lots, named
from rivals import LOOK, Rivals
from schedules import Schedule
from test_simulation import clients, mean_ratio, simulated, work
from told_locks import any_steps, steps_of

from vprof.errors import UsageError
from vprof.report.whatif import render, whatif_json
from vprof.tables.model import Recorded, Trace
from vprof.trace.json_trace import trace_from_dict
from vprof.trace.sources import Loaded
from vprof.variance.analysis import AnalysisOptions
from vprof.whatif.changes import parse
from vprof.whatif.logged import Logged, logged
from vprof.whatif.model import SIMULATION, Model
from vprof.whatif.prediction import Replays, load
from vprof.whatif.simulated import Simulated

CHANGES = (("f=0.125", {"f": 0.125}), ("g=0.5", {"g": 0.5}), ("f=0.5", {"f": 0.5}), ("f=2", {"f": 2}))


def taking_some(locks: str, modes: str, most: int) -> Any:
    """Steps of an interval that takes some locks, always in one order, and gives them back in any."""

    def steps(rng: random.Random) -> list[tuple[Any, ...]]:
        wanted = sorted(rng.sample(locks, rng.randint(1, min(2, len(locks)))))
        found: list[tuple[Any, ...]] = [work(rng, "g", most)]
        for lock in wanted:
            found += [("lock", lock, rng.choice(modes)), work(rng, rng.choice("fg"), most)]
        for lock in rng.sample(wanted, len(wanted)):
            found += [("unlock", lock), work(rng, "h", most // 10)]
        return found

    return steps


@pytest.mark.parametrize(("locks", "modes"), [("L", "X"), ("KLM", "X"), ("KL", "SX"), ("KLMNOPQR", "SSX")])
@lots(200)
def test_with_locks_of_which_the_program_told(first: int, locks: str, modes: str) -> None:
    """Comes out to the nanosecond, with functions made faster or slower, too; also of locks that are mostly free."""
    seen: Counter[str] = Counter()
    for seed in range(first, first + LOT):
        with named(seed):
            rng = random.Random(seed)
            cpus = rng.choice((1, 2, 3, 8))
            scripts = clients(rng, rng.randint(2, 6), 6, taking_some(locks, modes, 2_000_000), 6_000_000)
            before = Rivals(scripts, 0, cpus)
            trace, told = told_by(before)
            seen["waited"] += int(told.waited.sum())
            seen["not waited"] += int((~told.waited).sum())
            assert simulated(trace, cpus, told=told) == before.latency
            for change, factors in CHANGES:
                try:
                    found = simulated(trace, cpus, change, told=told)
                except UsageError:
                    continue  # it never ran
                after = Rivals(scripts, 0, cpus, factors)
                seen["others waited"] += waits(after) != waits(before)
                assert found == pytest.approx(after.latency, abs=2), change
    assert min(seen["waited"], seen["not waited"], seen["others waited"]) > LOT, seen


def told_by(program: Rivals) -> tuple[Trace, Logged]:
    trace = trace_from_dict(program.trace)
    return trace, logged(steps_of(program, trace))


def waits(program: Rivals) -> list[tuple[int, str]]:
    """The thread and lock of each grant that was waited for, in order."""
    rows = sorted(program.trace["segments"], key=lambda row: row[3])
    return [(row[0], row[5]) for row in rows if row[4] == "blocked"]


@lots(100)
def test_the_same_without_what_the_program_told(first: int) -> None:
    """Who has a lock is known only where somebody waited: on average it comes near, and not as near."""
    near: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(first, first + LOT):
        rng = random.Random(seed)
        before = Rivals(clients(rng, 6, 12, taking_some("KLM", "X", 2_000_000), 6_000_000), 0, 8)
        trace, told = told_by(before)
        for is_told, found in near.items():
            found.append(mean_ratio(simulated(trace, 8, told=told if is_told else None), before.latency))
    assert near[True] == [1] * LOT
    assert np.mean(near[False]) == pytest.approx(1, abs=0.1)
    assert np.std(near[False]) > 0.005


@lots(200)
def test_servers_of_a_queue_that_take_locks(first: int) -> None:
    """Whichever thread takes a task takes its locks: comes out but for the looks for tasks, of some ns."""
    for seed in range(first, first + LOT):
        with named(seed):
            rng = random.Random(seed)
            inside = taking_some("KLM", "SX", 2_000_000)
            makers = [
                [
                    step
                    for i in range(40)
                    for step in (("work", "m", 8 * rng.randint(1, 300_000)), ("put", f"{k}.{i}", inside(rng)))
                ]
                for k in range(2)
            ]
            before = Rivals(makers, 3, 9)
            trace, told = told_by(before)
            assert simulated(trace, 9, told=told) == pytest.approx(before.latency, abs=80 * LOOK)


@lots(300)
def test_it_ends_whatever_is_told(first: int) -> None:
    """Locks that nobody gives back, that several have at once, or that are given back before they are asked for."""
    seen: Counter[str] = Counter()
    for seed in range(first, first + LOT):
        with named(seed):
            rng = random.Random(seed)
            for data in (random_history(seed), lock_convoy(seed)[0], worker_pool(seed)[0], Schedule(seed).data):
                trace = trace_from_dict(data)
                told = logged(any_steps(rng, trace, rng.randint(1, 60)))
                seen["told"] += len(told.lock)
                for cpus in (1, 2):
                    found = simulated(trace, cpus, told=told)
                    assert all(ns == ns and ns > -np.inf for ns in found.values())
    assert seen["told"] > LOT


def test_a_report_says_that_locks_were_told() -> None:
    before = Rivals(clients(random.Random(7), 6, 12, taking_some("KLM", "X", 2_000_000), 6_000_000), 0, 8)
    trace, _ = told_by(before)
    trace = replace(trace, recorded=[Recorded(cpus=8)])
    told, guessed = (
        Replays(load([Loaded(trace, steps)], AnalysisOptions()), Model(way=SIMULATION)).predict([parse("f=1")])
        for steps in (steps_of(before, trace), None)
    )
    assert told.found.nearness == {"mean": 1, "variance": 1, "p99": 1} and not told.warnings
    assert f"who had which lock is what the program told, of {told.found.told} locks that were taken" in render(told)
    assert guessed.found.nearness is not None and guessed.found.nearness["mean"] != 1
    assert "the program told" not in render(guessed)
    assert (whatif_json(told)["locks_told"], whatif_json(guessed)["locks_told"]) == (told.found.told, 0)


@pytest.mark.parametrize(
    ("base_ns", "told", "guessed", "helps"),
    [(88, 0, 5, True), (112, 0, 5, True), (95, 0, 5, False), (88, 7, 5, False), (88, 0, 0, False)],
)
def test_that_telling_would_help_is_said_where_it_would(base_ns: float, told: int, guessed: int, helps: bool) -> None:
    """Where it is off, nobody told, and waits were for locks that are no mutexes."""
    base, none = np.full(3, float(base_ns)), np.zeros((0, 3))
    found = Simulated(np.ones(3, np.bool_), np.zeros(3), base, none, none, told, guessed)
    assert ("vprof record --locks tells more" in found.unknown(np.full(3, 100.0))) is helps
