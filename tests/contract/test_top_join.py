"""Pieces that `vprof top` puts together say what the whole recording says."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import numpy as np
from history import ORIGIN, History
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from test_watch_cut import pieces
from test_windows import in_small_chunks
from writer import Writer

from vprof.path.interval_path import interval_path
from vprof.top.join import join
from vprof.top.window import Window
from vprof.trace.reading import load_binary


@examples(20)
@given(seed=st.integers(0, 2**32), threads=st.integers(1, 5), steps=st.integers(20, 400), holds=st.booleans())
def test_two_pieces_joined_are_the_whole(seed: int, threads: int, steps: int, holds: bool) -> None:
    history = History(seed, threads, steps, holds)
    writer = in_small_chunks(history.writer, seed)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = load_binary(writer.save(folder / "whole.trace"))
        join(pieces(writer, folder, ORIGIN + chance.randrange(2 * history.now)), folder / "joined.trace")
        joined = load_binary(folder / "joined.trace")
        assert joined.interval_ids == whole.interval_ids
        for column in ("begin", "end"):
            assert np.array_equal(getattr(joined.intervals, column), getattr(whole.intervals, column))
        assert joined.excluded == whole.excluded
        known = [whole.interval_ids[row] for row in np.flatnonzero(~whole.intervals.ignore).tolist()]
        for id_ in chance.sample(known, min(3, len(known))):
            assert interval_path(joined, id_) == interval_path(whole, id_)
        assert not [note for note in joined.notes if "stored" in note or "wrote" in note]


def test_a_window_has_its_newest_pieces_and_samples_of_all(tmp_path: Path) -> None:
    """What is older is not there any more, neither on the disk nor in what a refresh goes through."""
    window = Window(tmp_path, None, 3)
    for number in range(7):
        writer = Writer(anchors=[(0, 0), (1_000_000, 1_000_000)])
        thread = writer.thread(1, ticks=0)
        for k in range(10):
            thread.begin(10 * number + k + 1, 1_000 * k)
            thread.end(10 * number + k + 1, 1_000 * k + 100 + number)
        assert window.take(writer.save(window.next_path()), [], number)
        assert window.pieces == min(number + 1, 3)
        assert len(list(tmp_path.glob("0*.trace"))) == window.pieces
    assert [(one.count, one.p50, one.max, one.lost) for one in window.samples] == [
        (10, 100 + number, 100 + number, number) for number in range(7)
    ]
    assert (window.summary().count, window.summary().lost, window.summary().max) == (30, 4 + 5 + 6, 106)
    window.interrupt()
    assert (window.pieces, window.summary().count, len(window.samples)) == (0, 0, 7)
    assert not list(tmp_path.glob("0*.trace"))
    assert window.analyze().reason == "nothing is recorded yet"
