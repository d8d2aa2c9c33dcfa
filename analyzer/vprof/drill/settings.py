"""What a drill-down was started with. Its file keeps it, for `--resume`."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from vprof.errors import UsageError

CHANGEABLE = ("k", "min_share", "step_seconds", "max_steps", "budget", "max_distortion")
"""A drill-down may go on with other values of these."""


@dataclass(frozen=True, kw_only=True)
class DrillSettings:
    """As the options of `vprof drill`: `name` of a target, `directory` of a running session, `budget` in seconds (0:
    none). `program`: a command, or options of the target's own load, or of `load`, which `scale`, `rate` and `clients`
    belong to."""

    name: str | None = None
    roots: list[str] = field(default_factory=list)
    directory: str | None = None
    rebuild: bool = False
    k: int = 3
    min_share: float = 0.05
    step_seconds: float = 3.0
    max_steps: int = 20
    budget: float = 0.0
    max_distortion: float = 0.03
    preload: bool = False
    server_options: str = ""
    load: str | None = None
    scale: int | None = None
    rate: float | None = None
    clients: int | None = None
    program: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, raw: dict[str, Any]) -> DrillSettings:
        """From a file. An older vprof knew fewer settings, and one root."""
        root = raw.get("root")
        known = {"roots": [root] if root else [], **raw}
        return cls(**{one.name: known[one.name] for one in fields(cls) if one.name in known})

    def check(self) -> None:
        """Raises UsageError, in one line, when they do not fit together."""
        if self.name and self.roots:
            raise UsageError("give --target or --root, not both: a target's descriptor names its intervals")
        if not self.name and not self.roots:
            raise UsageError("nothing to drill into: give --target NAME, or --root F and a command after `--`")
        if self.rebuild and (self.directory or not self.name):
            raise UsageError("--rebuild builds a target and runs it: give --target, and no --session")
        if self.directory and (self.program or self.server_options or self.preload or self.load):
            raise UsageError(
                "with --session nothing is started: leave out --server-options, --preload, --load, and what is behind "
                "`--`"
            )
        if self.roots and not self.directory and not self.program:
            raise UsageError("nothing to run: give a command after `--`, or --session DIR")
