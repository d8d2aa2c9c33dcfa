"""The golden rewrites of ../instrumenter, compiled for aarch64 by clang and by gcc: the same text, the same calls."""

from __future__ import annotations

from pathlib import Path

import test_rewrites
from cross import CrossWorkshop

OTHERS = [folder for folder in test_rewrites.REWRITES if folder.name != "odd_c"]
"""Without one that has assembly of x86-64 in it."""


@test_rewrites.compiled(OTHERS)
def test_rewrite(folder: Path, shop: CrossWorkshop) -> None:
    test_rewrites.test_rewrite(folder, shop)
