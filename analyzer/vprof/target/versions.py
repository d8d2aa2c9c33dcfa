"""Versions of programs: those of Debian packages as upstream writes them, and ranges of them (PEP 440).

A range is written as for Python packages, `>=15,<16`, and compared without Debian's epoch, revision and mark of a
repacked source: `5:7.0.15-1~deb12u7` is 7.0.15, `1:1.2.13.dfsg-1` is 1.2.13.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from vprof.errors import UsageError

_REPACKED = re.compile(r"[.+~]?(dfsg|ds)[.\d]*$")
_FLOORS = (">=", "==", "~=")


def upstream(version: str) -> Version:
    """The version without epoch, revision and mark of a repacked source; `~rc1` is `rc1`. Raises InvalidVersion."""
    without_revision = version.rpartition("-")[0] or version
    return Version(_REPACKED.sub("", without_revision.rpartition(":")[2]).replace("~", ""))


def parse_range(text: str, where: str) -> SpecifierSet:
    """Raises UsageError, whose line begins with `where`."""
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        raise UsageError(f"{where} = '{text}' is not a range such as '>=8.0,<8.4'") from None


def is_range(text: str) -> bool:
    """Whether it is a range and not one version."""
    return text.lstrip()[:1] in ("<", ">", "=", "!", "~")


def floor(text: str, where: str) -> str:
    """The lowest version that a range names. Raises UsageError when it is no range, or has no lower end."""
    floors = [part.version for part in parse_range(text, where) if part.operator in _FLOORS]
    if not floors:
        raise UsageError(f"{where} = '{text}' has no lower end: write a range such as '>=15,<16'")
    return max((floor.removesuffix(".*") for floor in floors), key=Version)


def admits(wanted: str, version: str) -> bool:
    """Whether a version of a package is the one that is wanted, or in the range that is."""
    if not is_range(wanted):
        return version == wanted
    try:
        return SpecifierSet(wanted).contains(upstream(version), prereleases=True)
    except InvalidVersion:
        return False


def admitted(wanted: str, versions: Iterable[str]) -> list[str]:
    """Those of the versions that are wanted, in their order."""
    return [version for version in versions if admits(wanted, version)]
