"""Aborted intervals that clients repeat: which begin is the next attempt, and what is one interval then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_turns import ORDER, in_turn
from writer import Thread, Writer, function, unit

from vprof.report.aborted import sentences
from vprof.report.json import intervals_json
from vprof.report.text import render
from vprof.session.about import About
from vprof.session.control import Control
from vprof.session.owned import Session
from vprof.session.plan import Switched
from vprof.tables.model import Trace
from vprof.trace.chunks import read_chunks
from vprof.trace.loading import load_trace
from vprof.trace.marks import GIVEN_UP, Retry, parse_retry, retry_text
from vprof.trace.merge import merge
from vprof.trace.retries import retry_of
from vprof.variance.analysis import Analysis, AnalysisOptions, analyze
from vprof.variance.stream import analyze_traces

SOON = 1000
BY_ID, BY_THREAD = Retry(SOON), Retry(SOON, by_thread=True)


def retried(retry: Retry | None) -> Writer:
    writer = Writer()
    if retry:
        writer.event("mark", ticks=0, text=retry_text(retry))
    return writer


def attempt(thread: Thread, id_: int, begin: int, end: int, aborted: bool = True) -> None:
    thread.begin(id_, begin)
    thread.end(id_, end, aborted=aborted)


def loaded(writer: Writer, tmp_path: Path) -> Trace:
    return load_trace(writer.save(tmp_path / "run.trace"))


def intervals(trace: Trace) -> list[tuple[str, int, int]]:
    iv = trace.intervals
    return list(zip(trace.interval_ids[: len(iv.begin)], iv.begin.tolist(), iv.end.tolist(), strict=True))


def attempts(trace: Trace) -> list[tuple[int, int, int, int]]:
    """(interval, begin, end, the next one's begin)."""
    a = trace.attempts
    return list(zip(*(column.tolist() for column in (a.interval, a.begin, a.end, a.next_begin)), strict=True))


@pytest.mark.parametrize("retry", [BY_ID, BY_THREAD, Retry(1), Retry(10**9)])
def test_the_mark_says_how(retry: Retry) -> None:
    assert parse_retry(retry_text(retry)) == retry
    for other in ("slice on", "retry", f"{retry_text(retry)} or so", "retry by id within -1 ns"):
        assert parse_retry(other) is None


def test_without_the_mark_each_attempt_is_an_interval(tmp_path: Path) -> None:
    writer = retried(None)
    thread = writer.thread(1)
    attempt(thread, 7, 10, 20)
    attempt(thread, 7, 30, 50, aborted=False)
    trace = loaded(writer, tmp_path)
    assert intervals(trace) == [("7#2", 30, 50)]
    assert (trace.excluded, attempts(trace)) == ({"aborted": 1}, [])
    assert (trace.aborted.count, trace.aborted.of, trace.aborted.ns, trace.aborted.of_ns) == (1, 2, 10, 30)


def test_by_id_the_next_begin_of_the_id_is_the_next_attempt_on_whatever_thread(tmp_path: Path) -> None:
    """What others do on the thread meanwhile is nothing to it, and a chain of attempts is one interval."""
    writer = retried(BY_ID)
    first, second = writer.thread(1), writer.thread(2)
    attempt(first, 7, 10, 20)
    attempt(first, 8, 22, 28, aborted=False)
    attempt(second, 7, 30, 40)
    attempt(first, 7, 45, 60, aborted=False)
    attempt(first, 7, 70, 80, aborted=False)
    trace = loaded(writer, tmp_path)
    assert intervals(trace) == [("7", 10, 60), ("8", 22, 28), ("7#2", 70, 80)]
    assert attempts(trace) == [(0, 10, 20, 30), (0, 30, 40, 45)]
    assert (trace.intervals.begin_thread[0], trace.intervals.end_thread[0]) == (0, 0)
    assert (trace.attempts.thread.tolist(), trace.attempts.next_thread.tolist()) == ([0, 1], [1, 0])
    assert trace.excluded == {}
    labelled = {(int(t), int(i)) for t, i in zip(trace.segments.ts, trace.segments.interval, strict=True) if i == 0}
    assert labelled == {(10, 0), (30, 0), (45, 0)}, "segments of each attempt work for the one interval"


GIVEN_UP_LABEL = 5


@pytest.mark.parametrize("retry", [BY_ID, BY_THREAD, None])
def test_what_a_client_gave_up_is_an_abort_without_a_next_attempt(tmp_path: Path, retry: Retry | None) -> None:
    """Undone by an error, tried again, and then given up on purpose: two attempts at one interval that is left out."""
    writer = retried(retry)
    writer.event("label", number=GIVEN_UP_LABEL, text=GIVEN_UP)
    writer.event("label", number=GIVEN_UP_LABEL + 1, text="pay")
    thread = writer.thread(1)
    attempt(thread, 7, 10, 20)
    thread.begin(7, 30)
    thread.end(7, 40, label=GIVEN_UP_LABEL)
    thread.begin(7, 50)
    thread.end(7, 60, label=GIVEN_UP_LABEL + 1)
    trace = loaded(writer, tmp_path)
    assert [(begin, end) for _, begin, end in intervals(trace)] == [(50, 60)]
    assert [trace.types[number] for number in trace.intervals.type] == ["pay"]
    assert (attempts(trace), trace.excluded) == ([], {"aborted": 1 if retry else 2})


def test_by_thread_the_next_begin_on_the_thread_of_the_abort_is_the_next_attempt(tmp_path: Path) -> None:
    writer = retried(BY_THREAD)
    first, second = writer.thread(1), writer.thread(2)
    attempt(first, 1, 10, 20)
    attempt(second, 2, 25, 29, aborted=False)
    attempt(first, 3, 30, 50, aborted=False)
    second.on_behalf(1, 35)
    second.on_behalf(3, 36)
    trace = loaded(writer, tmp_path)
    assert intervals(trace) == [("1", 10, 50), ("2", 25, 29)]
    assert attempts(trace) == [(0, 10, 20, 30)]
    seg = trace.segments
    on_second = dict(zip(seg.ts[seg.thread == 1].tolist(), seg.interval[seg.thread == 1].tolist(), strict=True))
    assert (on_second[35], on_second[36]) == (0, 0), "both ids are the one interval's"


def test_two_that_were_aborted_before_one_begin_are_not_both_its_attempts(tmp_path: Path) -> None:
    writer = retried(BY_THREAD)
    first, second = writer.thread(1), writer.thread(2)
    second.begin(1, 5)
    first.begin(2, 6)
    first.end(1, 10, aborted=True)
    first.end(2, 20, aborted=True)
    attempt(first, 3, 30, 40, aborted=False)
    trace = loaded(writer, tmp_path)
    assert intervals(trace) == [("2", 6, 40)]
    assert trace.excluded == {"aborted": 1}


@pytest.mark.parametrize(("begin", "joined"), [(20 + SOON, True), (21 + SOON, False)])
@pytest.mark.parametrize("retry", [BY_ID, BY_THREAD])
def test_what_begins_later_is_no_attempt(tmp_path: Path, retry: Retry, begin: int, joined: bool) -> None:
    writer = retried(retry)
    thread = writer.thread(1)
    attempt(thread, 7, 10, 20)
    attempt(thread, 7, begin, begin + 5, aborted=False)
    trace = loaded(writer, tmp_path)
    assert len(attempts(trace)) == joined
    assert trace.intervals.begin.tolist() == [10 if joined else begin]
    assert trace.excluded == ({} if joined else {"aborted": 1})


@pytest.mark.parametrize(("last", "reason"), [("aborted", "aborted"), ("open", "unfinished")])
def test_it_is_what_its_last_attempt_is(tmp_path: Path, last: str, reason: str) -> None:
    writer = retried(BY_ID)
    thread = writer.thread(1)
    attempt(thread, 7, 10, 20)
    thread.begin(7, 30)
    if last == "aborted":
        thread.end(7, 40, aborted=True)
    attempt(thread, 8, 50, 60, aborted=False)
    trace = loaded(writer, tmp_path)
    assert (intervals(trace), trace.excluded) == ([("8", 50, 60)], {reason: 1})
    assert attempts(trace) == []
    if last == "aborted":
        assert (trace.aborted.count, trace.aborted.of, trace.aborted.ns) == (1, 2, 30)


def test_an_end_without_abort_is_no_attempt(tmp_path: Path) -> None:
    writer = retried(BY_ID)
    for begin in (10, 30):
        attempt(writer.thread(begin), 7, begin, begin + 10, aborted=False)
    assert [row[0] for row in intervals(loaded(writer, tmp_path))] == ["7", "7#2"]


def test_a_request_that_waited_before_its_second_attempt_lies_in_a_queue_there(tmp_path: Path) -> None:
    writer = retried(BY_ID)
    thread = writer.thread(1)
    attempt(thread, 7, 10, 20)
    thread.begin(7, 60, age_ns=15)
    thread.end(7, 80)
    trace = loaded(writer, tmp_path)
    assert attempts(trace) == [(0, 10, 20, 45)]
    analysis = analyze(trace, AnalysisOptions(intervals=True))
    assert analysis.per_interval["7"].path_times["[queue]"] == 15


def test_lost_records_between_the_attempts_spoil_it(tmp_path: Path) -> None:
    writer = retried(BY_ID)
    thread = writer.thread(1)
    attempt(thread, 7, 10, 20)
    thread.lost(24, 26, 3)
    attempt(thread, 7, 30, 50, aborted=False)
    trace = loaded(writer, tmp_path)
    assert (trace.excluded, trace.excluded_latencies.tolist()) == ({"touches lost records": 1}, [40])


def test_slices_are_found_between_marks_about_retries(tmp_path: Path) -> None:
    writer = in_turn(ORDER)
    for i in range(20):
        writer.event("mark", ticks=i * 1_000_000 + 500_000, text=retry_text(BY_ID))
    assert [part.on for part in loaded(writer, tmp_path).slices] == [kind == "A" for kind in ORDER]


def busy_server(retry: Retry | None, clients: int = 3, transactions: int = 300) -> Writer:
    """Each client's every third transaction is aborted twice; `work` takes 10 in an aborted attempt, then 40."""
    writer = retried(retry)
    writer.event("plan", on=[[1, 2]])
    writer.event("module", index=0, path="/bin/x", base=1, count=2, section_addr=0x4040, state="mapped", ticks=0)
    writer.unit(unit([function("serve", site=0), function("work", site=1)]), 0x4040)
    for client in range(clients):
        thread, t = writer.thread(client + 1), 100 * client
        for n in range(transactions):
            for last in (False, False, True) if n % 3 == 0 else (True,):
                takes = 40 + n % 5 if last else 10
                thread.begin(client + 1, t)
                thread.invocation(2, t + 1, t + 1 + takes, depth=1)
                thread.invocation(1, t, t + takes + 2)
                thread.end(client + 1, t + takes + 5, aborted=not last)
                t += takes + 15
            t += 2 * SOON
    return writer


def told(analysis: Analysis) -> dict[str, list[int]]:
    tree = analysis.tree
    return {f"{x} {name}": analysis.times.of(x).tolist() for x, name in enumerate(tree.paths.name)}


@pytest.mark.parametrize("window_records", [50, 333])
def test_windows_of_any_size_give_what_the_whole_gives(
    tmp_path: Path, window_records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = busy_server(BY_ID).save(tmp_path / "run.trace")
    whole = told(analyze_traces([path, path], None, AnalysisOptions()))
    monkeypatch.setattr("vprof.trace.sources.WINDOW_RECORDS", window_records)
    assert told(analyze_traces([path, path], None, AnalysisOptions())) == whole
    of_memory = analyze(merge([load_trace(path), load_trace(path)]), AnalysisOptions())
    assert told(of_memory) == whole
    [aborted] = [times for name, times in whole.items() if name.endswith(" [aborted]")]
    assert sum(aborted) == 2 * 3 * 100 * 2 * 15


def after_the_count(analysis: Analysis) -> str:
    lines = render(analysis, 300).splitlines()
    return lines[lines.index("900 intervals") + 1]


def test_the_second_line_says_what_was_left_out_and_the_mend(tmp_path: Path) -> None:
    analysis = analyze(loaded(busy_server(None), tmp_path))
    second = after_the_count(analysis)
    assert second.startswith("left out as aborted: 600 of 1500 intervals, 17.")
    assert "`retry = true` in the [[interval]] entry of the abort joins the attempts" in second
    aborted = intervals_json(analysis)["aborted"]
    assert {**aborted, "share": round(aborted["share"], 3)} == {
        "count": 600,
        "of": 1500,
        "share": round(600 * 15 / (600 * 15 + 900 * 47), 3),
        "joined": False,
        "repeated": 0,
        "repeated_share": 0.0,
    }


def test_with_retries_the_second_line_says_how_many_were_tried_again(tmp_path: Path) -> None:
    analysis = analyze(loaded(busy_server(BY_ID), tmp_path))
    second = after_the_count(analysis)
    assert second.startswith("300 of 900 intervals were tried again: aborted attempts took 15.")
    assert second.endswith("% of the time ([aborted])")
    assert not [s for s in sentences(intervals_json(analysis)) if "retry" in s]


def test_what_is_hardly_anything_is_not_said(tmp_path: Path) -> None:
    analysis = analyze(loaded(busy_server(None), tmp_path))
    few = replace(analysis.trace.aborted, count=14, ns=400)
    analysis.trace.aborted = few
    assert sentences(intervals_json(analysis)) == []
    analysis.trace.aborted = replace(few, count=15)
    assert len(sentences(intervals_json(analysis))) == 1


def test_each_file_of_a_session_has_the_mark_whoever_begins_it(tmp_path: Path) -> None:
    """Also a drill-down in somebody else's session, of which it knows only the note; and `vprof ctl` keeps that."""
    files = [tmp_path / f"{n}.trace" for n in range(4)]
    with Session.start(files[0], about=About(retry=BY_THREAD)) as session:
        session.rotate(files[1])
        other = Control(session.directory)
        with other.alone():
            other.write_note(replace(other.note(), owner="vprof drill", switched=Switched({"f": True})))
        other.rotate(files[2])
        other.rotate(None)
        other.rotate(files[3])
        other.disconnect()
        session.stop()
    assert [retry_of(read_chunks(file).of("mark")) for file in files] == [BY_THREAD] * 4


def test_a_session_of_programs_without_retries_has_no_mark(tmp_path: Path) -> None:
    with Session.start(tmp_path / "first.trace") as session:
        session.rotate(tmp_path / "second.trace")
        session.stop()
    assert not [mark for name in ("first", "second") for mark in read_chunks(tmp_path / f"{name}.trace").of("mark")]
