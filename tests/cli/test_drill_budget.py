"""What the time of a drill-down goes to, and whether there can be an answer, said before it begins."""

import time
from dataclasses import replace

import pytest
from replay import STEPWISE, Replay

from vprof.drill.budget import FEWEST, Budget
from vprof.drill.loop import LIMIT_BUDGET, Drill, Enough
from vprof.report.drill import print_plan, say_if_too_few
from vprof.variance.analysis import Analysis


def test_a_third_is_kept_for_the_confirmation_as_far_as_it_can_use_it() -> None:
    assert [Budget(seconds, 3, 20).kept for seconds in (0, 20, 60, 90, 300)] == [12, 12, 20, 30, 36]
    assert [Budget(seconds, 3, 20).steps for seconds in (0, 10, 60, 300)] == [20, 1, 13, 20]


def test_the_plan_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_plan(Budget(60, 3, 20))
    print_plan(Budget(0, 1.5, 20))
    assert capsys.readouterr().out.splitlines() == [
        "plan: up to 13 steps of 3 s (12 s while the shares are uncertain); 20 s of 60 s kept for the confirmation",
        "plan: up to 20 steps of 1.5 s (6 s while the shares are uncertain); 6 s kept for the confirmation",
    ]


@pytest.mark.parametrize(("intervals", "seconds", "said"), [(4, 8.0, True), (33, 8.0, True), (34, 8.0, False)])
def test_too_few_intervals_are_said_at_once_with_what_helps(
    intervals: int, seconds: float, said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    budget = Budget(0, 3, 20)
    say_if_too_few(budget, intervals, seconds)
    text = capsys.readouterr().err
    assert bool(text) == said == (intervals / seconds * 72 < FEWEST)
    if intervals == 4:
        assert text == (
            "vprof: 0.5 intervals end in a second: the longest confirmation has about 36, and no share is sure below "
            "300. What helps: more load, a longer drill-down (--step-seconds 25), or an interval that ends more often\n"
        )
        # With these options there would be enough.
        assert Budget(0, 25, 20).expected(intervals, seconds) >= FEWEST


def test_the_budget_that_would_be_enough_is_named_too(capsys: pytest.CaptureFixture[str]) -> None:
    say_if_too_few(Budget(60, 3, 20), 4, 8.0)
    assert "(--budget 1500s)" in capsys.readouterr().err
    assert Budget(1500, 3, 20).expected(4, 8.0) >= FEWEST


def test_steps_leave_the_confirmation_its_part() -> None:
    class Slow(Replay):
        """Each step takes what it is asked for, on a clock that we turn."""

        def __call__(
            self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
        ) -> Analysis:
            turned.append(seconds)
            analysis = super().__call__(functions, seconds, enough, compared)
            return replace(analysis, trace=replace(analysis.trace, recorded_ns=round(seconds * 1e9)))

    turned: list[float] = []
    begin = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: begin + sum(turned))
        drill = Drill(frozenset({"txn"}), Slow(), replace(STEPWISE, step_seconds=3, budget_seconds=18))
        assert len(list(drill.steps())) == 2
        assert drill.ended == LIMIT_BUDGET
        left = 18 - sum(turned)
        assert left >= drill.options.budget.kept == 12


def test_a_step_goes_on_only_while_that_may_change_what_is_expanded() -> None:
    answers = []

    class Uncertain(Replay):
        def __call__(
            self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
        ) -> Analysis:
            analysis = super().__call__(functions, seconds, enough, compared)
            unknown = [replace(ranked, ci95=None) for ranked in analysis.factors]
            analysis = replace(analysis, factors=unknown)
            if enough and not compared:
                answers.append(enough(analysis))
            return analysis

    drill = Drill(frozenset({"txn"}), Uncertain(), STEPWISE)
    list(drill.steps())
    # All that can be expanded fits into a step, until there is nothing more to expand.
    assert answers == [True, True, False]
