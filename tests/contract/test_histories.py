"""Whatever threads do, the reader gives back what was written."""

from __future__ import annotations

import tempfile
from pathlib import Path

from history import History
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from tuples import Tuples

from vprof.trace.reading import load_binary


@examples(150)
@given(seed=st.integers(0, 2**32), threads=st.integers(1, 6), steps=st.integers(0, 400))
def test_records_read_back_are_the_story_told(seed: int, threads: int, steps: int) -> None:
    history = History(seed, threads, steps)
    with tempfile.TemporaryDirectory() as folder:
        trace = load_binary(history.writer.save(Path(folder) / "run.trace"))
    tuples = Tuples(trace)
    assert tuples.intervals() == history.intervals()
    assert sorted(tuples.segments(), key=lambda row: (row[0], row[2])) == sorted(
        history.segments, key=lambda row: (row[0], row[2])
    )
    assert sorted(tuples.calls(), key=lambda row: (row[0], row[3])) == sorted(
        history.calls, key=lambda row: (row[0], row[3])
    )
    assert sorted(tuples.wakeups()) == sorted(history.wakeups)
    assert sorted(tuples.created()) == sorted(history.created)
    assert trace.excluded.get("unfinished", 0) == history.unfinished
    assert trace.excluded.get("aborted", 0) == history.aborted
    assert not any("adjusted" in note for note in trace.notes)
