"""A cause planted into nginx and nghttpd is named, with the share by its own account (plant_study.py, in short)."""

from pathlib import Path

import drawn
import planted
import pytest
from kept_builds import KeptBuild
from kept_builds import installed as installed
from kept_builds import kept_build as kept_build
from kept_builds import say as say

SECONDS = 4
TOLERANCE = 0.1
"""Of the shares of the variance: found by vprof, and by the account."""
LEAST_FIRED, LEAST_SHARE, MOST_LOST = 20, 0.3, 0.1
"""From which on the account says that the plant matters, and up to which loss vprof ranks. On a busy machine the plant
may drown in waits for a CPU: then only the shares are compared, of what was recorded."""


@pytest.mark.parametrize("program", [*planted.FIXED])
def test_a_planted_cause_is_named_with_its_share(program: str, kept_build: KeptBuild, tmp_path: Path) -> None:
    plant = next(one for one in drawn.plants(program) if one.kind == "spin")
    target = planted.descriptor(program, tmp_path, drawn.edits(program))
    with kept_build(str(target)) as build:
        account = planted.sow(build, plant, seed=1)
        answer = planted.asked_once(build, plant, SECONDS, tmp_path / "run.trace")
        truth = planted.reaped(account)
    assert truth.fired >= LEAST_FIRED, truth
    assert answer.found == pytest.approx(truth.share, abs=TOLERANCE + answer.lost), (answer, truth)
    if truth.share >= LEAST_SHARE and answer.lost <= MOST_LOST:
        assert answer.verdict == "right", (answer, truth)
