"""Tables and lines for the terminal: names are cut, numbers never, when it is narrow."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from vprof.report.names import told_apart
from vprof.terminal import console, one_line

Row = tuple[str, ...]
"""A name and its numbers."""

PLAIN_WIDTH = 100
_WIDEST = 120
"""Longer lines are hard to follow across."""
_SHORTEST_NAME = 12
_GAP = 2
"""Columns between two columns of a table."""


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
    """Lets only the first column, which has no header, shrink; `styles` are those of its names.

    It is one text: a table of Rich's takes ten times as long, which is much of the analysis of a small trace.
    """
    widths = [max(map(cell_len, column)) for column in zip(header, *(row[1:] for row in rows), strict=True)]
    room = max(_SHORTEST_NAME, console.width - sum(width + _GAP for width in widths) - _GAP)
    titles = told_apart([one_line(title) for title, *_ in rows], room)
    names = [Text(title, style) for title, style in zip(titles, styles or [""] * len(rows), strict=True)]
    shown = min(room, max((name.cell_len for name in names), default=0))
    table = Text().append(" " * shown + _right(header, widths), "dim")
    for name, (_, *numbers) in zip(names, rows, strict=True):
        name.truncate(shown, overflow="ellipsis", pad=True)
        table.append("\n").append_text(name).append(_right(numbers, widths))
    console.print(table, soft_wrap=True)


def _right(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The numbers of a row, with a gap before each."""
    return "".join(" " * (_GAP + width - cell_len(cell)) + cell for cell, width in zip(cells, widths, strict=True))


def heading(console: Console, text: str) -> None:
    console.print()
    line(console, text, "bold")


def line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(one_line(text)), style=style, highlight=False)
