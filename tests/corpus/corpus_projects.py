"""The table of projects, projects.toml, as Python sees it; README.md says what each field means."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

TABLE = Path(__file__).with_name("projects.toml")


@dataclass(frozen=True)
class Project:
    """One entry. `build` and `test` are lines for `sh -e`, run in the build's own copy of the source."""

    name: str
    version: str
    system: str
    build: str
    test: str
    passed: str
    failed: str
    package: str = ""
    packages: list[str] = field(default_factory=list)
    user: str = "nobody"

    @property
    def source(self) -> str:
        """The name of the Debian source package."""
        return self.package or self.name

    def outcome(self, output: str) -> Outcome:
        """What the test suite printed, read by the two patterns."""
        return Outcome(len(re.findall(self.passed, output, re.MULTILINE)), _names(self.failed, output))


@dataclass(frozen=True)
class Outcome:
    """How many tests passed, and the names of those that failed."""

    passed: int
    failed: frozenset[str]


def _names(pattern: str, output: str) -> frozenset[str]:
    return frozenset(match.group(match.lastindex or 0).strip() for match in re.finditer(pattern, output, re.MULTILINE))


def load(table: Path = TABLE) -> dict[str, Project]:
    """All projects by name, in the table's order."""
    entries = tomllib.loads(table.read_text(encoding="utf-8"))
    return {name: Project(name=name, **entry) for name, entry in entries.items()}
