"""What of a view is shown, and what keys mean there: no terminal is needed for it.

View, keys -> Screen: which rows, in which order, which is selected, what is said  ->  drawing.py
keys -> Order for the engine, or a line that says why there is none
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from vprof.top.orders import OpenPath, Order, Pause, Switch
from vprof.top.view import Row, View, function_of, rows_of

SORTS = ("variance", "tail", "mean")
_LEAST_SHARE = 0.001
"""A place that is no factor is shown from this share on, of whatever it is sorted by."""


@dataclass
class Screen:
    """`line`: what was done last, or why not. `selected`: functions of a row; None: the first."""

    view: View = field(default_factory=View)
    sort: str = SORTS[0]
    selected: tuple[str, ...] | None = None
    paused: bool = False
    line: str = ""
    rows: list[Row] = field(default_factory=list)
    _expanded: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def take(self, view: View) -> None:
        """A refresh."""
        self.view = view
        self._sort()

    def sort_by(self, sort: str) -> None:
        self.sort = sort
        self._sort()

    def next_sort(self) -> None:
        self.sort_by(SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)])

    def _sort(self) -> None:
        rows = rows_of(self.view.document) if self.view.document else []
        rows = [row for row in rows if row.is_factor or value(row, self.sort) >= _LEAST_SHARE]
        if self.sort != SORTS[0]:
            rows.sort(key=lambda row: -value(row, self.sort))
        self.rows = rows

    @property
    def position(self) -> int:
        """Of the selected row; the first one if it is not there any more."""
        return next((i for i, row in enumerate(self.rows) if row.functions == self.selected), 0)

    @property
    def row(self) -> Row | None:
        return self.rows[self.position] if self.rows else None

    def move(self, by: int) -> None:
        if self.rows:
            self.selected = self.rows[min(max(self.position + by, 0), len(self.rows) - 1)].functions

    def pause(self) -> Order:
        self.paused = not self.paused
        self.line = "paused: what is shown stays; the session is still recorded" if self.paused else ""
        return Pause(self.paused)

    def expand(self) -> Order | None:
        """What the functions of the selected row call directly goes on."""
        functions = self._functions()
        below = tuple(dict.fromkeys(name for f in functions for name in self.view.below.get(f, [])))
        if not functions:
            self.line = self._no_function()
        elif not below:
            self.line = f"{' and '.join(functions)}: nothing below it is off and has a probe"
        else:
            for f in functions:
                self._expanded[f] = (*self._expanded.get(f, ()), *self.view.below.get(f, []))
            return self._switch(below, True, f"below {' and '.join(functions)}")
        return None

    def collapse(self) -> Order | None:
        """What an expansion of the selected row switched on goes off again."""
        functions = self._functions()
        below = tuple(dict.fromkeys(name for f in functions for name in self._expanded.pop(f, ())))
        if below:
            return self._switch(below, False, f"below {' and '.join(functions)}")
        self.line = f"{' and '.join(functions)}: was not expanded here" if functions else self._no_function()
        return None

    def drop(self) -> Order | None:
        """The functions of the selected row go off."""
        functions = self._functions()
        on = tuple(f for f in functions if f in self.view.on or f.rpartition(" (")[0] in self.view.on)
        if on:
            return self._switch(on, False, " and ".join(on))
        self.line = f"{' and '.join(functions)}: is off" if functions else self._no_function()
        return None

    def open_path(self, rank: int = 0) -> Order:
        self.line = "looking for the path"
        return OpenPath(max(rank, 0))

    def _functions(self) -> list[str]:
        names = self.row.functions if self.row else ()
        return list(dict.fromkeys(function for name in names if (function := function_of(name))))

    def _no_function(self) -> str:
        return f"{self.row.name} is no function: enter shows who was waited for" if self.row else "there is no row yet"

    def _switch(self, functions: tuple[str, ...], on: bool, of: str) -> Order:
        self.line = f"switching {len(functions)} functions {'on' if on else 'off'}"
        return Switch(functions, on, of)


def value(row: Row, sort: str) -> float:
    found = {"variance": row.share, "tail": row.tail, "mean": row.mean}[sort]
    return -1.0 if math.isnan(found) else found
