"""The report of `vprof analyze --locks`; or JSON, schema `vprof-lock-history/1` (analyzer/SCHEMA.md)."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial

from rich.console import Console

from vprof.report.tables import PLAIN_WIDTH, Row, heading, line, print_table, to_terminal, to_text
from vprof.report.units import duration
from vprof.scheduling.ages import AgeOfType, AtObject, Locked

SCHEMA = "vprof-lock-history/1"
_ALL = "all"
_DIGITS = 6
"""The last ones of an object's number, where it has a name: they tell rows of one table apart."""


def print_locked(found: Locked) -> None:
    """On standard output."""
    to_terminal(partial(_show, found))


def render(found: Locked, width: int = PLAIN_WIDTH) -> str:
    """As text without colour."""
    return to_text(partial(_show, found), width)


def render_json(found: Locked) -> str:
    return json.dumps({"schema": SCHEMA, **asdict(found)}, indent=1) + "\n"


def _show(found: Locked, console: Console) -> None:
    locks = f"{found.taken} locks of {found.object_count} objects"
    line(console, f"{found.transactions} transactions, {locks}, {found.waits} waited for", "bold")
    if found.waits:
        heading(console, "Logical locks by object")
        shown = [one for one in found.objects if one.waits]
        print_table(console, ("waited", "waits", "taken", "exclusive", "queue", "held"), [_row(one) for one in shown])
        line(console, "waited: by all transactions; queue: most at once; held: mean, from when it came free", "dim")
        heading(console, "Age of a transaction against its remaining time, when it gets a lock that it waited for")
        print_table(
            console, ("correlation", "95 %", "decisions", "age", "remaining"), [_age(one) for one in found.ages]
        )
        line(console, "VATS is optimal where they are independent (docs/lock-scheduling.md)", "dim")
    if found.unowned:
        line(console, f"{found.unowned} lock events belong to no interval: they are left out", "yellow")
    if found.lost:
        line(console, f"{found.lost} records were lost: who held a lock meanwhile may be missing", "yellow")


def _row(one: AtObject) -> Row:
    held = "-" if one.held_ns is None else duration(one.held_ns)
    return (
        f"{one.name} #{one.object[-_DIGITS:]}" if one.name else f"lock {one.object}",
        duration(one.waited_ns),
        str(one.waits),
        str(one.taken),
        str(one.exclusive),
        str(one.queue),
        held,
    )


def _age(one: AgeOfType) -> Row:
    correlation = "-" if one.correlation is None else f"{one.correlation:+.2f}"
    interval = f"{one.ci95[0]:+.2f}..{one.ci95[1]:+.2f}" if one.ci95 else ""
    means = duration(one.age_ns), duration(one.remaining_ns)
    return (one.type or _ALL, correlation, interval, str(one.decisions), *means)
