"""The report of `vprof whatif --locks`: policies side by side; or JSON, schema `vprof-locks/1` (analyzer/SCHEMA.md)."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from rich.console import Console

from vprof.report.tables import PLAIN_WIDTH, Row, heading, line, print_table, to_terminal, to_text
from vprof.report.units import duration, percent, square
from vprof.scheduling.asked import Answer
from vprof.scheduling.comparison import COUNTS, FIGURES, MODEL, Comparison, Outcome, Value

SCHEMA = "vprof-locks/1"
_TOLD = ("variance", "p99", "mean")
_KEPT_UP = 0.95
_SAME = 5e-4


def print_answer(answer: Answer) -> None:
    """On standard output."""
    to_terminal(partial(_show, answer))


def render(answer: Answer, width: int = PLAIN_WIDTH) -> str:
    """As text without colour."""
    return to_text(partial(_show, answer), width)


def render_json(answer: Answer) -> str:
    return json.dumps(locks_json(answer), indent=1) + "\n"


def _show(answer: Answer, console: Console) -> None:
    found = answer.comparison
    line(console, sentence(found), "bold")
    line(console, f"{answer.source}; {_load(answer)}")
    runs = f"{found.seeds} run{'s' if found.seeds > 1 else ''} of each policy"
    line(console, f"{found.transactions} transactions, {found.locks} locks a run, {runs}")
    line(console, f"model: {MODEL}", "dim")
    heading(console, "What each policy gives (mean over the runs, below it half of its 95 % interval)")
    rows = [row for outcome in found.outcomes for row in _rows(outcome)]
    print_table(console, FIGURES, rows)
    if len(found.outcomes) > 1:
        heading(console, f"By {found.base} (its part of {found.base}'s figure, below it the 95 % interval)")
        names = [name for name in FIGURES if name not in COUNTS]
        rows = [row for outcome in found.outcomes[1:] for row in _ratio_rows(outcome, names)]
        print_table(console, tuple(names), rows)
    for remark in remarks(answer):
        line(console, remark, "yellow")


def sentence(found: Comparison) -> str:
    """What comes out, in one line."""
    if len(found.outcomes) == 1:
        own = found.outcomes[0].figures
        told = ", ".join(f"{name} {_value(name, own[name].value)}" for name in _TOLD)
        return f"{found.base}: {told}"
    gains: list[str] = []
    named = ""
    for name in _TOLD:
        best = min(found.outcomes[1:], key=lambda one: one.ratios[name].value or 1.0)
        ratio = best.ratios[name]
        if ratio.value is not None and ratio.value < 1 - _SAME and (ratio.ci95 is None or ratio.ci95[1] < 1):
            who = "" if best.policy == named else f"{best.policy} has "
            gains.append(f"{who}{percent(1 - ratio.value)} less {name}")
            named = best.policy
    if not gains:
        others = ", ".join(one.policy for one in found.outcomes[1:])
        return f"Beside {found.base}, no gain of {others} is found in variance, p99 or mean"
    return f"Beside {found.base}, {', '.join(gains)}"


def _load(answer: Answer) -> str:
    if answer.clients is not None:
        return f"{answer.clients} client{'s' if answer.clients > 1 else ''}, a closed loop"
    if answer.rate is not None:
        return f"{answer.rate:g} transactions a second, an open loop"
    return "clients think as long as they did" if answer.thinks else "each transaction begins when it was born"


def remarks(answer: Answer) -> list[str]:
    """One-line remarks."""
    found = answer.comparison
    said = []
    if not found.waits:
        said.append(
            f"no transaction waited for a lock with {found.base}: where nothing is contended all policies are one"
        )
    if found.seeds > 1 and not any(value.ci95 for one in found.outcomes for value in one.figures.values()):
        said.append("all runs of a policy gave the same, since nothing in them is left to chance: no intervals")
    if answer.rate is not None:
        for one in found.outcomes:
            if (one.figures["throughput"].value or 0.0) < _KEPT_UP * answer.rate:
                said.append(f"{one.policy} does not keep up with the rate: its latencies grow with the length of a run")
    if found.calibration:
        ratio = found.calibration.variance_ratio
        variance = "" if ratio is None else f", variance {ratio:.3f}"
        mean = f"mean {found.calibration.mean_ratio:.3f}"
        said.append(f"{found.calibration.policy} replayed, by what was measured: {mean}{variance}")
    return [*said, *answer.notes]


def _rows(outcome: Outcome) -> list[Row]:
    values = outcome.figures
    rows: list[Row] = [(outcome.policy, *(_value(name, values[name].value) for name in FIGURES))]
    if any(value.ci95 for value in values.values()):
        rows.append(("  +-", *(_half(name, values[name]) for name in FIGURES)))
    return rows


def _half(name: str, value: Value) -> str:
    return _value(name, (value.ci95[1] - value.ci95[0]) / 2) if value.ci95 else "0"


def _ratio_rows(outcome: Outcome, names: list[str]) -> list[Row]:
    values = [outcome.ratios[name] for name in names]
    rows: list[Row] = [(outcome.policy, *("-" if one.value is None else f"{one.value:.3f}" for one in values))]
    if any(one.ci95 for one in values):
        rows.append(("", *(f"{one.ci95[0]:.3f}..{one.ci95[1]:.3f}" if one.ci95 else "" for one in values)))
    return rows


def _value(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name in COUNTS:
        return f"{value:.4g}"
    if name == "variance":
        return square(value)
    return f"{value:.4g} /s" if name == "throughput" else duration(value)


def locks_json(answer: Answer) -> dict[str, Any]:
    """The report as plain data, schema `vprof-locks/1`."""
    found, options = answer.comparison, answer.options
    calibration = found.calibration
    return {
        "schema": SCHEMA,
        "sentence": sentence(found),
        "model": MODEL,
        "source": answer.source,
        "clients": answer.clients,
        "rate": answer.rate,
        "thinks": answer.thinks,
        "transactions": found.transactions,
        "locks": found.locks,
        "seeds": found.seeds,
        "waits": found.waits,
        "sizes": options.sizes,
        "union": options.union,
        "delay_factor": options.delay,
        "barrier": options.barrier,
        "servers": dict(options.servers),
        "calibration": calibration
        and {
            "policy": calibration.policy,
            "mean_ratio": calibration.mean_ratio,
            "variance_ratio": calibration.variance_ratio,
        },
        "base": found.base,
        "policies": [
            {"policy": one.policy, "figures": _values(one.figures), "ratios": _values(one.ratios)}
            for one in found.outcomes
        ],
        "remarks": remarks(answer),
    }


def _values(values: dict[str, Value]) -> dict[str, Any]:
    return {
        name: {"value": value.value, "ci95": list(value.ci95) if value.ci95 else None} for name, value in values.items()
    }
