"""The answer of a drill-down as text."""

from typing import Any

import pytest

from vprof.report.drill import print_findings

ROW: dict[str, Any] = {
    "functions": ["scan"],
    "kind": "variance",
    "sites": ["a.c:7"],
    "share": 0.8,
    "ci95": [0.7, 0.9],
    "ci95_reason": "",
    "explored_share": 0.75,
    "few_intervals": False,
    "confirmed": True,
    "path": ["serve", "scan"],
    "waiting": 0.0,
    "wakers": [],
    "inherent": 0.0,
    "is_inherent": False,
    "probes": None,
}


def said(capsys: pytest.CaptureFixture[str], cpu_wait: dict[str, float], **changed: object) -> list[str]:
    print_findings({"findings": [ROW | changed], "cpu_wait": cpu_wait})
    return capsys.readouterr().out.splitlines()


def test_what_types_differ_by_is_called_inherent(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, {}, inherent=0.97, is_inherent=True)
    assert lines[1].endswith("confirmed; inherent: types of intervals differ by it")
    assert lines[-1].strip() == "differs between types of intervals: 97% of it"
    assert "inherent" not in "\n".join(said(capsys, {}))


def test_waits_for_a_cpu_are_said_before_the_findings_if_they_matter(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, {"[sched]": 0.12, "[preempted]": 0.5})
    assert lines[0].startswith("waiting for a CPU: 62% of the variance ([preempted] 50%, [sched] 12%), in no finding")
    assert said(capsys, {"[sched]": 0.04})[0].startswith("findings")


def test_a_thread_that_has_no_cpu_while_others_wait_for_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    place = {"path": ["serve", "lock", "[blocked]", "[preempted]"], "share": 0.93, "thread": "7/9 (low)"}
    waits = {"findings": [], "cpu_wait": {"[preempted]": 0.9}}
    print_findings(waits | {"cpu_place": place})
    text = capsys.readouterr().out
    assert "93% of it: serve > lock > [blocked] > [preempted]: the intervals wait for thread" in text
    assert "7/9 (low), which has no CPU meanwhile" in text
    print_findings(waits | {"cpu_place": place | {"path": ["serve", "[preempted]"], "thread": ""}})
    assert "93% of it: serve > [preempted]\n" in capsys.readouterr().out


def test_the_clients_time_is_said_before_the_findings_if_it_matters(capsys: pytest.CaptureFixture[str]) -> None:
    print_findings({"findings": [ROW | {"share_of_rest": 0.97}], "client_time": 0.64})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "the client's time: 64% of the variance ([gap]), in no finding"
    assert "97% of the rest" in lines[2]
    print_findings({"findings": [ROW], "client_time": 0.01})
    assert "client" not in capsys.readouterr().out


def test_few_events_are_the_reason_why_a_finding_is_not_confirmed(capsys: pytest.CaptureFixture[str]) -> None:
    driven = {"confirmed": False, "ci95": None, "ci95_reason": "3 intervals hold half of the variance"}
    lines = said(capsys, {}, few_intervals=True, **driven)
    assert lines[1].endswith("80% of the variance, not confirmed: 3 intervals hold half of the variance")
    assert not any("no interval" in line for line in lines)
    # Of many it is that the share was not found again.
    lines = said(capsys, {}, **driven | {"ci95_reason": "83 intervals hold half of the variance"})
    assert lines[1].endswith("80% of the variance, not confirmed: 75% while exploring")
    assert lines[-1].strip() == "no interval: 83 intervals hold half of the variance"


def test_calls_that_nobody_can_follow_are_said_of_the_finding(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, {}, unfollowed=["a.c:9"])
    assert lines[-1].strip() == "part of it is what it calls through pointers at a.c:9: no callee is known there"


def test_what_the_compiler_expanded_below_a_finding_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, {}, expanded=["check", "append"])
    assert lines[-1].strip() == (
        "expanded in it, so that their calls are not seen: check, append (to see them, name functions in `probe` and "
        "build again)"
    )


def test_what_would_be_gained_is_said_of_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    ratios = {"variance": 0.4, "p99": 1.1, "mean": None}
    gain = {"changes": ["scan=constant"], "ratios": ratios, "why_not": ""}
    without = {"changes": ["scan=0"], "ratios": {"variance": 0.3, "p99": 0.9, "mean": 0.8}, "why_not": ""}
    lines = said(capsys, {}, gain=gain, gain_without=without)
    assert [line.strip() for line in lines[-2:]] == [
        "if it took always the same, predicted: variance 60% less, p99 10% more (vprof whatif)",
        "if it took no time, predicted: variance 70% less, p99 10% less, mean 20% less (vprof whatif)",
    ]
    assert said(capsys, {}, gain={"changes": [], "ratios": {}, "why_not": "too large"}) == said(capsys, {})


def test_what_was_left_out_as_aborted_is_said_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the confirmation; files of older drills do not tell."""
    aborted = {"count": 5001, "of": 7094, "share": 0.62, "joined": False, "repeated": 0, "repeated_share": 0.0}
    told = {"findings": [ROW], "confirmation": {"intervals": {"count": 2093, "aborted": aborted}}}
    print_findings(told)
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("left out as aborted: 5001 of 7094 intervals, 62.0 % of the time that all took; where")
    print_findings(told | {"confirmation": {"intervals": {"count": 2093}}})
    assert capsys.readouterr().out.startswith("findings")
