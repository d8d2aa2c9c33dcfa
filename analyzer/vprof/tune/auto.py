"""`--auto`: the knobs that govern what a drill-down or an analysis found.

    vprof-drill/1: its confirmed findings, vprof-analysis/1: its factors -> names -> knobs whose `governs` has one
    [drilled] without a file: a drill-down of the target first, under the load of the sweep

A finding that waits is governed by what governs its waker, too: the cause of a wait is what its waker did. And by what
governs a caller whose variance it explains: a lock's wait ends in a function that all waits share.

Where no knob governs what was confirmed, those are tried that govern what was seen, but not confirmed (a few stalls of
a disk may hold most of a variance): the runs of a sweep judge by themselves. What is apart from the functions, waiting
for a CPU and the client's time, may hold so much that each of these is small: their share of the rest counts, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vprof.errors import UsageError, VprofError
from vprof.shapes import ANYTHING, FLAG, NUMBER, TEXT, list_of, mapping_of, optional, table_of
from vprof.tables.naming import of_function
from vprof.target.knobs import Knob
from vprof.tune.verbs import run_verb

if TYPE_CHECKING:
    from vprof.target.target import Target
    from vprof.tune.file import Asked

_MIN_SHARE = 0.05
_MOST_FACTORS = 20
_GAIN = table_of({}, may={"ratios": mapping_of(optional(NUMBER))})
_FINDING = table_of(
    {"functions": list_of(TEXT), "share": optional(NUMBER)},
    may={
        "share_of_rest": NUMBER,
        "confirmed": FLAG,
        "explains": list_of(TEXT),
        "wakers": list_of(table_of({"function": TEXT, "share": optional(NUMBER)})),
        "gain": _GAIN,
        "gain_without": _GAIN,
    },
)
_DRILL, _ANALYSIS = "vprof-drill/1", "vprof-analysis/1"
_ROWS = {_DRILL: "findings", _ANALYSIS: "factors"}
_FORMS = {
    _DRILL: table_of(
        {"findings": list_of(_FINDING), "settings": mapping_of(ANYTHING)},
        {"cpu_wait": mapping_of(NUMBER), "client_time": NUMBER},
    ),
    _ANALYSIS: table_of({"factors": list_of(_FINDING)}),
}


@dataclass(frozen=True)
class Governed:
    """A finding, its share of the variance, and the knobs that govern it: none may. `predicted`: by figure what it
    would be, by now, if the finding took always the same, `predicted_without`: if it took no time; {} where the
    drill-down does not know. `confirmed`: False where nothing better was found. `of_rest`: its share of the variance
    without what is apart."""

    name: str
    share: float
    knobs: list[str]
    predicted: dict[str, float | None] = field(default_factory=dict)
    predicted_without: dict[str, float | None] = field(default_factory=dict)
    confirmed: bool = True
    of_rest: float = 0.0


@dataclass(frozen=True)
class Findings:
    """What a file found. `settings`: of the drill-down: target, load, options; {} of an analysis. `unconfirmed`: names
    of findings that are none for sure, and were left out. `apart`: the share of the variance that is waiting for a CPU
    or the client's time, and so in no finding of a function."""

    governed: list[Governed]
    unconfirmed: list[str]
    settings: dict[str, Any] = field(default_factory=dict)
    apart: float = 0.0

    @property
    def knobs(self) -> list[str]:
        """Those of the first findings first."""
        return list(dict.fromkeys(knob for one in self.governed for knob in one.knobs))


def drilled(target: Target, asked: Asked, rate: float | None, budget: float) -> dict[str, Any]:
    """Drills down in the target, told on standard error; what its session file holds. Raises VprofError when it fails,
    or is interrupted."""
    work = target.folder / "drill" / "session.json"
    words = ["drill", "--auto", "--target", target.called, "--dir", str(target.folder), f"--budget={budget:.0f}s"]
    words += [f"--server-options={asked.server_options}"] if asked.server_options else []
    if asked.load:
        more = {"load": asked.load, "scale": asked.scale, "rate": rate, "clients": asked.clients}
        words += [f"--{name}={value}" for name, value in more.items() if value is not None]
    try:
        status = run_verb([*words, "--", *asked.program], None)
    except KeyboardInterrupt:
        goes_on = f"`vprof drill --auto --resume --target {target.called} --dir {target.folder}`"
        raise VprofError(f"interrupted: {goes_on} ends the drill-down, then give --auto {work}") from None
    if status:
        raise VprofError("the drill-down failed, as it says above: there are no findings to tune")
    return dict(json.loads(work.read_text(encoding="utf-8")))


def read(path: Path) -> dict[str, Any]:
    """The JSON of a drill-down or an analysis, checked. Raises VprofError, in one line."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--auto {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"--auto {path}: not the JSON of a drill-down or an analysis") from None
    form = raw.get("schema") if isinstance(raw, dict) else None
    if not isinstance(form, str) or form not in _FORMS:
        raise UsageError(f"--auto {path}: give JSON of {' or '.join(_FORMS)}, not {str(form)[:40]}")
    if _ROWS[form] not in raw:
        raise VprofError(f"--auto {path}: the drill-down is not done: `vprof drill --resume` ends it")
    if wrong := _FORMS[form].wrong(raw):
        raise UsageError(f"--auto {path}: it{wrong}")
    return dict(raw)


def findings_of(raw: Mapping[str, Any], knobs: Mapping[str, Knob]) -> Findings:
    """Of a file that was read."""
    rows = raw[_ROWS[raw["schema"]]][:_MOST_FACTORS]
    large = [row for row in rows if row.get("confirmed", (row["share"] or 0) >= _MIN_SHARE)]
    governed = [_governed(row, knobs) for row in large]
    doubted = [_governed(row, knobs) for row in rows if row.get("confirmed") is False]
    if raw["schema"] == _ANALYSIS:
        return Findings(governed, [one.name for one in doubted])
    for kind, share in raw.get("cpu_wait", {}).items():
        if share >= _MIN_SHARE:
            governed.append(Governed(kind, share, [knob.name for knob in knobs.values() if kind in knob.governs]))
    if not any(one.knobs for one in governed):
        governed += [one for one in doubted if one.knobs and max(one.share, one.of_rest) >= _MIN_SHARE]
    left_out = [one.name for one in doubted if one not in governed]
    apart = sum(raw.get("cpu_wait", {}).values()) + raw.get("client_time", 0.0)
    return Findings(governed, left_out, dict(raw["settings"]), apart)


def _governed(row: Mapping[str, Any], knobs: Mapping[str, Knob]) -> Governed:
    share, confirmed = row["share"] or 0.0, row.get("confirmed") is not False
    alike, without = (_ratios(row.get(key, {})) for key in ("gain", "gain_without"))
    of_rest = row.get("share_of_rest", share)
    return Governed(_name(row), share, _governing(row, knobs), alike, without, confirmed, of_rest)


def _name(row: Mapping[str, Any]) -> str:
    return " with ".join(row["functions"])


def _ratios(gain: Mapping[str, Any]) -> dict[str, float | None]:
    return dict(gain.get("ratios", {}))


def _governing(row: Mapping[str, Any], knobs: Mapping[str, Knob]) -> list[str]:
    wakers = [one["function"] for one in row.get("wakers", []) if (one["share"] or 0) >= _MIN_SHARE]
    names = {of_function(name) for name in (*row["functions"], *row.get("explains", []), *wakers)}
    return [knob.name for knob in knobs.values() if names.intersection(knob.governs)]
