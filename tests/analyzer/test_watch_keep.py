"""The parts of `vprof watch` that decide: what is slow, what is kept of it, what the slow ones have in common."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vprof.compare.across_runs import ALPHA
from vprof.errors import UsageError, VprofError
from vprof.path.interval_path import IntervalPath, PathStep
from vprof.watch.common import Pair, common, own_times, sign_p
from vprof.watch.keep import Folder, Kept
from vprof.watch.plan import plan_of_drill, root_of_drill, too_dear
from vprof.watch.threshold import Learned, threshold

MINUTE = 60 * 10**9
HOUR = 60 * MINUTE


def test_a_time_is_a_limit() -> None:
    asked = {"20ms": 20_000_000, "1.5s": 1_500_000_000, "2m": 2 * MINUTE, "7us": 7_000, "9ns": 9}
    assert {text: threshold(text).limit("any") for text in asked} == asked


@pytest.mark.parametrize("text", ["", "20", "0ms", "-1ms", "p", "p100", "p49", "ms", "20 ms", "p99.9%", "1e3s"])
def test_what_is_no_limit_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="is no limit: give a time such as 20ms, or a percentile"):
        threshold(text)


def test_a_percentile_is_learned_by_type_and_forgotten() -> None:
    learned = threshold("p99")
    assert isinstance(learned, Learned) and learned.limit("pay") is None
    usual = np.arange(1, 1001) * 1000
    learned.learn("pay", usual[:100], 0)
    assert learned.limit("pay") is None  # one of a hundred is beyond: too few to know
    learned.learn("pay", usual[100:], 5 * 10**9)
    assert learned.limit("pay") == pytest.approx(990_000, rel=0.002)
    assert learned.limit("look") is None
    for minute in range(1, 11):
        learned.learn("pay", 10 * usual, minute * MINUTE)
    # Nothing of the first minute is left.
    assert learned.limit("pay") == pytest.approx(9_900_000, rel=0.002)


def kept(folder: Folder, number: int, ms: int, ended_ns: int) -> Kept:
    folder.trace(number).write_bytes(bytes(1000))
    return Kept(
        number=number,
        interval=str(number),
        type="pay",
        latency_ns=ms * 10**6,
        limit_ns=20 * 10**6,
        limit="20ms",
        ended_ns=ended_ns,
        median=None,
        ordinary=[],
        root=None,
        bytes=1000,
        rate=100.0,
    )


def test_no_hour_has_more_than_the_slowest_so_many(tmp_path: Path) -> None:
    """Whatever comes, and over restarts: checked for every hour that ends when one is kept."""
    chance, per_hour = random.Random(7), 3
    seen: list[tuple[int, int]] = []
    for restart in range(4):
        folder = Folder(tmp_path)
        folder.begin()
        for n in range(30):
            ended = (30 * restart + n) * 7 * MINUTE
            ms = chance.randrange(21, 400)
            seen.append((ended, ms))
            if ms * 10**6 > folder.room(per_hour, ended):
                folder.add(kept(folder, folder.next_number, ms, ended), per_hour, 1 << 30)
            times = [one.ended_ns for one in folder.kept.values()]
            assert all(sum(t - HOUR < other <= t for other in times) <= per_hour for t in times)
        folder.end()
        assert {path.suffix for path in (tmp_path / "kept").iterdir()} == {".json", ".trace"}
    there = {(one.ended_ns, one.latency_ns // 10**6) for one in Folder(tmp_path).kept.values()}
    assert len(there) > 20
    for ended, ms in set(seen) - there:
        assert sum(took >= ms and abs(t - ended) < HOUR for t, took in seen) > per_hour


def test_the_folder_has_a_size(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.begin()
    for number in range(1, 9):
        gone = folder.add(kept(folder, number, 30, number * HOUR * 2), 20, 3500)
        assert [one.number for one in gone] == ([number - 3] if number > 3 else [])
    assert sorted(folder.kept) == [6, 7, 8]
    assert sum(path.stat().st_size for path in (tmp_path / "kept").glob("*.trace")) <= 3500


def test_one_watch_writes_at_a_time_and_takes_away_what_a_crash_left(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.begin()
    folder.add(kept(folder, 1, 30, HOUR), 20, 1 << 30)
    with pytest.raises(VprofError, match="another `vprof watch` writes there"):
        Folder(tmp_path).begin()
    folder.end()
    for name in ("000002.trace", "000003.trace.new", "000002.json.new"):
        (tmp_path / "kept" / name).write_bytes(b"x")
    again = Folder(tmp_path)
    again.begin()
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["000001.json", "000001.trace"]
    assert again.next_number == 2
    again.end()


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pieces").mkdir()
    (tmp_path / "pieces" / "mine").write_text("x")
    with pytest.raises(UsageError, match="has other files in it"):
        Folder(tmp_path).begin()
    assert (tmp_path / "pieces" / "mine").read_text() == "x"


def test_what_costs_most_goes_off_until_the_rest_is_cheap() -> None:
    costs = {"serve": 0.004, "hash": 0.05, "copy": 0.008, "flush": 0.0001}
    assert too_dear(costs, 0.01) == ["hash", "copy"]
    assert too_dear(costs, 0.01, {"hash"}) == ["copy", "serve", "flush"]
    assert too_dear(costs, 0.1) == []


def drill_file(folder: Path, outcome: dict[str, object]) -> Path:
    path = folder / "drill" / "session.json"
    path.parent.mkdir(exist_ok=True)
    settings = {"name": None, "roots": ["serve"]}
    path.write_text(json.dumps({"schema": "vprof-drill/1", "settings": settings, "steps": [], "ended": "", **outcome}))
    return path


def test_a_plan_is_taken_from_a_drill_down(tmp_path: Path) -> None:
    findings = [
        {
            "confirmed": True,
            "functions": ["flush (log.c:7)"],
            "explains": ["commit"],
            "path": ["serve", "commit@txn.c:12", "[blocked]", "body(flush (log.c:7))"],
        },
        {"confirmed": False, "functions": ["parse"], "explains": [], "path": ["parse"]},
    ]
    outcome = {"findings": findings, "confirmation": {}, "cpu_wait": {}, "cpu_place": None, "client_time": 0}
    path = drill_file(tmp_path, outcome)
    assert plan_of_drill(tmp_path).patterns == {"serve", "commit", "flush (log.c:7)"} == plan_of_drill(path).patterns
    assert root_of_drill(path) == "serve"
    drill_file(tmp_path, {})
    with pytest.raises(VprofError, match="this drill-down is not done"):
        plan_of_drill(path)
    drill_file(tmp_path, outcome | {"findings": []})
    with pytest.raises(UsageError, match="found nothing to watch: give --sites"):
        plan_of_drill(path)


def test_own_times_are_of_the_innermost_function_below_waits_of_who_was_waited_for_and_of_kinds() -> None:
    inner = [PathStep("exec", "2", 10, 70, ["flush"]), PathStep("sched", "1", 70, 80, ["serve"])]
    steps = [
        PathStep("exec", "1", 0, 10, ["serve"]),
        PathStep("blocked", "1", 10, 80, ["serve", "commit"], steps=inner),
        PathStep("exec", "1", 80, 100, ["serve", "reply"]),
    ]
    found = own_times(IntervalPath("7", "pay", 100, steps))
    functions = {"serve": 10, "[blocked] > flush": 60, "[blocked] > serve > [sched]": 10, "serve > reply": 20}
    assert found == {**functions, "[blocked]": 70, "[sched]": 10}


def test_what_has_no_function_counts_once() -> None:
    steps = [PathStep("preempted", "1", 0, 30, []), PathStep("preempted", "1", 30, 50, ["serve"])]
    assert own_times(IntervalPath("7", "pay", 50, steps)) == {"[preempted]": 50, "serve > [preempted]": 20}


def pair(number: int, slow: dict[str, float], ordinary: dict[str, float], at: int) -> Pair:
    latency = round(sum(slow.values())), round(sum(ordinary.values()))
    one = Kept(number, "1", "pay", latency[0], 1, "1ns", at, None, ["2"], None, 1, 1.0)
    return Pair(one, slow, ordinary, latency)


def test_what_is_longer_each_time_is_in_common() -> None:
    chance = random.Random(3)
    pairs = [
        pair(n, {"flush": 40e6 + chance.random(), "parse": parse[0]}, {"flush": 1e5, "parse": parse[1]}, n * MINUTE)
        for n in range(12)
        for parse in [(chance.uniform(1e6, 4e6), chance.uniform(1e6, 4e6))]
    ]
    found = common(pairs)
    assert (found.slow, found.moments) == (12, 12)
    assert [one.factor for one in found.factors if one.is_common] == ["flush"]
    assert found.factors[0].share > 0.9 and found.factors[0].more == 12


def test_slow_ones_of_one_moment_count_once() -> None:
    pairs = [pair(n, {"flush": 40e6}, {"flush": 1e5}, (n // 4) * MINUTE + n) for n in range(12)]
    assert (common(pairs).slow, common(pairs).moments, common(pairs).factors) == (12, 3, [])
    spread = [replace(one, kept=replace(one.kept, ended_ns=n * MINUTE)) for n, one in enumerate(pairs)]
    assert [one.factor for one in common(spread).factors if one.is_common] == ["flush"]


def test_the_test_keeps_its_level() -> None:
    """The slow ones are slow by something that is not measured, `rest`; the twelve others are dealt to both sides
    alike, some of them heavy-tailed. How often is any of them called common?"""
    chance, false, rounds = np.random.default_rng(1), 0, 300
    for _ in range(rounds):
        pairs = []
        for n in range(15):
            both = np.r_[chance.lognormal(14, 1.2, (6, 2)), chance.uniform(1e6, 9e6, (6, 2))]
            slow, ordinary = ({f"f{k}": float(v) for k, v in enumerate(side)} for side in both.T)
            pairs.append(pair(n, slow | {"rest": 8e7}, ordinary | {"rest": 1e5}, n * MINUTE))
        names = {one.factor for one in common(pairs).factors if one.p < ALPHA}
        assert "rest" in names
        false += bool(names - {"rest"})
    # 300 families at 5 in 100: more than 26 would be seen in fewer than 1 of 1000 such tests.
    assert false <= 26


def test_a_sign_test() -> None:
    assert sign_p(0, 0) == 1
    assert sign_p(10, 0) == pytest.approx(2 / 2**10)
    assert sign_p(3, 3) == 1
