"""The golden rewrites of ../instrumenter, compiled for aarch64 by clang and by gcc: the same text, the same calls."""

from __future__ import annotations

from pathlib import Path

import pytest
import test_rewrites
from cross import CrossWorkshop
from workshop import EVERY_COMPILER

OTHERS = [folder for folder in test_rewrites.REWRITES if folder.name != "odd_c"]
"""Without one that has assembly of x86-64 in it."""


@EVERY_COMPILER
@pytest.mark.parametrize("folder", OTHERS, ids=lambda path: path.name)
def test_rewrite(folder: Path, shop: CrossWorkshop, family: str) -> None:
    test_rewrites.skip_unless_known(folder, family)
    test_rewrites.test_rewrite(folder, shop)
