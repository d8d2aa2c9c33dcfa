"""minidb's row locks, recorded with --locks: what was taken, and its replay, which meets what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from verbs import printed, report, vprof

from vprof.trace.locks import GRANT, RELEASE_ALL, REQUEST, read_locks

# A hot row, and more workers than CPUs: some always wait.
MODES = {"transfer": [2, 2], "deposit": [2], "statement": [2, 1, 1]}
"""Of the rows of each type: exclusive (2) or shared."""
LOAD = ("--pathology", "lock", "--clients", 12, "--workers", 12, "--seed", 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With run.trace."""
    folder = tmp_path_factory.mktemp("locks")
    printed(folder, "instrument", "--target", "minidb")
    printed(folder, "record", "--target", "minidb", "--locks", "--seconds", 3, "-o", "run.trace", "--", *LOAD)
    return folder


def test_each_transaction_takes_its_rows_and_gives_them_back(folder: Path) -> None:
    """In ascending order."""
    trace = read_locks(folder / "run.trace")
    steps = trace.steps
    of: dict[int, list[tuple[int, int, int]]] = {}
    for owner, step, mode, thing in zip(
        steps.owner.tolist(), steps.step.tolist(), steps.mode.tolist(), steps.object.tolist(), strict=True
    ):
        of.setdefault(owner, []).append((step, mode, thing))
    assert trace.unowned == trace.lost == 0
    assert len(trace.types) > 100
    for owner, name in enumerate(trace.types):
        asked = [(mode, thing) for step, mode, thing in of[owner] if step == REQUEST]
        assert [mode for mode, _ in asked] == MODES[name]
        assert asked == sorted(asked, key=lambda one: one[1])
        pairs = [(step, thing) for step, _, thing in of[owner]]
        wanted = [(step, thing) for _, thing in asked for step in (REQUEST, GRANT)]
        assert pairs == [*wanted, (RELEASE_ALL, 0), (RELEASE_ALL, 0)]


def test_the_replay_meets_what_was_measured(folder: Path) -> None:
    found = report(folder, "whatif", "run.trace", "--locks", "vats,ldsf", "--traced", "fifo")
    assert found["base"] == "fifo" and found["waits"] > 50
    assert found["calibration"]["mean_ratio"] == pytest.approx(1, abs=0.1)
    assert found["calibration"]["variance_ratio"] == pytest.approx(1, abs=0.1)
    assert [one["policy"] for one in found["policies"]] == ["fifo", "vats", "ldsf"]


@pytest.mark.quiet_cpus  # else what others do with the CPUs is most of the latency
def test_a_simulation_knows_who_had_the_rows(folder: Path) -> None:
    """Also those for which nobody waited: without a change it is like the run."""
    found = report(folder, "whatif", "run.trace", "--change", "serve_txn=1", "--model", "simulation", "--no-factors")
    assert found["locks_told"] > 100
    assert found["nearness"]["mean"] == pytest.approx(1, abs=0.1)


def test_what_was_waited_for_and_whether_age_tells_what_is_left(folder: Path) -> None:
    found = report(folder, "analyze", "run.trace", "--locks")
    assert found["objects"][0]["object"] == "1", "row 0 is hot"
    assert found["objects"][0]["waits"] > 50
    assert {one["type"] for one in found["ages"]} >= {"", "transfer", "deposit"}
    text = printed(folder, "analyze", "run.trace", "--locks")
    assert "Age of a transaction against its remaining time" in text


def test_a_recording_without_the_option_has_no_steps(folder: Path) -> None:
    printed(folder, "record", "--target", "minidb", "--seconds", 1, "-o", "plain.trace", "--", *LOAD)
    done = vprof(folder, "whatif", "plain.trace", "--locks")
    assert done.returncode == 2
    assert "plain.trace: no lock events: record it with vprof record --locks" in done.stderr
