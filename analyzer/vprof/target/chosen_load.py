"""A load of `vprof load` in place of a target's own: `--load NAME`.

    [workloads] of target.toml, ChosenLoad -> a table as [load], whose commands are those of vprof-load-driver

The driver's program is {driver} in them, and {latencies} where its file of latencies goes.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vprof.errors import UsageError

if TYPE_CHECKING:
    from vprof.target.descriptor import Descriptor
    from vprof.target.target import Target

_WHERE = ("on", "socket", "user", "database")


@dataclass(frozen=True)
class ChosenLoad:
    """`scale`, `rate` (transactions a second: an open loop), `clients`: None is as the driver or the target has it."""

    name: str
    scale: int | None = None
    rate: float | None = None
    clients: int | None = None

    @classmethod
    def of(
        cls, name: str | None, scale: int | None, rate: float | None, clients: int | None, target: Target | None
    ) -> ChosenLoad | None:
        """From the options of a verb. Raises UsageError when they do not fit together, or not to the target."""
        if name is None:
            if (scale, rate, clients) != (None, None, None):
                raise UsageError("--scale, --rate and --clients are for a --load: give options of others after `--`")
            return None
        if target is None:
            raise UsageError("--load is for a --target with a server")
        chosen = cls(name, scale, rate, clients)
        chosen.table(target.descriptor)
        return chosen

    def table(self, descriptor: Descriptor) -> dict[str, Any]:
        """What stands for [load]. Raises UsageError when the target does not say how the driver reaches its server."""
        where = descriptor.workloads
        if not where:
            raise UsageError(f"{descriptor.file}: there is no [workloads], which --load needs")
        server = [f"--{key}={where[key]}" for key in _WHERE if key in where]
        scale = [] if self.scale is None else [f"--scale={self.scale}"]
        rate = [] if self.rate is None else [f"--rate={self.rate}"]
        run = ["--clients={clients}", "--seconds={seconds}", "--latencies={latencies}", *rate]
        return {
            "setup": [*where.get("setup", []), _command("setup", self.name, *server, *scale)],
            "command": _command("run", self.name, *server, *scale, *run),
            "clients": self.clients or descriptor.load.get("clients", 1),
        }


def _command(*words: str) -> str:
    return shlex.join(["{driver}", *words])
