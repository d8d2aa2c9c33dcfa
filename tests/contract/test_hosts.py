"""Traces of several hosts: clocks are never compared, and what is called alike on two hosts is not one thing."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from apart import Apart
from history import History
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from test_windows import in_small_chunks, named
from writer import Writer

from vprof.report.json import analysis_json
from vprof.report.text import render
from vprof.trace.loading import load_trace
from vprof.trace.merge import merge
from vprof.trace.sources import open_sources
from vprof.variance.analysis import AnalysisOptions, analyze
from vprof.variance.stream import analyze_traces
from vprof.whatif.changes import parse
from vprof.whatif.prediction import Replays, load

BY = AnalysisOptions(by_type=True, by=("host", "process"))
YEAR_NS = 365 * 86_400 * 10**9
SEEDS = st.integers(0, 2**32)


def trace(folder: Path, name: str, seed: int, ahead_ns: int = 0, host: str | None = None, steps: int = 150) -> Path:
    """Of a host whose clock is ahead by so much. Threads, processes and objects have the same numbers on all hosts."""
    writer = in_small_chunks(named(History(seed, 3, steps, holds=True).writer, seed), seed)
    writer.host = name if host is None else host
    writer.anchors = [(ticks, ns + YEAR_NS + ahead_ns) for ticks, ns in writer.anchors]
    (folder / name).mkdir(exist_ok=True)
    return writer.save(folder / name / "run.trace")


def without_dates(paths: list[Path], records: int) -> Any:
    """The report, without when each recording began: that is told, not compared."""
    report = analysis_json(analyze_traces(paths, None, BY, records))
    for one in report["recorded"]:
        del one["begun_ns"]
    return report


@examples(4)
@given(SEEDS, st.integers(20, 80), st.sampled_from((-YEAR_NS, -1, 3, 10**6, 7 * YEAR_NS)))
def test_how_far_clocks_are_apart_makes_no_difference(seed: int, records: int, ahead_ns: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = [
            without_dates([trace(Path(folder), "a", seed), trace(Path(folder), "b", seed + 1, ahead)], records)
            for ahead in (0, ahead_ns)
        ]
        assert found[0] == found[1]


@examples(4)
@given(SEEDS)
def test_hosts_together_are_what_each_is_alone(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [trace(Path(folder), name, seed + i, i * YEAR_NS) for i, name in enumerate("abc")]
        alone = [analysis_json(analyze_traces([path], None, BY)) for path in paths]
        both = analysis_json(analyze_traces(paths, None, BY))
        assert both["intervals"]["count"] == sum(one["intervals"]["count"] for one in alone)
        rows = {row["host"]: row for row in both["by_host"]["hosts"]}
        for one, name in zip(alone, "abc", strict=True):
            assert rows[name]["count"] == one["intervals"]["count"]
            assert rows[name]["mean_ns"] == one["intervals"]["mean_ns"]
            assert rows[name]["variance_ns2"] == one["intervals"]["variance_ns2"]
        assert both["blocked_ns"] == dict(sum((Counter(one["blocked_ns"]) for one in alone), Counter()))
        assert objects(both) == sum((objects(one, name) for one, name in zip(alone, "abc", strict=True)), Counter())
        assert both["waited_for"]["count"] <= sum(one["waited_for"]["count"] for one in alone)


def objects(report: dict[str, Any], host: str = "") -> Counter[tuple[str, ...]]:
    """How long was waited for each: a thing without a name is one of its host."""
    found: Counter[tuple[str, ...]] = Counter()
    for one in report["waited_for"]["objects"]:
        whose = "" if one["name"] else one["host"] or host
        found[one["object_class"], one["id"], one["name"], whose] += one["total_ns"]
    return found


@examples(2)
@given(SEEDS, st.integers(20, 80), st.integers(20, 80), st.integers(1, 7))
def test_tasks_of_any_number_and_windows_of_any_size_give_the_same_bits(
    seed: int, records: int, others: int, parts: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [trace(Path(folder), name, seed + i, i * YEAR_NS) for i, name in enumerate("abc")]
        whole = analysis_json(analyze_traces(paths, None, BY, records))
        assert analysis_json(analyze_traces(paths, None, BY, others, jobs=Apart(parts, seed))) == whole
        merged = analysis_json(analyze(merge([load_trace(path) for path in paths]), BY))
        for key in ("by_host", "by_process", "waited_for"):
            assert merged[key] == whole[key]


def steady(host: str, ns: list[int], folder: Path, ahead_ns: int = 0, pid: int = 100) -> Path:
    """One thread, an interval of each length, one after the other."""
    writer = Writer(host=host, anchors=[(0, ahead_ns), (1 << 40, (1 << 40) + ahead_ns)])
    thread = writer.thread(1)
    writer.event("thread", uid=1, pid=pid, tid=pid, name="server", ticks=0)
    t = 10
    for number, one in enumerate(ns, 1):
        thread.begin(number, t)
        thread.end(number, t + one)
        t += one + 5
    folder.mkdir(exist_ok=True)
    return writer.save(folder / f"{host or 'run'}.{pid}.trace")


def test_within_and_between_are_all_of_the_variance(tmp_path: Path) -> None:
    paths = [
        steady("a", [10, 20, 30], tmp_path / "a"),
        steady("b", [100, 110], tmp_path / "b", 3 * YEAR_NS),
        steady("b", [400], tmp_path / "b", 3 * YEAR_NS, pid=200),
    ]
    report = analysis_json(analyze_traces(paths, None, BY))
    all_ns = np.array([10, 20, 30, 100, 110, 400])
    for key, rows in (("by_host", "hosts"), ("by_process", "processes")):
        split = report[key]
        assert split["within_ns2"] + split["between_ns2"] == pytest.approx(all_ns.var())
        assert sum(row["share"] for row in split[rows]) == pytest.approx(1)
    b = report["by_host"]["hosts"][0]
    assert (b["host"], b["count"], b["mean_ns"]) == ("b", 3, pytest.approx(610 / 3))
    assert b["share"] == pytest.approx(((all_ns[3:] - all_ns.mean()) ** 2).sum() / 6 / all_ns.var())
    named_ = [(row["host"], row["pid"], row["name"], row["count"]) for row in report["by_process"]["processes"]]
    assert sorted(named_) == [("a", 100, "server", 3), ("b", 100, "server", 2), ("b", 200, "server", 1)]
    assert report["by_host"]["reason"].startswith("no host can be told to be unlike the others: at least 3")


@pytest.mark.parametrize("name", ["", "localhost"])
def test_a_host_that_does_not_say_who_it_is_is_called_as_its_folder(name: str, tmp_path: Path) -> None:
    paths = [steady(name, [10, 20], tmp_path / "db1"), steady(name, [30, 40], tmp_path / "db2", YEAR_NS)]
    rows = analysis_json(analyze_traces(paths, None, BY))["by_host"]["hosts"]
    assert {row["host"] for row in rows} == {"db1", "db2"}


def test_a_slow_host_is_named_in_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    ns = [(1000 * rng.gamma(4, 3 if i == 3 else 1, 900)).astype(int).tolist() for i in range(6)]
    paths = [steady(f"db{i}", one, tmp_path / "all", i * YEAR_NS, 7) for i, one in enumerate(ns)]
    text = render(analyze_traces(paths, None, BY))
    assert "db3 is unlike the other hosts: mean 2.92 times theirs (p 0." in text
    assert "db3 7 server" in text
    assert text.count("is unlike the other hosts") == 2, "its mean and its variance, and no other host"


def test_predictions_compare_no_clocks_either(tmp_path: Path) -> None:
    said_ = []
    for ahead in (0, 5 * YEAR_NS):
        paths = [trace(tmp_path, "a", 11), trace(tmp_path, "b", 12, ahead)]
        replays = Replays(load(open_sources(paths, None, 40), AnalysisOptions()))
        found = replays.predict([parse("site 3=0.5")], factors=False)
        said_.append(str(found.outcome))
    assert said_[0] == said_[1]
