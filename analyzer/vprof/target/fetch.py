"""Fetches a target's source: a Debian source package, without touching the machine's package configuration.

    configured `deb` entries -> a `deb-src` list of our own -> the newest version in a range -> the unpacked tree

Only Debian's main suites are asked: what the security suite adds is not always to be had as source. A mirror keeps one
version of each suite, so an exact one is gone with the next point release.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cmp_to_key
from pathlib import Path
from typing import IO

from vprof.errors import VprofError
from vprof.target.versions import admits, admitted

_STAMP = ".vprof-version"
_FIELDS = "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"


class SourceUnavailableError(VprofError):
    """This machine cannot get the package: no Debian, no network, or not in the mirror."""


@dataclass(frozen=True)
class Fetched:
    """A source package, by the name and version that Debian gives it."""

    package: str
    version: str

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


def fetched(tree: Path) -> Fetched | None:
    """What was unpacked as the folder `tree`; None: nothing."""
    try:
        package, version = (tree / _STAMP).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return None
    return Fetched(package, version)


def fetch(package: str, wanted: str, tree: Path, work: Path, log: IO[str]) -> Fetched:
    """Unpacks the source package, with its patches, as the folder `tree`; what is there and admitted stays.

    `wanted` is one version, or a range (target/versions.py) of which the newest that can be had is taken. `work` holds
    apt's lists and downloads. Raises SourceUnavailableError, or VprofError with the reason.
    """
    there = fetched(tree)
    if there and there.package == package and admits(wanted, there.version):
        return there
    shutil.rmtree(tree, ignore_errors=True)
    options = _options(work)
    _apt(["apt-get", "-q", *options, "update"], work, log)
    found = _download(package, wanted, options, work, log)
    description = next(work.glob("*.dsc"), None)
    if description is None:
        raise VprofError(f"apt-get source left no .dsc file for {found} in {work}")
    _checked(["dpkg-source", "--no-check", "--no-copy", "-x", str(description), str(tree)], work, log)
    (tree / _STAMP).write_text(str(found), encoding="utf-8")
    return found


def _download(package: str, wanted: str, options: list[str], work: Path, log: IO[str]) -> Fetched:
    """The newest version that is wanted and that the mirror lists and has."""
    listed = _listed(package, options, work, log)
    choice = admitted(wanted, listed)
    if not choice:
        has = f"it has {', '.join(listed)}" if listed else "it has none of that name"
        raise SourceUnavailableError(f"the mirror has no source package {package} {wanted}: {has}")
    for version in choice[:-1]:
        try:
            return _download_one(Fetched(package, version), options, work, log)
        except SourceUnavailableError:
            continue  # listed, and gone since
    return _download_one(Fetched(package, choice[-1]), options, work, log)


def _download_one(source: Fetched, options: list[str], work: Path, log: IO[str]) -> Fetched:
    _apt(["apt-get", "-q", *options, "--download-only", "source", f"{source.package}={source.version}"], work, log)
    return source


def _listed(package: str, options: list[str], work: Path, log: IO[str]) -> list[str]:
    """The versions of a source package that apt knows, newest first; none if it knows no such package."""
    try:
        said = _apt(["apt-cache", *options, "showsrc", "--only-source", package], work, log)
    except SourceUnavailableError:
        return []
    found = {line.split()[1] for line in said.splitlines() if line.startswith("Version: ")}
    return sorted(found, key=cmp_to_key(_newer_first))


def _newer_first(a: str, b: str) -> int:
    if a == b:
        return 0
    newer = subprocess.run(["dpkg", "--compare-versions", a, "gt", b], check=False).returncode == 0
    return -1 if newer else 1


def _options(work: Path) -> list[str]:
    """Makes apt use lists and folders of our own below `work`, also without root."""
    work.mkdir(parents=True, exist_ok=True)
    for old in work.glob("*.dsc"):
        old.unlink()
    sources = work / "sources.list"
    sources.write_text("\n".join(_entries()) + "\n", encoding="utf-8")
    for folder in ("lists/partial", "archives/partial", "empty"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    settings = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": work / "empty",
        "Dir::State::Lists": work / "lists",
        "Dir::Cache": work,
        "APT::Sandbox::User": "root",
        "APT::Update::Error-Mode": "any",
    }
    return [f"-o{key}={value}" for key, value in settings.items()]


def _entries() -> list[str]:
    """`deb-src` lines for the main suites among the machine's `deb` entries."""
    try:
        done = subprocess.run(
            ["apt-get", "indextargets", "--format", _FIELDS, "Created-By: Packages"],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise SourceUnavailableError("apt-get is not there: a target of kind 'debian' needs a Debian system") from None
    rows = {tuple(line.split("|")) for line in done.stdout.splitlines()}
    lines = [
        f"deb-src {uri} {release} {component}"
        for origin, uri, release, component in sorted(rows)
        if origin == "Debian" and "-" not in release
    ]
    if not lines:
        raise SourceUnavailableError("apt knows no Debian suite: run `apt-get update` first")
    return lines


def _apt(command: list[str], work: Path, log: IO[str]) -> str:
    try:
        return _checked(command, work, log)
    except VprofError as error:
        raise SourceUnavailableError(str(error)) from None


def _checked(command: list[str], work: Path, log: IO[str]) -> str:
    """Runs a command in `work`. Returns its output, which is in the log as well. Raises VprofError with its first error
    line."""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    except FileNotFoundError:
        raise VprofError(f"{command[0]} is not there: install dpkg-dev") from None
    log.write(done.stdout)
    if done.returncode:
        errors = [line for line in done.stdout.splitlines() if line.startswith(("E:", "dpkg-source: error"))]
        raise VprofError(f"{command[0]}: {(errors or done.stdout.splitlines() or ['failed'])[0]}")
    return done.stdout
