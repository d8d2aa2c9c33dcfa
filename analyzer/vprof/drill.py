"""The drill-down: measure, rank, expand, until nothing worth expanding is left (ALGORITHMS section 6, thin).

    plan -> measure -> Analysis -> expansions -> larger plan -> ... -> confirmation on fresh data -> findings

Steps only explore; findings come from the confirmation, one measurement with all probes of the last plan on together.
The loop knows nothing of processes: `measure` does the work (live: vprof/live.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from vprof.analysis import Analysis, AnalysisOptions, RankedFactor
from vprof.factors import select
from vprof.model import NONE
from vprof.path_tree import display_names
from vprof.planner import expansions
from vprof.statistics import Summary
from vprof.variance_tree import VarianceTree

Measure = Callable[[frozenset[str], float], Analysis]
"""Switches exactly these functions on, measures for about so many seconds, and analyzes what was recorded."""

CONFIRMATION_STEPS = 2
"""The confirmation is this many times as long as a step: fixed beforehand, not stopped when it looks good."""


LIGHT = 0.2
"""A function is switched off again when all its shares are below this part of the smallest share of interest."""


@dataclass(frozen=True)
class DrillOptions:
    """`step_seconds` per measurement; at most `max_steps` of them before the confirmation."""

    step_seconds: float = 3.0
    max_steps: int = 20
    analysis: AnalysisOptions = field(default_factory=AnalysisOptions)


@dataclass(frozen=True)
class Step:
    """One measurement with `plan` on, and what it led to.

    `shares` are the factors' by name; `no_ranking` says why there are none. `expanded`: function -> functions switched
    on because of it; `dropped`: switched off, because neither they nor anything below them matters.
    """

    number: int
    plan: frozenset[str]
    summary: Summary
    shares: dict[str, float]
    no_ranking: str
    expanded: dict[str, list[str]]
    dropped: list[str]


@dataclass(frozen=True)
class Finding:
    """A factor of the confirmation. `explored_share`: what the last step said; `confirmed`: fresh data agree."""

    ranked: RankedFactor
    explored_share: float
    confirmed: bool


@dataclass
class Drill:
    """One drill-down from `roots`. Iterate over `steps()`, then call `confirm()`."""

    roots: frozenset[str]
    measure: Measure
    options: DrillOptions
    done: list[Step] = field(default_factory=list)

    def steps(self) -> Iterator[Step]:
        """Yields every step once it is measured; ends when no factor above the threshold can be expanded.

        A function that was dropped is not switched on again: it was seen wherever it was called from.
        """
        plan, expanded, dropped = self.roots, set[str](), set[str]()
        while len(self.done) < self.options.max_steps:
            analysis = self.measure(plan, self.options.step_seconds)
            chosen = self._choose(analysis, expanded, dropped)
            expanded |= chosen.keys()
            light = self._light(analysis, plan)
            dropped |= light
            # What reports need; the analysis holds the whole trace.
            shares, reason = _shares(analysis), analysis.no_ranking
            self.done.append(Step(len(self.done) + 1, plan, analysis.summary, shares, reason, chosen, sorted(light)))
            yield self.done[-1]
            if not chosen:
                return
            plan = (plan - light).union(*chosen.values())

    def _choose(self, analysis: Analysis, expanded: set[str], dropped: set[str]) -> dict[str, list[str]]:
        """The best k expansions. Factors that are end points do not use up k: else three leaves would hide the rest."""
        names = display_names(analysis.trace)
        seen = [f for f, name in enumerate(names) if name in expanded]
        options = self.options.analysis
        worthwhile = select(analysis.ranking, len(analysis.ranking), options.min_share)
        new = {
            names[e.function]: [names[child] for child in e.children if names[child] not in dropped]
            for e in expansions(analysis.trace.program, worthwhile, seen)
        }
        return {function: new[function] for function in [name for name in new if new[name]][: options.k]}

    def _light(self, analysis: Analysis, plan: frozenset[str]) -> set[str]:
        """Functions of the plan, roots apart, that are heavy nowhere in the tree, and above nothing heavy."""
        if analysis.no_ranking:
            return set()
        tree, names = analysis.tree, display_names(analysis.trace)
        limit = LIGHT * self.options.analysis.min_share
        heavy = {names[tree.paths.function[x]] for x in _connected(tree, limit) if tree.paths.function[x] != NONE}
        return set(plan - heavy - self.roots)

    def confirm(self) -> tuple[Analysis, list[Finding]]:
        """One longer measurement with the plan of the last step that could be ranked. Call after `steps()`."""
        last = next((step for step in reversed(self.done) if not step.no_ranking), self.done[-1])
        plan = last.plan - frozenset(last.dropped)
        fresh = self.measure(plan, CONFIRMATION_STEPS * self.options.step_seconds)
        threshold = self.options.analysis.min_share
        return fresh, [
            Finding(ranked, last.shares.get(ranked.factor.name, 0.0), _agrees(ranked, last.shares, threshold))
            for ranked in fresh.factors
        ]


def _shares(analysis: Analysis) -> dict[str, float]:
    return {factor.name: factor.share for factor in analysis.ranking}


def _connected(tree: VarianceTree, limit: float) -> set[int]:
    """Nodes with at least `limit` as their share, and all their ancestors."""
    found: set[int] = set()
    for x in np.flatnonzero(np.abs(tree.share) >= limit):
        while x != NONE and x not in found:
            found.add(int(x))
            x = tree.paths.parent[x]
    return found


def _agrees(ranked: RankedFactor, explored: dict[str, float], threshold: float) -> bool:
    """Found in the exploration too, above the threshold both times, and its interval (if there is one) excludes 0."""
    again = explored.get(ranked.factor.name, 0.0) >= threshold
    return again and (ranked.ci95 is None or ranked.ci95[0] > 0)
