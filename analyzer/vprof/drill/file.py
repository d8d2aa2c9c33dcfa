"""The file of a drill-down, `drill/session.json` of its work folder: what was done, and all that going on needs.

It is written anew after every step, whole or not at all, so that a crash or a power cut costs the running step only.
Schema `vprof-drill/1`: `as_json`.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vprof.drill import Step
from vprof.errors import VprofError

SCHEMA = "vprof-drill/1"


@dataclass
class DrillFile:
    """`settings`: what the drill-down was started with, for `--resume`; `outcome`: what the confirmation said, {} until
    then. `ended`: why the exploration ended, "" while it goes on."""

    path: Path
    settings: dict[str, Any]
    steps: list[Step] = field(default_factory=list)
    ended: str = ""
    outcome: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> DrillFile:
        """Raises VprofError, in one line, when there is none or it is none of ours."""
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            if raw["schema"] != SCHEMA:
                raise VprofError(f"{path}: written as {raw['schema']}, this vprof reads {SCHEMA}")
            steps = [_step(row) for row in raw["steps"]]
            outcome = {key: raw[key] for key in ("confirmation", "findings", "cpu_wait") if key in raw}
            return cls(path, dict(raw["settings"]), steps, str(raw["ended"]), outcome)
        except FileNotFoundError:
            raise VprofError(f"no drill-down to go on with: {path} does not exist") from None
        except OSError as error:
            raise VprofError(f"cannot read {path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise VprofError(f"{path}: not the file of a drill-down") from None

    def save(self) -> None:
        """Raises VprofError when it cannot be written; what was there stays then."""
        fresh = self.path.with_suffix(".new")
        try:
            with fresh.open("w", encoding="utf-8") as file:
                json.dump(self.as_json(), file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self.path)
        except OSError as error:
            raise VprofError(f"cannot write {self.path}: {error.strerror}") from None

    def as_json(self) -> dict[str, Any]:
        """`steps` as measured; `confirmation` as `vprof-analysis/1`, `findings` best first,
        `cpu_wait` the share of the variance by kind of wait for a CPU, once it was done."""
        return {
            "schema": SCHEMA,
            "settings": self.settings,
            "steps": [_row(step) for step in self.steps],
            "ended": self.ended,
            **self.outcome,
        }


def _row(step: Step) -> dict[str, Any]:
    row = asdict(step)
    return {"number": row.pop("number"), "on": sorted(row.pop("plan")), **row}


def _step(row: dict[str, Any]) -> Step:
    row = dict(row)
    return Step(plan=frozenset(row.pop("on")), **row)
