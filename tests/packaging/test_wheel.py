"""The wheel: what it installs works without the checkout. Of the build that there is; packaging/README.md says how the
wheel that others get is tried on bare systems."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ.get("VPROF_BUILD", ROOT / "build"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prefix of a fresh environment with the wheel. What vprof depends on is that of ours."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, ROOT / "packaging/wheel.py", "--here", BUILD, folder], check=True)
    [wheel] = folder.glob("vprof-*-linux_x86_64.whl")
    prefix = folder / "venv"
    venv.create(prefix, with_pip=False)
    pip = [sys.executable, "-m", "pip", "-q", "--python", prefix / "bin/python", "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, wheel], check=True)
    [packages] = prefix.glob("lib/python*/site-packages")
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return prefix


def run(prefix: Path, folder: Path, *words: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VPROF_PREFIX")}
    environment["PATH"] = f"{prefix / 'bin'}:{environment['PATH']}"
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_the_installed_package_that_runs(installed: Path, tmp_path: Path) -> None:
    code = "import vprof, vprof.installed as i; print(vprof.__file__, i.native('lib/vprof/vprof-collector'))"
    for path in run(installed, tmp_path, "python", "-c", code).split():
        assert path.startswith(str(installed))
    assert "bundle" in run(installed, tmp_path, "vprof", "--help")


def test_the_demo_is_built_and_recorded(installed: Path, tmp_path: Path) -> None:
    assert "0 compiled unchanged" in run(installed, tmp_path, "vprof", "instrument", "--target", "minidb")
    run(installed, tmp_path, "vprof", "record", "--target", "minidb", "--seconds", "1", "-o", "run.trace")
    assert (tmp_path / "run.trace").stat().st_size > 10_000


PROGRAM = """
#include <stdlib.h>
#include <vprof/vprof.h>
int work(int n) { int s = 0; while (n--) s += getenv("X") != 0; return s; }
int handle(int n) { vprof_on_behalf(0); return work(n) + work(2 * n); }
int main(void) { for (int i = 0; i < 50; i++) handle(9); return 0; }
"""


def test_a_program_of_ones_own(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text(PROGRAM)
    run(installed, tmp_path, "vprof-cc", "-O1", "-I", str(installed / "include"), "own.c", "-o", "own")
    run(installed, tmp_path, "vprof", "record", "--sites", "all", "-o", "run.trace", "--", "./own")
    # The first analysis of an installed package compiles for a minute: not here.
    analyze = ["env", "NUMBA_DISABLE_JIT=1", "vprof", "analyze", "run.trace", "--root", "handle"]
    assert "50 intervals" in run(installed, tmp_path, *analyze)


def test_an_extra_that_is_missing_is_named(tmp_path: Path) -> None:
    words = ["vprof", "reorder", "x.c", "--function", "f", "--index", "i.json"]
    code = f"import sys; sys.modules['sqlglot'] = None; sys.argv = {words}; from vprof.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "vprof: this needs sqlglot: pip install 'vprof[reorder]'\n")
