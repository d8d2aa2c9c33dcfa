"""What reports say first of waiting for a CPU, and of the client's time, which are no causes in the program."""

from __future__ import annotations

from vprof.report.units import percent
from vprof.tables.kinds import L_GAP, PSEUDO
from vprof.variance.analysis import MUCH_APART, Analysis
from vprof.variance.cpu_share import client_share, cpu_share

_LISTED = 0.005


def sentences(analysis: Analysis) -> list[str]:
    """Without full stops; none of what is too little to be said."""
    return [said for said in (_of_cpu(analysis), _of_client(analysis)) if said]


def options(analysis: Analysis) -> list[str]:
    """Those that would take out what the sentences say and is counted in."""
    counted_in = [
        ("--cpu-wait apart", _of_cpu(analysis) and not analysis.options.cpu_apart),
        ("--client-time apart", _of_client(analysis) and not analysis.options.client_apart),
    ]
    return [option for option, applies in counted_in if applies]


def leads(analysis: Analysis) -> bool:
    """As much of the variance is in one of these as any factor holds, or that is what the first one is."""
    if not analysis.factors:
        return True
    first = analysis.leading_cpu
    is_most = bool(first and first.is_most)
    most = max(sum(cpu_share(analysis.tree).values()), client_share(analysis.tree))
    return is_most or most >= analysis.factors[0].factor.share


def _of_cpu(analysis: Analysis) -> str:
    shares = cpu_share(analysis.tree)
    total = sum(shares.values())
    first = analysis.leading_cpu
    if first and first.is_most:
        name = " with ".join(first.functions)
        waiting, share = 100 * first.waiting, 100 * first.share
        said = f"{name}: {waiting:.0f} of its {share:.0f} % of the variance is waiting for a CPU"
        return f"{said} ({_listed(first.by_kind)})"
    if total < MUCH_APART:
        return ""
    where = "apart from the functions" if analysis.options.cpu_apart else "counted in the functions that waited"
    return f"{percent(total)} of the variance is waiting for a CPU ({_listed(shares)}), {where}"


def _of_client(analysis: Analysis) -> str:
    share = client_share(analysis.tree)
    is_first = analysis.factors and analysis.factors[0].factor.functions == [PSEUDO[L_GAP]]
    if share < MUCH_APART or is_first:
        return ""
    where = "apart from the functions" if analysis.options.client_apart else "counted like a function's"
    return f"{percent(share)} of the variance is the client's time ([gap]), {where}"


def _listed(shares: dict[str, float]) -> str:
    """The largest first, without those that round to nothing."""
    kinds = sorted((row for row in shares.items() if row[1] >= _LISTED), key=lambda row: (-row[1], row[0]))
    return ", ".join(f"{kind} {100 * value:.0f} %" for kind, value in kinds)
