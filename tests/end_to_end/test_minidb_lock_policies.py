"""minidb's lock policies decide as those of vprof.scheduling do: whatever `vprof whatif --locks` replays, it runs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from minidb_parts import answers, linked

from vprof.scheduling.policies import POLICIES, Policy, Rs, choose, policy_named

NAMES = [name for name in POLICIES if name != "hldsf"]
"""hldsf wants to know how long a transaction goes on, which no server knows."""
ROWS, MOST, ACTIVE, MAX_LOCKS = 12, 600, 14, 8
Mode = str


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return linked(tmp_path_factory.mktemp("minidb"), "lock_schedule")


class Model:
    """The lock table as the lock manager should have it; hand-overs are those of `choose`."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.born: dict[int, int] = {}
        self.modes: dict[tuple[int, int], Mode] = {}
        self.holders: dict[int, list[int]] = {row: [] for row in range(ROWS)}
        self.waiters: dict[int, list[tuple[int, int]]] = {row: [] for row in range(ROWS)}  # (when, transaction)
        self.ahead = dict.fromkeys(range(ROWS), 0)
        self.time = 0
        self.decisions = self.unlike_fifo = 0

    def waits(self) -> dict[int, set[int]]:
        return {txn: {row} for row, queue in self.waiters.items() for _, txn in queue}

    def held(self, txn: int) -> list[int]:
        return [row for row, holders in self.holders.items() if txn in holders]

    def lock(self, txn: int, row: int, mode: Mode) -> str:
        self.time += 1
        self.modes[txn, row] = mode
        holders = self.holders[row]
        all_share = all(m == "S" for m in (mode, *(self.modes[holder, row] for holder in holders)))
        if not holders or (all_share and not self.waiters[row]):
            holders.append(txn)
            return "granted"
        self.waiters[row].append((self.time, txn))
        return "waits"

    def end(self, txn: int) -> list[str]:
        rows = self.held(txn)
        for row in rows:
            self.holders[row].remove(txn)
        for row in rows:
            if not self.holders[row] and self.waiters[row]:
                self._hand_over(row)
        return [f"{row}:{''.join(f' {holder}' for holder in self.holders[row])}" for row in rows]

    def _hand_over(self, row: int) -> None:
        if self.policy.starves and not self.ahead[row]:
            self.ahead[row] = len(self.waiters[row])
        eligible = self.waiters[row][: self.ahead[row] if self.policy.starves else None]
        latest = max(self.born.values())
        queue = [(txn, self.modes[txn, row], when, latest - self.born[txn]) for when, txn in eligible]
        waits, holds = self.waits(), {thing: set(holders) for thing, holders in self.holders.items()}
        granted = [int(str(txn)) for txn in choose(self.policy, queue, waits, holds)]
        self.decisions += len(queue) > 1
        self.unlike_fifo += granted != choose("fifo", queue, waits, holds)
        self.waiters[row] = [one for one in self.waiters[row] if one[1] not in granted]
        self.ahead[row] -= len(granted) if self.policy.starves else 0
        self.holders[row] = granted


def schedule(seed: int, model: Model) -> tuple[list[str], list[str]]:
    """Random steps, and what they should print. Transactions ask for rows in ascending order, those in front more
    often than those behind, so that some keep waiting others who keep waiting others."""
    rng = random.Random(seed)
    steps: list[str] = []
    expected: list[str] = []
    active: list[int] = []
    begun = 0
    while begun < MOST or active:
        waiting = model.waits()
        ready = [txn for txn in active if txn not in waiting]
        if begun < MOST and len(active) < ACTIVE:
            model.born[begun] = begun // 2 + rng.randrange(6)
            steps.append(f"begin {begun} {model.born[begun]}")
            active.append(begun)
            begun += 1
            continue
        txn = rng.choice(ready)
        held = model.held(txn)
        above = range(max(held, default=-1) + 1, ROWS)
        if above and len(held) < MAX_LOCKS and rng.random() < 0.75:
            row, mode = min(rng.choice(above), rng.choice(above)), rng.choice("SSX")
            steps.append(f"lock {txn} {row} {mode}")
            expected.append(model.lock(txn, row, mode))
        else:
            active.remove(txn)
            steps.append(f"end {txn}")
            expected += model.end(txn)
    return steps, expected


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_on_a_forced_schedule_locks_are_handed_over_as_choose_says(program: Path, name: str, seed: int) -> None:
    model = Model(Rs(seed) if name == "rs" else policy_named(name))
    steps, expected = schedule(seed, model)
    assert model.decisions > 100
    assert (model.unlike_fifo > 10) == (name != "fifo"), "else the schedule shows nothing"
    assert answers(program, name, seed, steps="\n".join(steps)) == expected


def test_requests_behind_the_barrier_wait_for_all_before_it(program: Path) -> None:
    """3 holds the row, 4 waits with two behind it, 5 with none. 6, which comes when the first has been chosen, has
    three behind it, and still waits until 5 had the row."""
    begins = [f"begin {txn} {txn}" for txn in range(3, 12)]
    steps = [
        *begins,
        *("lock 4 0 X", "lock 6 1 X", "lock 3 2 X"),
        *("lock 7 0 X", "lock 8 0 X"),
        *("lock 9 1 X", "lock 10 1 X", "lock 11 1 X"),
        *("lock 4 2 X", "lock 5 2 X", "end 3", "lock 6 2 X"),
        *("end 4", "end 5"),
    ]
    printed = answers(program, "ldsf", 0, steps="\n".join(steps))
    assert printed[-5:] == ["2: 4", "waits", "0: 7", "2: 5", "2: 6"]


def test_who_waits_for_two_sharers_counts_once(program: Path) -> None:
    """Behind 8 wait 1 and 2, who share, with 3 behind both of them: 3 in all; and 4, for itself, with 3 behind it."""
    steps = [
        *(f"begin {txn} {txn}" for txn in range(1, 9)),
        *("lock 1 0 S", "lock 2 0 S", "lock 3 0 X"),
        *("lock 4 1 X", "lock 5 1 X", "lock 6 1 X", "lock 7 1 X"),
        *("lock 8 2 X", "lock 1 2 S", "lock 2 2 S", "lock 4 2 X", "end 8"),
    ]
    assert answers(program, "ldsf", 0, steps="\n".join(steps))[-1] == "2: 4"
