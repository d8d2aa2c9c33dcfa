"""What the page of `vprof tune` shows, as plain data: its JSON report, with texts.

| key | holds |
|---|---|
| `title` | the target |
| `tune` | vprof-tune/1; its settings and runs with `texts` of figures, factors with `before`, `after` as shares |
| `against` | what the mean is drawn against: [{`metric`, `name`, `points`, `front`: [setting]}] |
| `recommended` | what to write, when it takes effect, what it trades: a list of lines for each |
| `findings` | lines, or null without --auto |
| `ran` | [[what, text]]: how it was run |
| `vprof` | its version |

A point has `setting`, `verdict`, `x`, `y` in ns, `x_ci95`, `y_ci95`, `texts`; a variance is drawn as its root.
"""

from __future__ import annotations

from typing import Any

from vprof import __version__
from vprof.compare.run_metrics import METRICS
from vprof.report.diff import with_unit
from vprof.report.page.plain import all_plain
from vprof.report.tune import finding_lines, load_text, recommendation, tune_json
from vprof.tune.auto import Findings
from vprof.tune.outcome import AGAINST, FAILED, Figure, Found, Outcome

_UNITS = {metric.name: metric.unit for metric in METRICS}
MOST_FACTORS = 10


def tune_data(outcome: Outcome, findings: Findings | None = None) -> dict[str, Any]:
    report = tune_json(outcome, findings)
    for row in report["settings"]:
        row["texts"] = {name: _text(name, figure["value"]) for name, figure in row["figures"].items()}
        row["factors"] = row["factors"][:MOST_FACTORS]
        for factor, of in zip(row["factors"], _of(outcome, row["setting"]).factors, strict=False):
            factor |= {"before": of.before, "after": of.after}
    for run in report["runs"]:
        run["texts"] = {name: _text(name, value) for name, value in run["metrics"].items()}
    data: dict[str, Any] = {
        "title": report["target"],
        "tune": report,
        "against": [_chart(outcome, metric) for metric in AGAINST],
        "recommended": [recommendation(one.setting) for one in outcome.recommended],
        "findings": None if findings is None else finding_lines(findings, outcome),
        "ran": _ran(outcome),
        "vprof": __version__,
    }
    plain: dict[str, Any] = all_plain(data)
    return plain


def _of(outcome: Outcome, name: str) -> Found:
    return next(one for one in outcome.found if one.setting.name == name)


def _chart(outcome: Outcome, metric: str) -> dict[str, Any]:
    points = [
        {
            "setting": one.setting.name,
            "verdict": one.verdict,
            "x": one.figures["mean"].value,
            "y": _root(metric, one.figures[metric].value),
            "x_ci95": _ends("mean", one.figures["mean"]),
            "y_ci95": _ends(metric, one.figures[metric]),
            "texts": [[name, _text(name, one.figures[name].value)] for name in ("mean", metric)],
        }
        for one in outcome.found
        if one.verdict != FAILED and one.figures["mean"].value and one.figures[metric].value
    ]
    name = "standard deviation" if _UNITS[metric] == "ns2" else metric
    return {"metric": metric, "name": name, "points": points, "front": outcome.fronts[metric]}


def _ends(metric: str, figure: Figure) -> list[float | None] | None:
    return [_root(metric, end) for end in figure.ci95] if figure.ci95 else None


def _root(metric: str, value: float | None) -> float | None:
    """In ns, for an axis."""
    return value**0.5 if value is not None and _UNITS[metric] == "ns2" else value


def _text(metric: str, value: float | None) -> str:
    return with_unit(value, _UNITS.get(metric, "")).replace(" us", " µs")


def _ran(outcome: Outcome) -> list[list[str]]:
    asked = outcome.sweep.file.asked
    noise = outcome.sweep.noise(outcome.runs)
    rows = {
        "target": asked.target,
        "load": load_text(outcome),
        "clients": asked.clients,
        "scale": asked.scale,
        "options of the load": " ".join(asked.program) or None,
        "options of the server": asked.server_options or None,
        "rounds": outcome.runs,
        "noise of runs": None
        if noise is None
        else f"{noise:.3g} (standard deviation of the logarithm of {asked.metric})",
        "seed": asked.seed,
    }
    return [[what, str(text)] for what, text in rows.items() if text is not None]
