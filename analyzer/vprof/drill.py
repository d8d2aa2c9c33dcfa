"""The drill-down: measure, rank, expand, until nothing worth expanding is left (ALGORITHMS section 6).

    plan -> measure -> Analysis -> candidates -> [decide] -> larger plan -> ... -> confirmation (vprof/findings.py)

Steps only explore: their shares are descriptive. The loop knows neither processes nor terminals: `measure` does the
work (live: vprof/live.py), `decide` chooses (a person: vprof/drill_ask.py, or `automatic`). All that it needs to go on
later is in its steps, which vprof/drill_file.py keeps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from vprof.analysis import Analysis, AnalysisOptions
from vprof.factors import Factor, select
from vprof.model import NONE
from vprof.path_tree import display_names
from vprof.planner import expansions
from vprof.variance_tree import VarianceTree

Enough = Callable[[Analysis], bool]


class Measure(Protocol):
    """Switches exactly these functions on, measures for about so many seconds, and analyzes what was recorded.

    With `enough` it goes on, up to a few times as long, until that is true of the analysis of all of it. With
    `compared` it takes as long again with all probes off, slice by slice in turn: the analysis knows the distortion.
    """

    def __call__(
        self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
    ) -> Analysis: ...


CONFIRMATION_STEPS = 2
"""The confirmation is this many times as long as a step: fixed beforehand, not stopped when it looks good."""

LIGHT = 0.2
"""A function is switched off again when all its shares are below this part of the smallest share of interest."""

WIDE = 0.10
"""A step goes on while the interval of a share that it chooses by reaches further than this to either side."""

LIMIT_STEPS, LIMIT_BUDGET, CHOSEN, NOTHING_LEFT = "steps", "budget", "chosen", "nothing left"
"""Why an exploration ended."""


@dataclass(frozen=True)
class DrillOptions:
    """`step_seconds` per measurement, at least; at most `max_steps` of them before the confirmation, and only as many
    as `budget_seconds` of wall time allow with the confirmation (0: as long as it takes)."""

    step_seconds: float = 3.0
    max_steps: int = 20
    budget_seconds: float = 0.0
    analysis: AnalysisOptions = field(default_factory=AnalysisOptions)


@dataclass(frozen=True)
class Candidate:
    """A factor above the threshold: `children` by the function that would be expanded; none: an end point."""

    factor: Factor
    children: dict[str, list[str]]


@dataclass(frozen=True)
class Measured:
    """A step's measurement, before anything is decided. `default`: the functions that `automatic` would expand."""

    number: int
    plan: frozenset[str]
    analysis: Analysis
    candidates: list[Candidate]
    default: list[str]


@dataclass(frozen=True)
class Decision:
    """What to do after a step.

    `expand`: functions of the candidates; `accept`: factors that are findings, `skip`: factors of no interest; neither
    is proposed again. `again`: measure the same plan once more. `stop`: explore no further.
    """

    expand: list[str] = field(default_factory=list)
    accept: list[str] = field(default_factory=list)
    skip: list[str] = field(default_factory=list)
    again: bool = False
    stop: bool = False


Decide = Callable[[Measured], Decision]


def automatic(measured: Measured) -> Decision:
    """The best k that can be expanded; stops when there is none."""
    return Decision(expand=measured.default, stop=not measured.default)


@dataclass(frozen=True)
class Step:
    """One measurement with `plan` on, and what it led to.

    `shares` are the factors' by name; `no_ranking` says why there are none. `expanded`: function -> functions switched
    on because of it; `dropped`: switched off, because neither they nor anything below them matters. `calls`: recorded
    calls per interval.
    """

    number: int
    plan: frozenset[str]
    intervals: int
    mean_ns: float
    stddev_ns: float
    p99_ns: int
    calls: float
    shares: dict[str, float]
    no_ranking: str
    expanded: dict[str, list[str]]
    dropped: list[str]
    accepted: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


@dataclass
class Drill:
    """One drill-down from `roots`. Iterate over `steps()`; `ended` says then why it went no further.

    `done` may hold the steps of an earlier run of it: it goes on behind them.
    """

    roots: frozenset[str]
    measure: Measure
    options: DrillOptions
    decide: Decide = automatic
    done: list[Step] = field(default_factory=list)
    ended: str = ""

    def steps(self) -> Iterator[Step]:
        """Yields every step once it is measured and decided.

        A function that was dropped is not switched on again: it was seen wherever it was called from.
        """
        until = time.monotonic() + (self.options.budget_seconds or float("inf"))
        while not self.ended:
            self.ended = self._limit(until)
            if not self.ended:
                yield self._step()

    def plan(self) -> frozenset[str]:
        """What is on in the next step."""
        if not self.done:
            return self.roots
        last = self.done[-1]
        return (last.plan - frozenset(last.dropped)).union(*last.expanded.values())

    @property
    def accepted(self) -> list[str]:
        """Factors that somebody called findings, in that order."""
        return list(dict.fromkeys(name for step in self.done for name in step.accepted))

    @property
    def last_ranked(self) -> Step:
        """The last step that could be ranked, else the last. REQUIRES: a step."""
        return next((step for step in reversed(self.done) if not step.no_ranking), self.done[-1])

    def _limit(self, until: float) -> str:
        if len(self.done) >= self.options.max_steps:
            return LIMIT_STEPS
        needed = (1 + CONFIRMATION_STEPS) * self.options.step_seconds
        return LIMIT_BUDGET if self.done and time.monotonic() + needed > until else ""

    def _step(self) -> Step:
        plan = self.plan()
        analysis = self.measure(plan, self.options.step_seconds, known_well)
        candidates = self._candidates(analysis)
        k = self.options.analysis.k
        default = [function for c in candidates if _varies(analysis, c.factor) for function in c.children][:k]
        decision = self.decide(Measured(len(self.done) + 1, plan, analysis, candidates, default))
        children = {function: names for c in candidates for function, names in c.children.items()}
        light = self._light(analysis, plan) if not decision.again else set()
        summary = analysis.summary
        # What reports need; the analysis holds the whole trace.
        step = Step(
            number=len(self.done) + 1,
            plan=plan,
            intervals=summary.count,
            mean_ns=summary.mean_ns,
            stddev_ns=summary.stddev_ns,
            p99_ns=summary.p99_ns,
            calls=len(analysis.trace.invocations.fs) / max(1, summary.count),
            shares={factor.name: factor.share for factor in analysis.ranking},
            no_ranking=analysis.no_ranking,
            expanded={function: children[function] for function in decision.expand},
            dropped=sorted(light),
            accepted=decision.accept,
            skipped=decision.skip,
        )
        self.done.append(step)
        if decision.stop:
            self.ended = NOTHING_LEFT if not default else CHOSEN
        return step

    def _candidates(self, analysis: Analysis) -> list[Candidate]:
        """Factors above the threshold, best first. Each function is expanded once, for its best factor."""
        names = display_names(analysis.trace)
        dropped = {name for step in self.done for name in step.dropped}
        over = {name for step in self.done for name in (*step.accepted, *step.skipped)}
        seen = {f for f, name in enumerate(names) if any(name in step.expanded for step in self.done)}
        found = []
        for factor in select(analysis.ranking, len(analysis.ranking), self.options.analysis.min_share):
            children = {}
            if factor.name not in over:
                for e in expansions(analysis.trace.program, [factor], seen):
                    new = [names[child] for child in e.children if names[child] not in dropped]
                    if new:
                        children[names[e.function]] = new
                seen |= set(factor.expandable)
            found.append(Candidate(factor, children))
        return found

    def _light(self, analysis: Analysis, plan: frozenset[str]) -> set[str]:
        """Functions of the plan, roots apart, that are heavy nowhere in the tree, and above nothing heavy."""
        if analysis.no_ranking:
            return set()
        tree, names = analysis.tree, display_names(analysis.trace)
        limit = LIGHT * self.options.analysis.min_share
        heavy = {names[tree.paths.function[x]] for x in _connected(tree, limit) if tree.paths.function[x] != NONE}
        return set(plan - heavy - self.roots)


def known_well(analysis: Analysis) -> bool:
    """Whether measuring longer would not help to choose: the best shares are known, or a few events make them up."""
    if analysis.no_ranking or analysis.events:
        return True
    return all(r.ci95 is not None and r.ci95[1] - r.ci95[0] <= 2 * WIDE for r in analysis.factors)


def _varies(analysis: Analysis, factor: Factor) -> bool:
    """Whether the share's interval, where there is one, excludes 0."""
    known = next((ranked for ranked in analysis.factors if ranked.factor.name == factor.name), None)
    return known is None or known.ci95 is None or known.ci95[0] > 0


def _connected(tree: VarianceTree, limit: float) -> set[int]:
    """Nodes with at least `limit` as their share, and all their ancestors."""
    found: set[int] = set()
    for x in np.flatnonzero(np.abs(tree.share) >= limit):
        while x != NONE and x not in found:
            found.add(int(x))
            x = tree.paths.parent[x]
    return found
