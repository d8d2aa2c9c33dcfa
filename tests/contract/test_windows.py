"""A trace that is read window by window gives the same analysis as one that is read whole, with windows of any size."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from history import ORIGIN, History
from hypothesis import example, given
from hypothesis import strategies as st
from properties import examples
from writer import LOW48, Thread, Writer, header, record

from vprof.api import Run
from vprof.compare.diff_factors import contributions_of
from vprof.compare.load_runs import load_runs
from vprof.compare.run_metrics import measure, run_of
from vprof.drill.natures import natures
from vprof.errors import VprofError
from vprof.path.chosen import chosen_paths
from vprof.path.interval_path import interval_path
from vprof.report.explain import explanation_json
from vprof.report.json import analysis_json
from vprof.trace.loading import load_trace
from vprof.trace.merge import merge
from vprof.trace.sources import Loaded
from vprof.tree_node import Node
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze, analyze_sources
from vprof.variance.explain import explain_all
from vprof.variance.single_times import Question
from vprof.variance.stream import analyze_traces

FOLLOWERS = (7, 8, 13)
LONG_START = 2
BY_TYPE = AnalysisOptions(by_type=True)
IN = AnalysisOptions(by_type=True, cpu_apart=False)
MOST = 8
"""Factors that are looked into."""
SEEDS = st.integers(0, 2**32)
VIEWS = (
    AnalysisOptions(own=True, cpu_apart=False),
    AnalysisOptions(by_type=True),
    AnalysisOptions(own=True, intervals=True),
    AnalysisOptions(intervals=True, cpu_apart=False),
)


def in_small_chunks(writer: Writer, seed: int) -> Writer:
    """Cuts the threads' records into chunks of few: windows end where chunks begin. Intervals are of three types."""
    chance = random.Random(seed)
    for number, text in ((1, "reads"), (2, "writes")):
        writer.event("label", number=number, text=text)
    writer.probe_ps = 3_000
    for thread in writer.threads:
        kinds = [record[7] >> 4 for record in thread.records]
        thread.cuts = [
            i
            for i in range(1, len(kinds))
            if kinds[i] not in FOLLOWERS and kinds[i - 1] != LONG_START and chance.random() < 0.4
        ]
    return writer


def disturbed(writer: Writer, seed: int) -> Writer:
    """Also with flips of the plan, losses, time off the CPU, calls that stay open, a thread of one long call; and in
    small chunks."""
    chance = random.Random(seed)
    last = max((time for thread in writer.threads for time in thread.times), default=ORIGIN)
    last = max(last, ORIGIN + 1000)

    def moment() -> int:
        return chance.randint(ORIGIN, last)

    if chance.random() < 0.3:
        at = moment()
        writer.event("flip", before=at, after=at + 20, on=[], off=[[chance.randrange(10), 1]])
    if chance.random() < 0.3:
        at = moment()
        writer.event("loss", uid=1, **{"from": at, "to": at + 200}, count=3)
    if chance.random() < 0.5:
        idle = writer.thread(len(writer.threads) + 1, ticks=ORIGIN)
        idle.invocation(11, ORIGIN + 100, last + 10)
        writer.event("open", uid=idle.uid, ticks=last + 20, frames=[[12, ORIGIN + 50, 0]])
    for thread in writer.threads:
        _go_off_cpu(thread, chance)
    return in_small_chunks(writer, seed)


def _go_off_cpu(thread: Thread, chance: random.Random) -> None:
    """Before some records of the thread that the look would have come with."""
    for i in range(len(thread.records) - 1, -1, -1):
        kind = thread.records[i][7] >> 4
        if kind in (1, 3, 4, 5) and chance.random() < 0.2:
            before = i - 1 if i and thread.records[i - 1][7] >> 4 == LONG_START else i
            thread.records.insert(
                before, record(15, thread.times[i], chance.choice((1, 2, 3, 6)), chance.randint(1, 99))
            )
            thread.times.insert(before, thread.times[i])


def named(writer: Writer, seed: int) -> Writer:
    """After some records, what the thread has waited for since some time before has a name."""
    chance = random.Random(seed)
    for number in (1, 2, 3):
        writer.event("name", number=number, text=f"row {number}")
    for thread in writer.threads:
        for i in range(len(thread.records) - 1, 0, -1):
            kinds = thread.records[i][7] >> 4, thread.records[i - 1][7] >> 4
            if kinds[0] not in FOLLOWERS and kinds[1] != LONG_START and chance.random() < 0.3:
                since = thread.times[chance.randrange(max(0, i - 12), i)] - chance.choice((0, 1, 30))
                number = chance.randint(1, 4)  # no event gives the last one
                thread.records.insert(i, record(0, thread.times[i], 3 << 8, (since & LOW48) << 16 | number))
                thread.times.insert(i, thread.times[i])
    return writer


def times_of(analysis: Analysis, nodes: list[Node]) -> list[list[int]]:
    """`node.times` of each, which alone would read all windows for each; the first is asked so."""
    question = Question()
    groups = [question.group([node.x], keep=True) for node in nodes]
    [answer] = analysis.times.answer([question])
    times = [answer.times(group).tolist() for group in groups]
    assert [node.times.tolist() for node in nodes[:1]] == times[:1]
    return times


def said(analysis: Analysis) -> Any:
    """All that a report, an explanation, a table or a drill-down tells."""
    names = ["|".join(factor.functions) for factor in analysis.ranking[:MOST]]
    explained = explain_all(analysis, names)
    run = Run(analysis)
    told = {
        "report": analysis_json(analysis),
        "explained": [str(one) if isinstance(one, VprofError) else explanation_json(one) for one in explained],
        "pieces": run.pieces.astype(str).values.tolist(),
        "slowest": times_of(analysis, run.tree.children),
        "calls": [vars(analysis.calls)[which].tolist() for which in ("within", "others")],
        "left": analysis.explained,
        "natures": [vars(nature) for nature in natures(analysis, analysis.ranking[:MOST])],
    }
    return json.loads(json.dumps(told, default=str))


def whole(paths: list[Path], root: str | None = None, options: AnalysisOptions = BY_TYPE) -> Any:
    try:
        return said(analyze_sources([Loaded(load_trace(path, root)) for path in paths], options))
    except VprofError as error:
        return str(error)


def in_windows(paths: list[Path], records: int, root: str | None = None, options: AnalysisOptions = BY_TYPE) -> Any:
    try:
        return said(analyze_traces(paths, root, options, records))
    except VprofError as error:
        return str(error)


@examples(60)
@given(seed=st.integers(0, 2**32), threads=st.integers(1, 5), steps=st.integers(0, 400), records=st.integers(1, 60))
@example(236, 2, 101, 1)  # a waker's call that lies between two windows
def test_windows_of_any_size_give_what_the_whole_gives(seed: int, threads: int, steps: int, records: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = in_small_chunks(History(seed, threads, steps).writer, seed).save(Path(folder) / "run.trace")
        assert in_windows([path], records) == whole([path])


@examples(60)
@given(seed=st.integers(0, 2**32), threads=st.integers(2, 5), steps=st.integers(0, 400), records=st.integers(1, 60))
def test_waits_of_several_holders_have_the_same_in_windows(seed: int, threads: int, steps: int, records: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = History(seed, threads, steps, holds=True).writer
        path = in_small_chunks(writer, seed).save(Path(folder) / "run.trace")
        for root in (None, "site 3"):
            assert in_windows([path], records, root) == whole([path], root)


@examples(60)
@given(seed=st.integers(0, 2**32), threads=st.integers(1, 5), steps=st.integers(0, 400), records=st.integers(1, 60))
def test_waits_have_the_same_names_in_windows(seed: int, threads: int, steps: int, records: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = named(History(seed, threads, steps, holds=seed % 2 == 0).writer, seed)
        path = in_small_chunks(writer, seed).save(Path(folder) / "run.trace")
        assert in_windows([path], records) == whole([path])


# Here a factor's two places hold equally much, of opposite signs.
@example(seed=499, threads=1, steps=15, records=1)
@examples(60)
@given(seed=st.integers(0, 2**32), threads=st.integers(1, 5), steps=st.integers(0, 400), records=st.integers(1, 60))
def test_flips_losses_and_open_calls_change_nothing_of_that(seed: int, threads: int, steps: int, records: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = disturbed(History(seed, threads, steps).writer, seed).save(Path(folder) / "run.trace")
        for root in (None, "site 3"):
            assert in_windows([path], records, root) == whole([path], root)


# Here the window's last wake-up counted for a task that came into a queue after it.
@example(seed=316, steps=281, records=16, options=AnalysisOptions(own=True))
@examples(40)
@given(
    seed=st.integers(0, 2**32), steps=st.integers(50, 300), records=st.integers(1, 60), options=st.sampled_from(VIEWS)
)
def test_so_does_every_view(seed: int, steps: int, records: int, options: AnalysisOptions) -> None:
    with tempfile.TemporaryDirectory() as folder:
        one = disturbed(History(seed, 3, steps).writer, seed).save(Path(folder) / "one.trace")
        two, three = (
            in_small_chunks(History(seed + i, 2, steps).writer, seed).save(Path(folder) / f"{i}.trace") for i in (1, 2)
        )
        for paths in ([one], [two, three]):
            assert in_windows(paths, records, None, options) == whole(paths, None, options)


@examples(20)
@given(seed=st.integers(0, 2**32), records=st.integers(1, 60))
def test_runs_that_are_compared_are_what_they_are_loaded_whole(seed: int, records: int) -> None:
    """Both ways to read a run, with and without its factors."""
    with tempfile.TemporaryDirectory() as folder:
        path = disturbed(History(seed, 3, 200).writer, seed).save(Path(folder) / "run.trace")
        try:
            trace = load_trace(path)
            expected = run_of(path, trace, contributions_of(analyze(trace, AnalysisOptions(k=1))))
        except VprofError:
            return
        for options in (AnalysisOptions(k=1), None):
            [run], _ = load_runs([path], [], None, options)
            assert measure(run) == measure(expected)
            assert (run.excluded, run.lost_ns.tolist()) == (expected.excluded, expected.lost_ns.tolist())
        analysis = analyze_traces([path], None, AnalysisOptions(k=1), records)
        found = contributions_of(analysis)
        assert expected.contributions and found.of == pytest.approx(expected.contributions.of)
        assert (found.off, found.reason) == (expected.contributions.off, expected.contributions.reason)


@examples(30)
@given(seed=st.integers(0, 2**32), threads=st.integers(1, 4), steps=st.integers(50, 300), records=st.integers(1, 60))
def test_so_do_windows_where_calls_are_the_intervals(seed: int, threads: int, steps: int, records: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = in_small_chunks(History(seed, threads, steps).writer, seed).save(Path(folder) / "run.trace")
        assert in_windows([path], records, "site 3") == whole([path], "site 3")


@examples(20)
@given(seeds=st.lists(st.integers(0, 2**32), min_size=2, max_size=3), records=st.integers(1, 60))
def test_several_traces_are_one_however_they_are_read(seeds: list[int], records: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            in_small_chunks(History(seed, 3, 200).writer, seed).save(Path(folder) / f"{i}.trace")
            for i, seed in enumerate(seeds)
        ]
        assert in_windows(paths, records) == whole(paths)
        # In one table it is not known which workers could have taken a task: those of its own trace.
        merged = analysis_json(analyze(merge([load_trace(path) for path in paths]), IN))
        assert in_windows(paths, records, options=IN)["report"] == json.loads(json.dumps(merged))


def assert_same_paths(paths: list[Path], records: int, root: str | None = None) -> None:
    try:
        trace = merge([load_trace(path, root) for path in paths])
    except VprofError:  # no such function
        return
    ids = trace.interval_ids[: len(trace.intervals.begin)]
    usable = [sid for sid, ignored in zip(ids, trace.intervals.ignore, strict=True) if not ignored]
    assert chosen_paths(paths, lambda _: usable, root, records) == [interval_path(trace, sid) for sid in usable]


@examples(30)
@given(seed=st.integers(0, 2**32), records=st.integers(1, 60))
def test_paths_of_single_intervals_are_those_of_the_whole(seed: int, records: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        one = disturbed(History(seed, 3, 200).writer, seed).save(Path(folder) / "one.trace")
        two, three = (
            in_small_chunks(History(seed + i, 3, 100).writer, seed).save(Path(folder) / f"{i}.trace") for i in (1, 2)
        )
        assert_same_paths([one], records)
        assert_same_paths([one], records, "site 3")
        assert_same_paths([two, three], records)


def test_cut_off_at_any_byte_windows_give_what_is_before(tmp_path: Path) -> None:
    content = in_small_chunks(History(5, 2, 40).writer, 5).save(tmp_path / "whole").read_bytes()
    path = tmp_path / "cut"
    counts = set()
    for size in range(64, len(content), 13):
        path.write_bytes(content[:size])
        found = in_windows([path], 10)
        assert found == whole([path])
        counts.add(found["report"]["intervals"]["count"] if isinstance(found, dict) else 0)
    assert len(counts) > 2


def rotated(number: int) -> Writer:
    """A file of a session in which thread 1 did something."""
    writer = Writer(header=header(number=number))
    thread = writer.thread(1, ticks=1)
    thread.begin(number + 1, 1000 * number + 10)
    thread.end(number + 1, 1000 * number + 50)
    return writer


def test_a_loss_that_goes_on_in_the_next_files_counts_once(tmp_path: Path) -> None:
    files = [rotated(number) for number in range(3)]
    files[0].event("loss", uid=1, **{"from": 500, "to": 900}, count=7)
    files[1].event("loss", uid=1, **{"from": 500, "to": 1900}, count=20)
    files[2].threads[0].lost(500, 2100, count=30)
    files[2].threads[0].lost(2200, 2300, count=1)
    paths = [writer.save(tmp_path / f"{number}.trace") for number, writer in enumerate(files)]
    stored = 3 * 2 + 4
    assert merge([load_trace(path) for path in paths]).loss == {"written": stored + 31, "dropped": 31}
