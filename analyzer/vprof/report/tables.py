"""Tables and lines for the terminal: names are cut, numbers never, when it is narrow."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from vprof.report.names import told_apart
from vprof.terminal import console, one_line

Row = tuple[str, ...]
"""A name and its numbers."""

PLAIN_WIDTH = 100
_WIDEST = 120
"""Longer lines are hard to follow across."""
_SHORTEST_NAME = 12


def to_terminal(show: Callable[[Console], None]) -> None:
    """Shows on standard output, as wide as the terminal; plain if it is none or NO_COLOR is set."""
    terminal = console()
    has_width = sys.stdout.isatty() or "COLUMNS" in os.environ
    show(console(width=min(terminal.width, _WIDEST) if has_width else PLAIN_WIDTH))


def to_text(show: Callable[[Console], None], width: int = PLAIN_WIDTH) -> str:
    """What `show` prints, without colour."""
    out = io.StringIO()
    show(console(out, width=width, color_system=None))
    return out.getvalue()


def print_table(
    console: Console, header: tuple[str, ...], rows: Sequence[Row], styles: Sequence[str] | None = None
) -> None:
    """Lets only the first column, which has no header, shrink; `styles` are those of its names."""
    widths = [max(map(len, column)) for column in zip(header, *(row[1:] for row in rows), strict=True)]
    room = max(_SHORTEST_NAME, console.width - sum(width + 2 for width in widths) - 2)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True, overflow="ellipsis", max_width=room)
    for name, width in zip(header, widths, strict=True):
        table.add_column(name, justify="right", no_wrap=True, width=width)
    titles = told_apart([one_line(title) for title, *_ in rows], room)
    for title, (_, *numbers), style in zip(titles, rows, styles or [""] * len(rows), strict=True):
        table.add_row(Text(title, style), *numbers)
    console.print(table)


def heading(console: Console, text: str) -> None:
    console.print()
    line(console, text, "bold")


def line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(one_line(text)), style=style, highlight=False)
