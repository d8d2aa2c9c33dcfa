"""Where the intervals' own threads waited, whatever probes were on, and where threads released what others wait for.

    samples of stacks (model.WaitSamples)  ->  by stack: its share of the variance  ->  by function: of all stacks in it

Waits are sampled, and some samples are not taken since that would cost too much, so times and shares are estimates:
what all samples stand for, scaled to how long the threads did wait, which is recorded without stacks. What is measured
with probes says how sure a share is. It tells which functions
to switch on before any of them is (drill/wait_paths.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from vprof.tables.kinds import BLOCKED, DISK, MEMORY, SLEEP
from vprof.tables.model import NONE, Int64, Trace

_WAITING = (BLOCKED, DISK, SLEEP, MEMORY)
"""States of segments in which a stack may be taken at their end."""
Stack = tuple[str, ...]
"""Names of functions, the outermost first."""


@dataclass(frozen=True)
class WaitStack:
    """`share` of the variance of latencies (additive) that is waiting there, `total_ns` of it in all intervals, from so
    many `samples`."""

    functions: Stack
    share: float
    total_ns: int
    samples: int


@dataclass(frozen=True)
class WhereItWaits:
    """`waits`: stacks of the intervals' own threads, greatest share first. `releases`: how often a stack was seen that
    ends waits of others, of all threads."""

    waits: list[WaitStack]
    releases: dict[Stack, int]

    @property
    def share(self) -> float:
        """Of the variance, in all stacks."""
        return sum(wait.share for wait in self.waits)

    def by_function(self) -> dict[str, float]:
        """The share of the waits in each function, directly or below it."""
        shares: dict[str, float] = defaultdict(float)
        for wait in self.waits:
            for name in set(wait.functions):
                shares[name] += wait.share
        return dict(shares)

    @property
    def releases_seen(self) -> int:
        return sum(self.releases.values())


class StackSums:
    """Grows with every `add`. Memory: some numbers for each stack."""

    def __init__(self) -> None:
        self._time: Counter[Stack] = Counter()
        self._product: Counter[Stack] = Counter()
        self._samples: Counter[Stack] = Counter()
        self._releases: Counter[Stack] = Counter()
        self._waited_ns = 0

    def add(self, trace: Trace, analyzed: Int64) -> None:
        """`analyzed`: by interval of the trace, NONE if it is not."""
        samples, stacks = trace.wait_samples, trace.wait_stacks
        latency = trace.intervals.end - trace.intervals.begin
        inside = (samples.interval != NONE) & (samples.interval < len(latency)) & (samples.ns > 0)
        mine = np.flatnonzero(inside)
        mine = mine[np.r_[analyzed, NONE][samples.interval[mine]] != NONE]
        of = samples.interval[mine]
        s = trace.segments
        waiting = np.flatnonzero(np.isin(s.state, _WAITING) & (s.interval != NONE) & (s.interval < len(latency)))
        waiting = waiting[np.r_[analyzed, NONE][s.interval[waiting]] != NONE]
        self._waited_ns += int((s.te - s.ts)[waiting].sum())
        for stack, ns, whole in zip(
            samples.stack[mine].tolist(), samples.ns[mine].tolist(), latency[of].tolist(), strict=True
        ):
            self._time[stacks[stack]] += ns
            self._product[stacks[stack]] += ns * whole
            self._samples[stacks[stack]] += 1
        self._releases.update(stacks[s] for s in samples.stack[samples.ns == 0].tolist() if stacks[s])

    def merge(self, other: StackSums) -> None:
        self._time.update(other._time)
        self._product.update(other._product)
        self._samples.update(other._samples)
        self._releases.update(other._releases)
        self._waited_ns += other._waited_ns

    def where(self, latency: Int64) -> WhereItWaits:
        """`latency` of the analyzed intervals."""
        count, total, variance = len(latency), int(latency.sum()), float(latency.var()) if len(latency) else 0.0
        if variance <= 0:
            return WhereItWaits([], {})
        scale = self._waited_ns / (sum(self._time.values()) or 1)
        waits = []
        for stack, ns in self._time.items():
            share = scale * (self._product[stack] - ns * total / count) / count / variance
            waits.append(WaitStack(stack, share, round(scale * ns), self._samples[stack]))
        return WhereItWaits(
            sorted(waits, key=lambda wait: (-wait.share, wait.functions)), dict(sorted(self._releases.items()))
        )
