"""What `vprof whatif --locks` was asked for: scripts, policies and options, checked, and their comparison."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from vprof.errors import UsageError
from vprof.lock_options import LockWishes
from vprof.scheduling.comparison import TOLERANCE, Comparison, NotMetError, calibrate, compare
from vprof.scheduling.generate import Zipf, zipf
from vprof.scheduling.history import taken
from vprof.scheduling.policies import policy_named
from vprof.scheduling.script import Script
from vprof.scheduling.script_file import read_script
from vprof.scheduling.simulator import Options
from vprof.scheduling.traced import FromTrace, script_of
from vprof.trace.locks import LockTrace, read_locks

_SEEDS = 10
_CLIENTS = 100
_FALLBACK = "fcfs"
_USUALLY_TRACED = "fifo"
_OF_ZIPF = ("theta", "writes", "records", "statements", "transactions", "work_us")


@dataclass(frozen=True)
class Answer:
    """`source`: the trace, the script's file, or how it was made. `clients`, `rate`: None if each begins when it was
    born or, where a client of a trace `thinks`, as long after the one before as it did. `notes`: what of the trace is
    not replayed."""

    comparison: Comparison
    source: str
    clients: int | None
    rate: float | None
    options: Options
    notes: list[str] = field(default_factory=list)
    thinks: bool = False


def answer(wishes: LockWishes, trace: Path | None = None, is_open: bool | None = None) -> Answer:
    """`is_open`: of a trace the transactions begin when they did; None: if only that meets it. REQUIRES: a trace, a
    script or a generator is given. Raises UsageError for what does not go together, NotMetError where a traced policy
    is not met."""
    given = [name for name, value in (("--script", wishes.script), ("--generate", wishes.generate)) if value]
    if len([*given, *([trace] if trace else [])]) > 1:
        named = " and ".join(given) if len(given) > 1 else f"a trace and {given[0]}"
        raise UsageError(f"{named} are different transactions: give one")
    if wishes.traced and not trace:
        raise UsageError("--traced is for a trace, which does not say how its program decides")
    if is_open is not None and (not trace or wishes.clients is not None or wishes.rate is not None):
        raise UsageError(f"--{'open' if is_open else 'closed'} is for a trace with its own load")
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
    if given := [f"--{name.replace('_', '-')}" for name in _OF_ZIPF if getattr(wishes, name) is not None]:
        raise UsageError(f"{given[0]} is for --generate: {trace or wishes.script} says what its transactions do")
    if trace:
        return _of_trace(trace, wishes, policies, seeds, options, is_open)
    assert wishes.script
    script = read_script(wishes.script, wishes.clients, wishes.rate)
    found = compare(lambda seed: script, _with_base(policies, script), seeds, options)
    return Answer(found, str(wishes.script), script.clients, script.rate, options)


def _of_trace(
    path: Path, wishes: LockWishes, policies: list[str], seeds: int, options: Options, is_open: bool | None
) -> Answer:
    trace = read_locks(path)
    found = _nearest(trace, policy_named(wishes.traced or _USUALLY_TRACED).name, is_open, options)
    _check(path, found)
    measured = script = found.script
    if wishes.clients is not None or wishes.rate is not None:
        script = replace(script, born=None, clients=wishes.clients, rate=wishes.rate, follows=None, gap=None)
    try:
        compared = compare(lambda seed: script, _with_base(policies, script), seeds, options, measured)
    except NotMetError as e:
        usual = "" if wishes.traced else " (--traced POLICY says how its program decides)"
        raise NotMetError(f"{path}: {e}{usual}") from None
    thinks = script.follows is not None
    return Answer(compared, str(path), script.clients, script.rate, options, _notes(trace, found), thinks)


def _nearest(trace: LockTrace, policy: str, is_open: bool | None, options: Options) -> FromTrace:
    """With clients that think; but with transactions that begin when they did, if only that meets what was measured."""
    had = taken(trace.steps)
    found = script_of(trace, had, policy, bool(is_open))
    if is_open is not None or found.script.follows is None or _is_met(found, options):
        return found
    as_begun = script_of(trace, had, policy, is_open=True)
    return as_begun if _is_met(as_begun, options) else found


def _is_met(found: FromTrace, options: Options) -> bool:
    try:
        calibrate(found.script, options)
    except NotMetError:
        return False
    return True


def _check(path: Path, found: FromTrace) -> None:
    """What is left out is work, as long as it was: a replay meets what was measured, and says nothing of it."""
    if found.left_out > TOLERANCE:
        locks = f"{found.waited_early} lock{'s' * (found.waited_early > 1)}"
        raise NotMetError(
            f"{path}: transactions gave back {locks} that they had waited for before they took their last one,"
            f" {100 * found.left_out:.0f} % of the time waited: a replay keeps locks to the end, so it cannot"
            " tell what other policies would do"
        )


def _notes(trace: LockTrace, found: FromTrace) -> list[str]:
    """What of the trace is not in the script."""
    said = []
    if found.early:
        waits = f", {found.waited_early} of them waited for" if found.waited_early else ""
        said.append(
            f"{found.early} locks{waits} were given back before their transactions took the last one: they are left out"
        )
    if trace.unowned:
        said.append(f"{trace.unowned} lock events belong to no interval: they are left out")
    if trace.lost:
        said.append(f"{trace.lost} records were lost: who held a lock meanwhile may be missing")
    return said


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
