"""The drill-down: measure, rank, expand, until nothing worth expanding is left (ALGORITHMS section 6, thin).

    plan -> measure -> Analysis -> expansions -> larger plan -> ... -> confirmation on fresh data -> findings

Steps only explore; findings come from the confirmation, one measurement with all probes of the last plan on together.
The loop knows nothing of processes: `measure` does the work (live: vprof/live.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from vprof.analysis import Analysis, AnalysisOptions, RankedFactor
from vprof.factors import select
from vprof.path_tree import display_names
from vprof.planner import Expansion, expansions

Measure = Callable[[frozenset[str], float], Analysis]
"""Switches exactly these functions on, measures for about so many seconds, and analyzes what was recorded."""

CONFIRMATION_STEPS = 2
"""The confirmation is this many times as long as a step: fixed beforehand, not stopped when it looks good."""


@dataclass(frozen=True)
class DrillOptions:
    """`step_seconds` per measurement; at most `max_steps` of them before the confirmation."""

    step_seconds: float = 3.0
    max_steps: int = 20
    analysis: AnalysisOptions = field(default_factory=AnalysisOptions)


@dataclass(frozen=True)
class Step:
    """One measurement with `plan` on, and what it led to: expanded function -> functions switched on."""

    number: int
    plan: frozenset[str]
    analysis: Analysis
    expanded: dict[str, list[str]]


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
        """Yields every step once it is measured; ends when no factor above the threshold can be expanded."""
        plan, expanded = self.roots, set[str]()
        while len(self.done) < self.options.max_steps:
            analysis = self.measure(plan, self.options.step_seconds)
            chosen = self._choose(analysis, expanded)
            step = Step(len(self.done) + 1, plan, analysis, chosen)
            self.done.append(step)
            yield step
            if not chosen:
                return
            expanded |= chosen.keys()
            plan = plan.union(*chosen.values())

    def _choose(self, analysis: Analysis, expanded: set[str]) -> dict[str, list[str]]:
        """The best k expansions. Factors that are end points do not use up k: else three leaves would hide the rest."""
        program = analysis.trace.program
        names = display_names(analysis.trace)
        seen = [f for f, name in enumerate(names) if name in expanded]
        options = self.options.analysis
        worthwhile = select(analysis.ranking, len(analysis.ranking), options.min_share)
        best: list[Expansion] = expansions(program, worthwhile, seen)[: options.k]
        return {names[e.function]: [names[child] for child in e.children] for e in best}

    def confirm(self) -> tuple[Analysis, list[Finding]]:
        """One longer measurement with the last step's plan; its factors, best first. Call after `steps()`."""
        last = self.done[-1]
        fresh = self.measure(last.plan, CONFIRMATION_STEPS * self.options.step_seconds)
        explored = {factor.name: factor.share for factor in last.analysis.ranking}
        threshold = self.options.analysis.min_share
        return fresh, [
            Finding(ranked, explored.get(ranked.factor.name, 0.0), _agrees(ranked, explored, threshold))
            for ranked in fresh.factors
        ]


def _agrees(ranked: RankedFactor, explored: dict[str, float], threshold: float) -> bool:
    """Found in the exploration too, above the threshold both times, and its interval (if there is one) excludes 0."""
    again = explored.get(ranked.factor.name, 0.0) >= threshold
    return again and (ranked.ci95 is None or ranked.ci95[0] > 0)
