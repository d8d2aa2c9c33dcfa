"""The sweep: rounds in which each setting that stands runs once, in random order, until there are runs enough.

    2 rounds -> their noise -> how many runs are needed -> more rounds, some settings given up on the way

Each round corrects the noise, since that of two runs is hardly known; it is what runs of one setting differ by, so it
tells nothing of which setting is better.

What runs next follows from the runs that are done and the seed alone, so a sweep that was killed goes on as if nothing
had been. The baseline runs first of all: what fails for it fails for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from vprof.compare.across_runs import LEAST_RUNS
from vprof.compare.diff_factors import Contributions
from vprof.errors import VprofError
from vprof.tune.file import Run, TuneFile
from vprof.tune.halving import given_up, logarithms, standing
from vprof.tune.power import pooled_sd, runs_needed
from vprof.tune.settings import BASELINE, Setting

PILOT = 2
"""Rounds before which the noise is not known."""


@dataclass(frozen=True)
class Taken:
    """What one run measured. `said`: what a reader of its figures must know, or ""."""

    count: int
    metrics: dict[str, float | None]
    said: str = ""
    contributions: Contributions | None = None


Measure = Callable[[Setting, int], Taken]
"""Of a setting, in a round. Raises VprofError when it cannot be run."""


@dataclass
class Sweep:
    """`most_runs` of each setting; `budget`: seconds of all runs together, 0: no bound. `tell` gets each run as it
    ends, and of how many in all it is one, as far as that is known."""

    file: TuneFile
    settings: list[Setting]
    measure: Measure
    most_runs: int = 20
    budget: float = 0.0
    tell: Callable[[Run, int], None] = field(default=lambda run, of: None)
    clock: Callable[[], float] = time.monotonic
    _needed: dict[float, int] = field(default_factory=dict, init=False)
    """Runs by noise, which take a while to find."""

    def go(self) -> None:
        """Runs what is not done yet. Raises VprofError when the target cannot be run as it is."""
        for round_ in range(self.most_runs):
            names = self._of_round(round_)
            if not self._goes_on(round_, names):
                return
            for name in names:
                if not self._done(round_, name):
                    self._run(round_, name)

    @property
    def rounds(self) -> int:
        """Those that are whole."""
        return next(round_ for round_ in range(self.most_runs + 1) if not self._is_whole(round_))

    @property
    def names(self) -> list[str]:
        return [setting.name for setting in self.settings]

    def standing(self, rounds: int) -> list[str]:
        asked = self.file.asked
        return standing(self.names, self.file.runs, asked.metric, asked.effect, rounds, self._is_scarce)

    def given_up(self, rounds: int) -> dict[str, str]:
        """By setting that was: why."""
        asked = self.file.asked
        return given_up(self.names, self.file.runs, asked.metric, asked.effect, rounds, self._is_scarce)

    def _is_scarce(self, rounds: int, settings: int, least: bool) -> bool:
        """Whether so many settings cannot have the runs that they need, by what the first rounds took and showed; or
        the `least` of which there is a verdict."""
        spent = [run.took_s for run in self.file.runs if run.round < rounds]
        if not self.budget or not spent:
            return False
        by_now = self.wanted(rounds) if rounds >= LEAST_RUNS else LEAST_RUNS * rounds
        wanted = LEAST_RUNS if least else by_now
        missing = settings * max(0, wanted - rounds)
        return sum(spent) + missing * sum(spent) / len(spent) > self.budget

    def noise(self, rounds: int) -> float | None:
        """Standard deviation of the deciding metric's logarithm within the settings that had all of so many rounds:
        what one that was given up once did says nothing of the others. None: not known before there are two."""
        if rounds < PILOT:
            return None
        groups = logarithms(self.file.runs, self.file.asked.metric, rounds).values()
        sd, freedom = pooled_sd([group for group in groups if len(group) == rounds])
        return sd if freedom else None

    def wanted(self, rounds: int) -> int:
        """Runs of each setting, by the noise of so many rounds."""
        noise = self.noise(rounds)
        if noise is None:
            return LEAST_RUNS
        if noise not in self._needed:
            tried = max(1, len(self.settings) - 1)
            self._needed[noise] = runs_needed(noise, self.file.asked.effect, tried, self.most_runs)
        return self._needed[noise]

    def _of_round(self, round_: int) -> list[str]:
        """In the order in which they run: the same whatever has failed meanwhile."""
        names, stand = self.names, set(self.standing(round_))
        chance = np.random.default_rng([self.file.asked.seed, round_])
        order = [names[i] for i in chance.permutation(len(names)) if names[i] in stand]
        return [BASELINE, *(name for name in order if name != BASELINE)] if round_ == 0 else order

    def _goes_on(self, round_: int, names: list[str]) -> bool:
        if any(self._done(round_, name) for name in names):
            return True  # what was begun is ended: sides with as many runs have the better test
        if len(names) < 2 or (round_ >= PILOT and round_ >= self.wanted(round_)):
            return False
        spent = [run.took_s for run in self.file.runs]
        return not self.budget or not spent or sum(spent) + len(names) * sum(spent) / len(spent) <= self.budget

    def _is_whole(self, round_: int) -> bool:
        done = {run.setting for run in self.file.runs if run.round == round_}
        return round_ < self.most_runs and bool(done) and done.issuperset(self.standing(round_))

    def _done(self, round_: int, name: str) -> bool:
        return any(run.round == round_ and run.setting == name for run in self.file.runs)

    def _run(self, round_: int, name: str) -> None:
        setting = next(one for one in self.settings if one.name == name)
        begun = self.clock()
        try:
            taken = self.measure(setting, round_)
        except VprofError as error:
            if name == BASELINE:
                raise
            run = Run(round=round_, setting=name, took_s=self.clock() - begun, failed=str(error))
        else:
            run = Run(round=round_, setting=name, took_s=self.clock() - begun, **vars(taken))
        self.file.add(run)
        self.tell(run, sum(1 for _ in self._expected(round_)))

    def _expected(self, round_: int) -> Iterator[str]:
        """All runs that are done, and those to come if nothing else is given up."""
        yield from (run.setting for run in self.file.runs)
        now = [name for name in self.standing(round_) if not self._done(round_, name)]
        later = max(0, self.wanted(round_) - round_ - 1)
        yield from now
        yield from self.standing(round_) * later
