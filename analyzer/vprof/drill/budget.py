"""What the time of a drill-down goes to, known before it begins.

--budget, --step-seconds, --max-steps  ->  steps, and what is kept for the confirmation
how many intervals end in the first seconds  ->  whether there can be an answer
"""

from __future__ import annotations

from dataclasses import dataclass

from vprof.variance.statistics import BLOCK_TIMES, MIN_BLOCKS

LEAST_STEPS, MOST_STEPS = 2, 6
"""The confirmation is so many times as long as a step at least, and at most (drill/length.py); with as much again
without probes, slice by slice in turn."""

PATIENCE = 4
"""A measurement that does not tell enough goes on, up to this many times its length; a confirmation with a budget as
long as there is time."""

_KEPT = 3
"""One part of so many is kept for the confirmation."""

FEWEST = MIN_BLOCKS * BLOCK_TIMES
"""Intervals that a share needs to be sure, if each is independent of the others."""


@dataclass(frozen=True)
class Budget:
    """`seconds` in all (0: as long as it takes), for at most `max_steps` measurements of `step_seconds` and the
    confirmation."""

    seconds: float
    step_seconds: float
    max_steps: int

    @property
    def kept(self) -> float:
        """Seconds of recording that steps leave to the confirmation until it is known what it needs: a third, as far
        as it can use them."""
        return max(self.least_kept, min(2 * MOST_STEPS * self.step_seconds, self.seconds / _KEPT))

    @property
    def least_kept(self) -> float:
        return 2 * LEAST_STEPS * self.step_seconds

    @property
    def steps(self) -> int:
        """As many as there is time for, if none has to go on and analyzing takes no time."""
        fitting = int((self.seconds - self.kept) / self.step_seconds) if self.seconds else self.max_steps
        return max(1, min(self.max_steps, fitting))

    @property
    def longest_confirmation(self) -> float:
        """With the probes on; if steps and its part without probes leave it half of the budget."""
        return self.seconds / 2 if self.seconds else MOST_STEPS * self.step_seconds * PATIENCE

    def expected(self, intervals: int, seconds: float) -> int:
        """How many intervals the longest confirmation has, if as many end as in these seconds."""
        return round(intervals / seconds * self.longest_confirmation)
