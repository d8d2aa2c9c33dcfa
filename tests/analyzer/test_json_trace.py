"""JSON traces: strict, one line per error, stamps put in order."""

import json
from pathlib import Path
from typing import Any

import pytest
from hand import hand_trace, path

from vprof.errors import TraceError
from vprof.trace.json_trace import load_json, trace_from_dict


def good() -> dict[str, Any]:
    return {
        "intervals": [{"sid": "A", "begin": {"tid": 1, "t": 0}, "end": {"tid": 1, "t": 10}}],
        "segments": [[1, "A", 0, 10, "exec"]],
        "functions": [[1, "A", "f", "", 0, 10]],
    }


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("segments", None, '"segments" is not a list'),
        ("segments", [[1, "A", 0, 10]], "segments[0]: expected a list of 5 items"),
        ("segments", [[1, "A", 0, 10, "running"]], "segments[0]: state 'running' is none of exec, blocked, queue"),
        ("segments", [[1, "A", 9, 3, "exec"]], "segments[0]: ends at 3, before its start at 9"),
        ("segments", [[1, "A", 0, 5.5, "exec"]], "segments[0]: 5.5 is not an integer"),
        ("segments", [[1, "A", 0, 2**70, "exec"]], "does not fit"),
        ("segments", [[1, "A", 0, 9, "exec"], [1, None, 8, 10, "exec"]], "segments of thread 1 overlap"),
        ("segments", [[None, "A", 0, 9, "exec"]], "segments[0]: None is not a name"),
        ("intervals", [{"sid": "A"}], 'intervals[0]: "begin" is not'),
        ("intervals", ["A"], 'intervals[0]: "begin" is not'),
        ("intervals", good()["intervals"] * 2, 'two intervals have the sid "A"'),
        ("intervals", [{**good()["intervals"][0], "ignore": 1}], '"ignore" is 1, not true or false'),
        ("intervals", [{**good()["intervals"][0], "end": {"tid": 1, "t": -1}}], "ends at -1, before its begin at 0"),
        ("functions", [[1, "A", "f", "", 10, 0]], "functions[0] (f): ends at 0, before its start at 10"),
        ("functions", [[1, None, "f", "", 0, 6], [1, None, "g", "", 3, 9]], "calls do not nest on thread 1: g from 3"),
        ("wakeups", [[1, 2]], "wakeups[0]: expected a list of 3 items"),
        ("created", {}, '"created" is not a list'),
        ("heights", {"g": 0}, '"heights" has no entry for f'),
        ("heights", {"f": "tall"}, "heights[\"f\"]: 'tall' is not an integer"),
    ],
)
def test_a_contradiction_is_named(key: str, value: Any, message: str) -> None:
    with pytest.raises(TraceError) as error:
        trace_from_dict({**good(), key: value})
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"intervals": []}', '{"a":' * 100000])
def test_what_is_no_trace_at_all_is_one_line_with_the_file_s_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "t.json"
    file.write_text(text)
    with pytest.raises(TraceError) as error:
        load_json(file)
    assert str(error.value).startswith(str(file))
    assert "\n" not in str(error.value)


def test_optional_items_are_accepted() -> None:
    """depth on functions, object on wake-ups, task on created, types, unknown keys."""
    data = good() | {
        "functions": [[1, "A", "g", "", 0, 10, 1], [1, "A", "f", "", 0, 10, 0]],
        "wakeups": [[1, 2, 3, "mutex"]],
        "created": [[2, 0, 1, 0, "task"]],
        "comment": "x",
    }
    trace = trace_from_dict(json.loads(json.dumps(data)))
    assert [trace.program.functions[f] for f in trace.invocations.function] == ["f", "g"]
    assert list(trace.invocations.depth) == [0, 1]


def test_heights_are_derived_from_the_calls_when_they_are_not_given() -> None:
    trace = hand_trace({}, "1 - 0 9 exec", "1 f 0 9\n1 g 1 8\n1 f 2 7\n1 h 3 4")
    heights = dict(zip(trace.program.functions, trace.program.height, strict=True))
    # The call of f in g closes a cycle; g counts as calling h, as f does.
    assert heights == {"f": 2, "g": 1, "h": 0}
    assert trace.program.root_height == 2


WAIT = "1 A 0 10 exec\n1 A 10 60 blocked\n1 A 60 100 exec\n2 - 0 99 exec"


def test_a_wakeup_stamped_just_after_its_wait_is_moved_to_its_end() -> None:
    trace = hand_trace({"A": (1, 0, 1, 100)}, WAIT, wakeups=[[1, 2, 63]])
    assert path(trace)[1] == ("exec", 2, 10, 60)
    assert trace.notes == ["1 wake-ups stamped after the wait they ended were moved to its end"]


def test_a_wakeup_outside_any_wait_is_left_out() -> None:
    trace = hand_trace({"A": (1, 0, 1, 100)}, WAIT, wakeups=[[1, 2, 5], [2, 1, 50]])
    assert path(trace)[1] == ("blocked_unknown", 1, 10, 60)
    assert trace.notes == ["2 wake-ups fall into no wait and were left out"]


def test_a_task_taken_before_it_was_made_is_put_in_order() -> None:
    trace = hand_trace({"A": (2, 0, 1, 100)}, "2 A 0 60 exec\n1 A 50 100 exec", created=[[2, 55, 1, 50]])
    assert path(trace) == [("exec", 2, 0, 49), ("queue", 1, 49, 50), ("exec", 1, 50, 100)]
    assert len(trace.notes) == 1


def test_a_dequeue_belongs_to_the_next_segment_of_its_task_s_interval() -> None:
    """Taken at 40, but thread 1 works for B until 50; the queue time runs to the segment's start."""
    segments = "2 A 0 20 exec\n1 B 30 50 exec\n1 A 50 100 exec"
    trace = hand_trace({"A": (2, 0, 1, 100)}, segments, created=[[2, 20, 1, 40]])
    assert path(trace) == [("exec", 2, 0, 20), ("queue", 1, 20, 50), ("exec", 1, 50, 100)]
