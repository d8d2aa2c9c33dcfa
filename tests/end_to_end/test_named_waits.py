"""minidb says what its waits are for: the planted hot row, the log's latch and the pool's list, each by its name."""

from pathlib import Path

import pytest
from verbs import printed, report


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("minidb")
    printed(folder, "instrument", "--target", "minidb")
    return folder


def recorded(work: Path, pathology: str, seed: int) -> Path:
    trace = work / f"{pathology}.trace"
    command = ["record", "--target", "minidb", "--seconds", 2, "--sites", "all", "-o", trace]
    printed(work, *command, "--", "--pathology", pathology, "--seed", seed)
    return trace


def test_the_hot_row_comes_first(work: Path) -> None:
    """70 % of the transactions want row 0. Each sleeps on a condition variable of its own."""
    trace = recorded(work, "lock", 11)
    objects = report(work, "analyze", trace)["waited_for"]["objects"]
    hot = objects[0]
    assert (hot["title"], hot["id"]) == ("row 0 (condition variable)", "")
    assert hot["waits"] > 10
    assert hot["queue_max"] > 1, "several waiters are one queue"
    waits = printed(work, "analyze", trace, "--waits").splitlines()
    header = next(i for i, line in enumerate(waits) if "variance" in line)
    assert waits[header + 1].startswith("row 0 (condition variable)  ")
    [side] = report(work, "analyze", trace, "--explain", "lock_wait")["sides"]
    assert side["objects"][0]["name"] == "row 0"


@pytest.mark.parametrize(
    ("pathology", "seed", "title"),
    [("wal", 23, "flush latch"), ("lru", 47, "LRU list (mutex)")],
)
def test_so_does_what_another_pathology_holds(work: Path, pathology: str, seed: int, title: str) -> None:
    objects = report(work, "analyze", recorded(work, pathology, seed))["waited_for"]["objects"]
    assert title in [one["title"] for one in objects[:2]]
