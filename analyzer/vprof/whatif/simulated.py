"""Traces simulated with and without changes: what their latencies would be, and how near the simulation comes.

    traces, as a whole, steps of locks + sets of changes  ->  each as it was, and under each set, simulated: Simulated

A simulation without a change is not what was recorded, but like it: other threads win at times, and who had a lock is
known only where somebody waited for it, or the program told (logged.py). So what a change makes of a figure is its
ratio in two simulations, with the change and without. What intervals take with it is told by rank: the recorded latency
of that rank times the ratio of those that have it in the simulations, so that without a change latencies are the
recorded ones.

Threads that have done all they did in the trace leave the others alone. So intervals count that end before the first
thread begins its last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vprof.tables.columns import floats, i64
from vprof.tables.kinds import PREEMPTED
from vprof.tables.model import Bool, Float, Int64, Trace
from vprof.trace.sources import Loaded
from vprof.trace.window import WHOLE
from vprof.whatif.changes import SCHED, STATES, Resolved
from vprof.whatif.graph import Built
from vprof.whatif.logged import Logged
from vprof.whatif.model import Model
from vprof.whatif.replay import Times, as_recorded
from vprof.whatif.resources import plan, resources
from vprof.whatif.scales import Totals, lengths, prepare
from vprof.whatif.simulation import simulate
from vprof.whatif.stretch import Stretch
from vprof.whatif.windows import Looks

MOST_WINDOWS = 20
"""Traces of more windows are not simulated: all of a trace has to be in memory, which takes a gigabyte then."""
NEAR = 0.3
"""How far the mean and the variance of a simulation without a change may be from what was recorded, as a part of it."""
_NEARER = 0.1
"""If its mean is further off, what it does not know may be why."""
_LEAST_USED = 0.5
"""The part of the intervals that has to count."""
_FEW = 0.1
"""A thread that began fewer intervals than this part of the average does not end the count."""


@dataclass(frozen=True)
class Simulated:
    """Of some traces under some sets of changes. By interval: `used`, whether it counts. `begin`, `ns`: by set and
    interval, in the simulation; `base_begin`, `base_ns`: without a change. `told`: how many locks that were taken the
    program told of; `guessed`: waits for locks, no mutexes, of which it did not."""

    used: Bool
    base_begin: Float
    base_ns: Float
    begin: Float
    ns: Float
    told: int
    guessed: int

    def nearness(self, recorded_ns: Float) -> dict[str, float]:
        """By figure what the simulation without a change gives, by what was recorded."""
        base, now = self.base_ns[self.used], recorded_ns[self.used]
        p99 = [np.quantile(ns, 0.99, method="inverted_cdf") for ns in (base, now)]
        found = {"mean": (base.mean(), now.mean()), "variance": (base.var(), now.var()), "p99": tuple(p99)}
        return {name: float(a / b) if b else 1.0 for name, (a, b) in found.items()}

    def why_not(self, recorded_ns: Float) -> str:
        """Why it says too little, "" if it says enough."""
        if self.used.mean() < _LEAST_USED:
            return f"only {100 * self.used.mean():.0f} % of the intervals end before some thread has done all it did"
        near = self.nearness(recorded_ns)
        off = [f"{near[name]:.2f} times the {name}" for name in ("mean", "variance") if abs(near[name] - 1) > NEAR]
        return f"a simulation without a change gives {' and '.join(off)} that was recorded" if off else ""

    def unknown(self, recorded_ns: Float) -> str:
        """What it did not know that may be why it is off, and who would tell; "" if there is no such thing."""
        if self.told or not self.guessed or not self.used.any():
            return ""
        if abs(self.nearness(recorded_ns)["mean"] - 1) <= _NEARER:
            return ""
        return (
            "who has a lock is known only where somebody waited for it: vprof record --locks tells more, if the "
            "program's descriptor has [[lock]] entries"
        )


def by_rank(ns: Float, base: Float, recorded: Float) -> Float:
    """By latency under a change, the recorded one of the same rank times what the change makes of that in the
    simulation. `base`: latencies of the simulation without a change."""
    base, found = np.sort(base), np.empty(len(ns))
    order = np.argsort(ns, kind="stable")
    ratio = np.divide(ns[order], base, out=np.ones(len(ns)), where=base > 0)
    found[order] = np.sort(recorded) * ratio
    return found


def refused(known: Trace, windows: int) -> str:
    """Why traces of so many windows are not simulated, "" if they are. `known`: the bare traces merged."""
    if windows > MOST_WINDOWS:
        return "the traces are too large to be simulated"
    if not known.recorded or any(not one.cpus for one in known.recorded):
        return "the trace does not say how many CPUs there were, as traces of vprof record do"
    return ""


def changes_waits(changes: Sequence[Resolved]) -> str:
    """Why these changes are not simulated, "" if they are."""
    names = (SCHED, *(name for name, state in STATES.items() if state == PREEMPTED))
    if any(resolved.change.name in names for resolved in changes):
        return "waits for a CPU are what a simulation finds, not what can be changed"
    return ""


def joined(parts: Sequence[Simulated]) -> Simulated:
    """Traces as one, one after the other."""
    return Simulated(
        used=np.concatenate([part.used for part in parts]),
        base_begin=np.concatenate([part.base_begin for part in parts]),
        base_ns=np.concatenate([part.base_ns for part in parts]),
        begin=np.concatenate([part.begin for part in parts], axis=1),
        ns=np.concatenate([part.ns for part in parts], axis=1),
        told=sum(part.told for part in parts),
        guessed=sum(part.guessed for part in parts),
    )


def simulated(number: int, trace: Trace, told: Logged, variants: Sequence[Totals], model: Model) -> Simulated:
    """One trace; its times count from its own origin. `told`: who had which logical lock. `variants`: sets of changes
    of which all totals are known. REQUIRES: not `refused`."""
    looks = Looks(Loaded(trace), [one.changes for one in variants], model, told.moments)
    part, built = looks.next(looks.read(trace, WHOLE), WHOLE)
    graph, cpus = built.graph, min(one.cpus or 1 for one in trace.recorded)
    of = resources(built, part.rows, trace.segments, cpus, told)
    unchanged = as_recorded(graph)
    if model.is_open:
        unchanged = unchanged._replace(arrives=built.arrives)
    begins, ends, used = [], [], ~trace.intervals.ignore
    changed = (
        lengths(number, prepare(part, built, one.changes, numbers, scales_cpu=True), one, bool(model.is_open))
        for one, numbers in zip(variants, looks.of_function, strict=True)
    )
    for one in (unchanged, *changed):
        begin, end = _intervals(part, built, simulate(graph, plan(of, one), cpus))
        used &= _counts(trace, begin, end)
        begins.append(begin)
        ends.append(end)
    begin, ns = np.array(begins), np.maximum(np.array(ends) - np.array(begins), 0.0)
    return Simulated(used, begin[0], ns[0], begin[1:], ns[1:], len(told.lock), of.guessed)


def _intervals(part: Stretch, built: Built, times: Times) -> tuple[Float, Float]:
    """When each interval begins and ends."""
    begin, end = np.full((2, len(part.intervals.begin)), np.nan)
    begin[part.begins], end[part.ends] = times.at[built.begin], times.at[built.end]
    return floats(begin), floats(end)


def _counts(trace: Trace, begin: Float, end: Float) -> Bool:
    """The intervals that end before the first of the threads which began many begins its last one."""
    thread = i64(trace.intervals.begin_thread)
    came = ~np.isnan(begin)
    count = np.bincount(thread[came])
    last = np.full(len(count), -np.inf)
    np.maximum.at(last, thread[came], begin[came])
    many: Int64 = np.flatnonzero(count >= max(_FEW * count.sum() / max((count > 0).sum(), 1), 1))
    if not len(many):
        return came & ~came
    found: Bool = ~np.isnan(end) & (end <= last[many].min())
    return found
