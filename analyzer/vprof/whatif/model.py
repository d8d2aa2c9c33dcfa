"""What a replay takes for granted where the trace cannot tell: one line of every report."""

from __future__ import annotations

from dataclasses import dataclass

CPU_KEPT, CPU_SCALED = "kept", "scaled"
CPU = (CPU_KEPT, CPU_SCALED)
"""What becomes of the time in which a thread could run, and had no CPU: it stays as recorded, or what lies in changed
calls changes with them."""


@dataclass(frozen=True)
class Model:
    """`is_open`: requests arrive when they did, whatever became of those before. `cpu`: one of CPU."""

    is_open: bool = False
    cpu: str = CPU_KEPT

    @property
    def scales_cpu(self) -> bool:
        return self.cpu == CPU_SCALED

    def __str__(self) -> str:
        clients = "requests arrive when they did" if self.is_open else "clients think as long as they did"
        cpu = "stay as recorded"
        if self.scales_cpu:
            cpu = "change with what is changed where they interrupt it, and else stay as recorded"
        return f"hand-overs keep their order, {clients}, waits for a CPU {cpu}"


USUAL = Model()

MODEL_ERROR = {
    CPU_KEPT: {"mean": (0.43, 0.0), "variance": (0.42, 0.0), "p99": (0.53, 0.0)},
    CPU_SCALED: {"mean": (0.43, 0.0), "variance": (0.34, 0.02), "p99": (0.54, 0.0)},
}
"""By figure how far a measured ratio may lie below and above the predicted interval, in parts of what the figure is
now: what 80 % of the cases of bench/whatif_validation.py need (bench/results/whatif.md)."""
JUDGED = tuple(MODEL_ERROR[CPU_KEPT])
"""The figures of which that is known."""
