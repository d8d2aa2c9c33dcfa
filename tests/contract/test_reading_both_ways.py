"""A trace is read the same, to the bit, by compiled kernels and by the same as Python (vprof/tables/kernels.py)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from history import History

from vprof.trace.reading import load_binary


@pytest.mark.parametrize("seed", range(12))
def test_stories_are_the_same(seed: int, tmp_path: Path, both_ways: Counter[str]) -> None:
    load_binary(History(seed, 1 + seed % 4, 40 + 40 * seed).writer.save(tmp_path / "run.trace"))
    assert both_ways["vprof.trace.scan._scan"] and both_ways["vprof.trace.window._unpack"]
