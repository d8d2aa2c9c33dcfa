"""Scripts from lock events: what was replayed and recorded is the script that it was, and is met when replayed."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lock_reference import Replay, Txn
from properties import LOT, lots, named

from vprof.scheduling import policy_named
from vprof.scheduling.ages import locked
from vprof.scheduling.comparison import NotMetError, calibrate
from vprof.scheduling.history import taken
from vprof.scheduling.script import Script
from vprof.scheduling.simulator import run
from vprof.scheduling.traced import script_of
from vprof.tables.model import NONE
from vprof.trace.locks import (
    EXCLUSIVE,
    GRANT,
    RELEASE,
    RELEASE_ALL,
    REQUEST,
    SHARED,
    LockNames,
    LockSteps,
    LockTrace,
)

Steps = list[tuple[int, int, str]]
MODES = {"S": SHARED, "X": EXCLUSIVE}
LATE = 3
"""A grant is recorded so much later at most than the lock is to be had."""


class Recorded(Replay):
    """Notes the steps, as a server would write them: grants by those who waited, a moment late."""

    def __init__(
        self,
        scripts: list[Steps],
        policy: str,
        born: list[int],
        rng: random.Random,
        then: dict[int, tuple[int, int]] | None = None,
    ) -> None:
        self.rng, self.steps = rng, list[tuple[int, ...]]()
        super().__init__(scripts, policy_named(policy), born, then=then)

    def note(self, t: int, step: int, owner: Txn, thing: int = 0, mode: str = "") -> None:
        self.steps.append((t, step, MODES.get(mode, 0), thing, owner.place))

    def asks(self, txn: Txn, thing: int, mode: str) -> bool:
        self.note(self.now, REQUEST, txn, thing, mode)
        at_once = super().asks(txn, thing, mode)
        if at_once:
            self.note(self.now + self.rng.randint(0, LATE), GRANT, txn, thing)
        return at_once

    def got(self, txn: Txn, lock: Any) -> None:
        self.note(self.now + self.rng.randint(0, LATE), GRANT, txn, txn.steps[txn.at][1])
        super().got(txn, lock)

    def release(self, txns: list[Txn]) -> None:
        for txn in txns:
            self.note(self.now, RELEASE_ALL, txn)
        super().release(txns)


def trace_of(
    steps: list[tuple[int, ...]], begin: list[int], end: list[int], types: list[str] | None = None
) -> LockTrace:
    """Each interval's end gives back what is left."""
    steps = steps + [(t, RELEASE_ALL, 0, 0, k) for k, t in enumerate(end)]
    steps.sort(key=lambda step: (step[0], step[1] < RELEASE))
    columns = [np.array(column, np.int64) for column in zip(*steps, strict=True)]
    columns.append(np.zeros(len(steps), np.int64))  # the thread
    begins = np.array(begin, np.int64)
    return LockTrace(
        Path("t"), LockSteps(*columns), begins, begins, np.array(end, np.int64), types or ["t"] * len(end), 0, 0
    )


def random_scripts(rng: random.Random) -> tuple[list[Steps], list[int]]:
    """In ascending order of objects, each once, so that there is no deadlock. All work is longer than LATE."""
    objects = rng.randint(1, 6)
    scripts = []
    for _ in range(rng.randint(1, 40)):
        things = sorted(rng.sample(range(objects), rng.randint(0, objects)))
        work = [10 * rng.randint(1, 20) for _ in range(len(things) + 1)]
        steps = [(ns, thing, rng.choice("SX")) for ns, thing in zip(work, things, strict=False)]
        scripts.append([*steps, (work[-1], NONE, "S")])
    return scripts, sorted(10 * rng.randint(0, 60) for _ in scripts)


def plain(script: Script) -> list[Steps]:
    """With the objects' own numbers."""
    rows = [
        (int(ns), NONE if lock == NONE else int(script.objects[lock >> 1]), "SX"[lock & 1] if lock != NONE else "S")
        for ns, lock in zip(script.work, script.lock, strict=True)
    ]
    return [rows[a:b] for a, b in zip(script.first[:-1], script.first[1:], strict=True)]


@lots(300)
def test_the_script_comes_back_and_its_replay_is_exact(first: int) -> None:
    waits = 0
    for seed in range(first, first + LOT):
        rng = random.Random(seed)
        scripts, born = random_scripts(rng)
        policy = rng.choice(("fcfs", "fifo", "vats", "ldsf"))
        with named(seed):
            replay = Recorded(scripts, policy, born, rng)
            end = [replay.ended[k] for k in range(len(scripts))]
            trace = trace_of(replay.steps, born, end)
            found = script_of(trace, taken(trace.steps), policy)
            assert plain(found.script) == scripts
            assert (found.early, found.script.tail.tolist()) == (0, [0] * len(end))  # type: ignore[union-attr]
            done = run(found.script, policy)
            assert done.ended.tolist() == end
            met = calibrate(found.script)
            assert met and met.mean_ratio == pytest.approx(1)
            waits += done.waits
    assert waits > 100


@lots(100)
def test_clients_think_as_long_as_they_did(first: int) -> None:
    """Recorded with one policy and replayed by another, it is what the other would have done from the start."""
    moved = 0
    for seed in range(first, first + LOT):
        rng = random.Random(seed)
        scripts, born = random_scripts(rng)
        clients = rng.randint(1, min(8, len(scripts)))
        then = {k: (k + clients, 10 * rng.randint(0, 9)) for k in range(len(scripts) - clients)}
        with named(seed):
            recorded = Recorded(scripts, "fifo", born, rng, then)
            order = sorted(range(len(scripts)), key=lambda k: (recorded.born[k], k))
            number = {k: i for i, k in enumerate(order)}
            steps = [(*step[:4], number[step[4]]) for step in recorded.steps]
            times = [[done[k] for k in order] for done in (recorded.born, recorded.ended)]
            trace = replace(trace_of(steps, *times), thread=np.array([k % clients for k in order]))
            script = script_of(trace, taken(trace.steps), "fifo").script
            done = run(script, "fifo")
            assert done.ended.tolist() == [recorded.ended[order[k]] for k in done.txn.tolist()]
            as_it_was = script_of(trace, taken(trace.steps), "fifo", is_open=True).script
            assert as_it_was.follows is None and run(as_it_was, "vats").born.tolist() == times[0]
            other = Replay(scripts, policy_named("vats"), born, then=then)
            done = run(script, "vats")
            assert done.born.tolist() == [other.born[order[k]] for k in done.txn.tolist()]
            assert done.ended.tolist() == [other.ended[order[k]] for k in done.txn.tolist()]
            moved += other.born != recorded.born
    assert moved > 10


def test_a_thread_whose_transactions_overlap_is_no_client() -> None:
    """Nor is one that is not known; the third thread's next transaction begins 5 after the locks of the first."""
    trace = replace(trace_of([], [0, 5, 10, 20, 25, 90], [20, 15, 30, 40, 80, 95]), thread=np.array([1, 2, 1, 2, 3, 3]))
    script = script_of(trace, taken(trace.steps), "fifo").script
    assert script.follows is not None and script.gap is not None
    assert script.follows.tolist() == [NONE, NONE, NONE, 1, NONE, 4]
    assert script.gap.tolist() == [0, 0, 0, 5, 0, 10]
    for thread in (None, np.arange(6), np.zeros(6, np.int64)):
        none = script_of(replace(trace, thread=thread), taken(trace.steps), "fifo").script
        assert none.follows is None and none.gap is None, "then nothing says that clients think"


def test_what_comes_after_the_locks_is_not_held_and_not_lost() -> None:
    steps = [(10, REQUEST, 2, 5, 0), (12, GRANT, 0, 5, 0), (50, RELEASE_ALL, 0, 0, 0)]
    trace = trace_of(steps, [0], [80])
    script = script_of(trace, taken(trace.steps), "fifo").script
    assert (script.work.tolist(), script.tail.tolist()) == ([10, 40], [30])  # type: ignore[union-attr]
    assert run(script, "fifo").latency_ns.tolist() == [80]


def test_a_lock_given_back_early_is_left_out() -> None:
    steps = [
        *((10, REQUEST, 2, 5, 0), (12, GRANT, 0, 5, 0), (20, RELEASE, 0, 5, 0)),
        *((30, REQUEST, 2, 6, 0), (30, GRANT, 0, 6, 0)),
    ]
    trace = trace_of(steps, [0], [80])
    found = script_of(trace, taken(trace.steps), "fifo")
    assert plain(found.script) == [[(30, 6, "X"), (50, NONE, "S")]]
    assert (found.early, found.waited_early, found.left_out) == (1, 0, 0)


ROW_WAIT = [
    *((0, REQUEST, 2, 5, 0), (0, GRANT, 0, 5, 0), (2, REQUEST, 2, 90, 0), (2, GRANT, 0, 90, 0)),
    *((10, REQUEST, 2, 5, 1), (11, REQUEST, 2, 7, 1), (12, GRANT, 0, 7, 1), (13, REQUEST, 1, 90, 1)),
    *((40, RELEASE_ALL, 0, 0, 0), (41, GRANT, 0, 90, 1), (42, RELEASE, 0, 90, 1), (43, GRANT, 0, 5, 1)),
    (44, RELEASE, 0, 7, 1),
]
"""As PostgreSQL waits for row 5: 1 first takes 7, its place in the queue, and then shares 90, which 0 has until it
ends; at last it has the row, and gives back its place."""


def test_locks_within_the_wait_for_another_are_part_of_that() -> None:
    trace = trace_of(ROW_WAIT, [0, 5], [40, 80])
    found = taken(trace.steps)
    assert found.object.tolist() == [5, 90, 5]
    made = script_of(trace, found, "fifo")
    assert plain(made.script) == [
        [(0, 5, "X"), (2, 90, "X"), (38, NONE, "S")],
        [(5, 5, "X"), (40, NONE, "S")],
    ]
    assert (made.early, made.left_out) == (0, 0)
    assert calibrate(made.script)


def test_an_object_is_called_what_the_program_calls_the_waits_for_it() -> None:
    """Mostly. A call counts if it was under way while somebody waited: it may have begun before the request."""
    trace = trace_of(ROW_WAIT, [0, 5], [40, 80])
    calls = [(12, 43, 1), (9, 12, 2), (9, 10, 1), (44, 50, 2), (50, 60, 2)]
    begin, end, name = (np.array(column, np.int64) for column in zip(*sorted(calls), strict=True))
    names = LockNames(np.full(len(calls), 1), begin, end, name, {1: "row of t", 2: "place in t"})
    hottest = locked(replace(trace, names=names), taken(trace.steps), 3).objects
    assert [(one.object, one.name) for one in hottest] == [("5", "row of t"), ("90", "")]


def test_waits_for_locks_given_back_early_are_told_by_time() -> None:
    """Transaction 0 has 5 until 40, which 1 waits for and gives back before it takes 6, for which it waits, too."""
    steps = [
        *((0, REQUEST, 2, 5, 0), (0, GRANT, 0, 5, 0), (0, REQUEST, 2, 6, 0), (0, GRANT, 0, 6, 0)),
        *((10, REQUEST, 2, 5, 1), (40, RELEASE, 0, 5, 0), (40, GRANT, 0, 5, 1), (45, RELEASE, 0, 5, 1)),
        *((50, REQUEST, 2, 6, 1), (60, GRANT, 0, 6, 1)),
    ]
    trace = trace_of(steps, [0, 5], [60, 80])
    found = script_of(trace, taken(trace.steps), "fifo")
    assert (found.early, found.waited_early, found.left_out) == (1, 1, 0.75)


def test_an_aborted_owner_frees_whoever_waits() -> None:
    """Owner 1 is not analyzed: numbers from the count of intervals on."""
    steps = [
        *((0, REQUEST, 2, 5, 1), (0, GRANT, 0, 5, 1), (5, REQUEST, 2, 5, 0)),
        *((40, RELEASE_ALL, 0, 0, 1), (43, GRANT, 0, 5, 0)),
    ]
    trace = trace_of(steps, [0], [80])
    found = taken(trace.steps)
    mine = found.owner == 0
    assert (found.requested[mine].tolist(), found.free[mine].tolist()) == ([5], [40])


def test_grants_without_a_request_and_upgrades() -> None:
    steps = [
        *((5, GRANT, SHARED, 9, 0), (7, REQUEST, EXCLUSIVE, 9, 0), (8, GRANT, 0, 9, 0)),
        *((9, REQUEST, SHARED, 9, 0), (9, GRANT, 0, 9, 0)),
    ]
    trace = trace_of(steps, [0], [20])
    found = taken(trace.steps)
    assert (found.mode.tolist(), found.requested.tolist(), found.released.tolist()) == ([0, 1], [5, 7], [20, 20])


def test_another_policy_than_the_traced_one_is_not_met() -> None:
    """The worked case (cases/30): who comes to the lock in another order than that of the ages."""
    rows = [(0, 0, 1200), (100, 1000, 300), (500, 600, 300), (1000, 0, 300), (1200, 0, 300)]
    scripts = [[(before, 0, "X"), (takes, NONE, "S")] for _, before, takes in rows]
    born = [at for at, _, _ in rows]
    replay = Recorded(scripts, "vats", born, random.Random(3))
    trace = trace_of(replay.steps, born, [replay.ended[k] for k in range(len(rows))])
    found = taken(trace.steps)
    assert calibrate(script_of(trace, found, "vats").script)
    with pytest.raises(NotMetError, match="by which the script was measured, has a variance"):
        calibrate(script_of(trace, found, "fifo").script)


def test_age_against_what_is_left() -> None:
    """Each waits for the one before; it gets the lock at 100, 200, ...: age and remaining time by hand."""
    steps, begin, end = list[tuple[int, ...]](), list[int](), list[int]()
    for k in range(6):
        begin.append(10 * k)
        end.append(100 * k + 100 + 7 * k)
        granted = max(begin[-1], 100 * k)
        steps += [(begin[-1], REQUEST, 2, 5, k), (granted, GRANT, 0, 5, k), (100 * k + 100, RELEASE_ALL, 0, 0, k)]
    trace = trace_of(steps, begin, end, ["a", "b"] * 3)
    found = locked(trace, taken(trace.steps), 10)
    everyone, a, b = found.ages
    assert (everyone.type, a.type, b.type) == ("", "a", "b")
    age, left = np.array([100 * k - 10 * k for k in range(1, 6)]), np.array([100 + 7 * k for k in range(1, 6)])
    assert everyone.correlation == pytest.approx(np.corrcoef(age, left)[0, 1])
    assert (everyone.age_ns, everyone.remaining_ns) == (age.mean(), left.mean())
    assert (a.decisions, b.decisions, a.correlation) == (2, 3, None)
    [thing] = found.objects
    assert (thing.taken, thing.waits, thing.exclusive, thing.held_ns) == (6, 5, 6, 100)
    assert thing.waited_ns == sum(100 * k - 10 * k for k in range(1, 6))
    assert thing.queue == 5


def test_an_independent_age_has_an_interval_around_zero() -> None:
    rng = random.Random(1)
    steps, begin, end, now = list[tuple[int, ...]](), list[int](), list[int](), 1000
    for k in range(400):
        begin.append(now - rng.randint(1, 900))
        left = rng.randint(1, 900)
        steps += [(begin[-1], REQUEST, 2, 5, k), (now, GRANT, 0, 5, k)]
        now += left
        end.append(now)
    trace = trace_of(steps, begin, end)
    [all_] = locked(trace, taken(trace.steps), 1).ages
    assert all_.ci95 and all_.ci95[0] < 0 < all_.ci95[1]
    assert abs(all_.correlation or 1) < 0.15
