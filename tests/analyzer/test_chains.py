"""No function is ranked before a child that explains it (docs/algorithms.md section 5)."""

from dataclasses import replace

import numpy as np
import pytest
from hand import hand_trace
from test_variance_tree import sequential

from vprof.report.page.headline import headline
from vprof.report.text import render
from vprof.tables.model import Program
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze
from vprof.variance.chains import children_first, deepest


def entry_above_work(heights: dict[str, int], other: tuple[int, ...] = (0, 0, 0)) -> Analysis:
    """Three intervals: main calls entry, which takes 2 and `other` and calls work, which takes 10, 50 and 90."""
    intervals, segments, calls = {}, [], []
    now = 0
    for i, (work, more) in enumerate(zip((10, 50, 90), other, strict=True)):
        end = now + work + more + 4
        intervals[f"i{i}"] = (1, now, 1, end)
        segments.append(f"1 i{i} {now} {end} exec")
        calls += [f"1 main {now} {end}", f"1 entry {now + 1} {end - 1}", f"1 work {now + 2} {now + 2 + work}"]
        now = end + 10
    trace = hand_trace(intervals, "\n".join(segments), "\n".join(calls), heights=heights, root="main")
    return analyze(trace, AnalysisOptions(k=5))


def test_an_entry_whose_height_came_out_as_a_leaf_is_behind_the_function_that_varies() -> None:
    """nginx: its request's entry had height 0 and was "first in 100 %"; what it calls had 19."""
    ranking = entry_above_work({"main": 20, "entry": 0, "work": 19}).ranking
    assert [f.name for f in ranking[:3]] == ["work", "entry", "main"]
    assert ranking[1].score > ranking[0].score
    assert [f.passes_to for f in ranking[:3]] == ["", "work", "entry"]


@pytest.mark.parametrize(("other", "first"), [((0, 0, 1), "work"), ((0, 0, 10), "entry")])
def test_a_child_explains_what_it_holds_nearly_all_of(other: tuple[int, ...], first: str) -> None:
    """Var(work), 1,067, is 98 % of Var(entry) at first, and 79 % then."""
    assert entry_above_work({"main": 20, "entry": 0, "work": 19}, other).ranking[0].name == first


@pytest.mark.parametrize(
    ("known", "on", "parse", "first"),
    [
        (True, True, (0, 0, 0), "read_line"),
        (True, True, (0, 0, 1), "read_line"),
        (True, True, (0, 0, 30), "send"),
        (True, False, (0, 0, 0), "send"),
        (False, True, (0, 0, 0), "send"),
    ],
)
def test_own_work_is_ranked_as_a_leaf_whatever_it_may_call(
    known: bool, on: bool, parse: tuple[int, ...], first: str
) -> None:
    """nginx on a busy machine: `sendfile`, a leaf with 4 % of the variance, was before a function with 28 %, which
    does the work itself, and may call half of the server in other cases. Not so if much of it is in what it calls, or
    if that was off or is unknown."""
    intervals, segments, calls, now = {}, [], [], 0
    for i, (work, inner, sent) in enumerate(zip((10, 50, 90, 50), (*parse, 0), (10, 10, 10, 50), strict=True)):
        middle = now + work + inner + 1
        end = middle + sent
        intervals[f"i{i}"] = (1, now, 1, end)
        segments.append(f"1 i{i} {now} {end} exec")
        calls += [f"1 main {now} {end}", f"1 read_line {now} {middle}", f"1 send {middle} {end}"]
        calls += [f"1 parse {now + 1} {now + 1 + inner}"] if inner else []
        now = end + 10
    calls.append(f"1 parse {now} {now + 1}")
    heights = {"main": 40, "read_line": 28, "parse": 27, "send": 0}
    trace = hand_trace(intervals, "\n".join(segments), "\n".join(calls), heights=heights, root="main")
    program = trace.program
    complete = program.complete & (on | (np.array(program.functions) != "read_line"))
    program = replace(program, complete=complete, call_graph=program.calls if known else None)
    ranking = analyze(replace(trace, program=program), AnalysisOptions(k=5)).ranking
    assert next(f.name for f in ranking if f.name in heights) == first
    assert {f.name: f.height for f in ranking}["read_line"] == (0 if first == "read_line" else 28)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ((5, 5, 5), "All of that lies below serve > slow."),
        ((5, 5, 25), "78.9 % of that lies below serve > slow."),
        ((10, 50, 91), ""),
    ],
)
def test_of_a_helper_the_answer_says_for_whom_it_works(other: tuple[int, ...], said: str) -> None:
    """serve calls slow and quick, and each of them calls spin, which takes 10, 50 and 90 for slow, and `other`."""
    intervals, segments, calls, now = {}, [], [], 0
    for i, (slow, quick) in enumerate(zip((10, 50, 90), other, strict=True)):
        middle, end = now + slow + 2, now + slow + quick + 4
        intervals[f"i{i}"] = (1, now, 1, end)
        segments.append(f"1 i{i} {now} {end} exec")
        calls += [f"1 serve {now} {end}", f"1 slow {now} {middle}", f"1 spin {now + 1} {middle - 1}"]
        calls += [f"1 quick {middle} {end}", f"1 spin {middle + 1} {end - 1}"]
        now = end + 10
    heights = {"serve": 2, "slow": 1, "quick": 1, "spin": 0}
    trace = hand_trace(intervals, "\n".join(segments), "\n".join(calls), heights=heights, root="serve")
    answer = headline(analyze(trace, AnalysisOptions()))["answer"]
    assert answer.startswith("spin makes latency vary most: it holds ")
    assert answer.partition("of latency.")[2].strip() == said


def test_how_the_only_function_spent_it_is_no_cause_beside_it() -> None:
    """refresh calls get, and sleeps 10, 50 and 90; where another one sleeps as much, `[sleep]` is one of its own."""

    def analyzed(*calls: str) -> Analysis:
        intervals, segments, now = {}, [], 0
        for i, asleep in enumerate((10, 50, 90)):
            end = now + asleep + 20
            intervals[f"i{i}"] = (1, now, 1, end)
            segments += [f"1 i{i} {now} {now + 10} exec", f"1 i{i} {now + 10} {end - 10} sleep"]
            segments.append(f"1 i{i} {end - 10} {end} exec")
            now = end + 10
        heights = {"main": 9, "refresh": 1, "flush": 1, "get": 0}
        return analyze(hand_trace(intervals, "\n".join(segments), "\n".join(calls), heights=heights, root="main"))

    alone = analyzed("1 refresh 0 30", "1 refresh 40 110", "1 refresh 120 230")
    [only] = alone.factors
    assert (only.factor.name, only.explains) == ("refresh", ["[sleep]"])
    assert "refresh: slept for a time to pass [sleep]" in render(alone)
    assert headline(alone)["answer"].startswith(
        "refresh (slept for a time to pass) makes latency vary most: it holds 100"
    )
    both = analyzed("1 refresh 0 30", "1 refresh 40 75", "1 flush 75 110", "1 refresh 120 175", "1 flush 175 230")
    assert {ranked.factor.name for ranked in both.factors} >= {"[sleep]"}


@pytest.mark.parametrize("more", [0, 20])
def test_what_a_function_does_on_several_ways_explains_their_common_caller(more: int) -> None:
    """execute calls deposit or transfer, and each of them sort, in which nearly all varies, or `more` beside it."""
    intervals, segments, calls, now = {}, [], [], 0
    for i, sort in enumerate((10, 10, 10, 10, 90, 10, 10, 90)):
        way, other = ("deposit", "transfer")[i % 2], more * (i // 2 % 2)
        end = now + sort + other + 4
        intervals[f"i{i}"] = (1, now, 1, end)
        segments.append(f"1 i{i} {now} {end} exec")
        calls += [f"1 execute {now} {end}", f"1 {way} {now + 1} {end - 1}", f"1 sort {now + 2} {now + 2 + sort}"]
        now = end + 10
    heights = {"execute": 3, "deposit": 2, "transfer": 2, "sort": 0}
    trace = hand_trace(intervals, "\n".join(segments), "\n".join(calls), heights=heights, root="execute")
    found = analyze(trace, AnalysisOptions(k=5))
    [execute] = [factor for factor in found.ranking if factor.name == "execute"]
    assert execute.passes_to == ("" if more else "sort")
    assert found.factors[0].factor.name == "sort"
    if not more:
        assert [set(ranked.explains) for ranked in found.factors] == [{"deposit", "transfer", "execute"}]


def waiting_for(*flushes: int, unlocked: tuple[int, ...] = (0, 0, 0)) -> Analysis:
    """Three intervals: lock waits while thread 2 is in flush for so long, and for `unlocked` until it lets go."""
    intervals, segments, calls, wakeups = {}, [], ["2 flusher 0 1000"], []
    now = 0
    for i, (flush, more) in enumerate(zip(flushes, unlocked, strict=True)):
        woken = now + 10 + flush + more
        intervals[f"i{i}"] = (1, now, 1, woken + 10)
        segments += [f"1 i{i} {now} {now + 10} exec", f"1 i{i} {now + 10} {woken} blocked"]
        segments.append(f"1 i{i} {woken} {woken + 10} exec")
        calls += [f"1 serve {now} {woken + 10}", f"1 lock {now + 5} {woken + 5}", f"2 flush {now} {now + 10 + flush}"]
        wakeups.append([1, 2, woken])
        now = woken + 20
    segments.append("2 - 0 1000 exec")
    heights = {"serve": 9, "flusher": 9, "lock": 1, "flush": 1}
    trace = hand_trace(intervals, "\n".join(segments), "\n".join(calls), wakeups, heights=heights, root="serve")
    return analyze(trace, AnalysisOptions(k=5))


def test_who_waits_and_what_it_waits_for_are_one_cause() -> None:
    """All of lock's variance is flush on another thread: one finding, which names the way there."""
    [only] = waiting_for(10, 50, 90).factors
    assert only.factor.name == "flush"
    assert {"lock", "serve", "flusher"} <= set(only.explains)
    ranked = [f.name for f in waiting_for(10, 50, 90).ranking]
    assert ranked.index("flush") < ranked.index("serve")


def test_how_a_waker_spent_its_time_is_not_said_of_who_waited() -> None:
    """The lock's holder waits for its own client. Where that is a part of the waits, it is no cause beside them."""
    intervals, segments, calls, wakeups, now = {}, [], [], [], 0
    for i, held in enumerate((10, 50, 90)):
        woken = now + 10 + held
        intervals[f"i{i}"] = (1, now, 1, woken + 10)
        segments += [f"1 i{i} {now} {now + 10} exec", f"1 i{i} {now + 10} {woken} blocked"]
        segments += [f"1 i{i} {woken} {woken + 10} exec", f"2 - {now} {woken} idle", f"2 - {woken} {woken + 20} exec"]
        calls += [f"1 serve {now} {woken + 10}", f"1 lock {now + 5} {woken + 5}"]
        wakeups.append([1, 2, woken])
        now = woken + 20
    heights = {"serve": 9, "lock": 1}
    trace = hand_trace(intervals, "\n".join(segments), "\n".join(calls), wakeups, heights=heights, root="serve")
    [only] = (found := analyze(trace, AnalysisOptions(k=5))).factors
    assert (only.factor.name, only.explains) == ("lock", ["serve"])
    assert any(name == "[idle]" for name in found.tree.paths.name)
    assert "worked for nobody" not in render(found).partition("Factors")[2]


def test_a_wait_for_several_things_is_a_cause_beside_them() -> None:
    """flush is a part of what lock waits for, the rest is flusher's own."""
    first, *others = waiting_for(10, 20, 90, unlocked=(60, 5, 30)).factors
    assert first.factor.name == "flush"
    assert "lock" not in first.explains
    [whole] = [ranked for ranked in others if ranked.factor.name == "flusher"]
    assert "lock" in whole.explains


def test_waiting_for_nobody_known_says_how_the_function_spent_it() -> None:
    intervals = {f"i{i}": (1, 1000 * i, 1, 1000 * i + 20 + 40 * i) for i in range(3)}
    segments = "\n".join(
        f"1 i{i} {b} {b + 10} exec\n1 i{i} {b + 10} {e - 5} blocked\n1 i{i} {e - 5} {e} exec"
        for i, (_, b, _, e) in enumerate(intervals.values())
    )
    calls = "\n".join(f"1 serve {b} {e}\n1 ask {b + 1} {e - 1}" for _, b, _, e in intervals.values())
    trace = hand_trace(intervals, segments, calls, heights={"serve": 9, "ask": 1}, root="serve")
    [only] = analyze(trace, AnalysisOptions(k=5)).factors
    assert only.factor.name == "ask"
    assert "[unknown]" in only.explains


def test_pairs_and_unrelated_functions_keep_their_order() -> None:
    analysis = sequential([{"a": 10, "b": 10}, {"a": 30, "b": 90}, {"a": 50, "b": 12}])
    assert [f.score for f in analysis.ranking] == sorted((f.score for f in analysis.ranking), reverse=True)


def test_chains_are_turned_and_circles_stay() -> None:
    functions = ["top", "", "mid", "x", "leaf"]
    passes = {"top": "mid", "mid": "leaf", "leaf": "off"}
    assert children_first(functions, passes) == [4, 2, 0, 1, 3]
    assert deepest(functions, passes) == [4, 1, 4, 3, 4]
    assert children_first(["a", "b"], {"a": "b", "b": "a"}) == [0, 1]
    assert deepest(["a", "b"], {"a": "b", "b": "a"}) == [0, 1]


def test_the_report_says_where_a_group_decides_a_height(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "work is one of 22 functions that call each other"
    heights = {"main": 2, "entry": 1, "work": 0}
    assert said not in render(entry_above_work(heights))
    monkeypatch.setattr(Program, "in_group", lambda program, f: 22 if program.functions[f] == "work" else 1)
    assert said in render(entry_above_work(heights))
