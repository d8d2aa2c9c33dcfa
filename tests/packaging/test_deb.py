"""Debian's packages, as far as that shows without building them: packaging/README.md says how they are tried."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

import vprof

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ.get("VPROF_BUILD", ROOT / "build"))
CARRIED = ("tables", "perfetto", "reorder")


def locked() -> dict[str, Version]:
    lines = (ROOT / "packaging/requirements.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {name: Version(version) for name, version in pairs}


def test_the_environment_has_what_vprof_depends_on() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = map(Requirement, [*project["dependencies"], *(line for name in CARRIED for line in extras[name])])
    versions = locked()
    assert [str(wish) for wish in wanted if versions[wish.name] not in wish.specifier] == []


def test_each_installed_file_is_in_one_package(tmp_path: Path) -> None:
    """What CMake installs, against the lists of both packages; dh_missing looks only when they are built."""
    subprocess.run(["cmake", "--install", BUILD, "--prefix", tmp_path / "usr"], check=True, stdout=subprocess.DEVNULL)
    installed = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    lists = [line for file in (ROOT / "packaging/debian").glob("*.install") for line in file.read_text().split()]
    matches = {
        file: [line for line in lists if fnmatch(file, line) or file.startswith(f"{line}/")] for file in installed
    }
    assert len(matches) > 10
    assert {file: lines for file, lines in matches.items() if len(lines) != 1} == {}


def test_the_version_is_the_same_everywhere() -> None:
    [cmake] = re.findall(r"^project\(vprof VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    newest = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert cmake == newest == vprof.__version__
