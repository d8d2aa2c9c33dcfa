"""minidb's lazy LRU list: a thread that finds it busy goes on, and what it put off happens later, once, to pages that
are still there."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from minidb_parts import answers, linked

ROOM = 32
"""Of a backlog."""
PAGES, RESIDENT = 20, list(range(10, -1, -1))
"""A pool for half of the pages and one more, filled with the first; the last of them is the hottest."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return linked(tmp_path_factory.mktemp("minidb"), "pool_steps")


def run(program: Path, *steps: str, pages: int = PAGES, kind: str = "lazy") -> list[str]:
    return answers(program, pages, kind, steps="\n".join(steps))


def pages_of(line: str) -> list[int]:
    return [int(word) for word in line.split()]


def test_a_busy_list_stops_nobody_and_what_was_put_off_comes_first(program: Path) -> None:
    said = run(program, "hold", "fetch 0 3", "fetch 0 7", "backlog 0", "list", "free", "fetch 0 5", "list", "backlog 0")
    assert said[:3] == ["done", "done", "3 7"]
    assert pages_of(said[3]) == RESIDENT, "untouched so far"
    assert said[4] == "done"
    assert pages_of(said[5]) == [5, 7, 3, 10, 9, 8, 6, 4, 2, 1, 0]
    assert said[6] == ""


def test_a_strict_list_makes_it_wait(program: Path) -> None:
    assert run(program, "hold", "fetch 0 3", "free", "await 0", kind="strict") == ["waits", "done"]


def test_it_spins_for_10_us(program: Path) -> None:
    """Processor time, which what else the machine does adds little to: the least of several."""
    said = run(program, "hold", *[step for page in range(10) for step in (f"fetch 0 {page}", "cpu 0")])
    assert 9 <= min(int(line) for line in said if line != "done") < 200


def test_no_page_is_put_off_twice(program: Path) -> None:
    said = run(program, "hold", "fetch 0 3", "fetch 0 7", "fetch 0 3", "fetch 1 3", "backlog 0", "backlog 1")
    assert said[-2:] == ["3 7", "3"], "each thread has a backlog of its own"


def test_a_full_backlog_makes_it_wait(program: Path) -> None:
    fetches = [f"fetch 0 {page}" for page in range(ROOM)]
    said = run(program, "hold", *fetches, f"fetch 0 {ROOM}", "free", "await 0", "list", pages=100)
    assert said[:-1] == ["done"] * ROOM + ["waits", "done"]
    assert pages_of(said[-1])[: ROOM + 1] == [ROOM, *reversed(range(ROOM))]


def test_a_page_that_is_not_there_is_waited_for(program: Path) -> None:
    said = run(program, "hold", "fetch 0 15", "free", "await 0", "list")
    assert said[:2] == ["waits", "done"]
    assert pages_of(said[2]) == [15, *RESIDENT[:-1]]


def test_an_evicted_page_is_skipped(program: Path) -> None:
    """Thread 1 brings in page 15 in the place of page 0, the coldest, which thread 0 has put off."""
    said = run(program, "hold", "fetch 0 0", "fetch 0 2", "free", "fetch 1 15", "fetch 0 5", "list", "backlog 0")
    assert pages_of(said[-2]) == [5, 2, 15, 10, 9, 8, 7, 6, 4, 3, 1]
    assert said[-1] == ""


def test_at_its_end_a_thread_touches_what_it_put_off(program: Path) -> None:
    assert pages_of(run(program, "hold", "fetch 0 2", "free", "end 0", "list")[-1])[:2] == [2, 10]


def test_where_nobody_is_in_the_way_lazy_is_strict(program: Path) -> None:
    rng = random.Random(4)
    steps = [step for _ in range(200) for step in (f"fetch {rng.randrange(3)} {rng.randrange(PAGES)}", "list")]
    lazy = run(program, *steps)
    assert lazy == run(program, *steps, kind="strict")
    assert len(set(pages_of(lazy[-1]))) == len(RESIDENT)


@pytest.mark.parametrize("kind", ["strict", "lazy"])
def test_a_storm_leaves_the_pool_whole(program: Path, kind: str) -> None:
    said = run(program, "storm 8 4000", "list", kind=kind)
    assert len(set(pages_of(said[0]))) == len(RESIDENT), said
