"""Slow moments: what confirms a finding where so few intervals hold the variance that no share has an interval."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from replay import CASE, STEPWISE, TIMES, Replay, repeated

from vprof.drill.findings import confirm
from vprof.drill.length import worth_more
from vprof.drill.loop import Drill, Enough
from vprof.drill.moments import FEW, at_least, moments_of, most_of, number_of
from vprof.trace.json_trace import load_json
from vprof.variance.analysis import Analysis, analyze
from vprof.variance.statistics import NoBlocks


def slow(*positions: int, overlap: bool = False) -> Analysis:
    """The worked case, of which these intervals hold half of the variance; all are at once, or none."""
    analysis = analyze(repeated(load_json(CASE), TIMES))
    if overlap:
        analysis.trace.intervals.begin[:] = 0
    return replace(analysis, blocks=NoBlocks("some intervals hold half", np.array(positions, np.int64)))


def test_slow_intervals_that_overlap_are_one_moment() -> None:
    assert number_of(moments_of(slow(1, 5, 9))) == 3
    assert number_of(moments_of(slow(1, 5, 9, overlap=True))) == 1
    apart = moments_of(slow(7, 3))
    assert (apart[7], apart[3], int((apart >= 0).sum())) == (0, 1, 2)


def test_a_chain_of_overlaps_is_cut_at_what_the_heaviest_overlaps() -> None:
    analysis = slow(1, 0, 2, 3)
    intervals = analysis.trace.intervals
    intervals.begin[:4], intervals.end[:4] = [0, 8, 18, 28], [9, 19, 29, 39]
    assert moments_of(analysis)[:4].tolist() == [0, 0, 0, 1]


def test_where_shares_have_intervals_there_are_no_moments() -> None:
    analysis = analyze(repeated(load_json(CASE), TIMES))
    assert not isinstance(analysis.blocks, NoBlocks)
    assert number_of(moments_of(analysis)) == 0


def test_a_time_is_most_of_a_moment_by_its_excess_and_not_by_its_length() -> None:
    latency = np.array([100, 100, 100, 100, 900, 900, 900, 900])
    always = np.full(8, 90)
    half = np.array([0, 0, 0, 0, 800, 800, 0, 0])
    moment = np.array([-1, -1, -1, -1, 0, 1, 2, 3], np.int32)
    assert (most_of(always, latency, moment), most_of(half, latency, moment)) == (0, 2)
    together = np.array([-1, -1, -1, -1, 0, 0, 0, 0], np.int32)
    assert most_of(latency, latency, together) == 1


@pytest.mark.parametrize(("hits", "moments"), [(0, 40), (1, 40), (13, 40), (40, 40), (30, 30)])
def test_the_bound_is_the_smallest_part_that_is_not_refuted(hits: int, moments: int) -> None:
    least = at_least(hits, moments, 1)
    as_many = sum(comb(moments, k) * least**k * (1 - least) ** (moments - k) for k in range(hits, moments + 1))
    assert as_many == pytest.approx(0.05 if hits else 1.0)
    assert at_least(hits, moments, 3) <= least


def test_the_bound_holds_in_95_of_100_cases() -> None:
    chance = np.random.default_rng()
    for part in (0.05, 0.3, 0.9):
        above = sum(at_least(int(hits), 35, 1) > part for hits in chance.binomial(35, part, 4000))
        assert above <= 0.05 * 4000 + 6 * (4000 * 0.05 * 0.95) ** 0.5


class Stalled(Replay):
    """So many intervals hold half of the variance: of each round of the worked case its slowest."""

    def __init__(self, events: int, needed: int = 0) -> None:
        super().__init__()
        self.events, self.needed = events, needed
        self.asked: list[bool] = []

    def __call__(
        self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
    ) -> Analysis:
        analysis = super().__call__(functions, seconds, enough, compared)
        latency = analysis.trace.intervals.end - analysis.trace.intervals.begin
        slowest = np.argsort(-latency, kind="stable")[: self.events]
        why = NoBlocks("some hold half" if self.events else "too few intervals", slowest, needed=self.needed)
        analysis = replace(analysis, blocks=why)
        if enough and compared:
            self.asked.append(enough(analysis))
        return analysis


@pytest.mark.parametrize(("events", "confirmed"), [(0, False), (FEW - 1, False), (FEW, True)])
def test_without_an_interval_only_that_is_sure_which_is_most_of_many_moments(events: int, confirmed: bool) -> None:
    drill = Drill(frozenset({"txn"}), Stalled(events), STEPWISE)
    list(drill.steps())
    findings = {finding.factor.name: finding for finding in confirm(drill)[1]}
    execute, copy = findings["Execute"], findings["CopyData"]
    assert (execute.interval, execute.seen_twice, execute.few_intervals) == (None, True, not confirmed)
    # Both say that it is sure; the latter that constant work on a shared machine varies as much.
    assert (execute.confirmed or execute.is_steady) == confirmed
    # What varies little beside it is most of no moment.
    assert not copy.confirmed
    assert not copy.is_steady
    if confirmed:
        assert execute.moments is not None
        assert execute.moments[:2] == (FEW, FEW)
        assert copy.moments is not None
        assert copy.moments[0] == 0


@pytest.mark.parametrize(
    ("events", "needed", "more"),
    [(FEW, 0, False), (FEW - 1, 0, True), (2, 0, False), (0, 500, True), (0, 5000000, False)],
)
def test_a_confirmation_goes_on_while_that_may_help_and_there_is_time(events: int, needed: int, more: bool) -> None:
    measure = Stalled(events, needed)
    drill = Drill(frozenset({"txn"}), measure, STEPWISE)
    list(drill.steps())
    fresh, _ = confirm(drill)
    assert (measure.asked, worth_more(fresh)) == ([not more], more)
    hurried = Drill(frozenset({"txn"}), measure, replace(STEPWISE, budget_seconds=0.1))
    list(hurried.steps())
    confirm(hurried)
    assert measure.asked[-1] is True


@pytest.mark.parametrize(("steps", "more"), [(8, False), (80, True)])
def test_a_confirmation_goes_on_as_long_as_its_budget_may_help(steps: int, more: bool) -> None:
    """Two slow moments in one part: fifteen times as much has thirty of them."""
    measure = Stalled(events=2)
    drill = Drill(frozenset({"txn"}), measure, replace(STEPWISE, budget_seconds=steps * STEPWISE.step_seconds))
    list(drill.steps())
    confirm(drill)
    assert measure.asked == [not more]
