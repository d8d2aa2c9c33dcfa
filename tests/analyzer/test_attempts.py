"""Intervals of several attempts: what aborted ones did lies below `[aborted]`, and all sums stay exact.

Random schedules, whose intervals are cut into attempts at random; what must come out, reference.py reads from the
tuples, nanosecond by nanosecond.
"""

import copy
import random
from itertools import groupby
from typing import Any

import numpy as np
import pytest
import reference
from hand import EVERYTHING, hand_trace
from properties import LOT, lots, named
from reference_tree import Path, Tree
from schedules import Schedule
from test_random_schedules import analyzed, check_paths, check_ranking, check_tree

from vprof.errors import TraceError
from vprof.path.interval_path import interval_path
from vprof.tables.model import Trace
from vprof.trace.json_trace import trace_from_dict
from vprof.trace.merge import merge
from vprof.variance import statistics
from vprof.variance.analysis import Analysis, analyze


class Retried(Schedule):
    """A schedule of which some intervals were tried several times, each time on any of its threads."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        rng = random.Random(f"attempts {seed}")
        self.data = copy.deepcopy(self.data)
        threads = sorted({s[0] for s in self.data["segments"]})
        for iv in self.data["intervals"]:
            begin, end = iv["begin"]["t"], iv["end"]["t"]
            times = sorted(rng.randint(begin, end) for _ in range(2 * rng.choice((0, 1, 1, 2, 3))))
            tids = [rng.choice((iv["begin"]["tid"], iv["end"]["tid"], rng.choice(threads))) for _ in times]
            points = [{"tid": tid, "t": t} for tid, t in zip(tids, times, strict=True)]
            iv["attempts"] = [{"end": a, "next": b} for a, b in zip(points[::2], points[1::2], strict=True)]


def told(data: dict[str, Any]) -> dict[str, Path]:
    """In the order in which vprof has the intervals."""
    found = reference.paths(data)
    order = sorted(data["intervals"], key=lambda iv: iv["begin"]["t"])
    return {iv["sid"]: [(*same, len(list(all_))) for same, all_ in groupby(found[iv["sid"]])] for iv in order}


@lots(600)
def test_random_attempts(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths, tree, shares and ranking; every other schedule in the own view, every third without synchronisation."""
    monkeypatch.setattr(statistics, "TAIL_INTERVALS", 1)
    for seed in range(first, first + LOT):
        with named(seed):
            schedule = Retried(seed)
            if seed % 3 == 0:
                drop_synchronisation(schedule)
            if not schedule.intervals:
                continue
            expected = told(schedule.data)
            exponent, own = 1 + seed % 3, seed % 2 == 1
            trace, analysis = analyzed(schedule, specificity_exp=exponent, own=own)
            check_paths(schedule, analysis, expected)
            tree = Tree(expected, own)
            check_tree(analysis, tree)
            check_ranking(trace, analysis, tree, exponent)


def drop_synchronisation(schedule: Schedule) -> None:
    states = {"blocked": "exec", "queue": "exec"}
    rows = [[*s[:4], states.get(s[4], s[4])] for s in schedule.data["segments"]]
    schedule.data = {**schedule.data, "segments": rows, "wakeups": [], "created": []}


def test_the_random_attempts_have_everything_in_them() -> None:
    """Else the test above would show less than it says."""
    seen = {"below a function": 0, "a wait": 0, "busy": 0, "a gap": 0, "a queue": 0, "another thread's": 0}
    for seed in range(100):
        schedule = Retried(seed)
        for path in told(schedule.data).values():
            for _, _, node, _ in path:
                at = node.index("[aborted]") if "[aborted]" in node else None
                if at is None:
                    continue
                seen["below a function"] += at > 0
                seen["a wait"] += "[blocked]" in node[at:]
                seen["busy"] += "[busy]" in node[at:]
                seen["a gap"] += "[gap]" in node[at:]
                seen["a queue"] += "[queue]" in node[at:]
        seen["another thread's"] += any(
            attempt["end"]["tid"] != attempt["next"]["tid"]
            for iv in schedule.data["intervals"]
            for attempt in iv["attempts"]
        )
    assert {what: count for what, count in seen.items() if count < 10} == {}


def two_attempts(retried: bool = True) -> Trace:
    """A waits for a lock, is aborted at 30, and begins again at 40."""
    trace = hand_trace(
        {"A": (1, 0, 1, 100), "B": (1, 200, 1, 240)},
        """1 A 0 10 exec
        1 A 10 30 blocked
        1 - 30 40 idle
        1 A 40 100 exec
        1 B 200 240 exec
        2 - 0 100 exec""",
        """1 run 0 30
        1 lock 5 30
        1 run 40 100
        1 run 200 240
        2 hold 0 50""",
        [[1, 2, 28]],
    )
    row = np.zeros(1, np.int32)
    columns = {"interval": row, "thread": row, "next_thread": row, "begin": row + 0, "end": row + 30}
    if retried:
        trace.attempts = type(trace.attempts)(**columns, next_begin=row + np.int64(40))
    return trace


def times(analysis: Analysis, name: str) -> list[list[int]]:
    """What the intervals took at each node of that name."""
    tree = analysis.tree
    return [analysis.times.of(x).tolist() for x, found in enumerate(tree.paths.name) if found == name]


def test_what_an_aborted_attempt_did_is_below_it_and_the_rest_where_it_was() -> None:
    analysis = analyze(two_attempts(), EVERYTHING)
    assert times(analysis, "[aborted]") == [[30, 0]]
    assert times(analysis, "[gap]") == [[10, 0]]
    assert sorted(times(analysis, "run")) == [[30, 0], [60, 40]]
    assert times(analysis, "hold") == [[18, 0]]
    found = {f.functions[0] for f in analysis.ranking if f.kind == "variance"}
    assert {"lock", "hold"} <= found
    assert "[aborted]" not in found, "what it did is ranked"


def test_an_attempt_of_which_nothing_was_measured_is_a_factor_itself() -> None:
    trace = two_attempts()
    trace.invocations = type(trace.invocations)(**{name: c[:0] for name, c in vars(trace.invocations).items()})
    trace.wakeups = type(trace.wakeups)(*(c[:0] for c in vars(trace.wakeups).values()))
    trace.segments.state[:] = 0
    assert times(analyze(trace, EVERYTHING), "[aborted]") == [[30, 0]]
    assert ["[aborted]"] in [f.functions for f in analyze(trace, EVERYTHING).ranking]


def test_the_path_of_an_interval_has_a_step_for_each_aborted_attempt() -> None:
    steps = interval_path(two_attempts(), "A").steps
    assert [(step.kind, step.start, step.stop) for step in steps] == [
        ("aborted", 0, 30),
        ("gap", 30, 40),
        ("exec", 40, 100),
    ]
    assert [step.kind for step in steps[0].steps] == ["exec", "exec", "blocked"]


def test_merged_traces_keep_the_attempts_of_each() -> None:
    """The intervals of both come in the order of their begins: A, A, B, B."""
    analysis = analyze(merge([two_attempts(), two_attempts(retried=False)]), EVERYTHING)
    assert sorted(analysis.per_interval) == ["1:A", "1:B", "2:A", "2:B"]
    assert times(analysis, "[aborted]") == [[30, 0, 0, 0]]
    assert len(merge([two_attempts(), two_attempts()]).attempts.begin) == 2


@pytest.mark.parametrize(
    ("attempts", "message"),
    [
        ([{"end": {"tid": 1, "t": 50}, "next": {"tid": 1, "t": 40}}], "not in the order of time"),
        ([{"end": {"tid": 1, "t": 50}, "next": {"tid": 1, "t": 140}}], "not in the order of time"),
        ([{"end": {"tid": 1, "t": 50}}], '"next" is not'),
        ("all", '"attempts" is not a list'),
    ],
)
def test_attempts_that_cannot_be_are_refused(attempts: Any, message: str) -> None:
    interval = {"sid": "A", "begin": {"tid": 1, "t": 0}, "end": {"tid": 1, "t": 100}, "attempts": attempts}
    with pytest.raises(TraceError, match=message):
        trace_from_dict({"intervals": [interval], "segments": [], "functions": []})
