"""Runs a script with a policy: what the compiled replay (machine.py) takes and gives.

Script + Policy + seed  ->  Run: when each transaction began and ended, deadlocks, restarts, waits
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from vprof.errors import UsageError
from vprof.scheduling.machine import go
from vprof.scheduling.policies import DELAYS, POLICIES
from vprof.scheduling.script import Script
from vprof.scheduling.tables import (
    C_ROWS,
    E_COLUMNS,
    H_COLUMNS,
    N_DEADLOCKS,
    N_ENTRIES,
    N_RESTARTS,
    N_SLOTS,
    N_WAITS,
    S_COLUMNS,
    Rows,
    Rules,
    State,
    new_state,
)
from vprof.tables.columns import i64
from vprof.tables.model import NONE, Float, Int64

_NEVER = 2**63 - 1
_FIRST_SLOTS = 64


@dataclass(frozen=True)
class Options:
    """`sizes`: exact or effective; `union` and `delay` of bldsf; `barrier`: for the policies that may let a request
    wait for ever; `servers`: of objects by name with more than one."""

    sizes: str = "exact"
    union: str = "sum"
    delay: str = "log2"
    barrier: bool = True
    servers: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """By transaction in the order of beginning, those that follow others last: `txn`, its number in the script, and
    when it was born and ended, ns."""

    txn: Int64
    born: Int64
    ended: Int64
    deadlocks: int
    restarts: int
    waits: int

    @property
    def latency_ns(self) -> Int64:
        return self.ended - self.born

    @property
    def throughput(self) -> float:
        """Transactions a second, from the first birth to the last end."""
        length = float(self.ended.max() - self.born.min())
        return len(self.ended) / length * 1e9 if length else 0.0


def run(script: Script, policy: str, options: Options | None = None, seed: int = 0) -> Run:
    """`seed`: of what is random: the policy `rs`, when transactions arrive (`rate`), and, unless it is 0, the order in
    which clients take them. Raises UsageError for servers of objects that the script does not have."""
    options = options or Options()
    rng = np.random.default_rng(seed)
    order = np.arange(script.count, dtype=np.int64)
    if script.clients is not None and seed:
        rng.shuffle(order)
    born, follows, gap = _births(script, rng), np.full(script.count, NONE, np.int64), np.zeros(script.count, np.int64)
    firsts = script.count
    if script.follows is not None:
        firsts = int((script.follows == NONE).sum())
        order, born = _follow(script, born, follows, gap)
    ended = np.zeros(script.count, np.int64)
    rows = Rows(script.first, script.work, script.lock, order, born, ended, follows, gap, firsts)
    rules = _rules(script, policy, options)
    state = new_state(int(rules.servers[-1]), _FIRST_SLOTS, seed)
    while not go(rows, rules, state):
        state, rules = _roomier(state, rules, options)
    number = state.number
    ended = rows.ended if script.tail is None else i64(rows.ended + script.tail[order])
    return Run(order, rows.born, ended, int(number[N_DEADLOCKS]), int(number[N_RESTARTS]), int(number[N_WAITS]))


def _births(script: Script, rng: np.random.Generator) -> Int64:
    if script.clients is not None:
        born = np.full(script.count, _NEVER, np.int64)
        born[: script.clients] = 0
        return born
    if script.rate is not None:
        return i64(np.cumsum(rng.exponential(1e9 / script.rate, script.count)))
    assert script.born is not None
    return script.born.copy()


def _follow(script: Script, born: Int64, follows: Int64, gap: Int64) -> tuple[Int64, Int64]:
    """Fills the last two by place; returns the order of the places, and when those begin that follow none."""
    assert script.follows is not None and script.gap is not None
    is_first = script.follows == NONE
    order = np.r_[np.flatnonzero(is_first), np.flatnonzero(~is_first)]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    later = np.flatnonzero(~is_first)
    before = place[script.follows[later]]
    follows[before], gap[before] = place[later], script.gap[later]
    return i64(order), i64(np.where(is_first, born, _NEVER)[order])


def _rules(script: Script, policy: str, options: Options) -> Rules:
    servers = np.ones(script.object_count, np.int64)
    places = {name: k for k, name in enumerate(script.objects)} if options.servers else {}
    for name, count in options.servers.items():
        if name not in places:
            raise UsageError(f"no object '{name}' in the script to give {count} servers")
        servers[places[name]] = count
    return Rules(
        list(POLICIES).index(policy),
        options.barrier and POLICIES[policy].starves,
        options.sizes == "effective",
        options.union == "exact" and options.sizes != "effective",
        script.clients is not None,
        _delays(options.delay, _FIRST_SLOTS),
        np.concatenate([[0], np.cumsum(servers)]).astype(np.int64),
    )


def _delays(name: str, most: int) -> Float:
    """By how many share, from 0 on."""
    return np.array([1.0, *(DELAYS[name](k) for k in range(1, most + 1))])


def _roomier(state: State, rules: Rules, options: Options) -> tuple[State, Rules]:
    """Twice as many of what there was too few of. What is scratch needs no copy."""
    slots, entries = len(state.slot), len(state.entry)
    if state.number[N_SLOTS] == slots:
        slots *= 2
    if state.number[N_ENTRIES] == entries:
        entries *= 2
    larger = state._replace(
        slot=_larger(state.slot, slots, S_COLUMNS),
        entry=_larger(state.entry, entries, E_COLUMNS),
        heap=_larger(state.heap, slots, H_COLUMNS),
        scratch=np.zeros((C_ROWS, slots), np.int64),
    )
    return larger, rules._replace(delay=_delays(options.delay, slots))


def _larger(table: Int64, rows: int, columns: int) -> Int64:
    larger = np.zeros((rows, columns), np.int64)
    larger[: len(table)] = table
    return larger
