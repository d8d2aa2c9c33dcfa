"""The reports of `vprof diff`: the verdict first, then metrics, what was predicted, and factors; or JSON, schema
`vprof-diff/1` (analyzer/SCHEMA.md)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from vprof.compare.diff import NOT_ASKED, Diff, Side
from vprof.compare.diff_factors import FactorChange
from vprof.compare.judgement import Change, sentence
from vprof.compare.predicted import Ends, Judged
from vprof.report.tables import PLAIN_WIDTH, Row, heading, line, print_table, to_terminal, to_text
from vprof.report.units import duration, percent, square

SCHEMA = "vprof-diff/1"
MOST_FACTORS = 15
PERHAPS_MEANS = (
    "predicted: its 95 % interval, wider by what 80 % of real changes needed, as most gained more than was "
    "predicted; perhaps: only the measured interval reaches it"
)


def print_diff(result: Diff, judged: Judged | None = None) -> None:
    """The report on standard output."""
    to_terminal(lambda console: show_diff(result, console, judged))


def render(result: Diff, judged: Judged | None = None, width: int = PLAIN_WIDTH) -> str:
    """The report as text without colour."""
    return to_text(lambda console: show_diff(result, console, judged), width)


def show_diff(result: Diff, console: Console, judged: Judged | None = None) -> None:
    """The same, where a report has more to say."""
    console.print(Text(sentence(result)), style="bold", highlight=False, soft_wrap=True)
    _metrics(result, console)
    if judged:
        _prediction(judged, console)
    _factors(result, console)
    if result.remarks:
        heading(console, "Remarks")
    for remark in result.remarks:
        line(console, remark, "yellow")


def _metrics(result: Diff, console: Console) -> None:
    heading(console, f"Metrics ({result.decides.metric.name} decides)")
    rows = [_metric_row(change) for change in (result.decides, *result.others)]
    print_table(console, ("before", "after", "ratio", "95 % interval", "p", "found"), rows)
    line(console, "before, after: geometric means over runs; p: Holm's correction for all but the first", "dim")
    for reason in dict.fromkeys(c.reason for c in (result.decides, *result.others) if c.reason):
        line(console, reason, "dim")
    for name, side in (("before", result.before), ("after", result.after)):
        counts = ", ".join(map(str, side.counts))
        line(console, f"intervals of each run {name}: {counts}", "dim")


def _metric_row(change: Change) -> Row:
    p = change.p if change.p_holm is None else change.p_holm
    values = (value_text(change, v) for v in (change.before, change.after))
    ratio = ratio_text(change.ratio), ends_text(change.ci95)
    return (change.metric.name, *values, *ratio, "-" if p is None else f"{p:.2g}", change.found)


def value_text(change: Change, value: float | None) -> str:
    """A value of the metric with its unit; "-" where it is not known."""
    return with_unit(value, change.metric.unit)


def with_unit(value: float | None, unit: str) -> str:
    """By a unit of run_metrics.METRICS."""
    if value is None:
        return "-"
    if unit == "ns2":
        return square(value)
    if unit == "ns":
        return duration(value)
    return f"{value:.4g}{unit and ' ' + unit}"


def _prediction(judged: Judged, console: Console) -> None:
    heading(console, f"Predicted ({', '.join(judged.predicted.changes)})")
    rows = [
        (
            came.metric,
            ratio_text(came.predicted),
            ends_text(came.widened),
            ratio_text(came.measured.ratio),
            ends_text(came.measured.ci95),
            came.found or "-",
        )
        for came in judged.figures
    ]
    print_table(console, ("predicted", "with model error", "measured", "95 % interval", "found"), rows)
    line(console, f"model: {judged.predicted.model}", "dim")
    line(console, PERHAPS_MEANS, "dim")


def ratio_text(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f}"


def ends_text(ends: Ends | None) -> str:
    return f"{ends[0]:.3f} .. {ends[1]:.3f}" if ends else "-"


def _factors(result: Diff, console: Console) -> None:
    if result.no_factors == NOT_ASKED:
        return
    heading(console, "Factors (of the variance before)")
    if not result.factors:
        line(console, result.no_factors or "none is large enough (--min-share)")
        return
    rows: list[Row] = []
    for f in result.factors[:MOST_FACTORS]:
        low_high = f"{percent(f.ci95[0])} .. {percent(f.ci95[1])}" if f.ci95 else "-"
        rows.append((_title(f), percent(f.before), percent(f.after), percent(f.change), low_high, f.found))
    print_table(console, ("before", "after", "change", "95 % interval", "found"), rows)
    if len(result.factors) > MOST_FACTORS:
        line(console, f"not shown: {len(result.factors) - MOST_FACTORS} that changed less (--format json)", "dim")


def _title(f: FactorChange) -> str:
    return f.functions[0] if f.kind == "variance" else f"{f.functions[0]} with {f.functions[1]}"


def render_json(result: Diff, judged: Judged | None = None) -> str:
    return json.dumps(diff_json(result, judged), indent=1) + "\n"


def diff_json(result: Diff, judged: Judged | None = None) -> dict[str, Any]:
    """The report as plain data, schema `vprof-diff/1`."""
    return {
        "schema": SCHEMA,
        "verdict": result.verdict,
        "sentence": sentence(result),
        "metric": result.decides.metric.name,
        "metrics": [change_json(change) for change in (result.decides, *result.others)],
        "guards": [change.metric.name for change in result.guards],
        "prediction": _judged(judged) if judged else None,
        "before": _side(result.before),
        "after": _side(result.after),
        "factors": [factor_json(f) for f in result.factors],
        "no_factors": result.no_factors,
        "remarks": result.remarks,
    }


def _judged(judged: Judged) -> dict[str, Any]:
    return {
        "file": str(judged.predicted.file),
        "changes": judged.predicted.changes,
        "model": judged.predicted.model,
        "figures": [
            {
                "metric": came.metric,
                "ratio": came.predicted,
                "ci95": list(came.ci95) if came.ci95 else None,
                "widened": list(came.widened) if came.widened else None,
                "measured": came.measured.ratio,
                "measured_ci95": list(came.measured.ci95) if came.measured.ci95 else None,
                "found": came.found,
            }
            for came in judged.figures
        ],
    }


def change_json(change: Change) -> dict[str, Any]:
    return {
        "metric": change.metric.name,
        "unit": change.metric.unit,
        "more_is_better": change.metric.more_is_better,
        "before": change.before,
        "after": change.after,
        "ratio": change.ratio,
        "ci95": list(change.ci95) if change.ci95 else None,
        "p": change.p,
        "p_holm": change.p_holm,
        "found": change.found,
        "reason": change.reason,
    }


def _side(side: Side) -> list[dict[str, Any]]:
    rows = zip(side.paths, side.counts, side.excluded, side.metrics, side.recorded, side.built_from, strict=True)
    return [
        {
            "trace": str(path),
            "intervals": count,
            "excluded": excluded,
            "metrics": metrics,
            "recorded": [asdict(one) for one in recorded],
            "built_from": built_from,
        }
        for path, count, excluded, metrics, recorded, built_from in rows
    ]


def factor_json(f: FactorChange) -> dict[str, Any]:
    return {
        "kind": f.kind,
        "functions": f.functions,
        "before_ns2": f.before_ns2,
        "after_ns2": f.after_ns2,
        "change": f.change,
        "ci95": list(f.ci95) if f.ci95 else None,
        "p_holm": f.p_holm,
        "found": f.found,
    }
