"""Waits by object, for the terminal: what was waited for most, by whom, and who had it."""

from __future__ import annotations

from functools import partial

from rich.console import Console

from vprof.report.tables import PLAIN_WIDTH, Row, heading, line, print_table, to_terminal, to_text
from vprof.report.units import duration, percent
from vprof.variance.analysis import Analysis
from vprof.variance.objects import AtObject, WaitedObject

_MOST = 20
_MOST_FUNCTIONS = 3
_OUTSIDE = "outside functions that were on"


def print_waits(analysis: Analysis) -> None:
    """The table on standard output."""
    to_terminal(partial(_show, analysis))


def render(analysis: Analysis, width: int = PLAIN_WIDTH) -> str:
    """The table as text without colour."""
    return to_text(partial(_show, analysis), width)


def _show(analysis: Analysis, console: Console) -> None:
    found, most = analysis.waited_for, analysis.options.top or _MOST
    if not found.objects:
        line(console, _nothing(analysis))
        return
    heading(console, "Waits by object")
    shown = found.objects[:most]
    print_table(console, ("variance", "blocked", "waits", "queue", "held"), [_row(one) for one in shown])
    line(console, "blocked: of all intervals; waits: of all threads; queue: threads at once, mean / most", "dim")
    for one in shown:
        line(console, f"{one.title}: {'; '.join(_who(one))}", "dim")
    if found.count > len(shown):
        line(console, f"not shown: {found.count - len(shown)} more (--top N, --format json)", "dim")


def _nothing(analysis: Analysis) -> str:
    if not analysis.trace.has_sync:
        return "no wait was recorded: did the program wait at all, and was it linked by vprof-cc?"
    return "no interval waited for an object whose waits are recorded (vprof analyze says what they waited for)"


def _row(one: WaitedObject) -> Row:
    queue = f"{one.queue_mean:.1f} / {one.queue_max}"
    held = "-" if one.hold_mean_ns is None else f"{duration(one.hold_mean_ns)} ({one.holds})"
    return (one.title, percent(one.share), duration(one.total_ns), str(one.waits), queue, held)


def _who(one: WaitedObject) -> list[str]:
    said = [f"waited for in {_functions(one.waiters)}"]
    stack = one.stacks[0].functions if one.stacks else ()
    if stack and one.waiters and not one.waiters[0].function:
        said.append(f"by stacks in {' > '.join(stack[-_MOST_FUNCTIONS:])}")
    if one.holders:
        said.append(f"meanwhile {_functions(one.holders)}")
    return said


def _functions(functions: list[AtObject]) -> str:
    """With their parts of what all hold."""
    whole = sum(one.total_ns for one in functions) or 1
    parts = [f"{one.function or _OUTSIDE} {percent(one.total_ns / whole)}" for one in functions[:_MOST_FUNCTIONS]]
    return ", ".join(parts)
