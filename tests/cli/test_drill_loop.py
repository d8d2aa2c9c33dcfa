"""The loop of the drill-down, on a replayed program: the worked case WriteLog, seen through what is on."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from vprof.analysis import Analysis, analyze
from vprof.drill import Drill, DrillOptions
from vprof.json_trace import load_json
from vprof.model import Invocations, Trace

CASE = Path(__file__).parents[1] / "cases" / "01_writelog.json"
CALLS = {"txn": ["Execute", "WriteLog"], "WriteLog": ["Lock", "CopyData", "Unlock"]}
ALL = {"txn", "Execute", "WriteLog", "Lock", "CopyData", "Unlock"}


def seen_through(trace: Trace, functions: frozenset[str]) -> Trace:
    """What would have been recorded with only these functions on."""
    names = trace.program.functions
    on = np.array([name in functions for name in names])
    calls = [[names.index(child) for child in CALLS.get(name, [])] for name in names]
    complete = np.array([all(on[child] for child in children) for children in calls])
    table = trace.invocations
    rows = on[table.function]
    columns = {column: getattr(table, column)[rows] for column in Invocations.__dataclass_fields__}
    program = replace(trace.program, on=on, complete=complete, calls=calls)
    return replace(trace, program=program, invocations=Invocations(**columns))


class Replay:
    """A `Measure` that always finds the worked case; `plans` is what it was asked for."""

    def __init__(self) -> None:
        self.plans: list[frozenset[str]] = []

    def __call__(self, functions: frozenset[str], seconds: float) -> Analysis:
        self.plans.append(functions)
        return analyze(seen_through(load_json(CASE), functions))


def test_it_expands_to_the_leaf_that_varies_and_confirms_it() -> None:
    replay = Replay()
    drill = Drill(frozenset({"txn"}), replay, DrillOptions())
    steps = list(drill.steps())
    assert [step.expanded for step in steps] == [
        {"txn": ["Execute", "WriteLog"]},
        {"WriteLog": ["Lock", "CopyData", "Unlock"]},
        {},
    ]
    _, findings = drill.confirm()
    assert findings[0].ranked.factor.functions == ["CopyData"]
    assert findings[0].confirmed
    # Unlock never varies: it is off again in the confirmation.
    assert [step.dropped for step in steps] == [[], [], ["Unlock"]]
    assert replay.plans[-2:] == [ALL, ALL - {"Unlock"}]


def test_it_stops_at_the_most_steps() -> None:
    replay = Replay()
    drill = Drill(frozenset({"txn"}), replay, DrillOptions(max_steps=2))
    assert [bool(step.expanded) for step in drill.steps()] == [True, True]
    assert len(replay.plans) == 2


def test_a_step_that_cannot_be_ranked_ends_the_exploration_and_is_not_built_upon() -> None:
    class Lossy(Replay):
        """The third plan records so much that its step is refused."""

        def __call__(self, functions: frozenset[str], seconds: float) -> Analysis:
            analysis = super().__call__(functions, seconds)
            if functions == ALL:
                return replace(analysis, no_ranking="too much was lost", ranking=[], factors=[])
            return analysis

    replay = Lossy()
    drill = Drill(frozenset({"txn"}), replay, DrillOptions())
    assert [step.no_ranking for step in drill.steps()] == ["", "", "too much was lost"]
    _, findings = drill.confirm()
    assert replay.plans[-1] == {"txn", "Execute", "WriteLog"}
    assert findings[0].confirmed


def test_what_fresh_data_do_not_show_again_is_not_confirmed() -> None:
    class Forgetful(Replay):
        """The exploration never saw CopyData vary."""

        def __call__(self, functions: frozenset[str], seconds: float) -> Analysis:
            analysis = super().__call__(functions, seconds)
            if len(self.plans) < 4:
                return replace(analysis, ranking=[f for f in analysis.ranking if f.name != "CopyData"])
            return analysis

    drill = Drill(frozenset({"txn"}), Forgetful(), DrillOptions())
    list(drill.steps())
    _, findings = drill.confirm()
    verdicts = {finding.ranked.factor.name: finding.confirmed for finding in findings}
    assert verdicts["CopyData"] is False
    assert verdicts["Execute"] is True
