"""A trace whose probes were switched on and off in turn: one plan, and what the probes do."""

from pathlib import Path

import pytest
from writer import Writer

from vprof.tables.model import Trace
from vprof.trace.loading import load_trace
from vprof.variance.analysis import analyze
from vprof.variance.stream import analyze_traces

SLICE = 1_000_000
PERIOD = 1_000
ORDER = "ABBA BAAB BAAB ABBA ABBA".replace(" ", "")


def in_turn(order: str, on_ns: int = 660, off_ns: int = 600, marked: bool = True) -> Writer:
    """An interval each PERIOD; site 2 is on in the slices A, and before and after all of them."""
    writer = Writer()
    writer.event("plan", on=[[1, 2]])
    thread = writer.thread(1)
    before = "A"
    number = 0
    for i, kind in enumerate("A" + order + "A"):
        start = i * SLICE
        if marked and i > 1:
            writer.event("mark", ticks=start - 30, text="slice end")
        if kind != before:
            switched = {"on": [[2, 1]], "off": []} if kind == "A" else {"on": [], "off": [[2, 1]]}
            writer.event("flip", before=start - 20, after=start - 10, **switched)
        before = kind
        if marked and 0 < i <= len(order):
            writer.event("mark", ticks=start - 5, text="slice on" if kind == "A" else "slice off")
        for t in range(start, start + SLICE, PERIOD):
            number += 1
            end = t + (on_ns if kind == "A" else off_ns) + number % 7
            thread.begin(number, t)
            if kind == "A":
                thread.invocation(2, t + 10, end - 10, depth=1)
            thread.invocation(1, t, end)
            thread.end(number, end)
    return writer


def loaded(tmp_path: Path, writer: Writer, root: str | None = None) -> Trace:
    writer.save(tmp_path / "run.trace")
    return load_trace(tmp_path / "run.trace", root)


def test_the_slices_are_found_and_compared(tmp_path: Path) -> None:
    trace = loaded(tmp_path, in_turn(ORDER))
    assert [part.on for part in trace.slices] == [kind == "A" for kind in ORDER]
    analysis = analyze(trace)
    assert analysis.distortion is not None
    assert analysis.distortion.rounds == 5
    mean = next(effect for effect in analysis.distortion.effects if effect.metric == "mean")
    assert mean.change == pytest.approx(663 / 603 - 1, rel=0.01)
    assert mean.ci95[0] > 0


def test_all_slices_of_the_plan_are_one_plan(tmp_path: Path) -> None:
    trace = loaded(tmp_path, in_turn(ORDER))
    # Both ends are slices of the plan as well. One interval may touch a flip.
    slices = ORDER.count("A") + 2
    assert slices * SLICE // PERIOD - 10 <= len(trace.intervals.begin) <= slices * SLICE // PERIOD
    assert set(trace.excluded) <= {"another plan was on", "overlaps a flip of the plan"}
    assert trace.excluded["another plan was on"] >= ORDER.count("B") * SLICE // PERIOD - 10


def test_windows_and_the_whole_say_the_same(tmp_path: Path) -> None:
    whole = analyze(loaded(tmp_path, in_turn(ORDER))).distortion
    assert analyze_traces([tmp_path / "run.trace"], window_records=500).distortion == whole


def test_a_four_that_is_not_whole_is_left_out(tmp_path: Path) -> None:
    trace = loaded(tmp_path, in_turn(ORDER + "BA"))
    assert [part.on for part in trace.slices] == [kind == "A" for kind in ORDER]


@pytest.mark.parametrize("order", ["B", "BA", "ABABABABABAB", "AAAABBBBAAAABBBB"])
def test_other_orders_are_no_comparison(tmp_path: Path, order: str) -> None:
    trace = loaded(tmp_path, in_turn(order))
    assert trace.slices == []
    assert analyze(trace).distortion is None


def test_flips_without_marks_are_no_comparison(tmp_path: Path) -> None:
    assert loaded(tmp_path, in_turn(ORDER, marked=False)).slices == []


def test_the_plan_is_analyzed_although_more_intervals_fit_into_the_slices_without(tmp_path: Path) -> None:
    trace = loaded(tmp_path, in_turn("BAAB" * 6))
    assert trace.program.on[trace.invocations.function].all()
    assert len(set(trace.invocations.function.tolist())) == 2


def test_each_outermost_call_of_a_root_may_be_the_interval(tmp_path: Path) -> None:
    trace = loaded(tmp_path, in_turn(ORDER), "site 1")
    assert [part.on for part in trace.slices] == [kind == "A" for kind in ORDER]
    assert all(len(part.latency_ns) >= SLICE // PERIOD - 2 for part in trace.slices)


def test_a_mark_of_nonsense_changes_nothing(tmp_path: Path) -> None:
    writer = in_turn(ORDER)
    writer.event("mark", ticks=5, text="lunch")
    assert len(loaded(tmp_path, writer).slices) == len(ORDER)
