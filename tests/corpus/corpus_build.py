"""A project's source, and two builds of it: with the real compilers, and with vprof-cc and vprof-c++.

    Debian source package -> FOLDER/source -> FOLDER/plain   by $CC = clang-19 (VPROF_REAL_CC)
                                           -> FOLDER/vprof   by $CC = PREFIX/bin/vprof-cc

Each build is made afresh in a copy of the source, so that build systems that write into their source need no care.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus_projects import Project
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from vprof.program.elf import read_program
from vprof.program.metadata import SECTION, Function, Unit
from vprof.target.fetch import fetch

_BUILD_SECONDS = 1800
_ELF_MAGIC = b"\x7fELF"
_SHF_EXECINSTR = 4


@dataclass(frozen=True)
class Build:
    """One build of a project: where it lies, and the compilers it is made and tested with."""

    project: Project
    folder: Path
    cc: Path
    cxx: Path

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".build.log")

    def account(self) -> dict[str, Any]:
        """Arguments that make `subprocess` run a command as the project's user, if we are root."""
        if os.geteuid() != 0 or self.project.user == "root":
            return {}
        entry = pwd.getpwnam(self.project.user)
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}

    def environment(self) -> dict[str, str]:
        """Nothing of ours but the compilers: no MAKEFLAGS, no launcher, no locale."""
        ours = ("PATH", "VPROF_REAL_CC", "VPROF_REAL_CXX", "VPROF_PROBES")
        kept = {key: os.environ[key] for key in ours if key in os.environ}
        own = {"CC": str(self.cc), "CXX": str(self.cxx), "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}
        return {**kept, **own, "JOBS": str(os.cpu_count() or 1)}


@dataclass(frozen=True)
class Contents:
    """What a build made: `left` are functions without a site by reason, `unchanged` units by reason."""

    units: int
    unchanged: dict[str, int]
    sites: int
    left: dict[str, int]


def compilers() -> tuple[Path, Path]:
    """The real C and C++ compilers: those that the wrapper calls."""
    names = os.environ.get("VPROF_REAL_CC", "clang-19"), os.environ.get("VPROF_REAL_CXX", "clang++-19")
    found = [shutil.which(name) for name in names]
    if None in found:
        raise RuntimeError(f"no compiler {names[found.index(None)]}")
    return Path(str(found[0])), Path(str(found[1]))


def pair(project: Project, folder: Path, prefix: Path) -> tuple[Build, Build]:
    """The plain and the instrumented build, neither made yet. `prefix` is where vprof is installed for them."""
    plain, ours = (folder / name for name in ("plain", "vprof"))
    return Build(project, plain, *compilers()), Build(project, ours, prefix / "bin/vprof-cc", prefix / "bin/vprof-c++")


def unpack(project: Project, folder: Path) -> tuple[Path, str]:
    """The unpacked source package and its version. Raises SourceUnavailableError if it cannot be had."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "fetch.log").open("w", encoding="utf-8") as log:
        found = fetch(project.source, project.version, folder / "source", folder / "apt", log)
    return folder / "source", found.version


def make(build: Build, source: Path) -> float:
    """Builds it from nothing. Returns seconds of CPU, all processes together. Raises RuntimeError when it fails."""
    shutil.rmtree(build.folder, ignore_errors=True)
    shutil.copytree(source, build.folder, symlinks=True)
    account = build.account()
    if account:
        for path in (build.folder, *build.folder.rglob("*")):
            os.chown(path, account["user"], account["group"], follow_symlinks=False)
    before = os.times()
    with build.log.open("wb") as log:
        done = subprocess.run(
            ["sh", "-e", "-c", build.project.build],
            cwd=build.folder,
            env=build.environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=_BUILD_SECONDS,
            check=False,
            **account,
        )
    after = os.times()
    if done.returncode:
        raise RuntimeError(f"{build.project.name}: the build failed, see {build.log}")
    return after.children_user + after.children_system - before.children_user - before.children_system


def programs(build: Build) -> list[Path]:
    """The executables and shared libraries that were made."""
    return sorted(path for path in build.folder.rglob("*") if _is_program(path))


def _is_program(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        if file.read(4) != _ELF_MAGIC:
            return False
        try:
            return str(ELFFile(file)["e_type"]) in ("ET_EXEC", "ET_DYN")
        except ELFError:
            return False


def text_bytes(paths: list[Path]) -> int:
    """Bytes of machine code in these programs."""
    total = 0
    for path in paths:
        with path.open("rb") as file:
            sections = ELFFile(file).iter_sections()
            total += sum(s["sh_size"] for s in sections if s["sh_flags"] & _SHF_EXECINSTR)
    return total


def contents(build: Build) -> Contents:
    """The metadata of all programs together: a unit counts once, however many programs have it."""
    units = {(unit.unit, unit.switch_count): unit for path in programs(build) for unit in _units(path)}
    functions: dict[str, Function] = {}
    for unit in units.values():
        for function in unit.functions:
            if function.id not in functions or functions[function.id].site is None:
                functions[function.id] = function
    sites = sum(function.site is not None for function in functions.values())
    left = Counter(str(f.no_site) for f in functions.values() if f.site is None)
    reasons = Counter(unit.reason for unit in units.values() if unit.status != "instrumented")
    return Contents(len(units), dict(reasons), sites, dict(left.most_common()))


def _units(path: Path) -> Iterator[Unit]:
    with path.open("rb") as file:
        if ELFFile(file).get_section_by_name(SECTION) is None:
            return
    yield from read_program(path)
