"""A trace whose windows are shared out gives the same bits, however it is cut and in whatever order parts come.

Here tasks run in this process (tests/shared/apart.py), in test_jobs_cluster.py in Dask's.
"""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

from apart import Apart
from history import History
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from test_windows import BY_TYPE, VIEWS, disturbed, in_small_chunks, named, said

from vprof.compare.load_runs import load_runs
from vprof.errors import VprofError
from vprof.jobs.tasks import balanced, spans
from vprof.trace.sources import open_sources
from vprof.variance import look
from vprof.variance.analysis import AnalysisOptions
from vprof.variance.stream import analyze_traces

SEEDS = st.integers(0, 2**32)
PARTS = st.integers(1, 9)
RECORDS = st.integers(5, 80)


def told(
    paths: list[Path],
    records: int,
    jobs: Apart | None = None,
    root: str | None = None,
    options: AnalysisOptions = BY_TYPE,
) -> Any:
    """All that reports, explanations, tables and drill-downs tell, or the error."""
    try:
        return said(analyze_traces(paths, root, options, records, jobs=jobs))
    except VprofError as error:
        return f"{type(error).__name__}: {error}"


@examples(15)
@given(SEEDS, st.integers(1, 5), st.integers(0, 300), RECORDS, RECORDS, PARTS)
def test_tasks_give_the_bits_of_one_process(
    seed: int, threads: int, steps: int, records: int, others: int, parts: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        writer = named(History(seed, threads, steps, holds=seed % 2 == 0).writer, seed)
        path = in_small_chunks(writer, seed).save(Path(folder) / "run.trace")
        for root in (None, "site 3"):
            whole = told([path], records, root=root)
            assert told([path], records, Apart(parts, seed), root) == whole
            assert told([path], others, root=root) == whole


@examples(10)
@given(SEEDS, st.integers(50, 300), RECORDS, PARTS, st.sampled_from(VIEWS))
def test_so_they_do_of_several_traces_in_every_view(
    seed: int, steps: int, records: int, parts: int, options: AnalysisOptions
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            disturbed(History(seed + i, 2, steps).writer, seed + i).save(Path(folder) / f"{i}.trace") for i in range(3)
        ]
        whole = told(paths, records, options=options)
        assert told(paths, records, Apart(parts, seed), options=options) == whole


@examples(10)
@given(SEEDS, st.data())
def test_a_damaged_trace_is_read_as_far_as_one_process_reads_it(seed: int, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = in_small_chunks(History(seed, 3, 200).writer, seed).save(Path(folder) / "run.trace")
        content = bytearray(path.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
        assert told([path], 20, Apart(4, seed)) == told([path], 20)


@examples(10)
@given(SEEDS)
def test_runs_that_are_compared_are_the_same(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [disturbed(History(seed + i, 3, 200).writer, seed).save(Path(folder) / f"{i}.trace") for i in range(4)]
        for options in (AnalysisOptions(k=1), None):
            assert loaded(paths, options, Apart(3, seed)) == loaded(paths, options, None)


def loaded(paths: list[Path], options: AnalysisOptions | None, jobs: Apart | None) -> str:
    try:
        return repr(load_runs(paths[:2], paths[2:], None, options, jobs))
    except VprofError as error:
        return str(error)


def test_what_is_merged_stays_as_it_is() -> None:
    """A worker may die after it merged, and what it took is merged again elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        path = in_small_chunks(History(7, 3, 300).writer, 7).save(Path(folder) / "run.trace")
        sources = open_sources([path], None, 20)
        traces = look.Traces(sources, BY_TYPE.view, 0.99, True)
        count = traces.parts.size
        assert count > 4
        parts = [look._look_apart(traces, None, False, span) for span in spans(count, 2)]
        before = [pickle.dumps(part) for part in parts]
        first, again = (pickle.dumps(look._merged(*parts).tally.moments) for _ in range(2))
        assert [pickle.dumps(part) for part in parts] == before
        assert first == again


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 9))
def test_work_is_cut_into_parts_of_about_one_size(sizes: list[int], parts: int) -> None:
    shared_out = balanced(sizes, parts)
    assert sorted(number for part in shared_out for number in part) == list(range(len(sizes)))
    loads = [sum(sizes[number] for number in part) for part in shared_out]
    assert len(loads) <= parts
    assert max(loads, default=0) <= sum(sizes) / parts + max(sizes, default=0)
    cut = spans(len(sizes), parts)
    assert [n for a, b in cut for n in range(a, b)] == list(range(len(sizes)))
    assert len(cut) <= parts
