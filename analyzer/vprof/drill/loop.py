"""The drill-down: measure, rank, expand, until nothing worth expanding is left (docs/algorithms.md section 6).

    plan -> measure -> Analysis -> candidates -> [decide] -> larger plan -> ... -> confirmation (drill/findings.py)

Steps only explore: their shares are descriptive. The loop knows neither processes nor terminals: `measure` does the
work (live: drill/live.py), `decide` chooses (a person: report/drill_ask.py, or `automatic`). All that it needs to go on
later is in its steps, which drill/file.py keeps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from vprof.drill.budget import LEAST_STEPS, MOST_STEPS, PATIENCE, Budget
from vprof.drill.cut import light, load_by_name, of_flood, too_many, too_much, too_often
from vprof.drill.flood import FloodError
from vprof.drill.host import Host, measured
from vprof.drill.length import known_well, seconds_needed
from vprof.drill.wait_paths import STACKS, Seen, covered, is_clear, next_on_paths
from vprof.drill.wakers import MANY, Unmeasured, next_on_wakers, unmeasured
from vprof.path.path_tree import display_names
from vprof.tables.kinds import WAKER
from vprof.variance.analysis import Analysis, AnalysisOptions
from vprof.variance.factors import Factor, select
from vprof.variance.planner import expansions, further

Enough = Callable[[Analysis], bool]


class Measure(Protocol):
    """Switches exactly these functions on, measures for about so many seconds, and analyzes what was recorded.

    With `enough` it goes on until that is true of the analysis of all of it, but only with `compared` longer than
    PATIENCE times as long. With `compared` it first takes as long again with all probes off, slice by slice in turn:
    the analysis knows the distortion. Raises FloodError when every interval lost records.
    """

    def __call__(
        self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
    ) -> Analysis: ...


MILD = 3
"""Up to so many times the allowed distortion, what was measured still tells where to go on."""

_NEARLY = 0.5
"""A factor of this part of the least share may turn out to have all of it."""

LIMIT_STEPS, LIMIT_BUDGET, CHOSEN, NOTHING_LEFT = "steps", "budget", "chosen", "nothing left"
"""Why an exploration ended."""


@dataclass(frozen=True)
class DrillOptions:
    """`step_seconds` per measurement, at least; at most `max_steps` of them before the confirmation, and only as many
    as `budget_seconds` of wall time allow with the confirmation (0: as long as it takes). `max_distortion`: the part of
    the intervals' time that the probes of a plan may take, by their number and cost. `ahead`: so many functions below
    those that a step expands to are switched on with them, at most."""

    step_seconds: float = 3.0
    max_steps: int = 20
    budget_seconds: float = 0.0
    max_distortion: float = 0.03
    analysis: AnalysisOptions = field(default_factory=AnalysisOptions)
    ahead: int = 16

    @property
    def budget(self) -> Budget:
        return Budget(self.budget_seconds, self.step_seconds, self.max_steps)


@dataclass(frozen=True)
class Candidate:
    """A factor above the threshold: `children` by the function that would be expanded; none: an end point. Threads that
    were waited for while nothing of theirs was on are a candidate as well, and WAKER is what would be expanded; so are
    the call stacks of waits, with STACKS."""

    factor: Factor | Unmeasured | Seen
    children: dict[str, list[str]]


@dataclass(frozen=True)
class Measured:
    """A step's measurement, before anything is decided. `default`: the functions that `automatic` would expand;
    `left_out`: those switched off because all together would distort too much; `unkept`: those of
    them that are because records were lost."""

    number: int
    plan: frozenset[str]
    left_out: list[str]
    unkept: list[str]
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
    """The best k that can be expanded, and what the threads run that are waited for; stops when there is none."""
    return Decision(expand=measured.default, stop=not measured.default)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One measurement with `plan` on, and what it led to.

    `shares` are the factors' by name, of the variance without waits for a CPU; `no_ranking` says why there are none.
    `expanded`: function -> functions switched on because of it; `dropped`: switched off, because neither they nor
    anything below them matters. `calls`: recorded calls per interval. `left_out`: taken out of the plan, because its
    probes would distort too much, or (`unkept`) wrote more records than could be kept; `distortion`: the part of the
    intervals' time that those of the plan take, by their number and cost. `confirmation_seconds`: what its factors
    would need.
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
    left_out: list[str] = field(default_factory=list)
    unkept: list[str] = field(default_factory=list)
    distortion: float = 0.0
    confirmation_seconds: float = 0.0


@dataclass
class Drill:
    """One drill-down from `roots`. Iterate over `steps()`; `ended` says then why it went no further.

    `done` may hold the steps of an earlier run of it: it goes on behind them. `pace`: seconds that recording and
    analyzing as much as a step is took in the last one. `host` measures what constant work does here.
    """

    roots: frozenset[str]
    measure: Measure
    options: DrillOptions
    decide: Decide = automatic
    done: list[Step] = field(default_factory=list)
    ended: str = ""
    until: float = float("inf")
    host: Callable[[], Host] = measured
    pace: float = field(default=0.0, init=False)

    def steps(self) -> Iterator[Step]:
        """Yields every step once it is measured and decided.

        A function that was dropped or left out is not switched on again: it was seen wherever it was called from.
        """
        self.until = time.monotonic() + (self.options.budget_seconds or float("inf"))
        while not self.ended:
            self.ended = self._limit()
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

    def confirmation_seconds(self) -> float:
        """With the probes on, and as long without them: what the last step's factors need, within bounds that were set
        before. REQUIRES: a step."""
        step = self.options.step_seconds
        left = (self.until - time.monotonic()) / 2 / self._slowness
        return max(LEAST_STEPS * step, min(self.last_ranked.confirmation_seconds, MOST_STEPS * step, left))

    @property
    def _slowness(self) -> float:
        """Seconds that a second of recording takes, with its analysis."""
        return max(1.0, self.pace / self.options.step_seconds)

    def has_time(self, seconds: float) -> bool:
        """For so much more recording."""
        return time.monotonic() + seconds * self._slowness <= self.until

    def parts_left(self, made: int, seconds: float) -> int:
        """How many more parts of `seconds` a confirmation may have that has `made` some: all that the budget has time
        for, or PATIENCE in all."""
        if not self.options.budget_seconds:
            return PATIENCE - made
        return int((self.until - time.monotonic()) / (seconds * self._slowness))

    def _limit(self) -> str:
        if len(self.done) >= self.options.max_steps:
            return LIMIT_STEPS
        return LIMIT_BUDGET if self.done and not self._has_time_for_a_step() else ""

    def _has_time_for_a_step(self) -> bool:
        """And for the confirmation, as far as it is known what that needs."""
        budget = self.options.budget
        needed = 2 * self.last_ranked.confirmation_seconds if self.done else 0.0
        kept = min(budget.kept, max(budget.least_kept, needed)) if needed else budget.kept
        return self.has_time(self.options.step_seconds + kept)

    def _measured(self) -> tuple[frozenset[str], list[str], list[str], Analysis]:
        """The plan from now on, what has to be left out of the one that was measured, that of it which records too
        much, and the analysis. A plan that distorts too much is measured no longer than it takes to see that; one that
        distorts far too much, or loses records, again without."""
        plan, left_out, unkept = self.plan(), list[str](), list[str]()
        while True:
            enough, begun = partial(self._seen_enough, plan), time.monotonic()
            try:
                analysis = self.measure(plan, self.options.step_seconds, enough)
            except FloodError as flood:
                cut = many = of_flood(plan, self.roots, flood)
                if not many or not self._has_time_for_a_step():
                    raise
            else:
                recorded = analysis.trace.recorded_ns / 1e9
                many = self._too_many(plan, analysis)
                if self.done and recorded and not many:  # the first one loads code, and may wait for the program
                    self.pace = (time.monotonic() - begun) * self.options.step_seconds / recorded
                cut = many or self._too_much(plan, analysis)
                is_mild = not many and sum(load_by_name(analysis).values()) <= MILD * self.options.max_distortion
                if not cut or is_mild or not self._has_time_for_a_step():
                    return plan - frozenset(cut), left_out + cut, unkept + many, analysis
            unkept, left_out, plan = unkept + many, left_out + cut, plan - frozenset(cut)

    def _seen_enough(self, plan: frozenset[str], analysis: Analysis) -> bool:
        if known_well(analysis) or self._too_much(plan, analysis) or self._too_many(plan, analysis):
            return True
        if not self._has_time_for_a_step():
            return True
        return is_clear(analysis, display_names(analysis.trace), self.roots, self._over()) or self._all_fit(analysis)

    def _all_fit(self, analysis: Analysis) -> bool:
        """Whether all that could be expanded would be, so that knowing the shares better changes nothing."""
        candidates = self._candidates(analysis, [], _NEARLY * analysis.least_share)
        functions = {f for candidate in candidates for f in candidate.children}
        return 0 < len(functions) <= self.options.analysis.k and functions == set(self._default(analysis, candidates))

    def _over(self) -> set[str]:
        """Functions that were seen to hold nothing, or to cost too much."""
        return {name for step in self.done for name in (*step.dropped, *step.left_out)}

    def _too_much(self, plan: frozenset[str], analysis: Analysis) -> list[str]:
        return too_much(plan, self.roots, analysis, self.options.max_distortion)

    def _too_many(self, plan: frozenset[str], analysis: Analysis) -> list[str]:
        return too_often(plan, self.roots, analysis) or too_many(plan, self.roots, analysis)

    def _step(self) -> Step:
        plan, left_out, unkept, analysis = self._measured()
        candidates = self._candidates(analysis, left_out)
        default = self._default(analysis, candidates)
        decision = self.decide(Measured(len(self.done) + 1, plan, left_out, unkept, analysis, candidates, default))
        children = {function: names for c in candidates for function, names in c.children.items()}
        expanded = {function: children[function] for function in decision.expand}
        unneeded = light(plan, self.roots, analysis) if not decision.again else []
        summary = analysis.summary
        # What reports need; the analysis holds the whole trace.
        step = Step(
            number=len(self.done) + 1,
            plan=plan,
            intervals=summary.count,
            mean_ns=summary.mean_ns,
            stddev_ns=summary.stddev_ns,
            p99_ns=summary.p99_ns,
            calls=analysis.calls.total / max(1, summary.count),
            shares={factor.name: factor.share / (analysis.explained or 1.0) for factor in analysis.ranking},
            no_ranking=analysis.no_ranking,
            expanded=self._further(analysis, expanded, left_out),
            dropped=unneeded,
            accepted=decision.accept,
            skipped=decision.skip,
            left_out=left_out,
            unkept=unkept,
            distortion=sum(part for name, part in load_by_name(analysis).items() if name in plan),
            confirmation_seconds=seconds_needed(analysis),
        )
        self.done.append(step)
        if decision.stop:
            self.ended = NOTHING_LEFT if not default else CHOSEN
        return step

    def _default(self, analysis: Analysis, candidates: list[Candidate]) -> list[str]:
        functions = [(f, c.factor.share) for c in candidates if _varies(analysis, c.factor.name) for f in c.children]
        first = [f for f, _ in functions if f in (WAKER, STACKS)]
        others = [f for f, share in functions if f not in first and not covered(analysis, f, share)]
        return first + others[: self.options.analysis.k]

    def _candidates(self, analysis: Analysis, left_out: list[str], least: float | None = None) -> list[Candidate]:
        """Factors above the threshold, or above `least`, best first. Each function is expanded once, for its best
        factor. Before them the threads that are waited for, while there is something new to switch on in them."""
        names = display_names(analysis.trace)
        dropped = self._over() | set(left_out)
        over = {name for step in self.done for name in (*step.accepted, *step.skipped)}
        seen = {f for f, name in enumerate(names) if any(name in step.expanded for step in self.done)}
        found = self._stacks(analysis, names, dropped) if STACKS not in over else []
        found += self._wakers(analysis, names, dropped) if WAKER not in over else []
        least = analysis.least_share if least is None else least
        for factor in select(analysis.ranking, len(analysis.ranking), least):
            children = {}
            if factor.name not in over:
                for e in expansions(analysis.trace.program, [factor], seen):
                    new = [names[child] for child in e.children if names[child] not in dropped]
                    if new:
                        children[names[e.function]] = new
                seen |= set(factor.expandable)
            found.append(Candidate(factor, children))
        return found

    def _further(self, analysis: Analysis, expanded: dict[str, list[str]], left_out: list[str]) -> dict[str, list[str]]:
        """With some functions below those that are switched on, so that a step goes down several calls."""
        names, program = display_names(analysis.trace), analysis.trace.program
        number = {name: f for f, name in enumerate(names)}
        dropped = {number[name] for name in self._over() | set(left_out) if name in number}
        begun = {function: [number[child] for child in children] for function, children in expanded.items()}
        found = {}
        for function, children in begun.items():
            others = dropped.union(*begun.values())
            below = (
                []
                if function in (STACKS, WAKER)
                else further(program, children, self.options.ahead // len(begun), others)
            )
            begun[function] = children + below
            found[function] = [names[f] for f in begun[function]]
        return found

    def _stacks(self, analysis: Analysis, names: list[str], dropped: set[str]) -> list[Candidate]:
        """One candidate at most."""
        new = [] if analysis.no_ranking else next_on_paths(analysis, names, self.roots, dropped)
        return [Candidate(Seen(analysis.where_it_waits.share), {STACKS: new})] if new else []

    def _wakers(self, analysis: Analysis, names: list[str], dropped: set[str]) -> list[Candidate]:
        """One candidate at most."""
        waited = unmeasured(analysis)
        if analysis.no_ranking or waited.share < analysis.least_share:
            return []
        new = next_on_wakers(analysis, names, self.roots, dropped)
        if len(new) > MANY and analysis.where_it_waits.releases:  # the stacks of those that end waits tell which
            new = []
        return [Candidate(waited, {WAKER: new})] if new else []


def _varies(analysis: Analysis, name: str) -> bool:
    """Whether the interval of the factor's share, where there is one, excludes 0."""
    known = next((ranked for ranked in analysis.factors if ranked.factor.name == name), None)
    return known is None or known.ci95 is None or known.ci95[0] > 0
