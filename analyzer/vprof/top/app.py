"""The terminal: keys in, a screen out. Textual draws; what is drawn is in drawing.py, what keys mean in screen.py.

engine (a thread) -> refreshed, said, opened -> Screen -> draw;  key -> Screen -> Order -> engine
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from vprof.terminal import one_line, printable
from vprof.top.drawing import PATH_KEYS, draw
from vprof.top.engine import Engine
from vprof.top.orders import Order, Orders, Save, Show, Stop
from vprof.top.screen import Screen
from vprof.top.view import View

_POLL_SECONDS = 0.2
_HANG_UP_SECONDS = 3.0


def _unwrapped(text: str) -> Text:
    """Lines that are longer than the screen is wide stay lines."""
    return Text(printable(text), no_wrap=True)


class PathScreen(ModalScreen[None]):
    """One interval's critical path."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "close"),
        Binding("n", "step(1)", "next"),
        Binding("p", "step(-1)", "back"),
    ]

    def __init__(self, rank: int, text: str, ask: Callable[[int], None]) -> None:
        super().__init__()
        self._rank, self._text, self._ask = rank, text, ask

    def compose(self) -> ComposeResult:
        with ScrollableContainer():
            yield Static(_unwrapped(self._text), id="path")
        yield Static(Text(PATH_KEYS, "dim"), id="keys")

    def action_step(self, by: int) -> None:
        self._ask(max(0, self._rank + by))

    def show(self, rank: int, text: str) -> None:
        self._rank = rank
        self.query_one("#path", Static).update(_unwrapped(text))


class Refreshed(Message):
    def __init__(self, view: View) -> None:
        super().__init__()
        self.view = view


class Opened(Message):
    def __init__(self, rank: int, text: str) -> None:
        super().__init__()
        self.rank, self.text = rank, text


class Said(Message):
    def __init__(self, line: str) -> None:
        super().__init__()
        self.line = line


class TopApp(App[None]):
    """A `Show`: the engine's thread calls it, so it only posts messages. `begin` is called once it runs,
    `is_told_to_end` is asked now and then."""

    CSS = """
    Screen { background: ansi_default; color: ansi_default; }
    #top { width: 100%; height: 100%; }
    PathScreen { background: ansi_default; }
    ScrollableContainer { height: 1fr; background: ansi_default; }
    #path { width: auto; }
    #keys { height: 1; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "leave", "quit", priority=True),
        Binding("q", "leave", "quit"),
        Binding("up,k", "move(-1)", "up"),
        Binding("down,j", "move(1)", "down"),
        Binding("pageup", "move(-10)", "up"),
        Binding("pagedown", "move(10)", "down"),
        Binding("e", "expand", "expand"),
        Binding("c", "collapse", "collapse"),
        Binding("d", "drop", "drop"),
        Binding("space", "pause", "pause"),
        Binding("s", "sort", "sort"),
        Binding("v", "sort('variance')", "variance"),
        Binding("t", "sort('tail')", "tail"),
        Binding("m", "sort('mean')", "mean"),
        Binding("enter,o", "path", "path"),
        Binding("w", "save", "save"),
    ]

    def __init__(
        self,
        orders: Orders,
        is_told_to_end: Callable[[], bool] = lambda: False,
        begin: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(ansi_color=True)
        self.shown = Screen()
        self._orders, self._is_told_to_end, self._begin = orders, is_told_to_end, begin

    def compose(self) -> ComposeResult:
        yield Static(id="top")

    def on_mount(self) -> None:
        self.set_interval(_POLL_SECONDS, self._look)
        self._draw()
        self._begin()

    def refreshed(self, view: View) -> None:
        self.post_message(Refreshed(view))

    def opened(self, rank: int, text: str) -> None:
        self.post_message(Opened(rank, text))

    def said(self, line: str) -> None:
        self.post_message(Said(line))

    def on_refreshed(self, message: Refreshed) -> None:
        self.shown.take(message.view)
        self._draw()

    def on_opened(self, message: Opened) -> None:
        self.shown.line = ""
        if isinstance(self.screen, PathScreen):
            self.screen.show(message.rank, message.text)
        else:
            self.push_screen(PathScreen(message.rank, message.text, self._ask_for_path))
        self._draw()

    def on_said(self, message: Said) -> None:
        self.shown.line = one_line(message.line)
        self._draw()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def action_move(self, by: int) -> None:
        self.shown.move(by)
        self._draw()

    def action_sort(self, by: str = "") -> None:
        if by:
            self.shown.sort_by(by)
        else:
            self.shown.next_sort()
        self._draw()

    def action_expand(self) -> None:
        self._give(self.shown.expand())

    def action_collapse(self) -> None:
        self._give(self.shown.collapse())

    def action_drop(self) -> None:
        self._give(self.shown.drop())

    def action_pause(self) -> None:
        self._give(self.shown.pause())

    def action_path(self) -> None:
        self._ask_for_path(0)

    def action_save(self) -> None:
        self._give(Save())

    def action_leave(self) -> None:
        self._orders.give(Stop())
        self.exit()

    def _ask_for_path(self, rank: int) -> None:
        self._give(self.shown.open_path(rank))

    def _give(self, order: Order | None) -> None:
        if order is not None:
            self._orders.give(order)
        self._draw()

    def _look(self) -> None:
        if self._is_told_to_end():
            self.action_leave()

    def _draw(self) -> None:
        """Nothing is there to draw on before the first layout, nor after the end."""
        for screen in self.screen_stack[:1]:
            for top in screen.query("#top").results(Static):
                top.update(draw(self.shown, self.size.width, self.size.height))


def run(engine: Callable[[Show], Engine], orders: Orders, is_told_to_end: Callable[[], bool], folder: Path) -> str:
    """Until somebody quits. `folder`: of the pieces. Returns why nothing more came, if that was so. Raises what the
    engine raised."""
    raised: list[Exception] = []
    ended: list[str] = []

    def work() -> None:
        try:
            mine = engine(app)
            if over := mine.run(orders, is_told_to_end):
                ended.append(over)
                app.said(f"{over}; q quits")
                mine.serve(orders)
        except Exception as error:
            raised.append(error)
        if is_told_to_end() and not closed.wait(_HANG_UP_SECONDS):
            # The terminal is gone, and Textual waits for it. What we started ends with us.
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(128 + signal.SIGHUP)

    closed = threading.Event()
    thread = threading.Thread(target=work)
    app = TopApp(orders, lambda: bool(raised) or is_told_to_end(), thread.start)
    try:
        app.run()
    finally:
        closed.set()
        orders.give(Stop())
        if thread.ident is not None:
            thread.join()
    if raised:
        raise raised[0]
    return next(iter(ended), "")
