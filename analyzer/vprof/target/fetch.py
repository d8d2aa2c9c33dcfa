"""Fetches a target's source: a Debian source package, without touching the machine's package configuration.

    configured `deb` entries -> a `deb-src` list of our own -> apt-get source -> the unpacked tree

Only Debian's main suites are asked: what the security suite adds is not always to be had as source.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import IO

from vprof.errors import VprofError

_FIELDS = "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"


class SourceUnavailableError(VprofError):
    """This machine cannot get the package: no Debian, no network, or not in the mirror."""


def fetch(package: str, version: str, tree: Path, work: Path, log: IO[str]) -> None:
    """Unpacks the source package, with its patches, as the folder `tree`; done already if it says this version.

    `work` holds apt's lists and downloads. Raises SourceUnavailableError, or VprofError with the reason.
    """
    stamp = tree / ".vprof-version"
    wanted = f"{package} {version}"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    shutil.rmtree(tree, ignore_errors=True)
    options = _options(work)
    _apt([*options, "update"], work, log)
    _apt([*options, "--download-only", "source", f"{package}={version}"], work, log)
    description = next(work.glob("*.dsc"), None)
    if description is None:
        raise VprofError(f"apt-get source left no .dsc file for {wanted} in {work}")
    _checked(["dpkg-source", "--no-check", "--no-copy", "-x", str(description), str(tree)], work, log)
    stamp.write_text(wanted, encoding="utf-8")


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


def _apt(arguments: list[str], work: Path, log: IO[str]) -> None:
    try:
        _checked(["apt-get", "-q", *arguments], work, log)
    except VprofError as error:
        raise SourceUnavailableError(str(error)) from None


def _checked(command: list[str], work: Path, log: IO[str]) -> None:
    """Runs a command in `work`, its output in the log. Raises VprofError with its last error line."""
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
