"""One folder per rewrite: input.c, the expected text, and what a runtime that has all probes on sees.

To add a rewrite, add a folder with input.c (and descriptor.json), run with OVERWRITE=1, and read what it wrote.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from conftest import HERE, Workshop

REWRITES = sorted(path for path in (HERE / "rewrites").iterdir() if path.is_dir())


def check_golden(path: Path, text: str) -> None:
    if os.environ.get("OVERWRITE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("folder", REWRITES, ids=lambda path: path.name)
def test_rewrite(folder: Path, shop: Workshop) -> None:
    shutil.copytree(folder, shop.path, dirs_exist_ok=True)
    options = ["-std=gnu89"] if folder.name == "c89" else ["-std=gnu11", "-Wall", "-Wextra"]
    env = {"VPROF_DESCRIPTOR": "descriptor.json"} if (folder / "descriptor.json").exists() else {}

    shop.plain(*options, "input.c", "-o", "plain")
    said = shop.cc(*options, "--emit-tree", "tree", "-c", "input.c", "-o", "input.o", **env)

    assert shop.unit("input.o")["status"] == "instrumented"
    assert said.stderr == shop.plain(*options, "-fsyntax-only", "input.c").stderr
    for source in [folder / "input.c", *folder.glob("*.h")]:
        rewritten = shop.path / f"tree{shop.path}" / source.name
        check_golden(folder / "expected" / source.name, rewritten.read_text())
    check_golden(folder / "expected/calls", shop.calls("input.o"))
    assert shop.run("./traced").stdout == shop.run("./plain").stdout


def test_rewritten_text_differs_only_by_insertions(shop: Workshop) -> None:
    for folder in REWRITES:
        for line, new in zip(
            (folder / "input.c").read_text().splitlines(),
            (folder / "expected/input.c").read_text().splitlines(),
            strict=True,
        ):
            rest = iter(new)
            assert all(character in rest for character in line)
