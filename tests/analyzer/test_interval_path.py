"""One interval's critical path, as `vprof analyze --path` shows it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hand import hand_trace

from vprof.errors import UsageError
from vprof.path.interval_path import interval_path
from vprof.report import path
from vprof.tables.kinds import BLOCKED
from vprof.tables.model import OBJECT_CLASSES, Trace
from vprof.trace.json_trace import load_json

CASES = Path(__file__).parents[1] / "cases"


def lines(trace: Trace, wanted: str = "A") -> list[str]:
    """The report without its two headings, blanks squeezed."""
    return [" ".join(line.split()) for line in path.render(interval_path(trace, wanted)).splitlines()[2:]]


def test_a_wait_is_followed_by_what_its_waker_did() -> None:
    report = path.render(interval_path(load_json(CASES / "02_lock_handoff.json"), "slowest"))
    assert report.splitlines() == [
        "A2: 152 ns",
        "    at   takes           thread",
        "  0 ns   20 ns  exec     1       txnA",
        " 20 ns  102 ns  blocked  1       txnA > lock_wait  [wait, ended by 2 in Commit]",
        " 20 ns   95 ns    exec   2       txnB > UpdateRow",
        "115 ns    5 ns    exec   2       txnB > Commit",
        "120 ns    2 ns    sched  1       txnA > lock_wait",
        "122 ns   30 ns  exec     1       txnA",
    ]


def test_a_wait_says_what_for_and_when_nobody_ended_it() -> None:
    trace = hand_trace(
        {"A": (1, 0, 1, 100)}, "1 A 0 30 exec\n1 A 30 60 blocked\n1 A 60 100 exec", "1 f 0 100\n1 lock 30 60"
    )
    semaphore = np.where(trace.segments.state == BLOCKED, OBJECT_CLASSES.index("semaphore"), 0).astype(np.int8)
    trace.segments = replace(trace.segments, object_class=semaphore)
    assert lines(trace) == [
        "0 ns 30 ns exec 1 f",
        "30 ns 30 ns blocked 1 f > lock [semaphore, nobody is known to have ended it]",
        "60 ns 40 ns exec 1 f",
    ]


def test_calls_too_short_to_be_seen_count_for_their_caller() -> None:
    calls = "1 f 0 9000\n" + "\n".join(f"1 tiny {t} {t + 1}" for t in range(10, 5000, 2)) + "\n1 long 6000 8000"
    trace = hand_trace({"A": (1, 0, 1, 9000)}, "1 A 0 9000 exec", calls)
    assert lines(trace) == ["0 ns 6 us exec 1 f", "6 us 2 us exec 1 f > long", "8 us 1 us exec 1 f"]


def test_many_short_waits_are_one_line() -> None:
    waits = "\n".join(f"1 A {t} {t + 1} exec\n1 A {t + 1} {t + 2} blocked" for t in range(1000, 2000, 2))
    trace = hand_trace({"A": (1, 0, 1, 3000)}, f"1 A 0 1000 exec\n{waits}\n1 A 2000 3000 exec")
    assert lines(trace)[1] == "1.00 us 999 ns short 1 (several steps, each too short to be shown)"
    assert len(lines(trace)) == 3


def test_only_the_innermost_functions_are_shown() -> None:
    trace = hand_trace({"A": (1, 0, 1, 9)}, "1 A 0 9 exec", "\n".join(f"1 {f} 0 9" for f in "abcde"))
    assert lines(trace) == ["0 ns 9 ns exec 1 ... > c > d > e"]


def test_a_task_says_who_made_it() -> None:
    trace = hand_trace(
        {"A": (1, 0, 2, 100)}, "1 A 0 20 exec\n2 A 50 100 exec\n1 - 20 100 exec", created=[[1, 20, 2, 50]]
    )
    assert [line.split()[4] for line in lines(trace)] == ["exec", "queue", "exec"]


def test_the_steps_add_up_in_json() -> None:
    report = json.loads(path.render_json(interval_path(load_json(CASES / "02_lock_handoff.json"), "median")))
    assert report["schema"] == "vprof-path/1"
    assert sum(step["duration_ns"] for step in report["steps"]) == report["latency_ns"]
    wait = next(step for step in report["steps"] if step["kind"] == "blocked")
    assert sum(step["duration_ns"] for step in wait["steps"]) == wait["duration_ns"]
    assert wait["ended_by"] == "2"


def test_an_unknown_id_is_answered_with_ids_that_exist() -> None:
    with pytest.raises(UsageError, match="no interval 7 in this trace: ids look like A0, A1, A2; or ask"):
        interval_path(load_json(CASES / "02_lock_handoff.json"), "7")
