"""What changes of the factors would gain, for the page: figures of each, and latencies now and then as curves.

traces + Analysis -> whatif/prediction.py  =  {`at`: parts of the intervals, `now_ns`: latencies that these do not
exceed, `model`: what the predictions rest on, `tried`: [{`factor`: which, `changes`, `ratios`: {figure: then / now},
`then_ns`, `why_not`}]}
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vprof.tables.model import Float, Int64
from vprof.variance.analysis import Analysis
from vprof.whatif import prediction
from vprof.whatif.model import USUAL
from vprof.whatif.prediction import Tried

_FIGURES = ("variance", "p99", "mean", "throughput")
_AT = np.r_[np.linspace(0, 0.98, 99), np.linspace(0.981, 1, 20)]
"""Of which parts of the intervals the curves are made: the tail is drawn more finely."""


def gains(analysis: Analysis) -> tuple[dict[str, Any] | None, str]:
    """And why there are none, "" if there are."""
    if analysis.no_ranking:
        return None, analysis.no_ranking
    if not analysis.factors:
        return None, "no factor is large enough to be changed"
    tried = prediction.gains(analysis, [ranked.factor for ranked in analysis.factors])
    if not any(one.changes for one in tried):
        return None, tried[0].why_not
    number = {id(ranked.factor): i for i, ranked in enumerate(analysis.factors)}
    rows = [_row(one, number[id(one.factor)]) for one in tried]
    found = [one.found for one in tried if one.found]
    settled = USUAL.settled(analysis.trace.recorded)
    said = [settled.of(one.way) for one in found] + [one.doubt for one in found if one.doubt]
    model = "; ".join(dict.fromkeys(said))
    return {"at": _AT.tolist(), "model": model, "now_ns": _curve(analysis.tree.latency_ns), "tried": rows}, ""


def _row(one: Tried, factor: int) -> dict[str, Any]:
    return {
        "factor": factor,
        "changes": [change.text for change in one.changes],
        "ratios": {name: one.outcome[name].ratio for name in _FIGURES} if one.outcome else {},
        "then_ns": _curve(one.found.predicted_ns) if one.found else [],
        "why_not": one.why_not,
    }


def _curve(ns: Float | Int64) -> list[float]:
    quantiles = np.asarray(np.quantile(ns, _AT, method="inverted_cdf"))
    return [round(float(value), 1) for value in quantiles]
