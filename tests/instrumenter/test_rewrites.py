"""One folder per rewrite: input.c or input.cpp, the expected text, and what a runtime that has all probes on sees.

To add a rewrite, add a folder with the input (and descriptor.json, options; a file `only` names the compiler that knows
such code), run with OVERWRITE=1, and read what it wrote.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from workshop import COMPILERS, HERE, IN_BODIES, Workshop

REWRITES = sorted(path for path in (HERE / "rewrites").iterdir() if path.is_dir())


def check_golden(path: Path, text: str, family: str = "clang") -> None:
    """A file of its own has what differs with gcc: the order in which operands are evaluated, and what has a number."""
    own = path.with_name(f"{path.name}.{family}")
    if own.exists() or (os.environ.get("OVERWRITE") and family != "clang" and text != path.read_text()):
        path = own
    if os.environ.get("OVERWRITE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def input_of(folder: Path) -> Path:
    [source] = [path for path in folder.iterdir() if path.stem == "input"]
    return source


def compiled(rewrites: list[Path]) -> pytest.MarkDecorator:
    """For tests of each rewrite with each compiler that knows such code."""
    pairs = [
        pytest.param(folder, family, id=f"{folder.name}-{family}")
        for folder in rewrites
        for family in COMPILERS
        if not (only := folder / "only").exists() or only.read_text().strip() == family
    ]
    return pytest.mark.parametrize(("folder", "family"), pairs, indirect=["family"])


@IN_BODIES
@compiled(REWRITES)
def test_rewrite(folder: Path, shop: Workshop) -> None:
    shutil.copytree(folder, shop.path, dirs_exist_ok=True)
    source = input_of(folder)
    cxx = source.suffix == ".cpp"
    plain, wrapper = (shop.plain_cxx, shop.cxx) if cxx else (shop.plain, shop.cc)
    default = "-std=c++17 -Wall -Wextra" if cxx else "-std=gnu11 -Wall -Wextra"
    given = folder / "options"
    options = (given.read_text() if given.exists() else default).split()
    env = {"VPROF_DESCRIPTOR": "descriptor.json" if (folder / "descriptor.json").exists() else ""}

    plain(*options, source.name, "-pthread", "-o", "plain")
    said = wrapper(*options, "--emit-tree", "tree", "-c", source.name, "-o", "input.o", **env)

    assert shop.unit("input.o")["status"] == "instrumented"
    assert said.stderr == plain(*options, "-S", source.name, "-o", os.devnull).stderr
    for text in [source, *folder.glob("*.h")]:
        rewritten = shop.path / f"tree{shop.path}" / text.name
        check_golden(folder / "expected" / text.name, rewritten.read_text(), shop.family)
    calls = shop.calls("input.o")
    assert "unpaired" not in calls
    check_golden(folder / "expected/calls", calls, shop.evaluates_like)
    assert shop.run("./traced").stdout == shop.run("./plain").stdout


def test_rewritten_text_differs_only_by_insertions(shop: Workshop) -> None:
    for folder in REWRITES:
        source = input_of(folder)
        for line, new in zip(
            source.read_text().splitlines(),
            (folder / "expected" / source.name).read_text().splitlines(),
            strict=True,
        ):
            rest = iter(new)
            assert all(character in rest for character in line)
