"""Fixtures: a workshop for aarch64. `make test-aarch64` builds what it needs, and names it by VPROF_PREFIX."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "instrumenter"))

from cross import CrossWorkshop
from workshop import PREFIX


@pytest.fixture
def family(request: pytest.FixtureRequest) -> str:
    """Of the real compiler: clang but for EVERY_COMPILER."""
    return str(getattr(request, "param", "clang"))


@pytest.fixture
def shop(tmp_path: Path, family: str) -> CrossWorkshop:
    if not (PREFIX / "lib/vprof/vprof-collector.aarch64").exists():
        pytest.fail(f"no build for aarch64 below {PREFIX}: run `make test-aarch64`")
    return CrossWorkshop(tmp_path, family)
