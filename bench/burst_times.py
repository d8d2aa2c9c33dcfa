"""What bursts.c measures, round by round, and which of it counts: a core's two hardware threads share its execution.

While the other one is at work, for another guest even, a loop of additions takes longer, and so does a probe, but two
readings of the clock do not: a ratio of the two then says something of the neighbour. So bursts count whose additions
were as fast as anywhere in the run.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

SLOWER = 1.1
"""Additions that take so much longer than the fastest: somebody else was at work in the core."""


@dataclass
class BurstTimes:
    """Of one measured variant: of each round the bursts, as (ns of CPU per call, ns of the additions)."""

    rounds: list[list[tuple[float, float]]] = field(default_factory=list)

    def add(self, output: str) -> None:
        """A round: what `print_bursts` printed; other lines of `output` are left out."""
        lines = [line.split() for line in output.splitlines()]
        self.rounds.append([(float(line[0]), float(line[1])) for line in lines if len(line) == 2])

    def fastest_additions(self) -> float:
        return min(additions for bursts in self.rounds for _, additions in bursts)

    def medians(self, most: float = float("inf")) -> list[float]:
        """Of each round that has any, over bursts whose additions took `most` ns at most."""
        chosen = ([ns for ns, additions in bursts if additions <= most] for bursts in self.rounds)
        return [statistics.median(ns) for ns in chosen if ns]

    def share(self, most: float) -> float:
        """Of the bursts, those whose additions took `most` ns at most."""
        additions = [a for bursts in self.rounds for _, a in bursts]
        return sum(a <= most for a in additions) / len(additions)
