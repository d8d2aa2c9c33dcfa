"""Whatever the records hold, if only their checksums hold: the reader gives a trace that keeps the model's promises."""

from __future__ import annotations

import tempfile
from itertools import chain
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from writer import LOW48, Writer

from vprof.tables.kinds import BLOCKED
from vprof.tables.model import Trace
from vprof.trace.reading import load_binary
from vprof.variance.analysis import analyze

TIMES = st.integers(0, 60) | st.integers(0, LOW48)
WORDS = st.integers(0, 60) | st.integers(0, 60).map(lambda n: n | 3 << 32) | st.integers(0, (1 << 64) - 1)
EXTENDED = [1 << 8 | 1, 1 << 8 | 2, 1 << 8 | 6, 3 << 8, 4 << 8 | 6]
AUX = st.integers(0, 3) | st.integers(0, 4095) | st.sampled_from(EXTENDED)
SEQUENCES = st.sampled_from(
    [
        (6, 7, 8),
        (6, 7, 8, 0),
        (11, 8),
        (12, 13),
        (2, 1),
        (2, 14),
        (10, 5),
        (0, 7),
        *((kind,) for kind in (3, 4, 1, 9, 14, 15)),
    ]
)


@st.composite
def groups(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """Records as the specification groups them, or one of any kind."""
    kinds = draw(SEQUENCES | st.tuples(st.integers(0, 15)))
    return [(kind, draw(TIMES), draw(AUX), draw(WORDS)) for kind in kinds]


def keeps_promises(trace: Trace) -> None:
    """The invariants of model.py."""
    s, i, w = trace.segments, trace.invocations, trace.wakeups
    assert np.all(s.ts < s.te)
    same = s.thread[1:] == s.thread[:-1]
    assert np.all(s.thread[1:] >= s.thread[:-1])
    assert np.all(s.ts[1:][same] == s.te[:-1][same])
    assert np.all(i.fs <= i.fe)
    assert np.all(np.lexsort((i.fs, i.thread)) == np.arange(len(i.fs)))
    open_calls: list[tuple[int, int]] = []
    for thread, fs, fe in zip(i.thread, i.fs, i.fe, strict=True):
        while open_calls and (open_calls[-1][0] != thread or open_calls[-1][1] <= fs):
            open_calls.pop()
        assert not open_calls or fe <= open_calls[-1][1]
        open_calls.append((thread, fe))
    assert np.all(s.state[w.segment] == BLOCKED)
    assert np.all((s.ts[w.segment] <= w.t) & (w.t < s.te[w.segment]))
    later = w.segment[1:] == w.segment[:-1]
    assert np.all(w.t[1:][later] > w.t[:-1][later])
    assert np.all(w.since[1:][later] >= w.t[:-1][later])
    assert np.all(trace.created.ts < trace.created.ts2)
    assert np.all(trace.intervals.begin <= trace.intervals.end)
    assert np.all(np.diff(trace.intervals.begin) >= 0)


@examples(300)
@given(st.lists(st.lists(groups(), max_size=20), min_size=1, max_size=3))
def test_any_records_make_a_trace(threads: list[list[list[tuple[int, int, int, int]]]]) -> None:
    writer = Writer()
    for uid, grouped in enumerate(threads, 1):
        thread = writer.thread(uid)
        for record in chain.from_iterable(grouped):
            thread.raw(*record)
    with tempfile.TemporaryDirectory() as folder:
        keeps_promises(load_binary(writer.save(Path(folder) / "run.trace")))


def test_an_object_class_that_is_not_known_is_none(tmp_path: Path) -> None:
    writer = Writer()
    thread = writer.thread(1)
    for record in ((3, 10, 0, 7), (6, 30, 4000, 20), (7, 0, 0, 5), (8, 25, 1, 0), (4, 40, 0, 7)):
        thread.raw(*record)
    trace = load_binary(writer.save(tmp_path / "run.trace"))
    blocked = trace.segments.state == BLOCKED
    assert np.count_nonzero(blocked) == 1
    assert trace.segments.object_class[blocked].tolist() == [0]
    assert analyze(trace).summary.count == 1
