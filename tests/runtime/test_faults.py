"""Every fault of bench/faults.py, in its short form: nothing lost, the host unaffected."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from fault_lab import Lab
from faults import FAULTS


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with tempfile.TemporaryDirectory(prefix="vprof-faults-") as folder:
        lab = Lab(Path(folder))
        yield lab
        lab.close()


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_lost_and_the_host_is_unaffected(lab: Lab, fault: str) -> None:
    outcome = FAULTS[fault](lab, True)
    if not outcome.trials:
        pytest.skip(outcome.note)
    assert outcome.affected == []
    assert outcome.lost == 0
