"""The reports of `vprof tune`: the answer first, lines for the configuration and what they trade, settings, factors; or
JSON, schema `vprof-tune/1` (analyzer/SCHEMA.md)."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.text import Text

from vprof.compare.judgement import NO_DIFFERENCE
from vprof.compare.run_metrics import METRICS
from vprof.report.diff import change_json, factor_json, with_unit
from vprof.report.tables import PLAIN_WIDTH, Row, heading, line, print_table, to_terminal, to_text
from vprof.report.units import percent
from vprof.terminal import one_line
from vprof.tune.auto import Findings, Governed
from vprof.tune.file import Run
from vprof.tune.outcome import FAILED, GIVEN_UP, Figure, Found, Outcome, sentence
from vprof.tune.settings import Setting

SCHEMA = "vprof-tune/1"
MOST_FACTORS = 8
_SHOWN = ("mean", "p99", "variance")
_UNITS = {metric.name: metric.unit for metric in METRICS}
_MUCH_APART, _MOSTLY_APART = 0.1, 0.5
"""Shares of the variance: where so much is in no function, a finding's share of the rest is said, too; and what would
leave the functions more."""


def print_tune(outcome: Outcome, findings: Findings | None = None) -> None:
    """The report on standard output."""
    to_terminal(lambda console: _show(outcome, findings, console))


def render(outcome: Outcome, findings: Findings | None = None, width: int = PLAIN_WIDTH) -> str:
    """The report as text without colour."""
    return to_text(lambda console: _show(outcome, findings, console), width)


def render_json(outcome: Outcome, findings: Findings | None = None) -> str:
    return json.dumps(tune_json(outcome, findings), indent=1) + "\n"


def run_line(run: Run, of: int, done: int, metric: str) -> str:
    """A run that has ended, in one line."""
    if run.failed:
        return f"run {done} of about {of}: {run.setting}: failed, no more runs of it: {run.failed}"
    shown = [*_SHOWN, *([metric] if metric not in _SHOWN else [])]
    figures = ", ".join(f"{name} {with_unit(run.metrics.get(name), _UNITS[name])}" for name in shown)
    return f"run {done} of about {of}: {run.setting}: {figures}{run.said and '; it ' + run.said}"


def load_text(outcome: Outcome) -> str:
    """Under which load all settings ran."""
    file = outcome.sweep.file
    asked = file.asked
    if asked.load is None:
        return (
            f"the target's own load, {asked.seconds} s each, a closed loop: a faster setting serves more, and a stall "
            "delays each client once only"
        )
    rate = "" if file.rate is None else f" at {file.rate:,g} transactions a second"
    return f"{asked.load}, {asked.seconds} s each, an open loop{rate}: the same for all settings"


def tune_json(outcome: Outcome, findings: Findings | None = None) -> dict[str, Any]:
    """The report as plain data, schema `vprof-tune/1`."""
    file = outcome.sweep.file
    asked = file.asked
    return {
        "schema": SCHEMA,
        "sentence": sentence(outcome),
        "target": asked.target,
        "metric": asked.metric,
        "effect": asked.effect,
        "load": {
            "workload": asked.load,
            "open": asked.load is not None,
            "rate": file.rate,
            "seconds": asked.seconds,
            "text": load_text(outcome),
        },
        "seed": asked.seed,
        "rounds": outcome.runs,
        "noise": outcome.sweep.noise(outcome.runs),
        "detectable": outcome.detectable,
        "settings": [_found_json(one) for one in outcome.found],
        "recommended": [_recommended_json(one.setting) for one in outcome.recommended],
        "pareto": outcome.fronts,
        "findings": None if findings is None else _findings_json(findings, outcome),
        "runs": [_run_json(run) for run in file.runs],
        "remarks": outcome.remarks,
    }


def _found_json(one: Found) -> dict[str, Any]:
    judged = one.judged
    return {
        "setting": one.setting.name,
        "knobs": {knob.knob.name: knob.value for knob in one.setting.assignments},
        "verdict": one.verdict,
        "why": one.why,
        "runs": len(one.runs),
        "figures": {name: {"value": f.value, "ci95": _pair(f)} for name, f in one.figures.items()},
        "changes": [change_json(change) for change in (judged.decides, *judged.others)] if judged else [],
        "guards": [change.metric.name for change in judged.guards] if judged else [],
        "factors": [factor_json(factor) for factor in one.factors],
        "no_factors": one.no_factors,
        "lines": one.setting.lines,
        "trades": one.setting.trades,
        "restart": one.setting.restart,
    }


def _pair(figure: Figure) -> list[float] | None:
    return list(figure.ci95) if figure.ci95 else None


def _recommended_json(setting: Setting) -> dict[str, Any]:
    return {"setting": setting.name, "lines": setting.lines, "trades": setting.trades, "restart": setting.restart}


def _findings_json(findings: Findings, outcome: Outcome) -> dict[str, Any]:
    rows = []
    for one in findings.governed:
        best = best_for(outcome, one)
        row = {"finding": one.name, "share": one.share, "knobs": one.knobs, "predicted": one.predicted}
        row |= {"predicted_without": one.predicted_without, "confirmed": one.confirmed, "share_of_rest": one.of_rest}
        rows.append(row | {"best": best.setting.name if best else None})
    return {"governed": rows, "unconfirmed": findings.unconfirmed, "apart": findings.apart}


def _run_json(run: Run) -> dict[str, Any]:
    return {
        "round": run.round,
        "setting": run.setting,
        "took_s": run.took_s,
        "intervals": run.count,
        "metrics": run.metrics,
        "failed": run.failed,
        "said": run.said,
    }


def _show(outcome: Outcome, findings: Findings | None, console: Console) -> None:
    console.print(Text(one_line(sentence(outcome))), style="bold", highlight=False, soft_wrap=True)
    for remark in outcome.remarks:
        line(console, remark, "yellow")
    for one in outcome.recommended:
        heading(console, "For the configuration" if one is outcome.recommended[0] else "Or, which trades nothing")
        for text in recommendation(one.setting):
            line(console, text)
    if findings is not None:
        heading(console, "Findings, and what governs them")
        for text in finding_lines(findings, outcome):
            line(console, text)
    _settings(outcome, console)
    for one in outcome.tried:
        if one.factors:
            _factors(one, console)


def recommendation(setting: Setting) -> list[str]:
    """Its lines, when they take effect, and what they trade: always said."""
    when = "takes effect when the server is started" if setting.restart else "takes effect without a restart"
    trades = setting.trades or ["nothing"]
    return [*(f"  {text}" for text in setting.lines), f"it {when}", *(f"it trades {text}" for text in trades)]


def finding_lines(findings: Findings, outcome: Outcome | None = None) -> list[str]:
    """One for each finding: its knobs, or that there is none. With the outcome of the sweep also what was predicted of
    it, and what the best setting of its knobs did."""
    rows = []
    for one in findings.governed:
        doubt = "" if one.confirmed else ", not confirmed, tried since nothing better was found"
        knobs = ", ".join(one.knobs) or "no knob governs it"
        rest = (
            f", {percent(one.of_rest)} of the rest" if findings.apart >= _MUCH_APART and one.of_rest > one.share else ""
        )
        rows.append(f"{one.name} ({percent(one.share)} of the variance{rest}{doubt}): {knobs}")
        predicted = {"always the same": one.predicted, "no time": one.predicted_without} if outcome else {}
        for change, figures in predicted.items():
            if ratios := [f"{name} {ratio:.2f}" for name, ratio in figures.items() if ratio is not None]:
                rows.append(f"  predicted, if it took {change}: {', '.join(ratios)} times what it is")
        if outcome and (best := best_for(outcome, one)):
            rows.append(f"  measured, the best of its knobs: {_measured_line(best)}")
    if findings.unconfirmed:
        rows.append(f"left out, not confirmed: {', '.join(findings.unconfirmed)}")
    if findings.apart >= _MOSTLY_APART:
        rows.append(
            f"{percent(findings.apart)} of the variance is waiting for a CPU or the client's time: under less load "
            "more of it may be the program's own"
        )
    return rows or ["none"]


def best_for(outcome: Outcome, governed: Governed) -> Found | None:
    """The setting of its knobs with which the metric fell most, whether or not that is certain; None without any."""
    mine = [
        one
        for one in outcome.tried
        if one.judged
        and one.judged.decides.ratio is not None
        and {assignment.knob.name for assignment in one.setting.assignments} & set(governed.knobs)
    ]
    return min(mine, key=_ratio_of, default=None)


def _ratio_of(one: Found) -> float:
    assert one.judged and one.judged.decides.ratio is not None
    return one.judged.decides.ratio


def _measured_line(one: Found) -> str:
    assert one.judged
    change = one.judged.decides
    interval = f" ({change.ci95[0]:.2f} .. {change.ci95[1]:.2f})" if change.ci95 else ""
    said = "" if one.verdict == NO_DIFFERENCE else one.verdict
    return f"{one.setting.name}, {change.metric.name} {_ratio_of(one):.2f}{interval}: {said or 'no difference found'}"


def _settings(outcome: Outcome, console: Console) -> None:
    asked = outcome.sweep.file.asked
    heading(console, f"Settings ({asked.metric} decides)")
    shown = [*_SHOWN, *([asked.metric] if asked.metric not in _SHOWN else [])]
    rows: list[Row] = [(one.setting.name, *_cells(one, shown)) for one in outcome.found]
    print_table(console, ("runs", *shown, "ratio", "95 % interval", "p", "found"), rows)
    line(console, f"load: {load_text(outcome)}", "dim")
    line(console, "figures: geometric means over runs; ratio: to the baseline, the target's own setting", "dim")
    line(console, "p: Holm's correction for the number of settings; the intervals hold for one alone", "dim")
    for metric, front in outcome.fronts.items():
        line(console, f"Pareto front of mean and {metric}: {', '.join(front)}", "dim")
    for one in outcome.tried:
        if one.verdict == GIVEN_UP:
            line(console, f"{one.setting.name}: given up: {one.why}", "dim")
        if one.verdict == FAILED:
            line(console, f"{one.setting.name}: failed: {one.why}", "yellow")


def _cells(one: Found, shown: list[str]) -> tuple[str, ...]:
    figures = (with_unit(one.figures[name].value, _UNITS[name]) for name in shown)
    change = one.judged.decides if one.judged else None
    ratio = "-" if change is None or change.ratio is None else f"{change.ratio:.3f}"
    interval = f"{change.ci95[0]:.3g} .. {change.ci95[1]:.3g}" if change and change.ci95 else "-"
    p = "-" if change is None or change.p_holm is None else f"{change.p_holm:.2g}"
    found = "" if one.verdict == NO_DIFFERENCE else one.verdict
    return (str(len(one.runs)), *figures, ratio, interval, p, found)


def _factors(one: Found, console: Console) -> None:
    heading(console, f"Factors with {one.setting.name} (of the variance of the baseline)")
    rows: list[Row] = []
    for f in one.factors[:MOST_FACTORS]:
        interval = f"{percent(f.ci95[0])} .. {percent(f.ci95[1])}" if f.ci95 else "-"
        shares = (percent(share) for share in (f.before, f.after, f.change))
        rows.append((" with ".join(f.functions), *shares, interval, f.found))
    print_table(console, ("before", "after", "change", "95 % interval", "found"), rows)
