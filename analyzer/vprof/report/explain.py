"""Where a factor comes from, for the terminal and as JSON (schema `vprof-explain/1`, analyzer/SCHEMA.md)."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import Any

from rich.console import Console

from vprof.report.tables import PLAIN_WIDTH, Row, heading, line, print_table, to_terminal, to_text
from vprof.report.units import duration, percent
from vprof.variance.explain import Explanation, FactorFunction, Portion
from vprof.variance.factor_objects import ObjectOfFactor

SCHEMA = "vprof-explain/1"
_ROWS = 8
_SMALLEST = 0.01
"""Parts below this share of the factor are not listed in text."""
_NUMBERS = 24
"""Columns beside a name."""


def print_explanation(explanation: Explanation, top: int | None = None) -> None:
    """On standard output; `top`: rows of each list."""
    to_terminal(partial(_show, explanation, top or _ROWS))


def render(explanation: Explanation, top: int | None = None, width: int = PLAIN_WIDTH) -> str:
    """As text without colour."""
    return to_text(partial(_show, explanation, top or _ROWS), width)


def render_json(explanation: Explanation) -> str:
    return json.dumps(explanation_json(explanation), indent=1) + "\n"


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """The report as plain data."""
    factor = explanation.factor
    return {
        "schema": SCHEMA,
        "functions": explanation.functions,
        "kind": _kind(explanation),
        "contribution_ns2": explanation.contribution_ns2,
        "share": explanation.share,
        "rank": explanation.rank,
        "height": factor.height if factor else None,
        "specificity": factor.specificity if factor else None,
        "score": factor.score if factor else None,
        "half": explanation.half,
        "sides": [asdict(side) for side in explanation.sides],
        "exemplars": [asdict(exemplar) for exemplar in explanation.exemplars],
    }


def _kind(explanation: Explanation) -> str:
    return "variance" if len(explanation.functions) == 1 else "covariance"


def _show(explanation: Explanation, rows: int, console: Console) -> None:
    names, count = explanation.functions, len(explanation.functions)
    line(console, names[0] if count == 1 else f"{names[0]} with {names[1]} (covariance)", "bold")
    line(console, f"{percent(explanation.share)} of the variance{_ranked(explanation)}")
    if explanation.half:
        several = "s hold" if explanation.half > 1 else " holds"
        line(console, f"{explanation.half} interval{several} half of it")
    for side in explanation.sides:
        _side(side, rows, console, count > 1)
    _exemplars(explanation, console)


def _ranked(explanation: Explanation) -> str:
    factor = explanation.factor
    if factor is None:
        return ""
    return f", number {explanation.rank} of the ranking (height {factor.height})"


def _side(side: FactorFunction, rows: int, console: Console, pair: bool) -> None:
    if pair:
        console.print()
        line(console, side.function, "bold")
    line(console, f"mean {duration(side.mean_ns)}  sd {duration(side.sd_ns)}  in {side.occurs} intervals")
    _parts("Called at", [part for part in side.sites if part.name], side.sites, rows, console)
    _parts("Called from", side.callers, side.callers, rows, console)
    _merged(side.merged, rows, console)
    _parts("Its time is spent in", side.inside, side.inside, rows, console)
    _parts("What it waited for, by what the other thread did", side.wakers, side.wakers, rows, console)
    _objects(side.objects[:rows], console)


def _parts(title: str, parts: list[Portion], all_parts: list[Portion], rows: int, console: Console) -> None:
    """Nothing where nothing is known of what matters. What is left out is counted."""
    shown = [part for part in parts if abs(part.share) >= _SMALLEST][:rows]
    if not shown:
        return
    heading(console, title)
    room = console.width - _NUMBERS
    table: list[Row] = [
        (_nearest(part.name, room) or "(nothing with a probe)", percent(part.share), duration(part.mean_ns))
        for part in shown
    ]
    print_table(console, ("share", "mean time"), table)
    rest = [part for part in all_parts if part not in shown]
    if rest:
        share = percent(sum(part.share for part in rest))
        line(console, f"not shown: {len(rest)}, together {share} (--top, or --format json)", "dim")


def _objects(objects: list[ObjectOfFactor], console: Console) -> None:
    if not objects:
        return
    heading(console, "What its waits were for")
    table: list[Row] = [(one.title, str(one.intervals), duration(one.mean_ns)) for one in objects]
    print_table(console, ("intervals", "mean time"), table)


def _merged(functions: list[str], rows: int, console: Console) -> None:
    if not functions:
        return
    more = f" and {len(functions) - rows} more" if len(functions) > rows else ""
    names = ", ".join(functions[:rows]) + more
    line(console, f"calls by way of {names} are not told apart: no probe of their own (descriptor: probe)", "dim")


def _nearest(chain: str, width: int) -> str:
    """The end of a chain of callers that fits: the nearest ones say most."""
    links = chain.removeprefix("... > ").split(" > ")
    while len(chain) > width and len(links) > 1:
        del links[0]
        chain = " > ".join(["...", *links])
    return chain


def _exemplars(explanation: Explanation, console: Console) -> None:
    heading(console, "Intervals to look at (vprof analyze ... --path ID)")
    table: list[Row] = [
        (f"{one.which}: {one.interval}", duration(one.time_ns), duration(one.latency_ns))
        for one in explanation.exemplars
    ]
    print_table(console, ("time in it", "latency"), table)
