"""Threads that contend freely, and keep the truth themselves (bench/edges.c): recorded wakers are the true ones."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from vprof.installed import native
from vprof.tables.model import Int64
from vprof.trace.records import PEER_TIME_UNKNOWN, PEER_UNKNOWN

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from edges import Contention, build, contention, judge, may_have_been_last, was_last

LIB = native("lib/vprof/vprof-collector").parent


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(LIB, tmp_path_factory.mktemp("edges"))["session"]


@pytest.mark.parametrize(
    ("primitive", "hold"),
    [
        ("mutex", 20),
        ("mutex", 20_000),
        ("write", 200),
        ("write", 2000),
        ("mixed", 200),
        ("spin", 200),
        ("semaphore", 2000),
    ],
)
def test_wakers_are_the_true_ones(program: Path, primitive: str, hold: int) -> None:
    """Weighted by blocked time; the rest of a per cent is for waits that a wake-up and an acquire both ended."""
    found = contention(program, LIB, primitive, hold)
    assert found.waits > 0
    assert found.wrong < 0.01
    assert found.unknown < 0.01


TIDS = {1: 101, 2: 102, 3: 103}


def judged(right: object, holds: list[tuple[int, ...]], *waits: tuple[int, ...]) -> Contention:
    return judge(np.array(holds, np.int64), TIDS, np.array(waits, np.int64), right)  # type: ignore[arg-type]


def test_what_was_recorded_is_held_against_the_truth() -> None:
    """Two holds of thread 102, taken after 4000 and 2000 ns from 101, after 2000 more from 103."""
    holds = [(101, 0, 0, 0, 1, 0, 0), (102, 1_000, 5_000, 101, 1, 0, 0), (102, 6_000, 8_000, 103, 1, 0, 0)]
    first, second = (2, 5_010, 4_500), (2, 8_010, 2_500)
    assert judged(was_last, holds, (*first, 1, 0), (*second, 3, 0)) == Contention(2, 0, 0, 0)
    assert judged(was_last, holds, (*first, 3, 0), (*second, 3, 0)) == Contention(2, 2 / 3, 0, 0)
    assert judged(was_last, holds, (*first, 1, 0), (*second, 9, 0)) == Contention(2, 1 / 3, 0, 0), "no such thread"
    unknown = judged(was_last, holds, (*first, 0, PEER_UNKNOWN), (*second, 3, PEER_TIME_UNKNOWN))
    assert unknown == Contention(2, 0, 2 / 3, 1 / 2)


def test_of_readers_who_let_go_at_once_each_may_have_been_the_last() -> None:
    """101 and 103 read and leave by 4000: from 3000 to 3500 and from 3400 on. Then 102 writes; or reads, for which the
    release of the writer 101 at 2000 counts."""
    writer, readers = (
        (101, 0, 0, 0, 1, 1_990, 2_000),
        [(101, 0, 0, 0, 0, 3_000, 3_500), (103, 0, 0, 0, 0, 3_400, 4_000)],
    )
    for writes, right in ((1, {1, 3}), (0, {1})):
        holds = [writer, *readers, (102, 2_500, 5_000, 0, writes, 0, 0)]
        found = {peer: judged(may_have_been_last, holds, (2, 5_010, 2_000, peer, 0)).wrong for peer in (1, 3)}
        assert found == {peer: float(peer not in right) for peer in (1, 3)}
    early = [(103, 0, 0, 0, 0, 2_100, 2_200), (101, 0, 0, 0, 0, 3_000, 3_500), (102, 2_500, 5_000, 0, 1, 0, 0)]
    assert judged(may_have_been_last, early, (2, 5_010, 2_000, 3, 0)).wrong == 1, "101 surely left after 103"


@pytest.mark.parametrize("right", [was_last, may_have_been_last])
def test_many_waits_among_many_holds_are_judged_in_seconds(right: object) -> None:
    """Where contention is high there are hundreds of thousands of both: to look at each hold for each wait took longer
    than ten minutes. These are fewer, and took half a minute of CPU."""
    count = 60_000
    times: Int64 = 100 * np.arange(count)
    column = np.stack(
        [101 + times // 100 % 3, times, times + 90, np.full(count, 101), times % 2, times + 95, times + 96]
    )
    waits = np.stack([1 + times // 100 % 3, times + 91, np.full(count, 80), np.ones(count), np.zeros(count)])
    begin = time.process_time()
    assert judge(column.T, TIDS, waits.T.astype(np.int64), right).waits == count  # type: ignore[arg-type]
    assert time.process_time() - begin < 5
