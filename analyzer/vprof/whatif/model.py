"""How latencies under a change are found, and what that takes for granted where a trace cannot tell: one line of every
report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vprof.tables.model import Recorded

REPLAY, SIMULATION = "replay", "simulation"
WAYS = (REPLAY, SIMULATION)
"""Of the replay (replay.py) each wait ends as it did, when that has come which ended it, and waits for a CPU last as
long as they did. The simulation (simulation.py) lets threads compete for CPUs, locks and tasks anew."""
AUTO = "auto"
"""The simulation where it can be made, and comes near enough to what was recorded; else the replay."""


@dataclass(frozen=True)
class Model:
    """`is_open`: requests arrive when they did, whatever became of those before; None: if the traces say that the load
    was such a one. `way`: one of WAYS, or AUTO."""

    is_open: bool | None = None
    way: str = AUTO

    def settled(self, recorded: Sequence[Recorded]) -> Model:
        """By what traces say of their recording. A load that waited for answers would have asked at other times, one
        that offers a rate would not: replayed as if it waited, its connections wait for one another ever longer."""
        if self.is_open is not None:
            return self
        return replace(self, is_open=bool(recorded) and all(one.offered_rate for one in recorded))

    def of(self, way: str) -> str:
        """What it takes for granted, one of WAYS being used."""
        clients = "requests arrive when they did" if self.is_open else "clients think as long as they did"
        if way == SIMULATION:
            return f"CPUs, locks and shared queues serve who comes first, {clients}"
        return f"hand-overs keep their order, {clients}, waits for a CPU stay as recorded"


USUAL = Model()

MODEL_ERROR = {
    REPLAY: {"mean": (0.44, 0.0), "variance": (0.51, 0.0), "p99": (0.50, 0.0)},
    SIMULATION: {"mean": (0.10, 0.03), "variance": (0.03, 0.05), "p99": (0.11, 0.06)},
}
"""By way and figure how far a measured ratio may lie below and above the predicted interval, in parts of what the
figure is now: what 80 % of the cases of bench/whatif_validation.py need (bench/results/whatif.md)."""
JUDGED = tuple(MODEL_ERROR[REPLAY])
"""The figures of which that is known."""
