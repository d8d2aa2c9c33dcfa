"""Compiled kernels are kept on disk, but not when a file that they share changes (vprof/tables/kernels.py)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import vprof

KERNEL = """\
from vprof.shared import VALUE, doubled
from vprof.tables.kernels import COMPILER, kernel

COMPILER.turn_on()

@kernel
def value(x: int) -> int:
    return VALUE + doubled(x)

print(value(10), sum(value.compiled.stats.cache_hits.values()))
"""
SHARED = """\
from vprof.tables.kernels import helper

VALUE = {value}

@helper
def doubled(x: int) -> int:
    return {times} * x
"""


def test_a_number_or_helper_of_another_file_that_changes_is_compiled_anew(tmp_path: Path) -> None:
    package = tmp_path / "vprof"
    (package / "tables").mkdir(parents=True)
    for file in ("__init__.py", "tables/__init__.py", "tables/kernels.py", "tables/model.py"):
        shutil.copy(Path(vprof.__file__).parent / file, package / file)
    (package / "used.py").write_text(KERNEL)

    def printed(value: int, times: int) -> str:
        (package / "shared.py").write_text(SHARED.format(value=value, times=times))
        os.utime(package / "shared.py", ns=(0, value * 1000 + times))
        command = [sys.executable, "-c", "import vprof.used"]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout

    assert printed(1, 2).split() == ["21", "0"]
    assert printed(1, 2).split() == ["21", "1"]  # as it was: kept
    assert printed(5, 2).split() == ["25", "0"]
    assert printed(5, 3).split() == ["35", "0"]
