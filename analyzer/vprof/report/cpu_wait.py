"""The first line of a report whose first factor is mostly waiting for a CPU, which is no cause in the program."""

from __future__ import annotations

from vprof.variance.analysis import Analysis


def sentence(analysis: Analysis) -> str:
    """Without a full stop; "" if most of the first factor is something else."""
    cpu = analysis.leading_cpu
    if not cpu or not cpu.is_most:
        return ""
    waiting, share = 100 * cpu.waiting, 100 * cpu.share
    kinds = sorted((row for row in cpu.by_kind.items() if row[1] > 0), key=lambda row: (-row[1], row[0]))
    listed = ", ".join(f"{kind} {100 * value:.0f} %" for kind, value in kinds)
    name = " with ".join(cpu.functions)
    return f"{name}: {waiting:.0f} of its {share:.0f} % of the variance is waiting for a CPU ({listed})"
