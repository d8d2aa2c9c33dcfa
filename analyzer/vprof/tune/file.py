"""The file of a sweep: what was asked, and every run as it ended. All else is worked out from these.

It is written anew after every run, whole or not at all, so a kill costs the running one only. Schema
`vprof-tune-session/1`: `as_json`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from vprof.compare.diff_factors import Contributions
from vprof.compare.run_metrics import METRICS
from vprof.errors import UsageError, VprofError
from vprof.json_file import save_json
from vprof.shapes import NUMBER, TEXT, list_of, mapping_of, optional, row_of, table_of, whole

SCHEMA = "vprof-tune-session/1"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """As the options of `vprof tune`, but for what only bounds its length. `settings`: their names, in order; `load`:
    of `vprof load`, None: the target's own, in a closed loop; `rate`: None: to be found out; `sites`: of traced runs,
    "" for runs that are not traced."""

    target: str
    settings: list[str]
    metric: str = "variance"
    effect: float = 0.3
    seconds: int = 20
    warmup: float = 5.0
    seed: int = 1
    load: str | None = None
    scale: int | None = None
    rate: float | None = None
    clients: int | None = None
    server_options: str = ""
    program: list[str] = field(default_factory=list)
    sites: str = ""

    def differs_from(self, other: Asked) -> str:
        """The first thing that another sweep has otherwise, in words, or ""."""
        for one in fields(self):
            if getattr(self, one.name) != getattr(other, one.name):
                return one.name.replace("_", " ")
        return ""


@dataclass(frozen=True, kw_only=True)
class Run:
    """`round`: counts from 0; `took_s`: with start and stop of the server; `failed`: why it has no figures, ""; `said`:
    what a reader of its figures must know."""

    round: int
    setting: str
    took_s: float
    count: int = 0
    metrics: dict[str, float | None] = field(default_factory=dict)
    failed: str = ""
    said: str = ""
    contributions: Contributions | None = None


@dataclass
class TuneFile:
    """`rate`: that of all runs, in transactions a second, once it is known."""

    path: Path
    asked: Asked
    runs: list[Run] = field(default_factory=list)
    rate: float | None = None

    @classmethod
    def open(cls, path: Path, asked: Asked) -> TuneFile:
        """The sweep that goes on there, or a new one. Raises UsageError if another one is there."""
        if not path.exists():
            return cls(path, asked, rate=asked.rate)
        found = cls.load(path)
        if differs := found.asked.differs_from(asked):
            raise UsageError(f"{path} is of another sweep ({differs} differs): give another --session")
        return found

    @classmethod
    def load(cls, path: Path) -> TuneFile:
        """Raises VprofError, in one line, when it is none of ours."""
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise VprofError(f"cannot read {path}: {error.strerror}") from None
        except (ValueError, RecursionError):
            raise VprofError(f"{path}: not the file of a sweep") from None
        if wrong := _FILE.wrong(raw):
            raise VprofError(f"{path}: not the file of a sweep: it{wrong}")
        if raw["schema"] != SCHEMA:
            raise VprofError(f"{path}: written as {raw['schema']}, this vprof reads {SCHEMA}")
        known = {one.name for one in fields(Asked)}
        asked = Asked(**{key: value for key, value in raw["asked"].items() if key in known})
        return cls(path, asked, [_run(row) for row in raw["runs"]], raw["rate"])

    def add(self, run: Run) -> None:
        self.runs.append(run)
        self.save()

    def save(self) -> None:
        """Raises VprofError when it cannot be written; what was there stays then."""
        save_json(self.path, self.as_json())

    def as_json(self) -> dict[str, Any]:
        """`factors` of a run: [[kind, [function], contribution in ns2]]."""
        runs = [_row(run) for run in self.runs]
        return {"schema": SCHEMA, "asked": asdict(self.asked), "rate": self.rate, "runs": runs}


_ASKED = {
    **dict.fromkeys(("target", "metric", "server_options", "sites"), TEXT),
    **dict.fromkeys(("effect", "warmup"), NUMBER),
    **dict.fromkeys(("seconds", "seed"), whole(0, (1 << 62) - 1)),
    **dict.fromkeys(("scale", "clients"), optional(whole(1, (1 << 31) - 1))),
    "settings": list_of(TEXT),
    "program": list_of(TEXT),
    "load": optional(TEXT),
    "rate": optional(NUMBER),
}
_RUN = {
    "round": whole(0, (1 << 31) - 1),
    "setting": TEXT,
    "took_s": NUMBER,
    "count": whole(0, (1 << 53) - 1),
    "metrics": mapping_of(optional(NUMBER)),
    "failed": TEXT,
    "said": TEXT,
    "variance_ns2": optional(NUMBER),
    "factors": list_of(row_of(TEXT, list_of(TEXT), NUMBER)),
    "no_factors": TEXT,
}
_FILE = table_of({"schema": TEXT, "asked": table_of(_ASKED), "rate": optional(NUMBER), "runs": list_of(table_of(_RUN))})


def _row(run: Run) -> dict[str, Any]:
    """All runs have the same probes on, so what was off needs no record: no factor of one run was off in another."""
    row = asdict(run)
    held = run.contributions
    del row["contributions"]
    row["variance_ns2"] = held.variance_ns2 if held else None
    row["factors"] = [[kind, list(functions), value] for (kind, functions), value in held.of.items()] if held else []
    row["no_factors"] = held.reason if held else ""
    return row


def _run(row: dict[str, Any]) -> Run:
    held = None
    if row["variance_ns2"] is not None:
        of = {(kind, tuple(functions)): value for kind, functions, value in row["factors"]}
        held = Contributions(row["variance_ns2"], of, frozenset(), row["no_factors"])
    own = {one.name: row[one.name] for one in fields(Run) if one.name in row}
    if not row["failed"]:
        own["metrics"] = {metric.name: row["metrics"].get(metric.name) for metric in METRICS}
    return Run(**own, contributions=held)
