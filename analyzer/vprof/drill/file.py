"""The file of a drill-down, `drill/session.json` of its work folder: what was done, and all that going on needs.

It is written anew after every step, whole or not at all, so that a crash or a power cut costs the running step only.
Schema `vprof-drill/1`: `as_json`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from vprof.drill.loop import Step
from vprof.drill.settings import DrillSettings
from vprof.errors import VprofError
from vprof.json_file import save_json
from vprof.shapes import ANYTHING, FLAG, NUMBER, TEXT, list_of, mapping_of, optional, table_of, whole

SCHEMA = "vprof-drill/1"


@dataclass
class DrillFile:
    """`settings`: what the drill-down was started with, for `--resume`; `outcome`: what the confirmation said, {} until
    then. `ended`: why the exploration ended, "" while it goes on."""

    path: Path
    settings: DrillSettings
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
            if said := _FILE.wrong(raw):
                raise ValueError(said)
            steps = [_step(row) for row in raw["steps"]]
            outcome = {key: raw[key] for key in ("confirmation", *_OUTCOME) if key in raw}
            return cls(path, DrillSettings.read(raw["settings"]), steps, str(raw["ended"]), outcome)
        except FileNotFoundError:
            raise VprofError(f"no drill-down to go on with: {path} does not exist") from None
        except OSError as error:
            raise VprofError(f"cannot read {path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise VprofError(f"{path}: not the file of a drill-down") from None

    def save(self) -> None:
        """Raises VprofError when it cannot be written; what was there stays then."""
        save_json(self.path, self.as_json())

    def as_json(self) -> dict[str, Any]:
        """`steps` as measured; `confirmation` as `vprof-analysis/1`, `findings` best first,
        each with its `gain` (what the latencies would be if it took always the same, `ratios` then by now) and
        `gain_without` (if it took no time),
        `cpu_wait` the share of the variance by kind of wait for a CPU, `cpu_place` where most of that is
        (cpu_places.CpuPlace; null if it is little), `client_time` the share of the client's time, once it was done."""
        return {
            "schema": SCHEMA,
            "settings": asdict(self.settings),
            "steps": [_row(step) for step in self.steps],
            "ended": self.ended,
            **self.outcome,
        }


_SHAPES = {
    "int": whole(0, (1 << 62) - 1),
    "float": NUMBER,
    "str": TEXT,
    "bool": FLAG,
    "list[str]": list_of(TEXT),
    "frozenset[str]": list_of(TEXT),
    "dict[str, float]": mapping_of(NUMBER),
    "dict[str, list[str]]": mapping_of(list_of(TEXT)),
}
"""By the types that the fields of a step have."""
_STEP = {("on" if one.name == "plan" else one.name): _SHAPES.get(str(one.type), ANYTHING) for one in fields(Step)}
_SETTINGS = {
    **dict.fromkeys(("k", "max_steps"), whole(1, (1 << 31) - 1)),
    **dict.fromkeys(("min_share", "step_seconds", "budget", "max_distortion"), NUMBER),
    **dict.fromkeys(("name", "directory", "root"), optional(TEXT)),
    **dict.fromkeys(("rebuild", "preload"), FLAG),
    **dict.fromkeys(("roots", "program"), list_of(TEXT)),
    "server_options": TEXT,
}
_OUTCOME = {
    "findings": list_of(mapping_of(ANYTHING)),
    "cpu_wait": mapping_of(NUMBER),
    "cpu_place": optional(table_of({"path": list_of(TEXT), "share": NUMBER, "thread": TEXT})),
    "client_time": NUMBER,
}
_FILE = table_of(
    {"settings": table_of({}, may=_SETTINGS), "steps": list_of(table_of({}, may=_STEP)), "ended": TEXT},
    may=_OUTCOME,
)


def _row(step: Step) -> dict[str, Any]:
    row = asdict(step)
    return {"number": row.pop("number"), "on": sorted(row.pop("plan")), **row}


def _step(row: dict[str, Any]) -> Step:
    row = dict(row)
    return Step(plan=frozenset(row.pop("on")), **row)
