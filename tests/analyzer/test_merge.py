"""Several traces analyzed as one."""

from dataclasses import replace

import numpy as np
import pytest
from hand import IN, hand_trace, ranking

from vprof.errors import UsageError
from vprof.tables.model import Trace
from vprof.trace.merge import merge
from vprof.variance.analysis import analyze


def run(name: str, times: list[int], at: int) -> Trace:
    """Intervals of one call of `name` each, on one thread, from `at` on; a waker ends a wait in each."""
    intervals, segments, calls, wakeups = {}, ["2 - 0 9999 exec"], ["2 other 0 9999"], []
    for i, ns in enumerate(times):
        b = at + 100 * i
        intervals[f"i{i}"] = (1, b, 1, b + ns)
        segments += [f"1 i{i} {b} {b + 2} exec", f"1 i{i} {b + 2} {b + 4} blocked", f"1 i{i} {b + 4} {b + ns} exec"]
        calls.append(f"1 {name} {b} {b + ns}")
        wakeups.append([1, 2, b + 4])
    heights = {name: 0, "other": 0, "main": 1}
    return hand_trace(intervals, "\n".join(segments), "\n".join(calls), wakeups, heights=heights, root="main")


def test_intervals_of_all_traces_count_and_functions_meet_by_name() -> None:
    a, b = run("f", [10, 20], 0), run("f", [30, 40], 50)
    both = analyze(merge([a, b]), IN)
    assert both.summary.count == 4
    assert both.summary.variance_ns2 == np.var([10, 20, 30, 40])
    assert ranking(both) == {"f": 125.0, "body(f)": 125.0}
    assert merge([a, b]).interval_ids == ["1:i0", "2:i0", "1:i1", "2:i1"]


def test_functions_of_one_trace_only_are_absent_in_the_other() -> None:
    both = ranking(analyze(merge([run("f", [10, 20], 0), run("g", [30, 40], 0)]), IN))
    f, g = np.array([10, 20, 0, 0]), np.array([0, 0, 30, 40])
    assert (both["f"], both["g"]) == (f.var(), g.var())
    assert both["(f,g)"] == 2 * np.mean((f - f.mean()) * (g - g.mean()))


def test_call_graphs_meet_too() -> None:
    a, b = run("f", [10], 0), run("g", [10], 0)
    a = replace(a, program=replace(a.program, calls=[[1], [], []], call_graph=[[], [], []]))
    program = merge([a, b]).program
    by_name = {name: [program.functions[c] for c in program.calls[f]] for f, name in enumerate(program.functions)}
    assert by_name[a.program.functions[0]] == [a.program.functions[1]]
    assert program.call_graph == [[] for _ in program.functions]


def test_traces_of_different_plans_are_not_combined() -> None:
    a = run("f", [10], 0)
    off = np.zeros(len(a.program.functions), np.bool_)
    with pytest.raises(UsageError, match="different plans"):
        merge([a, replace(a, program=replace(a.program, on=off))])
