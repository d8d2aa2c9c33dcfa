"""What a drill-down switches on where call stacks tell where the intervals wait."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_drill_wakers import COUNT, SITED, waiting

from vprof.drill.loop import Drill, DrillOptions, Enough
from vprof.drill.wait_paths import STACKS, telling
from vprof.tables.model import WaitSamples
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze

SERVE, TAKE, FLUSH = ("main", "serve"), ("main", "serve", "take"), ("loop", "flush")


@pytest.mark.parametrize(
    "stacks, chosen",
    [
        ({("root", "a", "b", "x", "c"): 1.0}, {"a", "b", "x", "c"}),
        ({("root", "a", "b", "x", "d", "c"): 1.0}, {"b", "x", "d", "c"}),
        ({("a", "b", "c"): 0.6, ("a", "b", "d"): 0.4}, {"a", "b", "c", "d"}),
        ({("b", "c"): 0.96, ("a", "x", "d"): 0.04}, {"b", "c"}),
        ({("a", "b", "small"): 1.0}, {"a", "b"}),
        ({("a", "b", "a", "b"): 0.5, ("a", "b"): 0.5}, {"a", "b"}),
        ({("elsewhere",): 1.0}, set[str]()),
        ({}, set[str]()),
    ],
)
def test_where_the_ways_to_waits_end_or_part(stacks: dict[tuple[str, ...], float], chosen: set[str]) -> None:
    assert telling(stacks.items(), {"a", "b", "c", "d", "x"}, 0.05) == chosen


class Sampled:
    """A `Measure` of `waiting`, whose waits have stacks: all in `take`, ended in `flush`."""

    STACK: tuple[str, ...] = TAKE

    def __init__(self) -> None:
        self.plans: list[frozenset[str]] = []

    def __call__(
        self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
    ) -> Analysis:
        self.plans.append(functions)
        trace = waiting(functions, SITED)
        held = [(300 if i % 10 else 500) if i % 5 == 0 else 0 for i in range(COUNT)]
        waits = [(i, 0, ns) for i, ns in enumerate(held) if ns]
        rows = [row for wait in waits for row in (wait, (-1, 1, 0))]
        interval, stack, ns = (np.array(column) for column in zip(*rows, strict=True))
        nobody = np.full(len(rows), -1, np.int32)  # no object known
        samples = WaitSamples(interval.astype(np.int32), stack.astype(np.int32), ns.astype(np.int64), nobody)
        return analyze(replace(trace, wait_samples=samples, wait_stacks=[self.STACK, FLUSH]), AnalysisOptions())


def test_one_step_leads_to_the_function_that_waits_and_to_who_ends_it() -> None:
    measure = Sampled()
    drill = Drill(frozenset({"serve"}), measure, DrillOptions(step_seconds=0.001))
    first, *_ = drill.steps()
    assert first.expanded[STACKS] == ["flush", "loop", "take"]
    assert measure.plans[1] >= {"serve", "take", "flush", "loop"}


def test_children_are_left_alone_while_stacks_lead_further() -> None:
    """`take` waits below `serve`, which has another child; the thread that it waits for is followed."""
    drill = Drill(frozenset({"serve"}), Sampled(), DrillOptions(step_seconds=0.001))
    steps = list(drill.steps())
    assert all("serve" not in step.expanded for step in steps)
    assert "write" in drill.plan() and "log" not in drill.plan()


def test_a_function_that_was_inlined_is_below_the_last_one_of_the_stack() -> None:
    """`take` is not in the stack: its code is in `serve`."""

    class Inlined(Sampled):
        STACK = ("main", "serve")

    drill = Drill(frozenset({"serve"}), Inlined(), DrillOptions(step_seconds=0.001))
    first, *_ = drill.steps()
    assert {"take", "log"} <= set(first.expanded["serve"])
    assert "main" not in drill.plan()
