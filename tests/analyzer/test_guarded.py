"""Which calls are made with a lock, as a trace tells it; and what that says of who has the lock."""

import random
from typing import Any

import numpy as np
import pytest
from rivals import Rivals
from test_simulation import clients, mean_ratio, simulated, work

from vprof.trace.json_trace import trace_from_dict
from vprof.whatif import held
from vprof.whatif.guarded import Guards

CPUS = 4


def guards_of(monkeypatch: pytest.MonkeyPatch, inside: Any, change: str, seed: int = 1) -> tuple[Guards, float]:
    """Of a random program, and the mean of its simulation by what was recorded. `inside`: an interval's steps."""
    found = []

    def kept(*given: Any) -> Guards:
        found.append(find(*given))
        return found[-1]

    find = held.find_guards
    monkeypatch.setattr(held, "find_guards", kept)
    program = Rivals(clients(random.Random(seed), 6, 20, inside, 6_000_000), 0, CPUS)
    ratio = mean_ratio(simulated(trace_from_dict(program.trace), CPUS, change), program.latency)
    monkeypatch.setattr(held, "find_guards", find)
    return found[0], ratio


def locked(rng: random.Random, lock: str, *steps: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    return [work(rng, "g", 2_000_000), ("lock", lock), *steps, ("unlock", lock)]


def test_a_function_that_is_called_with_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    guards, ratio = guards_of(monkeypatch, lambda rng: locked(rng, "L", work(rng, "f", 2_000_000)), "f=1")
    assert len(guards.lock) == 6 * 20
    assert np.all(guards.lock == guards.lock[0])
    assert ratio == pytest.approx(1, abs=0.05)


def test_a_function_that_takes_the_lock_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def inside(rng: random.Random) -> list[tuple[Any, ...]]:
        before, *rest = locked(rng, "L", work(rng, "h", 2_000_000))
        return [before, ("enter", "f"), *rest, ("leave", "f")]

    guards, ratio = guards_of(monkeypatch, inside, "f=1")
    assert len(guards.lock) == 6 * 20
    assert ratio == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("part", [0.3, 0.7])
def test_not_one_that_is_called_without_it_as_well(monkeypatch: pytest.MonkeyPatch, part: float) -> None:
    def inside(rng: random.Random) -> list[tuple[Any, ...]]:
        one, other = work(rng, "f", 2_000_000), work(rng, "h", 2_000_000)
        steps = locked(rng, "L", one if rng.random() < part else other)
        return [*steps, work(rng, "f", 2_000_000)] if rng.random() < 0.5 else steps

    assert len(guards_of(monkeypatch, inside, "f=1")[0].lock) == 0


def test_not_one_that_is_never_called_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    guards, _ = guards_of(monkeypatch, lambda rng: locked(rng, "L", work(rng, "f", 2_000_000)), "g=1")
    assert len(guards.lock) == 0


def test_not_one_that_is_called_with_either_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """As rows are locked: each call has one of the locks, none has them all."""
    guards, _ = guards_of(monkeypatch, lambda rng: locked(rng, rng.choice("LM"), work(rng, "f", 3_000_000)), "f=1")
    assert len(guards.lock) == 0


@pytest.mark.parametrize("seed", range(5))
def test_not_one_that_is_called_with_one_of_many_most_often_the_same(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """As a row is that nearly everybody wants: what is called with another one's lock goes on beside it."""

    def inside(rng: random.Random) -> list[tuple[Any, ...]]:
        return locked(rng, "L" if rng.random() < 0.92 else rng.choice("MNOPQ"), work(rng, "f", 3_000_000))

    guards, ratio = guards_of(monkeypatch, inside, "f=1", seed)
    assert len(guards.lock) == 0
    assert ratio == pytest.approx(1, abs=0.25)


def test_of_two_locks_one_in_the_other_both_are_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the inner one: it is never contended."""

    def inside(rng: random.Random) -> list[tuple[Any, ...]]:
        return locked(rng, "L", ("lock", "M"), work(rng, "f", 2_000_000), ("unlock", "M"))

    guards, ratio = guards_of(monkeypatch, inside, "f=1")
    assert len(guards.lock) == 6 * 20
    assert ratio == pytest.approx(1, abs=0.05)
