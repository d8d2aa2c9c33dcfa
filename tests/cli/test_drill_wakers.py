"""What a drill-down switches on where intervals wait for threads of which nothing is on."""

import io
from dataclasses import replace

import numpy as np
import pytest

from vprof.drill.findings import Finding, confirm
from vprof.drill.loop import Drill, DrillOptions, Enough, Step
from vprof.drill.settings import DrillSettings
from vprof.report import drill as report
from vprof.report.drill_ask import ask
from vprof.tables.kinds import WAKER
from vprof.tables.model import Invocations, Program, Trace
from vprof.trace.json_trace import trace_from_dict
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze

CALLS = {
    "serve": ["take", "log"],
    "take": [],
    "log": [],
    "loop": ["flush", "log"],
    "flush": ["write"],
    "write": [],
    "callback": ["other"],
    "other": [],
}
"""`serve` takes a lock that thread 2 holds while it flushes, in a loop that it never leaves."""
SITED = set(CALLS)
COUNT, PERIOD = 1200, 1000


def program(on: frozenset[str], sited: set[str]) -> Program:
    names = list(CALLS)
    calls = [[names.index(callee) for callee in callees] for callees in CALLS.values()]
    is_on = np.array([name in on for name in names])
    switchable = np.array([name in sited for name in names])
    complete = np.array([all(is_on[c] for c in callees) for callees in calls])
    heights = {"serve": 2, "take": 1, "loop": 2, "flush": 1, "callback": 1}
    height = np.array([heights.get(name, 0) for name in names], np.int32)
    return Program(
        functions=names,
        definitions=[f"p.c:{i}" for i in range(len(names))],
        calls=calls,
        height=height,
        root_height=3,
        on=is_on,
        complete=complete,
        switchable=switchable,
        call_graph=calls,
    )


def waiting(on: frozenset[str], sited: set[str]) -> Trace:
    """Every fifth interval waits for 300 or 500 ns while thread 2 flushes: its write takes all of that but 10 ns."""
    intervals, segments, wakeups = [], [], []
    calls = []
    for i in range(COUNT):
        t = i * PERIOD
        held = (300 if i % 10 else 500) if i % 5 == 0 else 0
        end = t + 110 + held + i % 3
        intervals.append({"sid": str(i), "begin": {"tid": 1, "t": t}, "end": {"tid": 1, "t": end}})
        segments.append([1, str(i), t, t + 50, "exec"])
        if held:
            segments += [[1, str(i), t + 50, t + 50 + held, "blocked"], [2, None, t + 45, t + 60 + held, "exec"]]
            wakeups.append([1, 2, t + 50 + held])
            calls += [[2, None, "flush", "", t + 46, t + 49 + held], [2, None, "write", "", t + 52, t + 44 + held]]
        segments.append([1, str(i), t + 50 + held, end, "exec"])
        calls += [
            [1, None, "serve", "", t, end],
            [1, None, "log", "", t + 2, t + 20],
            [1, None, "take", "", t + 40, t + 60 + held],
        ]
    data = {"intervals": intervals, "segments": segments, "functions": calls, "wakeups": wakeups}
    trace = trace_from_dict(data)
    known = program(on, sited)
    inv = trace.invocations
    names = [trace.program.functions[f] for f in inv.function]
    function = np.array([known.functions.index(name) for name in names], np.int32)
    rows = np.array([name in on for name in names])
    columns = {**vars(inv), "function": function}
    return replace(
        trace, program=known, invocations=Invocations(**{key: column[rows] for key, column in columns.items()})
    )


class Waiting:
    """A `Measure` of it."""

    def __init__(self, sited: set[str] = SITED) -> None:
        self.sited = sited

    def __call__(
        self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
    ) -> Analysis:
        return analyze(waiting(functions & self.sited, self.sited), AnalysisOptions(cpu_apart=True))


def drilled(sited: set[str] = SITED) -> tuple[list[Step], list[Finding]]:
    drill = Drill(frozenset({"serve"}), Waiting(sited), DrillOptions(ahead=0))
    steps = list(drill.steps())
    return steps, confirm(drill)[1]


def test_the_function_that_another_thread_runs_is_switched_on_and_found() -> None:
    steps, findings = drilled()
    # What its own thread never reaches: `log` is reached by both. The loop was entered before.
    assert steps[0].expanded[WAKER] == ["callback", "flush", "loop", "other", "write"]
    assert set(steps[1].dropped) >= {"callback", "loop", "other"}
    assert not any(WAKER in step.expanded for step in steps[1:])
    first = findings[0]
    assert (first.factor.functions, first.confirmed, first.missing) == (["write"], True, [])
    assert [name.partition("@")[0] for name in first.path] == ["serve", "take", "[blocked]", "flush", "write"]


def test_where_its_own_functions_have_no_site_those_that_it_shares_are_switched_on_next() -> None:
    steps, findings = drilled(SITED - {"flush", "write"})
    assert steps[0].expanded[WAKER] == ["callback", "loop", "other"]
    assert "log" in steps[0].expanded["serve"]
    # Nothing more can be switched on: what remains is no finding, and the reason is said.
    last = findings[-1]
    assert (last.factor.functions, last.confirmed) == ([WAKER], False)
    assert "thread 2 was waited for outside functions that were on" in last.missing[0]


def test_what_is_not_known_is_never_confirmed_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    _, findings = drilled(SITED - {"flush", "write"})
    report.print_findings({"findings": [report.finding_json(finding) for finding in findings]})
    said = capsys.readouterr().out
    assert "[waker]  " in said
    assert "not confirmed: it is not known what this time was" in said
    assert "thread 2 was waited for" in said


def test_an_unknown_wait_belongs_to_the_function_that_waited() -> None:
    """Nobody is known to have ended the waits: that is no finding of its own, and what would tell more is said."""

    class Unknown(Waiting):
        def __call__(
            self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
        ) -> Analysis:
            trace = waiting(functions, SITED)
            nobody = {key: column[:0] for key, column in vars(trace.wakeups).items()}
            return analyze(replace(trace, wakeups=type(trace.wakeups)(**nobody)), AnalysisOptions(k=5, cpu_apart=True))

    drill = Drill(frozenset({"serve"}), Unknown(), DrillOptions(ahead=0))
    assert not any(WAKER in step.expanded for step in drill.steps())
    [finding] = confirm(drill)[1]
    assert (finding.factor.name, finding.confirmed) == ("take", True)
    assert "[unknown]" in finding.explains
    assert finding.missing[0].startswith("nobody is known to have ended waits in take")


def test_it_is_asked_about_and_the_threads_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("1\nc\n"))
    drill = Drill(frozenset({"serve"}), Waiting(), DrillOptions(ahead=0), ask)
    steps = list(drill.steps())
    assert list(steps[0].expanded) == [WAKER]
    said = capsys.readouterr().err
    assert "[waker]  threads waited for while nothing of theirs was on: 2  5 functions to switch on" in said
    # What is of no interest is not proposed again.
    monkeypatch.setattr("sys.stdin", io.StringIO("s 1\nm\nc\n"))
    drill = Drill(frozenset({"serve"}), Waiting(), DrillOptions(ahead=0), ask)
    list(drill.steps())
    assert capsys.readouterr().err.count("threads waited for") == 1


def test_the_file_of_an_older_drill_down_had_one_root() -> None:
    assert DrillSettings.read({"root": "serve"}).roots == ["serve"]
    assert DrillSettings.read({"root": None}).roots == []
    assert DrillSettings.read({"roots": ["serve", "loop"]}).roots == ["serve", "loop"]
