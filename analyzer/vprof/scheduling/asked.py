"""What `vprof whatif --locks` was asked for: scripts, policies and options, checked, and their comparison."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from vprof.errors import UsageError
from vprof.lock_options import LockWishes
from vprof.scheduling.comparison import Comparison, compare
from vprof.scheduling.generate import Zipf, zipf
from vprof.scheduling.policies import policy_named
from vprof.scheduling.script import Script
from vprof.scheduling.script_file import read_script
from vprof.scheduling.simulator import Options

_SEEDS = 10
_CLIENTS = 100
_FALLBACK = "fcfs"
_OF_ZIPF = ("theta", "writes", "records", "statements", "transactions", "work_us")


@dataclass(frozen=True)
class Answer:
    """`source`: the script's file, or how it was made. `clients`, `rate`: None if each begins when it was born."""

    comparison: Comparison
    source: str
    clients: int | None
    rate: float | None
    options: Options


def answer(wishes: LockWishes) -> Answer:
    """REQUIRES: a script or a generator is asked for. Raises UsageError for what does not go together, VprofError where
    a traced policy is not met."""
    if wishes.script and wishes.generate:
        raise UsageError("--script and --generate are different transactions: give one")
    if wishes.clients is not None and wishes.rate is not None:
        raise UsageError("--clients and --rate are different loads: give one")
    policies = _policies(wishes.locks or "")
    options = _options(wishes)
    seeds = wishes.seeds or _SEEDS
    if wishes.generate:
        wanted = _zipf(wishes)
        clients = wishes.clients or (None if wishes.rate else _CLIENTS)
        found = compare(
            lambda seed: zipf(wanted, seed, clients, wishes.rate), _with_base(policies, None), seeds, options
        )
        what = f"zipf: {wanted.records} records, {wanted.statements} statements, theta {wanted.theta:g}"
        return Answer(found, f"{what}, {wanted.writes:.0%} writes".replace("%", " %"), clients, wishes.rate, options)
    assert wishes.script
    if given := [f"--{name.replace('_', '-')}" for name in _OF_ZIPF if getattr(wishes, name) is not None]:
        raise UsageError(f"{given[0]} is for --generate: {wishes.script} says what its transactions do")
    script = read_script(wishes.script, wishes.clients, wishes.rate)
    found = compare(lambda seed: script, _with_base(policies, script), seeds, options)
    return Answer(found, str(wishes.script), script.clients, script.rate, options)


def _policies(text: str) -> list[str]:
    return list(dict.fromkeys(policy_named(name).name for name in text.split(",")))


def _with_base(policies: list[str], script: Script | None) -> list[str]:
    """What the others are compared with comes first: the policy that was traced, else the first; one alone is compared
    with fcfs."""
    base = script.traced.policy if script and script.traced else policies[0] if len(policies) > 1 else _FALLBACK
    return list(dict.fromkeys([base, *policies]))


def _options(wishes: LockWishes) -> Options:
    usual = Options()
    return Options(
        wishes.sizes or usual.sizes,
        wishes.union or usual.union,
        wishes.delay_factor or usual.delay,
        usual.barrier if wishes.barrier is None else wishes.barrier,
        _servers(wishes),
    )


def _servers(wishes: LockWishes) -> dict[str, int]:
    found = {}
    for text in wishes.servers:
        match = re.fullmatch(r"(.+)=([0-9]{1,4})", text)
        if not match or not int(match[2]):
            raise UsageError(f"--servers {text}: write OBJECT=N, N from 1 to 9999")
        found[match[1]] = int(match[2])
    return found


def _zipf(wishes: LockWishes) -> Zipf:
    given = {name: getattr(wishes, name) for name in _OF_ZIPF[:-1] if getattr(wishes, name) is not None}
    wanted = replace(Zipf(), **given)
    if wishes.work_us is not None:
        wanted = replace(wanted, work_ns=wishes.work_us * 1e3)
    if wanted.statements > wanted.records:
        raise UsageError(f"{wanted.statements} statements lock different records: give at least as many --records")
    return wanted
