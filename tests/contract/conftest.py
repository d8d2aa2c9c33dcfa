"""Fixtures of the contract tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from tuples import Load

from vprof.trace.reading import load_binary


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Writes a trace and reads it back."""
    return lambda writer: load_binary(writer.save(tmp_path / "run.trace"))
