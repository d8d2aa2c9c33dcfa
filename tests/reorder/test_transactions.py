"""One folder per construct: input.c or input.cpp, and what `vprof reorder` says of it; the new text compiles.

To add one, add a folder with the input, in which `/* index N */` stands at the line of each query's call, and
schema.sql, calls.toml or options if it needs them. Run with OVERWRITE=1, and read what it wrote.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from reordered import INCLUDES, index_of, reorder

HERE = Path(__file__).parent
TRANSACTIONS = sorted((HERE / "transactions").iterdir())


@pytest.mark.parametrize("folder", TRANSACTIONS, ids=lambda path: path.name)
def test_transaction(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    [source] = [path for path in tmp_path.iterdir() if path.stem == "input"]
    before = source.read_text()
    (tmp_path / "index.json").write_text(json.dumps(index_of(before)))
    options = ["--schema", "schema.sql"] if (folder / "schema.sql").exists() else []
    options += ["--calls", "calls.toml"] if (folder / "calls.toml").exists() else []
    options += (folder / "options").read_text().split() if (folder / "options").exists() else []

    done = reorder(source.name, "--function", "transaction", "--index", "index.json", "--apply", *options)

    assert done.exit_code == 0, done.exception
    expected = folder / "expected"
    if os.environ.get("OVERWRITE"):
        expected.write_text(done.output)
    assert done.output == expected.read_text()
    backup = tmp_path / f"{source.name}.orig"
    assert (source.read_text() == before) == (not backup.exists())
    assert not backup.exists() or backup.read_text() == before
    compiler = "clang++-19" if source.suffix == ".cpp" else "clang-19"
    subprocess.run([compiler, "-Wall", "-Werror", "-c", source.name, *INCLUDES], check=True)
