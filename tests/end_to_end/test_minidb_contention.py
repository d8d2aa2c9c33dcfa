"""minidb's load for lock policies: requests that arrive whatever became of those before, sleep while they hold hot
rows, and are the same whoever serves them; a trace of it is replayed by any policy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from minidb_parts import SOURCE
from patience import PATIENCE_SECONDS
from verbs import printed, report

SLOTS = ("--slots", 512, "--ring-size", "64K")
"""For 200 clients and as many workers."""


@pytest.fixture(scope="module")
def minidb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("minidb")
    subprocess.run(["make", "-s", "-C", SOURCE, "-j2", "CC=clang-19", f"OUT={folder}"], check=True)
    return folder / "minidb"


def summary(minidb: Path, *options: object) -> dict[str, str]:
    done = subprocess.run(
        [minidb, *map(str, options)], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True
    )
    return {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()}


def test_requests_arrive_at_the_rate(minidb: Path) -> None:
    found = summary(minidb, "--contention", "low", "--rate", 150, "--seconds", 2)
    assert 200 < int(found["transactions"]) < 400


def test_latencies_count_from_the_arrival(minidb: Path) -> None:
    """One client takes 25 ms for a request, of which 200 a second arrive."""
    found = summary(minidb, "--contention", "low", "--rate", 200, "--seconds", 2, "--clients", 1)
    assert float(found["max"]) > 1e6


def test_most_clients_may_have_no_request(minidb: Path) -> None:
    """Of 200, at 20 requests a second."""
    assert int(summary(minidb, "--contention", "low", "--rate", 20, "--seconds", 0.3)["transactions"]) < 30


def test_requests_follow_the_seed_and_the_level_only(minidb: Path) -> None:
    def requests(*options: object, level: str = "high", seed: int = 5) -> str:
        load = ("--contention", level, "--rate", 100, "--seed", seed, "--seconds", 0.2)
        return summary(minidb, *load, *options)["requests"]

    first = requests()
    assert requests("--lock-policy", "ldsf", "--clients", 20, "--workers", 10) == first
    assert len({first, requests(level="low"), requests(seed=6), requests("--rows", 500)}) == 4


def test_hundreds_wait_for_each_other_and_all_end(minidb: Path) -> None:
    """A closed loop of 400: by Little's law nearly all are inside at any time, while few statements sleep."""
    found = summary(minidb, "--contention", "high", "--seconds", 2, "--rows", 2000, "--lock-policy", "bldsf")
    assert int(found["transactions"]) >= 400
    assert float(found["mean"]) > 200e3, "a transaction sleeps for 25 ms"


def test_a_trace_is_replayed_by_its_policy_and_by_others(tmp_path: Path) -> None:
    printed(tmp_path, "instrument", "--target", "minidb")
    load = ("--contention", "high", "--rate", 100, "--rows", 2000, "--clients", 200)
    printed(
        *(tmp_path, "record", "--target", "minidb", "--locks", "--seconds", 5, *SLOTS, "-o", "run.trace"),
        *("--", *load, "--lock-policy", "vats"),
    )
    found = report(tmp_path, "whatif", "run.trace", "--locks", "fifo,ldsf", "--traced", "vats", "--seeds", 1)
    assert found["base"] == "vats" and found["waits"] > 100
    assert found["calibration"]["mean_ratio"] == pytest.approx(1, abs=0.1)
    assert found["calibration"]["variance_ratio"] == pytest.approx(1, abs=0.1)
    assert [one["policy"] for one in found["policies"]] == ["vats", "fifo", "ldsf"]
