"""Some of the damages that `make fuzz-reader` does in ten minutes."""

from collections import Counter
from pathlib import Path

from fuzz_reader import Fuzz


def test_every_verb_reports_on_a_damaged_trace_or_refuses_it_in_one_line(tmp_path: Path) -> None:
    fuzz = Fuzz(tmp_path)
    fuzz.prepare()
    found: Counter[str] = Counter()
    for seed in range(1, 80):
        found.update([*fuzz.outcome(seed), fuzz.windowed(seed)])
    assert min(found["done"], found["refused"]) > 50
