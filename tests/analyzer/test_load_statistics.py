"""The figures of `vprof load` against NumPy on the whole data, however the data is cut into parts."""

import math
from pathlib import Path

import latencies
import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st
from latencies import BEGIN, MS, S, lateness, records, write
from properties import examples

from vprof.errors import VprofError
from vprof.workload.latency_file import LatencyFile
from vprof.workload.moments import Moments
from vprof.workload.over_time import OverTime
from vprof.workload.quantiles import Quantiles
from vprof.workload.tally import Pass, read

NS = st.one_of(st.integers(0, 5000), st.integers(0, 10**7), st.integers(0, 10**13))
PARTS = st.lists(st.lists(NS, max_size=40), min_size=1, max_size=6).filter(any)


def whole(parts: list[list[int]]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.array([ns for part in parts for ns in part], np.int64)


@examples(200)
@given(PARTS)
def test_moments_of_parts_are_those_of_the_whole(parts: list[list[int]]) -> None:
    joined = Moments.joined([Moments.of(np.array(part, np.int64)) for part in parts])
    values = whole(parts)
    assert joined.count == len(values) and joined.maximum == values.max()
    assert joined.mean == pytest.approx(values.mean(), rel=1e-12)
    assert joined.variance == pytest.approx(values.var(), rel=1e-9, abs=1e-9 * max(1, values.mean() ** 2))
    assert joined.l2 == pytest.approx(math.sqrt(np.mean(values.astype(float) ** 2)), rel=1e-9)


def test_a_small_variance_on_a_large_mean_is_exact() -> None:
    values = 10**12 + np.array([0, 1, 2, 3] * 1000, np.int64)
    joined = Moments.joined([Moments.of(values[i : i + 7]) for i in range(0, len(values), 7)])
    assert joined.variance == pytest.approx(1.25, rel=1e-3)


@examples(200)
@given(PARTS, st.sampled_from([0.5, 0.95, 0.99, 0.999]))
def test_percentiles_are_within_a_thousandth_of_numbers_that_occurred(parts: list[list[int]], quantile: float) -> None:
    joined = Quantiles()
    for part in parts:
        one = Quantiles()
        one.add(np.array(part, np.int64))
        joined.join(one)
    values = np.sort(whole(parts))
    rank = max(1, int(quantile * len(values) + 0.5))
    (found,) = joined.at(quantile)
    assert found is not None
    assert values[rank - 1] <= found <= min(values[rank - 1] * 1.001 + 1, values[-1])


@examples(100)
@given(st.lists(NS, min_size=1, max_size=200))
def test_the_histogram_is_that_of_each_number_recorded_alone(values: list[int]) -> None:
    found = Quantiles()
    found.add(np.array(values, np.int64))
    alone = HdrHistogram(1, 1 << 50, 3)
    for value in values:
        alone.record_value(value)
    assert list(found.histogram().counts) == list(alone.counts)


def test_a_curve_rises_and_ends_at_the_maximum() -> None:
    found = Quantiles()
    found.add(np.random.default_rng(1).lognormal(14, 1, 10_000).astype(np.int64))
    quantiles, values = zip(*found.curve(), strict=True)
    assert list(quantiles) == sorted(quantiles) and list(values) == sorted(values)
    assert (quantiles[-1], values[-1]) == (1.0, found.at(1.0)[0])
    assert Quantiles().curve() == [] and Quantiles().at(0.5) == [None]


def seen(path: Path, seconds: float = 10, most: int = 1 << 18, late_ns: int = MS) -> Pass:
    file = LatencyFile.open(path)
    chunks = file.chunks
    object.__setattr__(file, "chunks", lambda: chunks(most))
    return read(file, BEGIN, BEGIN + int(seconds * S), late_ns)


@examples(30)
@given(st.integers(1, 400), st.integers(1, 70), st.integers(0, 1000))
def test_a_file_in_chunks_is_the_file(
    tmp_path_factory: pytest.TempPathFactory, count: int, most: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    at, took = rng.integers(0, 10 * S, count), rng.integers(0, S, count)
    rows = records(at, took, rng.integers(0, 3, count), rng.integers(0, 5, count), rng.integers(1, 4, count))
    path = write(tmp_path_factory.mktemp("f") / "x", rows, lateness([0, MS], [0, 5 * MS], 3), types=("a", "b", "c"))
    one, many = seen(path), seen(path, most=most)
    timed = took[np.isin(rows["outcome"], (0, 1, 4))]
    for found in (one, many):
        assert found.all.outcomes.tolist() == np.bincount(rows["outcome"], minlength=5).tolist()
        assert found.all.retries == (rows["tries"] - 1).sum()
        assert found.all.moments.count == len(timed) == sum(t.moments.count for t in found.by_type.values())
        assert found.all.moments.mean == pytest.approx(timed.mean() if len(timed) else 0, rel=1e-12)
        assert (found.slowest["end"] - found.slowest["intended"]).tolist() == sorted(timed.tolist(), reverse=True)
        assert found.lateness.moments.count == 2 and len(found.late) == 1
        assert found.over_time.bands() == one.over_time.bands()
    assert one.all.quantiles.at(0.5, 0.999) == many.all.quantiles.at(0.5, 0.999)


def test_what_is_answered_is_timed_and_what_is_unfinished_too(tmp_path: Path) -> None:
    """Committed 1 ms, rolled back 2 ms, gave up 3 ms, failed 4 ms, unfinished 5 ms."""
    found = seen(write(tmp_path / "x", records([0] * 5, np.arange(1, 6) * MS, outcome=np.arange(5))))
    assert found.all.answered == 2 and found.all.count == 5
    assert found.all.moments.count == 3 and found.all.moments.maximum == 5 * MS
    assert found.waiting_since_ns == BEGIN


def test_the_tail_is_one_in_a_thousand(tmp_path: Path) -> None:
    took = np.random.default_rng(1).permutation(2001)
    found = seen(write(tmp_path / "x", records(np.arange(2001), took)))
    assert (found.tail["end"] - found.tail["intended"]).tolist() == [2000, 1999, 1998]


def test_more_slowest_are_kept_than_drawn_where_the_tail_is_long(tmp_path: Path) -> None:
    took = np.arange(3_000_000) % 1_000_003
    found = seen(write(tmp_path / "x", records(np.zeros(len(took)), took)), most=100_000)
    assert len(found.tail) == 3000
    assert (found.tail["end"] - found.tail["intended"]).tolist() == sorted(took, reverse=True)[:3000]


def test_bands_keep_every_maximum() -> None:
    over = OverTime.of(0, 12 * S, 100)
    over.add(np.array([0, S // 2, 5 * S, 13 * S]), np.array([MS, 7 * MS, 0, 3 * MS]))
    bands = over.bands()
    assert bands["slice_s"] == 1 and bands["count"] == [2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    assert bands["max_ns"][0] == 7 * MS and bands["max_ns"][5] == 0 and bands["max_ns"][-1] == 3 * MS
    assert bands["p99_ns"][1] is None
    assert MS <= bands["p50_ns"][0] <= 1.05 * MS and bands["p99_ns"][0] == 7 * MS


def test_a_partial_record_is_left_out(tmp_path: Path) -> None:
    assert LatencyFile.open(write(tmp_path / "x", records([0], [1]), rest=b"x" * 31)).count == 1


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: b"VPROF" + data[5:20], "no file of latencies"),
        (lambda data: b"ELF" + data[3:], "no file of latencies"),
        (lambda data: data[:8] + b"\2" + data[9:], "version 2"),
        (lambda data: data[:40], "the header is damaged"),
        (lambda data: data[:16] + b"\0" + data[17:], "the header is damaged"),
        (lambda data: data[:-8] + b"\7" + data[-7:], "a record is damaged"),
    ],
)
def test_what_is_no_such_file_is_one_line(tmp_path: Path, damage: object, said: str) -> None:
    path = write(tmp_path / "x", records([0], [1]))
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(VprofError, match=said):
        seen(path)
    with pytest.raises(VprofError, match="No such file"):
        LatencyFile.open(tmp_path / "nothing")


def test_the_writer_is_as_the_contract_says(tmp_path: Path) -> None:
    """Byte by byte, so that the reader and the writer of the tests are not wrong together."""
    data = write(tmp_path / "x", latencies.records([3], [4], 0, 1, 2)).read_bytes()
    names = b"t\0[lateness]\0" + b"\0" * 3
    assert data[:8] == b"VPROFLAT" and [int.from_bytes(data[i : i + 4], "little") for i in (8, 12, 16, 20)] == [
        1,
        32,
        2,
        16,
    ]
    assert int.from_bytes(data[24:32], "little") == BEGIN and data[32:48] == names
    fields = [int.from_bytes(data[48 + i : 56 + i], "little") - BEGIN for i in (0, 8, 16)]
    assert fields == [3, 3, 7] and data[72:80] == b"\0\0\0\0\1\0\2\0"
