"""Threads that contend freely, and keep the truth themselves (bench/edges.c): recorded wakers are the true ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vprof.paths import native

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from edges import build, contention

LIB = native("lib/vprof/vprof-collector").parent


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(LIB, tmp_path_factory.mktemp("edges"))["session"]


@pytest.mark.parametrize(
    ("primitive", "hold"),
    [
        ("mutex", 20),
        ("mutex", 20_000),
        ("write", 200),
        ("write", 2000),
        ("mixed", 200),
        ("spin", 200),
        ("semaphore", 2000),
    ],
)
def test_wakers_are_the_true_ones(program: Path, primitive: str, hold: int) -> None:
    """Weighted by blocked time; the rest of a per cent is for waits that a wake-up and an acquire both ended."""
    found = contention(program, LIB, primitive, hold)
    assert found.waits > 0
    assert found.wrong < 0.01
    assert found.unknown < 0.01
