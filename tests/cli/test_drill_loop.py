"""The loop of the drill-down, on a replayed program."""

from dataclasses import replace

from replay import ALL, Replay

from vprof.analysis import Analysis
from vprof.drill import LIMIT_BUDGET, LIMIT_STEPS, Decision, Drill, DrillOptions, Enough, Measured
from vprof.findings import confirm


def test_it_expands_to_the_leaf_that_varies_and_confirms_it() -> None:
    replay = Replay()
    drill = Drill(frozenset({"txn"}), replay, DrillOptions())
    steps = list(drill.steps())
    assert [step.expanded for step in steps] == [
        {"txn": ["Execute", "WriteLog"]},
        {"WriteLog": ["Lock", "CopyData", "Unlock"]},
        {},
    ]
    _, findings = confirm(drill)
    assert findings[0].factor.functions == ["CopyData"]
    assert findings[0].confirmed
    # Unlock never varies: it is off again in the confirmation.
    assert [step.dropped for step in steps] == [[], [], ["Unlock"]]
    assert replay.plans[-2:] == [ALL, ALL - {"Unlock"}]


def test_it_stops_at_the_most_steps() -> None:
    replay = Replay()
    drill = Drill(frozenset({"txn"}), replay, DrillOptions(max_steps=2))
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
    drill = Drill(frozenset({"txn"}), replay, DrillOptions())
    assert [step.no_ranking for step in drill.steps()] == ["", "", "too much was lost"]
    _, findings = confirm(drill)
    assert replay.plans[-1] == {"txn", "Execute", "WriteLog"}
    assert findings[0].confirmed


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

    drill = Drill(frozenset({"txn"}), Forgetful(), DrillOptions())
    list(drill.steps())
    _, findings = confirm(drill)
    verdicts = {finding.factor.name: finding.confirmed for finding in findings}
    assert verdicts["CopyData"] is False
    assert verdicts["Execute"] is True


def test_the_budget_leaves_time_for_the_confirmation() -> None:
    # One step is always made. Another and the confirmation would take three times a step's length.
    drill = Drill(frozenset({"txn"}), Replay(), DrillOptions(step_seconds=10, budget_seconds=29.9))
    assert len(list(drill.steps())) == 1
    assert drill.ended == LIMIT_BUDGET


def test_what_is_accepted_or_skipped_is_not_proposed_again_and_what_is_accepted_is_a_finding() -> None:
    decisions = iter([Decision(accept=["WriteLog"], skip=["Execute"], again=True), Decision(stop=True)])
    seen: list[Measured] = []

    def decide(measured: Measured) -> Decision:
        seen.append(measured)
        return next(decisions)

    replay = Replay()
    drill = Drill(frozenset(ALL - {"Lock", "CopyData", "Unlock"}), replay, DrillOptions(), decide)
    list(drill.steps())
    assert {c.factor.name: c.children for c in seen[0].candidates}["WriteLog"] == {
        "WriteLog": ["Lock", "CopyData", "Unlock"]
    }
    assert seen[1].default == []
    assert replay.plans[0] == replay.plans[1]
    _, findings = confirm(drill)
    assert "WriteLog" in [finding.factor.name for finding in findings]


def test_a_finding_says_where_it_lies() -> None:
    drill = Drill(frozenset({"txn"}), Replay(), DrillOptions())
    list(drill.steps())
    _, findings = confirm(drill)
    first = findings[0]
    assert [name.split("@")[0] for name in first.path] == ["txn", "WriteLog", "CopyData"]
    assert (first.waiting, first.wakers) == (0.0, [])
    assert first.interval is None
    assert "too few intervals" in first.no_interval
