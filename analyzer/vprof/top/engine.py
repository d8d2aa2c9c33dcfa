"""What goes on behind the screen: records in pieces, analyzes the newest, does what keys ask for.

    every refresh: rotate -> Window -> Found -> View -> whoever shows it
    Engine.run: this, and orders in between, until it is to stop

A refresh may take a part of the time between two; if it takes longer, the window gets shorter. If even one piece takes
longer, nothing is recorded meanwhile, so that what waits to be analyzed does not grow.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty

from vprof.errors import TraceError, VprofError
from vprof.report.path import render
from vprof.session.owned import Session
from vprof.session.running import program_name
from vprof.terminal import one_line
from vprof.top.orders import OpenPath, Order, Orders, Pause, Save, Show, Stop, Switch
from vprof.top.running import Running
from vprof.top.switches import Switches
from vprof.top.view import View
from vprof.top.window import Found, Window

_SHORTEST_POLL_SECONDS, _LONGEST_POLL_SECONDS = 0.01, 0.25
_END_SECONDS = 1.0
_BUSY = 0.5
"""The part of the time between two refreshes that one may take before the window gets shorter."""
_LEAST_REST = 0.25
"""The part of it that passes from the end of one refresh to the next, at least."""
_PIECE_BYTES = 64 << 20
"""A piece ends when it is so large: four million records."""


@dataclass(frozen=True)
class Settings:
    """`root`: its calls are the intervals, instead of annotated ones. `every`: seconds between refreshes. `save_to`:
    folder of traces that are saved."""

    root: str | None
    every: float
    window: float
    save_to: Path

    @property
    def pieces(self) -> int:
        return max(1, round(self.window / self.every))


class Engine:
    """REQUIRES: one thread calls it."""

    def __init__(self, running: Running, folder: Path, settings: Settings, show: Show) -> None:
        """`folder`: of the pieces."""
        self._running, self._session, self._settings, self._show = running, running.session, settings, show
        self._switches = Switches(running.session, settings.root)
        self._window = Window(folder, settings.root, settings.pieces)
        self._open: Path | None = None
        self._first_size = 0
        self._open_follows = False
        self._paused = self._stops = False
        # The first analysis loads what all need: nothing that waits for it may grow meanwhile.
        self._is_behind = True
        self._refreshes, self._lost, self._took = 0, 0, 0.0

    def run(self, orders: Orders, is_told_to_end: Callable[[], bool] = lambda: False) -> str:
        """Until an order to stop, or nothing more can come: it says why. Raises VprofError when the collector dies, or
        somebody else has the session. `is_told_to_end` is asked some times a second."""
        self._is_told_to_end = is_told_to_end
        ended = False
        try:
            self._switches.begin()
            self._cut()
            over = self._go_on(orders)
            ended = True
        except VprofError:
            if over := self._why_lost():
                return over
            raise
        finally:
            self._leave(ended)
        return over

    def _why_lost(self) -> str:
        """Why there is no session any more, "" if there is one. Raises VprofError when its collector died."""
        with suppress(VprofError):
            self._session.stats()
            return ""
        # One that ends in order removes the directory last.
        directory, deadline = self._session.directory, time.monotonic() + _END_SECONDS
        while directory.is_dir():
            if time.monotonic() > deadline:
                mend = "" if isinstance(self._session, Session) else f": remove {directory}"
                raise VprofError(f"the collector of this session died: nothing is recorded any more{mend}")
            time.sleep(_SHORTEST_POLL_SECONDS)
        return "the session has ended"

    def serve(self, orders: Orders) -> None:
        """What needs no session: what was analyzed last can be looked at when nothing more comes."""
        while not self._stops and not self._is_told_to_end():
            try:
                with suppress(Empty):
                    self._do(orders.queue.get(timeout=_LONGEST_POLL_SECONDS))
            except VprofError as error:
                self._show.said(str(error))

    def _go_on(self, orders: Orders) -> str:
        over = ""
        while not self._stops and not over:
            over = self._attend(orders)
            if not self._stops:
                self._refresh()
        return over

    def _attend(self, orders: Orders) -> str:
        """Until the next refresh is due, or the end of all."""
        due = time.monotonic() + max(self._settings.every - self._took, _LEAST_REST * self._settings.every)
        pause, over = _SHORTEST_POLL_SECONDS, ""
        while not self._stops and not over and (left := due - time.monotonic()) > 0:
            joined = self._follow()
            if self._is_full():
                self._cut(goes_on=False)
            pause = _SHORTEST_POLL_SECONDS if joined else min(2 * pause, _LONGEST_POLL_SECONDS)
            with suppress(Empty):
                self._do(orders.queue.get(timeout=min(pause, left)))
            over = self._running.over()
            self._stops = self._stops or self._is_told_to_end()
        return over

    def _follow(self) -> bool:
        """Whether something joined."""
        known = len(self._session.modules)
        if isinstance(self._session, Session):
            self._session.follow(self._running.plan)
        else:
            self._session.join()
        joined = len(self._session.modules) > known
        if joined and self._session.programs and (said := self._switches.unmatched()):
            self._show.said(said)
        return joined

    def _is_full(self) -> bool:
        try:
            return self._open is not None and self._open.stat().st_size > _PIECE_BYTES + self._first_size
        except OSError:
            return False

    def _refresh(self) -> None:
        begin = time.monotonic()
        self._cut(goes_on=not self._is_behind)
        if not self._paused:
            self._show.refreshed(self._view())
            self._refreshes += 1
        self._took = time.monotonic() - begin
        if self._open is None:
            self._cut()
        if not self._paused:
            self._fit()

    def _view(self) -> View:
        try:
            found = self._window.analyze()
        except OSError as error:
            found = Found(None, f"cannot write {self._window.trace}: {error.strerror or error}")
        self._switches.look()
        return View(
            title=self._title(),
            samples=tuple(self._window.samples),
            window=self._window.summary(),
            document=found.document,
            reason=found.reason,
            on=self._switches.on,
            below=found.below,
            lost=self._lost,
            took=self._took,
        )

    def _title(self) -> str:
        stats = self._session.stats()
        pids = stats["pids"]
        if not pids:
            return "no program runs" if self._session.programs else "no program has joined yet"
        more = f" and {stats['processes'] - 1} more" if stats["processes"] > 1 else ""
        return f"{one_line(program_name(pids[0]))} (pid {pids[0]}){more}"

    def _fit(self) -> None:
        """Makes the window shorter, or again longer, by what the refresh took."""
        window, most = self._window, _BUSY * self._settings.every
        if self._refreshes < 2:
            self._is_behind = False
        elif self._took > most:
            self._is_behind = window.pieces <= 1 and self._took > self._settings.every
            window.most = max(1, int(window.pieces * most / self._took))
        else:
            self._is_behind = False
            window.most = min(window.most + (self._took < most / 2), self._settings.pieces)

    def _cut(self, goes_on: bool = True, keeps: bool = True) -> None:
        """Ends the piece that is recorded, if one is, and begins the next without a gap if it `goes_on`. What ended is
        looked at if it `keeps` it."""
        closed, follows = self._open, self._open_follows
        path = self._window.next_path() if goes_on else None
        try:
            reply = self._session.rotate(path)
            self._first_size = path.stat().st_size if path and path.exists() else 0
        except VprofError as error:
            self._session.stats()  # raises if the collector is gone
            self._show.said(f"nothing is recorded: {error}")
            path, reply = None, {}
        self._open, self._open_follows = path, closed is not None and bool(reply) and not reply["ended"]
        if closed is None:
            return
        if reply.get("ended"):
            self._show.said(f"records are missing: {reply['ended']}")
        self._lost += reply.get("dropped", 0)
        if keeps:
            self._take(closed, follows, reply.get("dropped", 0))
        else:
            closed.unlink(missing_ok=True)
            self._window.interrupt()

    def _take(self, path: Path, follows: bool, lost: int) -> None:
        if not follows:
            self._window.interrupt()
        try:
            self._window.take(path, self._switches.roots(), lost)
        except TraceError as error:
            path.unlink(missing_ok=True)
            self._window.interrupt()
            self._show.said(str(error))

    def _do(self, order: Order) -> None:
        """Says why not, if it cannot be done."""
        try:
            match order:
                case Switch():
                    self._switch(order)
                case Pause():
                    self._paused = order.paused
                case OpenPath():
                    self._show.opened(order.rank, render(self._window.path(order.rank)))
                case Save():
                    self._show.said(f"saved {self._window.save(self._settings.save_to)}")
                case Stop():
                    self._stops = True
        except VprofError as error:
            self._session.stats()  # raises if the collector is gone
            self._show.said(str(error))

    def _switch(self, order: Switch) -> None:
        """A tree is made of one plan: the window begins anew."""
        self._cut()
        count = self._switches.switch(list(order.functions), order.on)
        self._cut(keeps=False)
        self._show.said(f"{order.of}: {count} probes switched {'on' if order.on else 'off'}; the window begins anew")

    def _leave(self, has_ended: bool) -> None:
        """A session that is somebody else's goes on as it was, if it does. `has_ended`: nothing went wrong before."""
        if isinstance(self._session, Session):
            return
        try:
            self._switches.leave()
        except (VprofError, OSError):
            if has_ended and self._session.directory.is_dir():
                raise
        finally:
            self._session.disconnect()
