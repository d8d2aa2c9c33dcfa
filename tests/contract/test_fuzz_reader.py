"""Some of the damages that `make fuzz-reader` does in ten minutes."""

from pathlib import Path

from fuzz_reader import outcome


def test_damaged_traces_are_analyzed_or_refused_in_one_line(tmp_path: Path) -> None:
    found = {outcome(seed, tmp_path / "run.trace") for seed in range(1, 80)}
    assert found == {"analyzed", "refused"}
