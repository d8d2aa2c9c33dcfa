"""A screen as lines of text, for a width and a height: the same in a terminal, in tests and in the manual.

Names come from the programs that are looked at: each passes `one_line` before it is a part of a line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.text import Text

from vprof.report.units import duration, percent
from vprof.terminal import one_line
from vprof.top.screen import Screen
from vprof.top.view import Row, Sample, View

_BARS = " ▁▂▃▄▅▆▇█"
_MOST_WAITS, _MOST_FACTORS = 3, 3
_LEAST = 0.01
"""Of the variance, what a log says a word about."""
_TALL = 18
"""Rows of a terminal from which on waits are shown, too."""
KEYS = "e expand  c collapse  d drop  s sort  space pause  enter path  w save  q quit"
PATH_KEYS = "n next fastest  p back  up/down scroll  esc close"


def draw(screen: Screen, width: int, height: int) -> Text:
    """`height` lines at most, each of `width` characters at most."""
    view = screen.view
    head = [*_head(screen), *_curves(view, width), _state(view), Text()]
    waits = _waits(view) if height >= _TALL else []
    foot = [*waits, _on(view), Text(screen.line, "bold"), Text(KEYS, "dim")]
    room = max(1, height - len(head) - len(foot) - 1)
    lines = [*head, *_table(screen, room)]
    lines += [Text()] * (height - len(lines) - len(foot)) + foot
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return Text("\n", no_wrap=True).join(lines[:height])


def summary_line(view: View) -> str:
    """All of a view in one line, for a log."""
    window = view.window
    if not window.count:
        why = f"no interval ended in {window.seconds:.0f} s" if window.seconds else view.reason
        return one_line(f"{view.title}: {why}; on {len(view.on)}; lost {view.lost}")
    parts = [f"{window.rate:.0f}/s", *(f"{name} {duration(ns)}" for name, ns in _latencies(window))]
    if view.document:
        parts += _said_of(view.document)
    else:
        parts.append(view.reason)
    parts += [f"on {len(view.on)}", f"lost {view.lost}"]
    parts += [f"probes {percent(view.cost)}"] if view.cost is not None else []
    return one_line("; ".join(parts))


def _said_of(document: dict[str, Any]) -> list[str]:
    """The largest factors, waits for a CPU, the object that was waited for most: if they are worth a word."""
    factors = [(" | ".join(one["functions"]), one["share"]) for one in document["factors"][:_MOST_FACTORS]]
    cpu = [("waiting for a CPU", document["waiting_for_cpu"]["share"])]
    objects = [(f"waits for {one['title']}", one["share"]) for one in document["waited_for"]["objects"][:1]]
    shown = [
        [f"{name} {percent(share)}" for name, share in some if share >= _LEAST] for some in (factors, cpu, objects)
    ]
    if not shown[0]:
        shown[0] = [document["no_ranking"] or "no factor"]
    return [", ".join(some) for some in shown if some]


def _head(screen: Screen) -> Iterable[Text]:
    view = screen.view
    title = Text.assemble(("vprof top  ", "bold"), one_line(view.title))
    title.append(f"  last {view.window.seconds:.0f} s, {view.window.count} intervals")
    if screen.paused:
        title.append("  PAUSED", "bold")
    yield title


def _curves(view: View, width: int) -> Iterable[Text]:
    rows: list[tuple[str, str, Sequence[float], str]] = [
        ("rate", f"{view.window.rate:.0f}/s", [one.rate for one in view.samples], "/s")
    ]
    for name, ns in _latencies(view.window):
        rows.append((name, duration(ns), [getattr(one, name) for one in view.samples], ""))
    for name, now, values, unit in rows:
        most = max(values, default=0.0)
        scale = f"{most:.0f}{unit}" if unit else duration(most)
        room = max(0, width - 32)
        yield Text.assemble(
            f"{name:<5}{now:>9}  ", (_curve(values[-room:] if room else [], most), "cyan"), f"  to {scale}"
        )


def _latencies(one: Sample) -> list[tuple[str, int]]:
    return [("p50", one.p50), ("p99", one.p99), ("max", one.max)]


def _curve(values: Sequence[float], most: float) -> str:
    return "".join(_BARS[math.ceil(value / most * (len(_BARS) - 1))] if most > 0 else " " for value in values)


def _state(view: View) -> Text:
    told = [f"on {len(view.on)} functions", f"lost {view.lost} records"]
    told.append("cost of probes not known" if view.cost is None else f"probes take {percent(view.cost)}")
    told.append(f"refresh {duration(1e9 * view.took)}")
    line = Text("; ".join(told))
    warnings = (view.document or {}).get("warnings", [])
    if warnings:
        line.append(f"; {one_line(warnings[0])}", "bold")
    return line


def _table(screen: Screen, room: int) -> list[Text]:
    """A head, and as many rows around the selected one as there is room for."""
    head = Text()
    for name in ("variance", "tail", "mean"):
        head.append(f"{name:>9}", "bold underline" if name == screen.sort else "bold")
    head.append("  factor, or place", "bold")
    if not screen.rows:
        document = screen.view.document
        return [head, Text(one_line(document["no_ranking"] or "nothing varies" if document else screen.view.reason))]
    first = min(max(0, screen.position - room + 1), max(0, len(screen.rows) - room))
    shown = screen.rows[first : first + room]
    return [head, *(_row(row, first + i == screen.position) for i, row in enumerate(shown))]


def _row(row: Row, selected: bool) -> Text:
    cells = "".join(f"{percent(share):>9}" for share in (row.share, row.tail, row.mean))
    style = "bold" if row.is_factor else ""
    return Text(f"{cells} {'>' if selected else ' '}{one_line(row.name)}", f"{style} reverse" if selected else style)


def _waits(view: View) -> list[Text]:
    objects: list[dict[str, Any]] = view.document["waited_for"]["objects"] if view.document else []
    head = Text(f"{'variance':>9}{'blocked':>9}{'waits':>8}{'queue':>7}  waited for", "bold")
    rows = [
        Text(
            f"{percent(one['share']):>9}{duration(one['total_ns']):>9}{one['waits']:>8}{one['queue_mean']:>7.1f}"
            f"  {one_line(one['title'])}"
        )
        for one in objects[:_MOST_WAITS]
    ]
    return [head, *(rows or [Text("        - nothing with a name")])]


def _on(view: View) -> Text:
    return Text.assemble(("on: ", "bold"), one_line(", ".join(view.on)) or "nothing")
