"""The reports of `vprof whatif`: the answer in a sentence, then figures now and then, factors afterwards; or what was
tried; or JSON, schema `vprof-whatif/1` (analyzer/SCHEMA.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from vprof.report.gain_words import LEAST_GAIN, sentence
from vprof.report.tables import PLAIN_WIDTH, Row, heading, line, print_table, to_terminal, to_text
from vprof.report.units import duration, percent, square
from vprof.terminal import one_line
from vprof.variance.analysis import MUCH_APART, Analysis
from vprof.variance.cpu_share import cpu_share
from vprof.variance.factors import Factor
from vprof.whatif.model import MODEL_ERROR, REPLAY, SIMULATION, Model
from vprof.whatif.outcome import Figure, Outcome
from vprof.whatif.prediction import Found, Prediction, Ranking, Tried

SCHEMA = "vprof-whatif/1"
_NEARLY_WHOLE = 1e-3
_SHOWN = 15


def print_prediction(prediction: Prediction) -> None:
    """On standard output."""
    to_terminal(partial(_show, prediction))


def print_ranking(ranking: Ranking) -> None:
    to_terminal(partial(_show_ranking, ranking))


def render(prediction: Prediction, width: int = PLAIN_WIDTH) -> str:
    """As text without colour."""
    return to_text(partial(_show, prediction), width)


def render_ranking(ranking: Ranking, width: int = PLAIN_WIDTH) -> str:
    return to_text(partial(_show_ranking, ranking), width)


def _show(prediction: Prediction, console: Console) -> None:
    outcome = prediction.outcome
    _answer(_sentence(prediction), console)
    heading(console, "Latency")
    rows: list[Row] = [
        (figure.name, _value(figure.name, figure.now), _value(figure.name, figure.then), *_ratio(figure))
        for figure in outcome.figures
    ]
    print_table(console, ("now", "then", "ratio", "95 % interval"), rows)
    if outcome.no_ci95:
        line(console, f"no 95 % intervals: {outcome.no_ci95}", "dim")
    line(console, _error(prediction.found.way), "dim")
    if prediction.now:
        _factors(prediction, console)
    console.print()
    _model(len(prediction.ids), prediction.model, [prediction.found], prediction.now, console)
    for warning in prediction.warnings:
        line(console, warning, "yellow")


def _error(way: str) -> str:
    """How far real changes came from what was predicted."""
    errors = MODEL_ERROR[way]
    lower = _listed(f"{below:.2f} ({name})" for name, (below, _) in errors.items())
    higher = _listed(f"{above:.2f} ({name})" for name, (_, above) in errors.items() if above)
    said = f"at most {lower} lower" + (f" or {higher} higher" if higher else ", so they gained more")
    return f"the intervals hold the chance in the trace alone: 80 % of real changes came to ratios {said}"


def _listed(parts: Iterable[str]) -> str:
    return " and ".join(", ".join(parts).rsplit(", ", 1))


def _answer(text: str, console: Console) -> None:
    console.print(Text(one_line(text)), style="bold", highlight=False, soft_wrap=True)


def _sentence(prediction: Prediction) -> str:
    """The answer."""
    if not prediction.changes:
        return "Nothing is changed, so every latency came out as recorded: try --change F=0.5, or --rank."
    return sentence(prediction.changes, prediction.outcome)


def _best(ranking: Ranking) -> str:
    """The answer of a ranking."""
    known = [one for one in ranking.tried if one.outcome]
    if not known:
        return "No change could be tried." if ranking.tried else "No factor is large enough to try."
    assert known[0].outcome
    if known[0].gain < LEAST_GAIN:
        return f"None of the {len(known)} changes that were tried would cut the variance."
    return sentence(known[0].changes, known[0].outcome)


def _model(count: int, model: Model, found: Sequence[Found], now: Analysis | None, console: Console) -> None:
    """On what the predictions rest. `now`: None if nobody knows what waits for a CPU."""
    waiting = sum(cpu_share(now.tree).values()) if now else 0.0
    ways = list(dict.fromkeys(one.way for one in found)) or [REPLAY]
    intervals = f"{count} interval{'s' if count > 1 else ''}"
    done = {REPLAY: "replayed", SIMULATION: "simulated"}
    for way in ways:
        share = f" ({percent(waiting)} of the variance now)" if now and way == REPLAY else ""
        line(console, f"{intervals} {done[way]}; model: {model.of(way)}{share}", "dim")
    if near := next((one.nearness for one in found if one.nearness), None):
        said = _listed(f"{ratio:.2f} times the {name}" for name, ratio in near.items())
        line(console, f"without a change the simulation gives {said} that was recorded", "dim")
    if told := next((one.told for one in found if one.told), 0):
        line(console, f"who had which lock is what the program told, of {told:,} locks that were taken", "dim")
    if why := next((one.why_replay for one in found if one.why_replay), ""):
        line(console, f"not simulated, since {why}", "dim")
    if REPLAY in ways and waiting >= MUCH_APART:
        line(console, "a program that works less waits less for a CPU, too: more may be gained", "yellow")


def _value(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name == "variance":
        return square(value)
    return f"{value:.4g} /s" if name == "throughput" else duration(value)


def _ratio(figure: Figure) -> tuple[str, str]:
    ratio = "-" if figure.ratio is None else f"{figure.ratio:.3f}"
    return ratio, f"{figure.ci95[0]:.3f} .. {figure.ci95[1]:.3f}" if figure.ci95 else "-"


def _factors(prediction: Prediction, console: Console) -> None:
    now, then = prediction.now, prediction.then
    assert now and then
    by = ", by the replay" if prediction.found.way == SIMULATION else ""
    heading(console, f"Factors afterwards{by} (shares of the variance then, and of the variance now)")
    rows: list[Row] = [
        (" with ".join(one["functions"]), percent(one["share_then"]), percent(one["share_now"]))
        for one in _factors_json(now, then)
    ]
    if rows:
        print_table(console, ("then", "now"), rows[:_SHOWN])
    else:
        line(console, then.no_ranking or "none is large enough")


def _show_ranking(ranking: Ranking, console: Console) -> None:
    _answer(_best(ranking), console)
    heading(console, "What would be gained (then / now), largest gain of variance first")
    rows: list[Row] = [
        (_text(one), percent(one.factor.share), *(_ratio_of(one.outcome, name) for name in ("variance", "p99", "mean")))
        for one in ranking.tried
        if one.outcome
    ]
    if rows:
        print_table(console, ("share", "variance", "p99", "mean"), rows)
    for reason in dict.fromkeys(one.why_not for one in ranking.tried if one.why_not):
        line(console, reason, "dim")
    console.print()
    found = [one.found for one in ranking.tried if one.found]
    for doubt in dict.fromkeys(one.doubt for one in found if one.doubt):
        line(console, doubt, "yellow")
    _model(ranking.analysis.summary.count, ranking.model, found, ranking.analysis, console)


def _text(one: Tried) -> str:
    return " with ".join(change.text for change in one.changes)


def _ratio_of(outcome: Outcome, name: str) -> str:
    ratio = outcome[name].ratio
    return "-" if ratio is None else f"{ratio:.3f}"


def render_json(prediction: Prediction, intervals: bool = False, ranking: Ranking | None = None) -> str:
    """`intervals`: with the latency of each. `ranking`: what was tried."""
    found = whatif_json(prediction, intervals)
    if ranking:
        found["tried"] = [_tried(one) for one in ranking.tried]
        found["sentence"] = _best(ranking)
    return json.dumps(found, indent=1) + "\n"


def whatif_json(prediction: Prediction, intervals: bool = False) -> dict[str, Any]:
    """The report as plain data, schema `vprof-whatif/1`."""
    now, then, outcome = prediction.now, prediction.then, prediction.outcome
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "changes": [change.text for change in prediction.changes],
        "sentence": _sentence(prediction),
        "model": prediction.model.of(prediction.found.way),
        "open": prediction.model.is_open,
        "way": prediction.found.way,
        "why_replay": prediction.found.why_replay,
        "nearness": prediction.found.nearness,
        "locks_told": prediction.found.told,
        "model_error": {name: list(ends) for name, ends in MODEL_ERROR[prediction.found.way].items()},
        "intervals": len(prediction.ids),
        "figures": _figures(outcome),
        "no_ci95": outcome.no_ci95,
        "waiting_for_cpu": sum(cpu_share(now.tree).values()) if now else None,
        "factors": _factors_json(now, then) if now and then else [],
        "no_factors": then.no_ranking if then else "not asked for",
        "warnings": prediction.warnings,
    }
    if intervals:
        pairs = zip(prediction.ids, prediction.latency_ns, prediction.predicted_ns, strict=True)
        found["per_interval"] = {
            sid: {"latency_ns": int(latency), "predicted_ns": _whole(float(predicted))}
            for sid, latency, predicted in pairs
        }
    return found


def _whole(ns: float) -> int | float:
    """A whole number where it is one but for rounding."""
    return round(ns) if abs(ns - round(ns)) < _NEARLY_WHOLE else round(ns, 3)


def _figures(outcome: Outcome) -> dict[str, Any]:
    return {
        figure.name: {
            "now": figure.now,
            "then": figure.then,
            "ratio": figure.ratio,
            "ci95": list(figure.ci95) if figure.ci95 else None,
        }
        for figure in outcome.figures
    }


def _factors_json(now: Analysis, then: Analysis) -> list[dict[str, Any]]:
    """Those that lead afterwards, then those that led."""
    before, after = _by_name(now), _by_name(then)
    names = dict.fromkeys(_name(ranked.factor) for analysis in (then, now) for ranked in analysis.factors)
    return [
        {
            "kind": kind,
            "functions": list(functions),
            "share_now": before[kind, functions].share if (kind, functions) in before else 0.0,
            "share_then": after[kind, functions].share if (kind, functions) in after else 0.0,
            "contribution_now_ns2": _contribution(before.get((kind, functions))),
            "contribution_then_ns2": _contribution(after.get((kind, functions))),
        }
        for kind, functions in names
    ]


def _name(factor: Factor) -> tuple[str, tuple[str, ...]]:
    return factor.kind, tuple(factor.functions)


def _by_name(analysis: Analysis) -> dict[tuple[str, tuple[str, ...]], Factor]:
    return {_name(factor): factor for factor in analysis.ranking}


def _contribution(factor: Factor | None) -> float:
    return factor.contribution_ns2 if factor else 0.0


def _tried(one: Tried) -> dict[str, Any]:
    return {
        "functions": one.factor.functions,
        "share": one.factor.share,
        "changes": [change.text for change in one.changes],
        "figures": _figures(one.outcome) if one.outcome else None,
        "why_not": one.why_not,
    }
