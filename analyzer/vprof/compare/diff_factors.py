"""Which factors gained and which lost: contributions of each run, matched by the names of their functions.

    analysis of each run -> Contributions -> FactorChange: before, after, interval over runs

Builds differ in line numbers and calls, so places are not compared, and runs are loaded with calls together
(load_runs.py); a function that exists on one side only contributes 0 on the other. What was not measured in every run
that has the function is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vprof.compare.across_runs import ALPHA, difference
from vprof.tables.model import Float, Program
from vprof.tables.naming import without_place
from vprof.variance.analysis import Analysis
from vprof.variance.holm import holm

Key = tuple[str, tuple[str, ...]]
"""Kind and functions."""


@dataclass(frozen=True)
class Contributions:
    """Of one run: every factor's contribution, the functions whose probes were off, and why there is no factor."""

    variance_ns2: float
    of: dict[Key, float]
    off: frozenset[str]
    reason: str


@dataclass(frozen=True, kw_only=True)
class FactorChange:
    """Means over runs. `change` is after less before, as a part of the variance before, with its 95 % interval (None:
    too few runs). `found`: gained, lost, or ""; Holm's correction over all factors compared."""

    kind: str
    functions: list[str]
    before_ns2: float
    after_ns2: float
    before: float
    after: float
    change: float
    ci95: tuple[float, float] | None
    p_holm: float | None
    found: str


def contributions_of(analysis: Analysis) -> Contributions:
    """Of a run. Functions that share a name count together."""
    found: dict[Key, float] = {}
    for factor in analysis.ranking:
        key = factor.kind, tuple(sorted(map(without_place, factor.functions)))
        found[key] = found.get(key, 0.0) + factor.contribution_ns2
    off = switched_off(analysis.trace.program)
    return Contributions(analysis.summary.variance_ns2, found, off, analysis.no_ranking)


def switched_off(program: Program) -> frozenset[str]:
    """The names of functions whose probes were off."""
    return frozenset(without_place(n) for n, on in zip(program.functions, program.on, strict=True) if not on)


def compare_factors(
    before: Sequence[Contributions], after: Sequence[Contributions], min_share: float
) -> tuple[list[FactorChange], str, list[str]]:
    """The factors that hold `min_share` of the variance on one side at least, greatest change first; why there is none;
    remarks."""
    reasons = [run.reason for run in (*before, *after) if run.reason]
    if reasons:
        return [], reasons[0], []
    off = frozenset[str]().union(*(run.off for run in (*before, *after)))
    names = {key for run in (*before, *after) for key in run.of}
    measured = {key for key in names if not off.intersection(key[1])}
    total = np.mean([run.variance_ns2 for run in before]), np.mean([run.variance_ns2 for run in after])
    pairs = {key: tuple(np.array([r.of.get(key, 0.0) for r in side]) for side in (before, after)) for key in measured}
    large = {
        key: (old, new)
        for key, (old, new) in pairs.items()
        if old.mean() >= min_share * total[0] or new.mean() >= min_share * total[1]
    }
    changes = [_change(key, old / total[0], new / total[0]) for key, (old, new) in sorted(large.items())]
    tested = [c for c in changes if c[1] is not None]
    p_holm = iter(holm([p for _, p in tested if p is not None]))
    factors = [_found(change, None if p is None else next(p_holm), float(total[0])) for change, p in changes]
    left = len(names) - len(measured)
    remark = f"{left} factor{'s' * (left > 1)} not compared: not switched on in every run" if left else ""
    return sorted(factors, key=lambda f: (-abs(f.change), f.functions)), "", [remark] if remark else []


_Change = tuple[Key, float, float, tuple[float, float] | None]


def _change(key: Key, old: Float, new: Float) -> tuple[_Change, float | None]:
    """With the p value before correction."""
    found = difference(old, new)
    interval = (found.low, found.high) if found else None
    return (key, float(old.mean()), float(new.mean()), interval), found.p if found else None


def _found(change: _Change, p_holm: float | None, total_ns2: float) -> FactorChange:
    (kind, functions), old, new, interval = change
    found = ""
    if p_holm is not None and p_holm < ALPHA:
        found = "gained" if new > old else "lost"
    return FactorChange(
        kind=kind,
        functions=list(functions),
        before_ns2=old * total_ns2,
        after_ns2=new * total_ns2,
        before=old,
        after=new,
        change=new - old,
        ci95=interval,
        p_holm=p_holm,
        found=found,
    )
