"""The user's own tree, in place of a descriptor's [source]: `vprof instrument --source DIR -- BUILD COMMAND`.

command line -> UserSource -> source.json of the work folder -> the same for record, drill and targets check
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vprof.errors import UsageError

_FILE = "source.json"


@dataclass(frozen=True)
class UserSource:
    """Where the tree lies, its version (None: nobody said), and the command that builds it ([]: the descriptor's
    steps). The command runs in the tree."""

    folder: Path
    version: str | None
    command: list[str]

    @classmethod
    def of(cls, work: Path) -> UserSource | None:
        """What the work folder was built from last; None if that was the descriptor's own source.

        Raises UsageError when what was written down cannot be read.
        """
        file = work / _FILE
        if not file.exists():
            return None
        try:
            said = json.loads(file.read_text(encoding="utf-8"))
            return cls(Path(said["folder"]), said["version"], said["command"])
        except (OSError, ValueError, KeyError, TypeError):
            raise UsageError(f"{file}: damaged: run `vprof instrument` with --source again") from None

    @staticmethod
    def keep(user: UserSource | None, work: Path) -> None:
        """Makes `of` return it. REQUIRES: the work folder exists."""
        file = work / _FILE
        if user is None:
            file.unlink(missing_ok=True)
            return
        said = {"folder": str(user.folder), "version": user.version, "command": user.command}
        file.write_text(json.dumps(said), encoding="utf-8")

    def tables(self, build: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """What stands for [source] and [build] of the descriptor, whose [build] is given."""
        version = {} if self.version is None else {"version": self.version}
        steps = {"steps": [shlex.join(self.command)]} if self.command else {}
        return {"source": {"kind": "user", "path": str(self.folder), **version}, "build": {**build, **steps}}
