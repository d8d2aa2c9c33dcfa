"""What `vprof instrument` was told beside the target's name: the user's own tree, the kind of interval, cures.

command line -> BuildChoices -> choices.json of the work folder -> the same for record, drill and targets check
"""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vprof.errors import UsageError

_FILE = "choices.json"


@dataclass(frozen=True)
class UserSource:
    """The user's own tree, in place of [source]: where it lies, its version (None: nobody said), and the command that
    builds it ([]: the descriptor's steps). The command runs in the tree."""

    folder: Path
    version: str | None
    command: list[str]

    @property
    def source(self) -> dict[str, Any]:
        """What stands for [source] of the descriptor."""
        return {"kind": "user", "path": str(self.folder), **({} if self.version is None else {"version": self.version})}

    @property
    def steps(self) -> dict[str, Any]:
        """What the command stands for in [build]."""
        return {"steps": [shlex.join(self.command)]} if self.command else {}


@dataclass(frozen=True)
class BuildChoices:
    """`user`: None is the descriptor's own source. `interval`: the `kind` of interval, None the usual one. `cures`: the
    names of those that are applied to a copy of the source."""

    user: UserSource | None = None
    interval: str | None = None
    cures: tuple[str, ...] = ()

    @classmethod
    def of(cls, work: Path) -> BuildChoices:
        """What the work folder was built with last; nothing if it was not.

        Raises UsageError when what was written down cannot be read.
        """
        file = work / _FILE
        if not file.exists():
            return cls()
        try:
            said = json.loads(file.read_text(encoding="utf-8"))
            user = said["user"]
            return cls(
                user and UserSource(Path(user["folder"]), user["version"], user["command"]),
                said["interval"],
                tuple(said.get("cures", [])),  # older builds had none
            )
        except (OSError, ValueError, KeyError, TypeError):
            raise UsageError(f"{file}: damaged: run `vprof instrument` again, with the options it had") from None

    def keep(self, work: Path) -> None:
        """Makes `of` return it. REQUIRES: the work folder exists."""
        (work / _FILE).write_text(json.dumps(asdict(self), default=str), encoding="utf-8")
