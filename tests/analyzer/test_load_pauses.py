"""Pauses: read from files of every kind, and what they explain, against a slow second opinion."""

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from latencies import BEGIN, BEGIN_REALTIME, MS, S, lateness, records, run_json, write
from properties import examples

from vprof.errors import UsageError
from vprof.workload.driver import Run
from vprof.workload.explained import Explained, Ring
from vprof.workload.pauses import MACHINE, Pauses, from_file
from vprof.workload.result import Result, result_of

REAL_S = BEGIN_REALTIME // S


def pauses(*spans: tuple[int, int], end: int = 100) -> Pauses:
    return Pauses.within("x", "", np.array(spans, np.int64).reshape(-1, 2), 0, end)


def test_pauses_that_overlap_or_touch_are_one_and_what_lies_outside_is_cut() -> None:
    found = pauses((50, 60), (-5, 3), (55, 58), (60, 62), (90, 300), (100, 110), (-9, 0), (70, 70))
    assert found.start_ns.tolist() == [0, 50, 90] and found.end_ns.tolist() == [3, 62, 100]
    assert found.total_ns == 25
    assert pauses().total_ns == 0


SPANS = st.lists(st.tuples(st.integers(0, 39), st.integers(1, 12)), min_size=1, max_size=5)


@examples(200)
@given(SPANS, st.integers(0, 39), st.integers(0, 40), st.integers(0, 20))
def test_a_ring_is_as_every_shift_tried(spans: list[tuple[int, int]], start: int, length: int, median: int) -> None:
    """Moment by moment, on a run of 40 ns."""
    length = min(length, 40 - start)
    found = pauses(*((at, at + n) for at, n in spans), end=40)
    ring = Ring(found, 0, 40, median)
    paused = np.zeros(40, bool)
    for begin, end in zip(found.start_ns, found.end_ns, strict=True):
        paused[begin:end] = True
    one, its = np.array([start]), np.array([length])
    for shift in range(40):
        covered = paused[(np.arange(length) + start - shift) % 40].sum()
        assert ring.overlap_ns(one, its, shift)[0] == covered
        assert ring.held_up(one, its, shift)[0] == (
            covered > 0 and length > median and covered >= (length - median) / 2
        )


def result(tmp_path: Path, rows: Any, *overlays: Path, late: Any = None, **more: Any) -> Result:
    late = lateness([0], [0]) if late is None else late
    return result_of(Run(run_json(**more), ""), write(tmp_path / "latencies", rows, late), list(overlays))


def planted(share: float, tmp_path: Path, count: int = 200_000) -> Explained:
    """Of the slow one in a thousand, such a share lies in one of 20 pauses of 10 ms, the others anywhere else."""
    rng = np.random.default_rng(3)
    at, took = rng.integers(0, 99 * S // 10, count), rng.integers(MS // 2, MS, count)
    begins = np.arange(20) * S // 2 + rng.integers(0, S // 3, 20)
    slow = rng.choice(count, count // 1000, replace=False)
    caused = slow[: round(share * len(slow))]
    took[slow] = 20 * MS
    at[caused] = rng.choice(begins, len(caused)) + rng.integers(-10 * MS, 0, len(caused))
    overlay = tmp_path / "pauses.csv"
    overlay.write_text("".join(f"{REAL_S + b / S:.6f},{REAL_S + b / S + 0.01:.6f},gc\n" for b in begins.tolist()))
    (found,) = result(tmp_path, records(at, took), overlay).explained
    return found


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_a_planted_share_is_found(tmp_path: Path, share: float) -> None:
    found = planted(share, tmp_path)
    assert (found.pauses.source, found.pauses.label, len(found.pauses.start_ns)) == ("pauses.csv", "gc", 20)
    assert found.tail == 200
    assert found.by_chance == pytest.approx(20 * 0.0105 / 10, abs=0.004)
    assert found.explained == pytest.approx(share, abs=0.04)
    assert (found.p <= 0.01) == (share > 0)
    assert found.without_max_ns is not None and (found.without_max_ns < MS) == (share == 1)


def test_one_stall_that_meets_by_chance_has_a_p_that_says_so(tmp_path: Path) -> None:
    """200 transactions wait for one stall of 100 ms; a pause that has nothing to do with it is on for 3 s of 10."""
    at = np.r_[np.linspace(0, 9.9 * S, 199_800), np.linspace(5 * S, 5.1 * S, 200)].astype(np.int64)
    took = np.r_[np.full(199_800, MS), 5.1 * S - at[199_800:] + 2 * MS].astype(np.int64)
    overlay = tmp_path / "p"
    overlay.write_text(f"start,end\n{REAL_S + 4},{REAL_S + 7}\n")
    (found,) = result(tmp_path, records(at, took), overlay).explained
    assert found.explained == pytest.approx(1, abs=0.03) and 0.2 < found.p < 0.4
    assert found.slowest.held_up and found.slowest.overlap_ns == found.slowest.latency_ns


def test_the_slowest_transaction(tmp_path: Path) -> None:
    overlay = tmp_path / "p"
    overlay.write_text(f"{REAL_S + 1},{REAL_S + 2}\n{REAL_S + 2.5},{REAL_S + 9}\n")
    (found,) = result(tmp_path, records([S // 2, 0], [5 * S // 2, MS]), overlay).explained
    assert found.slowest.latency_ns == 5 * S // 2 and found.slowest.held_up
    assert found.slowest.overlap_ns == 3 * S // 2
    assert 0.7 < found.slowest.by_chance <= 1
    assert found.without_max_ns == MS


def test_the_machines_own_pauses_are_what_the_drivers_thread_felt(tmp_path: Path) -> None:
    late = lateness([S, 2 * S, 2 * S + MS, 3 * S], [MS, 5 * MS, 4 * MS, MS - 1])
    found = result(tmp_path, records([2 * S - MS], [9 * MS]), late=late)
    (machine,) = found.explained
    assert machine.pauses.source == MACHINE
    assert (machine.pauses.start_ns - BEGIN).tolist() == [S, 2 * S]
    assert (machine.pauses.end_ns - BEGIN).tolist() == [S + MS, 2 * S + 5 * MS]
    assert machine.slowest.overlap_ns == 5 * MS


def test_pauses_of_another_day_are_said(tmp_path: Path) -> None:
    overlay = tmp_path / "p"
    overlay.write_text("1000,2000\n")
    found = result(tmp_path, records([0], [MS]), overlay)
    assert found.explained == [] and "none of its pauses lies in the run" in found.remarks[0]


def spans(tmp_path: Path, text: str) -> list[tuple[str, list[tuple[float, float]]]]:
    """Label and pauses in seconds since 2023-11-14T22:13:20Z, of a run of 100 s from then on."""
    path = tmp_path / "overlay"
    path.write_text(text)
    found = from_file(path, lambda seconds: round((seconds - REAL_S) * 1e9), 0, 100 * S)
    return [
        (one.label, [(b / S, e / S) for b, e in zip(one.start_ns.tolist(), one.end_ns.tolist(), strict=True)])
        for one in found
    ]


LOCAL = datetime.fromtimestamp(REAL_S + 5).isoformat()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{REAL_S + 1},{REAL_S + 2}\n", [("", [(1, 2)])]),
        (f"begin,end,what\n\n# young\n{REAL_S + 1.5},{REAL_S + 2},minor gc\n", [("minor gc", [(1.5, 2)])]),
        (f"{REAL_S + 1},{REAL_S + 2},a\n{REAL_S},{REAL_S + 9},b\n", [("b", [(0, 9)]), ("a", [(1, 2)])]),
        ("2023-11-14T22:13:21Z,2023-11-14 23:13:22.250+01:00\n", [("", [(1, 2.25)])]),
        (f"{LOCAL},{REAL_S + 6}\n", [("", [(5, 6)])]),
        (
            "2023-11-14 22:13:25.500 UTC [7] LOG:  checkpoint starting: time\n"
            "2023-11-14 22:13:26.000 UTC [9] ERROR:  deadlock detected\n"
            "2023-11-14 22:13:29.250 UTC [7] LOG:  checkpoint complete: wrote 1 buffers\n"
            "2023-11-14 22:14:50 UTC [7] LOG:  checkpoint starting: wal\n",
            [("checkpoint", [(5.5, 9.25), (90, 100)])],
        ),
        (
            "2023-11-15 00:13:29+02 LOG:  checkpoint complete: wrote 1 buffers\n"
            "2023-11-15 03:43:30+05:30 LOG:  restartpoint starting: time\n"
            f"{REAL_S + 11}.500 [7] LOG:  restartpoint complete: wrote 1 buffers\n",
            [("checkpoint", [(0, 9), (10, 11.5)])],
        ),
        (
            "".join(f"{REAL_S + i},{REAL_S + i + 1},{i}\n" for i in range(0, 90, 3)),
            [("", [(i, i + 1) for i in range(0, 90, 3)])],
        ),
    ],
)
def test_files_of_pauses(tmp_path: Path, text: str, expected: object) -> None:
    assert spans(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no pauses"),
        ("start,end\n", "no pauses"),
        ("1,2\n1\n", "overlay:2: a pause is start,end"),
        ("2,1\n", "overlay:1: the pause ends before it begins"),
        ("1,soon\n", "'soon' is neither seconds since 1970 nor an ISO time"),
        ("1,nan\n", "nan is no time"),
        ("1,1e300\n", "is no time"),
        ("LOG:  checkpoint starting: time\n", "let log_line_prefix begin with %m"),
        ("2023-11-14 22:13:25.500 XST [7] LOG:  checkpoint starting: time\n", "set log_timezone = 'UTC'"),
        ("2023-13-14 22:13:25.500 UTC [7] LOG:  checkpoint starting: time\n", "overlay:1: "),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        spans(tmp_path, text)


def test_a_local_zone_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = datetime.fromtimestamp(REAL_S).astimezone().tzname()
    stamp = datetime.fromtimestamp(REAL_S + 5)
    assert spans(tmp_path, f"{stamp} {name} LOG:  checkpoint complete\n{stamp} {name} x point starting\n")[0][1]
