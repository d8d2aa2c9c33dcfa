"""What `vprof watch` cuts out of a recording says of its interval what the whole recording says."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from history import ORIGIN, History
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from test_windows import in_small_chunks
from writer import Writer

from vprof.path.interval_path import IntervalPath, interval_path
from vprof.trace.reading import load_binary
from vprof.watch.cut import Wanted, cut
from vprof.watch.latencies import Latencies
from vprof.watch.pieces import Piece


def pieces(writer: Writer, folder: Path, at: int | None) -> list[Piece]:
    """The file as one piece, or as two: of each thread the chunks that begin before a time in ticks, and the rest."""
    if at is None:
        files = [writer.save(folder / "1.trace")]
    else:
        files = []
        for number, is_first in ((1, True), (2, False)):
            part = Writer(anchors=writer.anchors, on=writer.on, events=writer.events, units=writer.units)
            for thread in writer.threads:
                chunks = thread.chunks(0)
                first = next((i for i, (_, base, _) in enumerate(chunks) if base >= at), len(chunks))
                border = sum(len(payload) for _, _, payload in chunks[:first]) // 16
                mine = slice(0, border) if is_first else slice(border, None)
                copy = part.thread(thread.uid)
                copy.records, copy.times = thread.records[mine], thread.times[mine]
                copy.cuts = [c - (0 if is_first else border) for c in thread.cuts]
                copy.cuts = [c for c in copy.cuts if 0 < c < len(copy.records)]
            files.append(part.save(folder / f"{number}.trace"))
    found: list[Piece] = []
    for file in files:
        piece = Piece.read(file, None)
        assert piece is not None
        found.append(piece)
    return found


def path_of(file: Path, id_: str) -> IntervalPath:
    return interval_path(load_binary(file), id_)


@examples(40)
@given(
    seed=st.integers(0, 2**32),
    threads=st.integers(1, 5),
    steps=st.integers(20, 400),
    holds=st.booleans(),
    two=st.booleans(),
)
def test_the_path_in_a_cut_is_that_in_the_whole(seed: int, threads: int, steps: int, holds: bool, two: bool) -> None:
    history = History(seed, threads, steps, holds)
    writer = in_small_chunks(history.writer, seed)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = load_binary(writer.save(folder / "whole.trace"))
        parts = pieces(writer, folder, ORIGIN + chance.randrange(2 * history.now) if two else None)
        for row in chance.sample(range(len(whole.intervals.begin)), min(2, len(whole.intervals.begin))):
            id_, begin, end = whole.interval_ids[row], int(whole.intervals.begin[row]), int(whole.intervals.end[row])
            cut(parts, Wanted([(begin - chance.randrange(50), end + chance.randrange(50))]), folder / "cut.trace")
            trace = load_binary(folder / "cut.trace")
            assert id_ in trace.interval_ids
            # Without a single wait in the time, nothing is there to follow: then segments are put together by time.
            if trace.has_sync == whole.has_sync:
                assert interval_path(trace, id_) == interval_path(whole, id_)
            assert not [note for note in trace.notes if "stored" in note or "wrote" in note]


@examples(40)
@given(seed=st.integers(0, 2**32), threads=st.integers(1, 5), steps=st.integers(0, 400))
def test_what_ends_in_two_pieces_is_what_ends_in_the_whole(seed: int, threads: int, steps: int) -> None:
    history = History(seed, threads, steps)
    writer = in_small_chunks(history.writer, seed)
    at = ORIGIN + random.Random(seed).randrange(2 * history.now + 1)
    found: dict[str, tuple[int, int]] = {}
    with tempfile.TemporaryDirectory() as name:
        latencies = Latencies()
        for piece in pieces(writer, Path(name), at):
            ended = latencies.of(piece)
            assert not found.keys() & set(map(str, ended.id.tolist()))
            rows = zip(ended.begin.tolist(), ended.end.tolist(), strict=True)
            found |= dict(zip(map(str, ended.id.tolist()), rows, strict=True))
    assert found == {id_: (begin[1], end[1]) for id_, _, begin, end in history.intervals()}
    assert latencies.oldest() is None or history.unfinished


def test_neighbours_that_are_cut_are_no_intervals(tmp_path: Path) -> None:
    """What is missing of them would look like time in which nothing happened."""
    writer = Writer()
    worker, other = writer.thread(1, ticks=0), writer.thread(2, ticks=0)
    for number, (begin, end) in enumerate([(100, 900), (1_000, 2_000), (2_010, 2_020), (2_100, 9_000)], 1):
        worker.begin(number, begin)
        worker.invocation(3, begin + 1, end - 1)
        worker.end(number, end)
        worker.cut()
    other.begin(9, 50)
    other.cut()
    other.end(9, 1_500)
    piece = pieces(writer, tmp_path, None)
    cut(piece, Wanted([(990, 2_050)]), tmp_path / "cut.trace")
    trace = load_binary(tmp_path / "cut.trace")
    assert trace.interval_ids[:2] == ["2", "3"]
    assert len(trace.intervals.begin) == 2 and trace.excluded == {}


@pytest.mark.parametrize("by", ["id", "thread"])
def test_attempts_are_one_interval_also_in_two_pieces(tmp_path: Path, by: str) -> None:
    writer = Writer(anchors=[(0, 0), (5_000, 5_000)])
    writer.event("mark", ticks=0, text=f"retry by {by} within 10000 ns")
    worker = writer.thread(1, ticks=0)
    first, second = (7, 7) if by == "id" else (7, 8)
    worker.begin(first, 1_000)
    worker.end(first, 2_000, aborted=True)
    worker.cut()
    worker.begin(second, 2_100)
    worker.end(second, 3_000)
    worker.begin(20, 4_000)
    worker.end(20, 4_500, aborted=True)
    parts, latencies = pieces(writer, tmp_path, 2_050), Latencies()
    assert latencies.of(parts[0]).id.tolist() == []
    ended = latencies.of(parts[1])
    assert (ended.begin.tolist(), ended.end.tolist()) == ([1_000], [3_000])
    assert ended.attempts == [(0, first, 1_000), (0, second, 2_100)]
    begins = [(id_, begin) for _, id_, begin in ended.attempts]
    cut(parts, Wanted([(900, 3_100)], begins), tmp_path / "cut.trace")
    trace = load_binary(tmp_path / "cut.trace")
    assert trace.intervals.begin.tolist() == [1_000] and trace.intervals.end.tolist() == [3_000]
    assert len(trace.attempts.interval) == 1


def test_calls_that_end_later_are_on_the_path(tmp_path: Path) -> None:
    """A waker's long call has its record long after the interval, perhaps only in the next piece, or is still open."""
    writer = Writer()
    waiter, waker = writer.thread(1, ticks=0), writer.thread(2, ticks=0)
    waiter.begin(5, 10_000)
    waiter.blocked(10_100, 19_000, peer=2, woke=18_500)
    waiter.invocation(2, 10_050, 19_500)
    waiter.end(5, 20_000)
    waker.enqueue(1, 18_400)
    waker.cut()
    waker.enqueue(2, 30_000)
    waker.cut()
    waker.invocation(1, 500, 90_000)
    parts = pieces(writer, tmp_path, 80_000)
    cut(parts, Wanted([(9_000, 21_000)]), tmp_path / "cut.trace")
    path = path_of(tmp_path / "cut.trace", "5")
    (wait,) = [step for step in path.steps if step.kind == "blocked"]
    assert [inner.stack for inner in wait.steps] == [["site 1"], ["site 2"]]
