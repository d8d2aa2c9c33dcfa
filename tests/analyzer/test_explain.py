"""`--explain`: where one factor comes from, on traces whose answer is plain."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hand import IN, hand_trace
from worked_cases import TRACES

from vprof.errors import UsageError, VprofError
from vprof.path.interval_path import interval_path
from vprof.report import explain as report
from vprof.tables.model import Trace
from vprof.trace.json_trace import load_json
from vprof.variance.analysis import Analysis, analyze
from vprof.variance.explain import Portion, explain

HERE = Path(__file__).parent
CASES = HERE.parent / "cases"

WAITS = [(10, 20, 5), (10, 60, 5), (10, 40, 25), (30, 30, 5)]
"""Of each interval: ns before the wait, in it, and after it."""


def serving(**options: bool) -> Analysis:
    """`serve` calls `lock` at one of two lines; thread 2 holds the lock, in `flush` for half of the wait, then `sync`.

    With 3 ns between the wake-up and the run.
    """
    return analyze(serving_trace(), replace(IN, **options))


def serving_trace() -> Trace:
    intervals, segments, calls, wakeups = {}, ["2 - 0 9999 exec"], ["2 writer 0 9999"], []
    now = 0
    for i, (before, wait, after) in enumerate(WAITS):
        a, b = now + before, now + before + wait
        end = b + after
        intervals[f"i{i}"] = (1, now, 1, end)
        segments += [f"1 i{i} {now} {a} exec", f"1 i{i} {a} {b} blocked", f"1 i{i} {b} {end} exec"]
        calls += [f"1 serve {now} {end}", f"1 lock@serve.c:{5 + i % 2} {a} {b}"]
        middle = a + wait // 2
        calls += [f"2 flush {a} {middle}", f"2 sync@flush.c:9 {middle} {b}"]
        wakeups.append([1, 2, b - 3])
        now = end + 10
    heights = {"main": 5, "serve": 4, "writer": 3, "flush": 2, "lock": 0, "sync": 0}
    return hand_trace(intervals, "\n".join(segments), "\n".join(calls), wakeups, heights=heights, root="main")


def shares(parts: list[Portion]) -> dict[str, float]:
    return {part.name: part.share for part in parts}


def test_the_wait_of_a_lock_is_shared_out_among_what_its_holders_did() -> None:
    """Two sites of lock: the times are 20, 0, 40, 0 and 0, 60, 0, 30. flush and sync grow alike; [sched] is 3 each."""
    found = explain(serving(), "lock")
    [side] = found.sides
    assert (found.rank, side.occurs, side.mean_ns) == (1, 4, 37.5)
    assert shares(side.sites) == pytest.approx({"serve.c:5": 275 / 893.75, "serve.c:6": 618.75 / 893.75})
    assert shares(side.callers) == {"serve": pytest.approx(1)}
    assert shares(side.inside) == {"[blocked]": pytest.approx(1)}
    assert sum(shares(side.wakers).values()) == pytest.approx(1)
    assert list(shares(side.wakers)) == ["writer > flush", "writer > sync", "[sched]"]
    assert {part.name: part.mean_ns for part in side.wakers} == {
        "writer > flush": 18.75,
        "writer > sync": 15.75,
        "[sched]": 3.0,
    }


def test_exemplars_are_intervals_that_the_path_report_knows() -> None:
    found = explain(serving(), "lock").exemplars
    assert [(one.which, one.interval, one.time_ns, one.latency_ns) for one in found] == [
        ("median", "i3", 30, 65),
        ("slowest", "i1", 60, 75),
    ]
    assert [interval_path(serving_trace(), one.interval).latency_ns for one in found] == [65, 75]


def test_a_waker_s_function_names_who_waited_for_it() -> None:
    [side] = explain(serving(), "flush").sides
    assert list(shares(side.callers)) == ["serve > lock > [blocked] > writer"]
    assert side.wakers == []


@pytest.mark.parametrize("name", ["lock", "flush", "serve", "[blocked]", "[sched]|writer", "body(serve)", "writer"])
def test_the_shares_of_each_list_add_up(name: str) -> None:
    for side in explain(serving(), name).sides:
        for parts in (side.sites, side.callers, side.inside):
            assert not parts or sum(shares(parts).values()) == pytest.approx(1)


def test_a_pair_has_two_sides_in_the_order_asked_for() -> None:
    analysis = serving()
    [pair] = [f for f in analysis.ranking if f.functions == ["body(serve)", "lock"]]
    for asked in ("lock|body(serve)", "body(serve)|lock"):
        found = explain(analysis, asked)
        assert [side.function for side in found.sides] == asked.split("|")
        assert found.factor is pair
        assert found.contribution_ns2 == pytest.approx(pair.contribution_ns2)
    [_, lock] = found.sides
    assert sum(shares(lock.wakers).values()) == pytest.approx(1)


def test_two_sites_of_one_function_are_a_pair_of_it_with_itself() -> None:
    found = explain(analyze(load_json(CASES / "06_two_call_sites.json")), "f|f")
    assert [list(shares(side.sites)) for side in found.sides] == [["p:4"], ["p:6"]]
    assert found.rank == 2


def test_every_factor_of_the_ranking_can_be_explained() -> None:
    for case in TRACES:
        analysis = analyze(load_json(case))
        for rank, factor in enumerate(analysis.ranking, 1):
            found = explain(analysis, "|".join(factor.functions))
            assert found.rank == rank
            assert found.contribution_ns2 == pytest.approx(factor.contribution_ns2)
            assert found.share == pytest.approx(factor.share)


def overloaded(names: dict[str, str], places: list[str]) -> Analysis:
    trace = hand_trace(
        {"A": (1, 0, 1, 10), "B": (1, 20, 1, 50)},
        "1 A 0 10 exec\n1 B 20 50 exec",
        "1 put 0 10\n1 put2 2 5\n1 put 20 50\n1 put2 21 45",
    )
    trace.program.functions[:] = [names.get(name, name) for name in trace.program.functions]
    trace.program.definitions[:] = places
    return analyze(trace)


def test_functions_that_share_a_name_are_told_apart_by_their_place() -> None:
    analysis = overloaded({"put2": "put"}, ["/src/a.cc:3", "/src/b.cc:9"])
    with pytest.raises(UsageError, match=r"2 functions are called put: choose put \(a.cc:3\) or put \(b.cc:9\)"):
        explain(analysis, "put")
    assert explain(analysis, "put (b.cc:9)").sides[0].mean_ns == 13.5


def test_a_bar_in_a_name_is_no_pair() -> None:
    analysis = overloaded({"put": "operator|", "put2": "operator||"}, ["", ""])
    assert explain(analysis, "operator|").functions == ["operator|"]
    assert explain(analysis, "operator||").functions == ["operator||"]
    assert explain(analysis, "operator|||body(operator|)").functions == ["operator||", "body(operator|)"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lokc", r"no factor lokc in this trace: did you mean lock\?"),
        ("lock|flsh", r"no factor flsh in this trace: did you mean flush\?"),
        ("lock|flush", "lock and flush never have one caller: only siblings have a covariance"),
        ("main", "main lies on no critical path of these intervals"),
        ("zzz", "no factor zzz in this trace$"),
    ],
)
def test_what_cannot_be_explained_is_one_line(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        explain(serving(), name)


def test_what_never_varies_explains_nothing() -> None:
    trace = hand_trace(
        {"A": (1, 0, 1, 10), "B": (1, 20, 1, 50)},
        "1 A 0 10 exec\n1 B 20 50 exec",
        "1 put 0 10\n1 get@put:1 2 5\n1 put 20 50\n1 get@put:1 21 24",
    )
    with pytest.raises(VprofError, match="get explains nothing: its times do not vary"):
        explain(analyze(trace), "get")


def test_a_function_whose_probe_was_off_is_said_to_be() -> None:
    trace = serving_trace()
    trace.program.on[:] = [name != "main" for name in trace.program.functions]
    with pytest.raises(UsageError, match="main was not measured: its probe was off"):
        explain(analyze(trace), "main")


def test_the_own_view_does_not_look_into_waits() -> None:
    analysis = serving(own=True)
    assert explain(analysis, "lock").sides[0].wakers == []
    with pytest.raises(UsageError, match="flush lies on no critical path"):
        explain(analysis, "flush")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("explain.txt", lambda: report.render(explain(serving(), "lock"))),
        ("explain_pair_narrow.txt", lambda: report.render(explain(serving(), "lock|body(serve)"), width=48)),
        ("explain.json", lambda: report.render_json(explain(serving(), "lock"))),
    ],
)
def test_golden_explanations(name: str, text) -> None:  # type: ignore[no-untyped-def]
    golden = HERE / "golden" / name
    if os.environ.get("VPROF_REGENERATE"):
        golden.write_text(text(), encoding="utf-8")
    assert text() == golden.read_text(encoding="utf-8")


def test_where_there_is_little_room_the_nearest_callers_stay() -> None:
    report_ = report.render(explain(serving(), "flush"), width=52)
    assert "... > [blocked] > writer  100.0 %" in report_


def test_top_limits_the_lists_and_says_what_is_left_out() -> None:
    lines = report.render(explain(serving(), "lock"), top=1).splitlines()
    assert lines[lines.index("Called at") + 2].startswith("serve.c:6")
    assert lines[lines.index("Called at") + 3] == "not shown: 1, together 30.8 % (--top, or --format json)"
    assert json.loads(report.render_json(explain(serving(), "lock")))["half"] == 2
