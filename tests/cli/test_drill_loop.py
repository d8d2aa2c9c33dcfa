"""The loop of the drill-down, on a replayed program."""

from dataclasses import replace

import numpy as np
import pytest
from replay import ALL, STEPWISE, Replay

from vprof.drill.cut import FEWEST_INTERVALS, MOST_RECORDS
from vprof.drill.findings import confirm
from vprof.drill.flood import FloodError
from vprof.drill.loop import LIMIT_BUDGET, LIMIT_STEPS, Decision, Drill, DrillOptions, Enough, Measured
from vprof.variance.analysis import Analysis
from vprof.variance.statistics import Lost, NoBlocks


def test_it_expands_to_the_leaf_that_varies_and_shows_it() -> None:
    replay = Replay()
    drill = Drill(frozenset({"txn"}), replay, STEPWISE)
    steps = list(drill.steps())
    assert [step.expanded for step in steps] == [
        {"txn": ["Execute", "WriteLog"]},
        {"WriteLog": ["Lock", "CopyData", "Unlock"]},
        {},
    ]
    _, findings = confirm(drill)
    assert findings[0].factor.functions == ["CopyData"]
    # Nearly all execution is CopyData, which varies by 4 % of its mean: it would, too, on a machine slower at times.
    assert (findings[0].confirmed, findings[0].is_steady, round(findings[0].spread, 2)) == (False, True, 0.04)
    # Unlock never varies: it is off again in the confirmation.
    assert [step.dropped for step in steps] == [[], [], ["Unlock"]]
    assert replay.plans[-2:] == [ALL, ALL - {"Unlock"}]


def test_it_stops_at_the_most_steps() -> None:
    replay = Replay()
    drill = Drill(frozenset({"txn"}), replay, replace(STEPWISE, max_steps=2))
    assert [bool(step.expanded) for step in drill.steps()] == [True, True]
    assert len(replay.plans) == 2
    assert drill.ended == LIMIT_STEPS


def test_a_step_that_cannot_be_ranked_ends_the_exploration_and_is_not_built_upon() -> None:
    class Lossy(Replay):
        """The third plan records so much that its step is refused."""

        def __call__(
            self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
        ) -> Analysis:
            analysis = super().__call__(functions, seconds, enough, compared)
            if functions == ALL:
                return replace(analysis, no_ranking="too much was lost", ranking=[], factors=[])
            return analysis

    replay = Lossy()
    drill = Drill(frozenset({"txn"}), replay, STEPWISE)
    assert [step.no_ranking for step in drill.steps()] == ["", "", "too much was lost"]
    _, findings = confirm(drill)
    assert replay.plans[-1] == {"txn", "Execute", "WriteLog"}
    assert findings[0].confirmed


def test_what_loses_records_is_measured_again_without_what_is_called_most() -> None:
    class Flooded(Replay):
        """With CopyData on, two thirds of the records are lost: it is called 20 times as often as it seems here."""

        def __call__(
            self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
        ) -> Analysis:
            analysis = super().__call__(functions, seconds, enough, compared)
            if "CopyData" not in functions:
                return analysis
            counts = analysis.calls.within.copy()
            counts[analysis.trace.program.functions.index("CopyData")] *= 20
            return replace(
                analysis,
                trace=replace(analysis.trace, loss={"written": 3000, "dropped": 2000}),
                calls=replace(analysis.calls, within=counts),
                lost=Lost(600, 1000, 0.6),
                no_ranking="600 of 1000 intervals touch lost records",
                ranking=[],
                factors=[],
            )

    replay = Flooded()
    drill = Drill(frozenset({"txn"}), replay, STEPWISE)
    steps = list(drill.steps())
    assert replay.plans == [{"txn"}, {"txn", "Execute", "WriteLog"}, ALL, ALL - {"CopyData"}]
    assert [(step.left_out, step.unkept, step.no_ranking) for step in steps] == [
        ([], [], ""),
        ([], [], ""),
        (["CopyData"], ["CopyData"], ""),
    ]
    assert "CopyData" not in drill.plan()


def test_where_every_interval_lost_records_it_is_measured_again_without_what_is_called_most() -> None:
    class Drowned(Replay):
        """With CopyData on, no interval is whole."""

        def __call__(
            self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
        ) -> Analysis:
            analysis = super().__call__(functions, seconds, enough, compared)
            if "CopyData" in functions:
                raise FloodError("all touch lost records", {"txn": 3, "CopyData": 900, "Lock": 30, "WriteLog": 3}, 0.9)
            return analysis

    replay = Drowned()
    drill = Drill(frozenset({"txn"}), replay, STEPWISE)
    steps = list(drill.steps())
    assert replay.plans == [{"txn"}, {"txn", "Execute", "WriteLog"}, ALL, ALL - {"CopyData"}]
    assert [(step.left_out, step.unkept) for step in steps] == [([], []), ([], []), (["CopyData"], ["CopyData"])]
    assert "CopyData" not in drill.plan()


def test_a_root_that_alone_loses_the_records_of_every_interval_ends_the_drill_down() -> None:
    def drowned(
        functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
    ) -> Analysis:
        raise FloodError("all touch lost records", {"txn": 3000}, 0.1)

    with pytest.raises(FloodError, match="all touch lost records"):
        next(Drill(frozenset({"txn"}), drowned, STEPWISE).steps())


def test_what_would_record_more_than_can_be_read_is_measured_again_without_what_is_called_most() -> None:
    class Hot(Replay):
        """CopyData is called so often in each interval."""

        many = 2 * MOST_RECORDS // FEWEST_INTERVALS

        def __call__(
            self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
        ) -> Analysis:
            analysis = super().__call__(functions, seconds, enough, compared)
            counts = analysis.calls.within.copy()
            if "CopyData" in functions:
                counts[analysis.trace.program.functions.index("CopyData")] = self.many * analysis.summary.count
            return replace(analysis, calls=replace(analysis.calls, within=counts))

    replay = Hot()
    drill = Drill(frozenset({"txn"}), replay, STEPWISE)
    assert [step.unkept for step in drill.steps()] == [[], [], ["CopyData"]]
    assert replay.plans[2:] == [ALL, ALL - {"CopyData"}]
    # A quarter of that can be read.
    Hot.many //= 4
    assert [step.unkept for step in Drill(frozenset({"txn"}), Hot(), STEPWISE).steps()] == [[], [], []]


def test_what_fresh_data_do_not_show_again_is_not_confirmed() -> None:
    class Forgetful(Replay):
        """The exploration never saw CopyData vary."""

        def __call__(
            self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
        ) -> Analysis:
            analysis = super().__call__(functions, seconds, enough, compared)
            if len(self.plans) < 4:
                return replace(analysis, ranking=[f for f in analysis.ranking if f.name != "CopyData"])
            return analysis

    drill = Drill(frozenset({"txn"}), Forgetful(), STEPWISE)
    list(drill.steps())
    _, findings = confirm(drill)
    verdicts = {finding.factor.name: finding.confirmed for finding in findings}
    assert verdicts["CopyData"] is False
    assert verdicts["Execute"] is True


def test_what_a_few_events_make_up_is_not_confirmed() -> None:
    class Stalled(Replay):
        """A few intervals hold nearly all the variance."""

        def __call__(
            self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
        ) -> Analysis:
            few = NoBlocks("12 intervals hold half of the variance", np.arange(12), 17.0)
            return replace(super().__call__(functions, seconds, enough, compared), blocks=few)

    drill = Drill(frozenset({"txn"}), Stalled(), STEPWISE)
    list(drill.steps())
    _, findings = confirm(drill)
    assert {finding.no_interval for finding in findings} == {"12 intervals hold half of the variance"}
    assert not any(finding.confirmed for finding in findings)


def test_what_types_differ_by_is_called_inherent() -> None:
    class Typed(Replay):
        """The longer half of the intervals is of another type."""

        def __call__(
            self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
        ) -> Analysis:
            analysis = super().__call__(functions, seconds, enough, compared)
            iv = analysis.trace.intervals
            latency = iv.end - iv.begin
            iv.type[:] = latency > np.median(latency)
            return analysis

    drill = Drill(frozenset({"txn"}), Typed(), STEPWISE)
    list(drill.steps())
    _, findings = confirm(drill)
    kinds = {finding.factor.name: finding.is_inherent for finding in findings}
    assert kinds == {"CopyData": False, "Execute": True, "WriteLog": False}
    drill = Drill(frozenset({"txn"}), Replay(), STEPWISE)
    list(drill.steps())
    _, findings = confirm(drill)
    assert [(finding.inherent, finding.is_inherent) for finding in findings] == [(None, False)] * len(findings)


def test_on_a_busy_machine_it_looks_for_what_matters_of_the_rest() -> None:
    """Nine tenths of the variance are waiting for a CPU: shares of all of it are a tenth of what they were."""

    class Busy(Replay):
        def __call__(
            self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
        ) -> Analysis:
            analysis = super().__call__(functions, seconds, enough, compared)
            small = [replace(f, share=f.share * self.explained) for f in analysis.ranking]
            return replace(analysis, ranking=small, factors=[], explained=self.explained)

        explained = 0.1

    drill = Drill(frozenset({"txn"}), Busy(), STEPWISE)
    steps = list(drill.steps())
    assert "CopyData" in steps[-1].plan
    quiet = Drill(frozenset({"txn"}), Replay(), STEPWISE)
    assert list(quiet.steps())[-1].shares == pytest.approx(steps[-1].shares)
    # Nothing is left: what varies makes up for itself.
    Busy.explained = 0.0
    assert len(list(Drill(frozenset({"txn"}), Busy(), STEPWISE).steps())) == 1
    # However little is left, it is what is looked into.
    Busy.explained = 0.01
    steps = list(Drill(frozenset({"txn"}), Busy(), STEPWISE).steps())
    assert list(quiet.done)[-1].shares == pytest.approx(steps[-1].shares)


def test_the_budget_leaves_time_for_the_confirmation() -> None:
    # One step is always made. Another and the confirmation, half of it without probes, would take five times as long.
    drill = Drill(frozenset({"txn"}), Replay(), replace(STEPWISE, step_seconds=10, budget_seconds=49.9))
    assert len(list(drill.steps())) == 1
    assert drill.ended == LIMIT_BUDGET


def test_a_plan_that_distorts_too_much_is_cut_to_what_matters_most() -> None:
    # Six calls in an interval of some 365 ns: 13 % of the time at 8 ns each.
    replay = Replay(probe_ns=8.0)
    drill = Drill(frozenset({"txn"}), replay, replace(STEPWISE, max_distortion=0.12))
    steps = list(drill.steps())
    last = steps[-1]
    assert last.left_out
    assert last.plan == ALL - set(last.left_out)
    # CopyData holds more of the variance than Lock and Unlock, which hold none.
    assert set(last.left_out) <= {"Lock", "Unlock"}
    assert last.distortion <= 0.12
    # What was measured with all of them tells where to go on; what was left out stays off.
    assert replay.plans[-1] == ALL
    confirm(drill)
    assert not replay.plans[-1] & set(last.left_out)


def test_a_plan_that_distorts_far_too_much_is_measured_again_without() -> None:
    replay = Replay(probe_ns=8.0)
    drill = Drill(frozenset({"txn"}), replay, DrillOptions(max_distortion=0.04))
    *_, last = drill.steps()
    assert replay.plans[1:] == [ALL, last.plan]
    assert last.plan == ALL - set(last.left_out) < ALL


def test_the_roots_stay_on_whatever_they_cost() -> None:
    drill = Drill(frozenset({"txn"}), Replay(probe_ns=30.0), replace(STEPWISE, max_distortion=0.01))
    steps = list(drill.steps())
    assert [step.plan for step in steps] == [{"txn"}, {"txn"}]
    assert steps[1].left_out == ["Execute", "WriteLog"]


def test_what_probes_cost_is_no_limit_where_it_is_not_known() -> None:
    drill = Drill(frozenset({"txn"}), Replay(), replace(STEPWISE, max_distortion=1e-9))
    assert [step.left_out for step in drill.steps()] == [[], [], []]


def test_the_confirmation_is_as_long_as_the_last_step_said_within_bounds() -> None:
    class Timed(Replay):
        seconds: list[float]

        def __call__(
            self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
        ) -> Analysis:
            self.seconds = [*getattr(self, "seconds", []), seconds]
            return super().__call__(functions, seconds, enough, compared)

    def confirmed_for(needed: float) -> float:
        replay = Timed()
        drill = Drill(frozenset({"txn"}), replay, replace(STEPWISE, step_seconds=2))
        list(drill.steps())
        drill.done[-1] = replace(drill.done[-1], confirmation_seconds=needed)
        confirm(drill)
        return replay.seconds[-1]

    assert [confirmed_for(needed) for needed in (0, 7, 1000)] == [4, 7, 12]


def test_what_is_accepted_or_skipped_is_not_proposed_again_and_what_is_accepted_is_a_finding() -> None:
    decisions = iter([Decision(accept=["WriteLog"], skip=["Execute"], again=True), Decision(stop=True)])
    seen: list[Measured] = []

    def decide(measured: Measured) -> Decision:
        seen.append(measured)
        return next(decisions)

    replay = Replay()
    drill = Drill(frozenset(ALL - {"Lock", "CopyData", "Unlock"}), replay, STEPWISE, decide)
    list(drill.steps())
    assert {c.factor.name: c.children for c in seen[0].candidates}["WriteLog"] == {
        "WriteLog": ["Lock", "CopyData", "Unlock"]
    }
    assert seen[1].default == []
    assert replay.plans[0] == replay.plans[1]
    _, findings = confirm(drill)
    assert "WriteLog" in [finding.factor.name for finding in findings]


def test_a_finding_says_where_it_lies() -> None:
    drill = Drill(frozenset({"txn"}), Replay(), STEPWISE)
    list(drill.steps())
    _, findings = confirm(drill)
    first = findings[0]
    assert [name.split("@")[0] for name in first.path] == ["txn", "WriteLog", "CopyData"]
    assert (first.waiting, first.wakers) == (0.0, [])
    assert first.interval is not None
    assert first.interval[0] < first.factor.share < first.interval[1]


def test_a_step_goes_down_several_calls_while_these_are_few() -> None:
    replay = Replay()
    drill = Drill(frozenset({"txn"}), replay, DrillOptions(ahead=3))
    first, last = drill.steps()
    assert first.expanded == {"txn": ["Execute", "WriteLog", "Lock", "CopyData", "Unlock"]}
    assert (last.expanded, last.plan) == ({}, ALL)
    # All callees of a function or none: two would be too few for WriteLog.
    short = Drill(frozenset({"txn"}), Replay(), DrillOptions(ahead=2))
    assert next(iter(short.steps())).expanded == {"txn": ["Execute", "WriteLog"]}
