"""Fixtures of the instrumenter's tests: a workshop in a fresh directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from workshop import PREFIX, Workshop


@pytest.fixture
def family(request: pytest.FixtureRequest) -> str:
    """Of the real compiler: clang but for EVERY_COMPILER."""
    return str(getattr(request, "param", "clang"))


@pytest.fixture
def shop(tmp_path: Path, family: str) -> Workshop:
    if not (PREFIX / "bin/vprof-cc").exists():
        pytest.fail(f"no vprof-cc below {PREFIX}: run `make setup` or set VPROF_PREFIX")
    return Workshop(tmp_path, family)


@pytest.fixture
def in_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes stand there: this is about how bodies are rewritten, or their calls are printed by fake_runtime.c."""
    monkeypatch.setenv("VPROF_PROBES", "body")
