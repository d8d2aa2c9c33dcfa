"""What reports say first of waiting for a CPU, which is no cause in the program."""

from __future__ import annotations

from vprof.report.units import percent
from vprof.variance.analysis import MUCH_CPU_WAIT, Analysis
from vprof.variance.cpu_share import cpu_share


def sentence(analysis: Analysis) -> str:
    """Without a full stop; "" if it is too little to be said."""
    shares = cpu_share(analysis.tree)
    total = sum(shares.values())
    first = analysis.leading_cpu
    if first and first.is_most:
        name = " with ".join(first.functions)
        waiting, share = 100 * first.waiting, 100 * first.share
        said = f"{name}: {waiting:.0f} of its {share:.0f} % of the variance is waiting for a CPU"
        return f"{said} ({_listed(first.by_kind)})"
    if total < MUCH_CPU_WAIT:
        return ""
    where = "apart from the functions" if analysis.options.cpu_apart else "counted in the functions that waited"
    return f"{percent(total)} of the variance is waiting for a CPU ({_listed(shares)}), {where}"


def leads(analysis: Analysis) -> bool:
    """As much of the variance is waiting for a CPU as any factor holds, or that is what the first one is."""
    if not analysis.factors:
        return True
    first = analysis.leading_cpu
    is_most = bool(first and first.is_most)
    return is_most or sum(cpu_share(analysis.tree).values()) >= analysis.factors[0].factor.share


def _listed(shares: dict[str, float]) -> str:
    kinds = sorted((row for row in shares.items() if row[1] > 0), key=lambda row: (-row[1], row[0]))
    return ", ".join(f"{kind} {100 * value:.0f} %" for kind, value in kinds)
