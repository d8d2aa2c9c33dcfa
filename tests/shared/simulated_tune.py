"""Sweeps of `vprof tune` whose runner is simulated: what each setting does to the metrics is known."""

from itertools import count
from math import exp
from pathlib import Path

import numpy as np

from vprof.compare.diff_factors import Contributions
from vprof.errors import VprofError
from vprof.target.knobs import Knob
from vprof.tune.file import Asked, TuneFile
from vprof.tune.settings import Setting
from vprof.tune.sweep import Measure, Sweep, Taken

KNOB = Knob("delay", "server_option", "-c delay={value}", "whole", ("0",), False, "nothing", ("flush",))
RISKY = Knob("sync", "server_option", "-c sync={value}", "choice", ("on", "off"), True, "durability", ("flush",))


def names(count: int) -> list[Setting]:
    return [Setting(), *(Setting((KNOB.assigned(str(i)),)) for i in range(1, count + 1))]


class Simulated:
    """Logarithms of a run's metrics are normal around what `effects` gives for the setting: factors of the variance, of
    the mean by `means`. `sd` of the variance; the others have a tenth of it."""

    def __init__(
        self,
        effects: dict[str, float],
        sd: float = 0.15,
        seed: int = 1,
        means: dict[str, float] | None = None,
        failing: dict[str, str] | None = None,
    ) -> None:
        self.effects, self.sd, self.means, self.failing = effects, sd, means or {}, failing or {}
        self.chance = np.random.default_rng(seed)
        self.ran: list[str] = []

    def __call__(self, setting: Setting, round_: int) -> Taken:
        name = setting.name
        self.ran.append(name)
        if name in self.failing:
            raise VprofError(self.failing[name])
        variance = 1e12 * self.effects.get(name, 1.0) * exp(self.chance.normal(0, self.sd))
        mean = 1e6 * self.means.get(name, 1.0) * exp(self.chance.normal(0, self.sd / 10))
        metrics = {"variance": variance, "mean": mean, "p99": 3 * mean + variance**0.5, "cv": variance**0.5 / mean}
        metrics |= {"p50": mean, "p99.9": 5 * mean, "max": 9 * mean, "l2": mean, "throughput": 100.0}
        factors = {("variance", ("flush",)): variance * 0.8, ("variance", ("work",)): 2e11}
        return Taken(1000, metrics, "", Contributions(variance, factors, frozenset(), ""))


def sweep(folder: Path, settings: list[Setting], measure: Measure, seed: int = 1, **more: float) -> Sweep:
    asked = Asked(target="toy", settings=[one.name for one in settings], seed=seed)
    file = TuneFile(folder / f"{seed}.json", asked)
    file.save = lambda: None  # type: ignore[method-assign]
    one = Sweep(file, settings, measure, most_runs=int(more.get("most_runs", 20)), budget=more.get("budget", 0.0))
    times = count()
    one.clock = lambda: float(next(times))  # it is looked at before a run and after it: each takes a second
    return one
